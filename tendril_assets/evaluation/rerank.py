"""Rerankers: what scores a query and a passage read together.

``lexical`` needs no model. It compares runs of 4 and 6 letters and digits within words, a blank before and after each word,
so that a word meets its own inflections in any language with endings. With n the count of a run in the query, tf its count
in the passage and l the number of runs of the passage, the score is the weighted mean, over the query's distinct runs, of
tf / (tf + C l), each weighted n / (n + 1): between 0, nothing shared, and 1. The saturation is that of BM25 with b = 1 and
a fixed pivot; there is no document frequency, for a score must depend on its pair alone.

Lengths of runs and C were chosen on the 150 checked pairs of a Russian collection of legal acts: nDCG@10 over its 76
answered questions 0.798, beside BM25's 0.718, and 0.783 with a Russian stemmer. So there the figure is a best case, and of
passages without the heading line that a corpus gives them: with it BM25 has 0.793 and 0.834, and the first 50 of the latter
reordered 0.804. Words of headings stand in many passages; BM25 knows that from their document frequency, a pair does not.
"""

import functools
import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from tendril_assets.evaluation.bm25 import split
from tendril_assets.evaluation.cross_encoder import CrossEncoder
from tendril_assets.evaluation.embeddings import EmbeddingStore
from tendril_assets.spec_evaluation import RerankerSpec

LEXICAL = "lexical"
LEXICAL_VERSION = "1"
_RUNS = (4, 6)
_SATURATION = 0.0015
# Scores are stored after so many or so many seconds: what a killed run has to score again at most.
_SHARD_PAIRS, _SHARD_SECONDS = 4096, 30.0


class Reranker(Protocol):
    """``identity`` names all that a score depends on but query and passage; None: not known well enough to keep a score.

    ``truncated``: pairs scored so far whose passage was cut for the model.
    """

    @property
    def identity(self) -> str | None: ...

    @property
    def truncated(self) -> int: ...

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """(passages,), 64-bit floats, higher is better. Each depends on the query and its own passage alone."""
        ...


def load_reranker(spec: RerankerSpec, device: str | None = None) -> Reranker:
    """The reranker of a specification; a model is loaded when it first scores.

    Raises BaseMissing for a model that is not on this machine, TendrilError for one that is not pinned to what was
    named, is not complete, would have to be unpickled or would run code.
    """
    return Lexical() if spec.base == LEXICAL else CrossEncoder(spec, device)


class Lexical:
    """Weighted overlap of character runs; see the module."""

    identity = f"{LEXICAL} {LEXICAL_VERSION}"
    truncated = 0

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        counts = Counter(run for word in _words(query).split() for run in _runs(f" {word} "))
        weights = {run: n / (n + 1) for run, n in counts.items()}
        whole = sum(weights.values())
        if not whole:
            return np.zeros(len(passages))
        return np.array([_overlap(weights, passage) / whole for passage in passages], dtype=np.float64)


def _overlap(weights: dict[str, float], passage: str) -> float:
    text = _words(passage)
    slack = _SATURATION * sum(max(0, len(word) + 3 - n) for word in text.split() for n in _RUNS)
    found = ((weight, text.count(run)) for run, weight in weights.items())
    return sum(weight * tf / (tf + slack) for weight, tf in found if tf)


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """Tokens as BM25 cuts them, one blank around each; ё is written е as often as not."""
    return f" {' '.join(split(text)).replace('ё', 'е')} "


def _runs(padded: str) -> list[str]:
    return [padded[at : at + n] for n in _RUNS for at in range(len(padded) - n + 1)]


class KeptScores:
    """A reranker that scores no pair twice: what it scored lies below ``folder``, under hashes of both texts.

    ``scored`` and ``reused`` count pairs. Without an identity nothing is kept. Scores are stored every few seconds, so a run
    that is killed scores little again; call ``flush`` or ``keep_only_asked`` at the end.
    """

    def __init__(self, reranker: Reranker, folder: Path) -> None:
        self._reranker, self._store = reranker, EmbeddingStore(folder)
        self._asked: set[bytes] = set()
        self._fresh: dict[bytes, float] = {}  # scored, not yet stored
        self._stored_at = time.monotonic()
        self.scored = self.reused = 0

    @property
    def identity(self) -> str | None:
        return self._reranker.identity

    @property
    def truncated(self) -> int:
        return self._reranker.truncated

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """(passages,), 64-bit floats. Raises TendrilError for a damaged file of the store, and as the reranker does."""
        keys = [_pair_key(query, passage) for passage in passages]
        self._asked.update(keys)
        found, values = np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
        if self.identity is not None:
            found, stored = self._store.load(self.identity, keys, 1)
            values = stored[:, 0].astype(np.float64)
            for row, key in enumerate(keys):
                if key in self._fresh:
                    found[row], values[row] = True, self._fresh[key]
        missing = np.flatnonzero(~found)
        self.reused += int(found.sum())
        if missing.size:
            # As they will be read again, so that a second run sees the very same scores.
            new = self._reranker.scores(query, [passages[row] for row in missing]).astype(np.float32)
            values[missing] = new
            self.scored += missing.size
            self._fresh |= {keys[row]: float(value) for row, value in zip(missing, new, strict=True)}
            if len(self._fresh) >= _SHARD_PAIRS or time.monotonic() - self._stored_at >= _SHARD_SECONDS:
                self.flush()
        return values

    def flush(self) -> None:
        """Store what was scored since the last time."""
        fresh, self._fresh, self._stored_at = self._fresh, {}, time.monotonic()
        if self.identity is not None and fresh:
            self._store.add(self.identity, list(fresh), np.array(list(fresh.values()), dtype=np.float32)[:, None])

    def keep_only_asked(self) -> int:
        """Drop the scores of all pairs that were not asked for since this object was made; returns how many went."""
        self.flush()
        return self._store.keep_only([self.identity] if self.identity is not None else [], self._asked)


def _pair_key(query: str, passage: str) -> bytes:
    first = query.encode("utf-8", "surrogatepass")
    framed = len(first).to_bytes(8, "big") + first + passage.encode("utf-8", "surrogatepass")
    return hashlib.sha256(framed).digest()
