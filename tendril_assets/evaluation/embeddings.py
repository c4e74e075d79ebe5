"""Embeddings on disk, so that no text is encoded twice by the same model.

A *space* is one model under one prompt. Each space has a folder of NumPy shards, added to and never changed: a
shard is written under a temporary name and renamed when whole, so a killed run loses at most the chunk it was in.
Rows are found by the SHA-256 of their text; shards are memory-mapped, so a look-up reads only the rows it needs.
"""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from tendril_assets.errors import TendrilError
from tendril_assets.files import replacing


def text_key(text: str) -> bytes:
    """SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class EmbeddingStore:
    """Embeddings below one folder; ``space`` names everything they depend on but the text.

    Where each row lies is read once per shard and kept (some 100 bytes a text); the vectors stay on disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[Path, dict[bytes, tuple[Path, int]]] = {}  # of each space folder
        self._seen: dict[Path, set[Path]] = {}

    def space_folder(self, space: str) -> Path:
        return self._folder / hashlib.sha256(space.encode()).hexdigest()[:32]

    def load(self, space: str, keys: Sequence[bytes], dimensions: int) -> tuple[np.ndarray, np.ndarray]:
        """(found, vectors): which of the keys are stored, and their vectors (float32, zeros where not).

        Raises TendrilError for a shard that cannot be read or is of another width.
        """
        places = self._index(space, dimensions)
        by_shard: dict[Path, list[tuple[int, int]]] = {}
        for row, key in enumerate(keys):
            if (place := places.get(key)) is not None:
                by_shard.setdefault(place[0], []).append((row, place[1]))
        found = np.zeros(len(keys), dtype=bool)
        vectors = np.zeros((len(keys), dimensions), dtype=np.float32)
        for path, pairs in by_shard.items():
            to, source = np.array(pairs).T
            vectors[to] = _read(path, dimensions)["vector"][source]
            found[to] = True
        return found, vectors

    def _index(self, space: str, dimensions: int) -> dict[bytes, tuple[Path, int]]:
        """Where each stored text of a space lies, with the shards that came since the last look."""
        folder = self.space_folder(space)
        places, seen = self._places.setdefault(folder, {}), self._seen.setdefault(folder, set())
        there = set(folder.glob("*.npy"))
        if seen - there:  # somebody cleared the folder
            places.clear()
            seen.clear()
        for path in sorted(there - seen):
            places.update((key, (path, row)) for row, key in enumerate(_keys(_read(path, dimensions))))
            seen.add(path)
        return places

    def add(self, space: str, keys: Sequence[bytes], vectors: np.ndarray) -> Path | None:
        """Store one shard: ``vectors`` is (keys, dimensions). Nothing is written for no keys."""
        if not keys:
            return None
        shard = np.zeros(len(keys), dtype=_layout(vectors.shape[1]))
        shard["key"] = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 32)
        shard["vector"] = vectors
        return _write(self.space_folder(space), shard)

    def keep_only(self, spaces: Collection[str], keys: Collection[bytes]) -> int:
        """Drop the embeddings of all other spaces and texts; returns how many were dropped.

        For from an embedding much of its text can be told: what left the collection must not stay here. Nor are those of
        weights that a later training replaced ever asked for again. A shard that holds some of what is kept is written anew
        without the rest, before the old one goes.
        """
        dropped, own = 0, {self.space_folder(space) for space in spaces}
        for path in sorted(self._folder.glob("*/*.npy")):
            shard = _read(path)
            kept = np.array([path.parent in own and key in keys for key in _keys(shard)], dtype=bool)
            if kept.all():
                continue
            dropped += int((~kept).sum())
            if kept.any():
                _write(path.parent, np.array(shard[kept]))
            path.unlink()
        return dropped


def _layout(dimensions: int) -> np.dtype:
    return np.dtype([("key", np.uint8, (32,)), ("vector", np.float32, (dimensions,))])


def _write(folder: Path, shard: np.ndarray) -> Path:
    path = folder / f"{hashlib.sha256(shard.tobytes()).hexdigest()[:32]}.npy"
    # A stream: NumPy would add .npy to a name.
    with replacing(path) as partial, partial.open("wb") as stream:
        np.save(stream, shard)
    return path


def _keys(shard: np.ndarray) -> list[bytes]:
    return np.ascontiguousarray(shard["key"]).view("V32").reshape(-1).tolist()


def _read(path: Path, dimensions: int | None = None) -> np.ndarray:
    """A shard, memory-mapped; of the given dimensions where they are given."""
    try:
        shard = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise TendrilError(f"embedding shard {path} cannot be read ({error}): delete it, it is made again") from error
    if shard.dtype.names != ("key", "vector"):
        raise TendrilError(f"{path} is no shard of embeddings: delete it")
    if dimensions is not None and shard.dtype != _layout(dimensions):
        raise TendrilError(f"embedding shard {path} does not hold vectors of {dimensions} dimensions: delete it")
    return shard
