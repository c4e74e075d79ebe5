"""Embeddings on disk, so that no text is encoded twice by the same model.

A *space* is one model under one prompt. Each space has a folder of NumPy shards, added to and never changed: a
shard is written under a temporary name and renamed when whole, so a killed run loses at most the chunk it was in.
Rows are found by the SHA-256 of their text; shards are memory-mapped, so a look-up reads only the rows it needs.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tendril_assets.errors import TendrilError
from tendril_assets.files import replacing


def text_key(text: str) -> bytes:
    """SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class EmbeddingStore:
    """Embeddings below one folder; ``space`` names everything they depend on but the text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def space_folder(self, space: str) -> Path:
        return self._folder / hashlib.sha256(space.encode()).hexdigest()[:32]

    def load(self, space: str, keys: Sequence[bytes], dimensions: int) -> tuple[np.ndarray, np.ndarray]:
        """(found, vectors): which of the keys are stored, and their vectors (float32, zeros where not).

        Raises TendrilError for a shard that cannot be read or is of another width.
        """
        wanted = {key: row for row, key in enumerate(keys)}
        found = np.zeros(len(keys), dtype=bool)
        vectors = np.zeros((len(keys), dimensions), dtype=np.float32)
        for path in sorted(self.space_folder(space).glob("*.npy")):
            shard = _read(path, dimensions)
            stored = np.ascontiguousarray(shard["key"]).view("V32").reshape(-1).tolist()
            pairs = [(wanted[key], row) for row, key in enumerate(stored) if key in wanted]
            if pairs:
                to, source = (np.array(side) for side in zip(*pairs, strict=True))
                vectors[to] = shard["vector"][source]
                found[to] = True
        return found, vectors

    def add(self, space: str, keys: Sequence[bytes], vectors: np.ndarray) -> Path | None:
        """Store one shard: ``vectors`` is (keys, dimensions). Nothing is written for no keys."""
        if not keys:
            return None
        shard = np.zeros(len(keys), dtype=_layout(vectors.shape[1]))
        shard["key"] = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 32)
        shard["vector"] = vectors
        path = self.space_folder(space) / f"{hashlib.sha256(shard.tobytes()).hexdigest()[:32]}.npy"
        # A stream: NumPy would add .npy to a name.
        with replacing(path) as partial, partial.open("wb") as stream:
            np.save(stream, shard)
        return path


def _layout(dimensions: int) -> np.dtype:
    return np.dtype([("key", np.uint8, (32,)), ("vector", np.float32, (dimensions,))])


def _read(path: Path, dimensions: int) -> np.ndarray:
    try:
        shard = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise TendrilError(f"embedding shard {path} cannot be read ({error}): delete it, it is made again") from error
    if shard.dtype != _layout(dimensions):
        raise TendrilError(f"embedding shard {path} does not hold vectors of {dimensions} dimensions: delete it")
    return shard
