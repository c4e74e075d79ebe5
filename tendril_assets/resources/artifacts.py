"""Files beside the warehouse: hand-over Parquet between steps, a content-addressed cache, model folders.

Assets that must not open the warehouse (judge and GPU stages) read what an upstream step handed over here.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import dagster as dg
import polars as pl
from pydantic import Field

from tendril_assets.errors import WarehouseError
from tendril_assets.resources.sql import identifier


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary name in the same folder, fsync, rename: the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            frame.write_parquet(partial, statistics=False)
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def read_frame(self, collection: str, name: str, columns: list[str] | None = None) -> pl.DataFrame:
        """One hand-over file, or some of its columns. Raises WarehouseError where it has not been handed over yet."""
        path = self.exchange(collection, name)
        if not path.is_file():
            raise WarehouseError(
                f"{collection}: the hand-over file {path} is missing; materialise the upstream asset first"
            )
        return pl.read_parquet(path, columns=columns)

    def _cache_path(self, kind: str, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return Path(self.root) / "cache" / identifier(kind).strip('"') / digest[:2] / digest

    def cached(self, kind: str, key: str) -> bytes | None:
        """Bytes stored under ``key`` (any text that names everything the value depends on), or None."""
        try:
            return self._cache_path(kind, key).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, kind: str, key: str, data: bytes) -> None:
        write_atomically(self._cache_path(kind, key), data)
