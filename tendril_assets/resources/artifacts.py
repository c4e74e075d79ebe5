"""Files beside the warehouse: hand-over Parquet between steps, a content-addressed cache, model folders.

Assets that must not open the warehouse (judge and GPU stages) read what an upstream step handed over here.

The cache holds texts of documents. Each value lies in the folder of its owner, ``cache/<kind>/<owner...>/<digest>``, so
that all that was ever kept of a document or of its group can be found and erased when nobody knows the texts any more.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

import dagster as dg
import polars as pl
from pydantic import Field

from tendril_assets.errors import WarehouseError
from tendril_assets.files import remove_if_empty, replacing, write_atomically
from tendril_assets.resources.sql import identifier

_DIGEST_BYTES = 32
_PART = re.compile(r"[A-Za-z0-9%][A-Za-z0-9._~%-]{0,250}")
# Stands in the folder of each kind once it holds owners' folders alone.
_LAYOUT = ".by_owner"
_FORMER_FILE = re.compile(r"\.?[0-9a-f]{64}.*")

# (collection, group id, document id) of what is derived from a document; (collection, system) of a ranking.
Owner = Sequence[str]


class CachedDocument(NamedTuple):
    """The ``folder`` of one ``kind`` of cache with all that is kept of a document."""

    kind: str
    group_id: str
    document_id: str
    folder: Path


class Artifacts(dg.ConfigurableResource):
    """``root`` is ``TENDRIL_HOME/artifacts``."""

    root: str = Field(description="Folder of all artifacts.")

    def folder(self, collection: str, kind: str, name: str | None = None) -> Path:
        """``root/<collection>/<kind>[/<name>]``; not created."""
        path = Path(self.root) / identifier(collection).strip('"') / identifier(kind).strip('"')
        return path / identifier(name).strip('"') if name else path

    def exchange(self, collection: str, name: str) -> Path:
        """Path of one hand-over file."""
        return self.folder(collection, "exchange") / f"{name}.parquet"

    def write_frame(self, collection: str, name: str, frame: pl.DataFrame) -> Path:
        path = self.exchange(collection, name)
        with replacing(path) as partial:
            frame.write_parquet(partial, statistics=False)
        return path

    def read_frame(self, collection: str, name: str, columns: list[str] | None = None) -> pl.DataFrame:
        """One hand-over file, or some of its columns. Raises WarehouseError where it has not been handed over yet."""
        path = self.exchange(collection, name)
        if not path.is_file():
            raise WarehouseError(
                f"{collection}: the hand-over file {path} is missing; materialise the upstream asset first"
            )
        try:
            return pl.read_parquet(path, columns=columns)
        except pl.exceptions.PolarsError as error:
            raise WarehouseError(f"{path} is damaged ({error}); materialise the upstream asset again") from error

    def cached(self, kind: str, owner: Owner, key: str) -> bytes | None:
        """Bytes stored under ``key`` (any text that names everything the value depends on), or None.

        A file whose bytes are not those that were stored counts as absent: the value is made again.
        """
        try:
            stored = self._cache_path(kind, owner, key).read_bytes()
        except FileNotFoundError:
            return None
        digest, data = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        return data if hashlib.sha256(data).digest() == digest else None

    def put(self, kind: str, owner: Owner, key: str, data: bytes) -> None:
        """Store ``data`` for ``cached``. Raises WarehouseError for an owner that cannot name a folder."""
        path = self._cache_path(kind, owner, key)
        self._sweep_former(self._kind_folder(kind))
        write_atomically(path, hashlib.sha256(data).digest() + data)

    def cached_documents(self, collection: str) -> Iterator[CachedDocument]:
        """Every folder that holds something kept of a document of the collection, of all kinds."""
        cache = Path(self.root) / "cache"
        for kind in sorted(cache.iterdir()) if cache.is_dir() else ():
            self._sweep_former(kind)
            for folder in sorted((kind / identifier(collection).strip('"')).glob("*/*/")):
                yield CachedDocument(kind.name, unquote(folder.parent.name), unquote(folder.name), folder)

    def _kind_folder(self, kind: str) -> Path:
        return Path(self.root) / "cache" / identifier(kind).strip('"')

    def _cache_path(self, kind: str, owner: Owner, key: str) -> Path:
        # Keyed hashes stand as they are; names of public groups have letters and signs that no folder should have.
        parts = [quote(part, safe="") for part in owner]
        if not parts or not all(map(_PART.fullmatch, parts)) or not "".join(owner).isprintable():
            raise WarehouseError(f"cache {kind}: {'/'.join(owner)!r} cannot name a folder")
        return self._kind_folder(kind).joinpath(*parts) / hashlib.sha256(key.encode()).hexdigest()

    def _sweep_former(self, kind: Path) -> None:
        """Take out what was stored before values had owners: nobody finds it any more, and whose it is is not known."""
        if (kind / _LAYOUT).exists():
            return
        for folder in kind.glob("[0-9a-f][0-9a-f]/"):
            for path in folder.iterdir():
                if path.is_file() and _FORMER_FILE.fullmatch(path.name):
                    path.unlink(missing_ok=True)  # another step sweeps too
            remove_if_empty(folder)
        kind.mkdir(parents=True, exist_ok=True)
        (kind / _LAYOUT).touch()
