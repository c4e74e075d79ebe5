"""Files beside the warehouse: hand-over Parquet between steps, a content-addressed cache, model folders.

Assets that must not open the warehouse (judge and GPU stages) read what an upstream step handed over here.
"""

import hashlib
from pathlib import Path

import dagster as dg
import polars as pl
from pydantic import Field

from tendril_assets.errors import WarehouseError
from tendril_assets.files import replacing, write_atomically
from tendril_assets.resources.sql import identifier

_DIGEST_BYTES = 32


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

    def _cache_path(self, kind: str, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return Path(self.root) / "cache" / identifier(kind).strip('"') / digest[:2] / digest

    def cached(self, kind: str, key: str) -> bytes | None:
        """Bytes stored under ``key`` (any text that names everything the value depends on), or None.

        A file whose bytes are not those that were stored counts as absent: the value is made again.
        """
        try:
            stored = self._cache_path(kind, key).read_bytes()
        except FileNotFoundError:
            return None
        digest, data = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        return data if hashlib.sha256(data).digest() == digest else None

    def put(self, kind: str, key: str, data: bytes) -> None:
        write_atomically(self._cache_path(kind, key), hashlib.sha256(data).digest() + data)
