"""What all rankers share: the tie rule as integer keys, exact top-k, and rankings as rows.

Scores are rounded to ``DECIMALS`` decimals before they are ranked. Rankers compute them in 64 bits, so batch size,
device and library leave differences far below that, and passages of equal score tie on every machine.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

DECIMALS = 6
UNIT = ["query_id", "group_id"]
RUN_SCHEMA = {
    "query_id": pl.String(),
    "passage_id": pl.String(),
    "group_id": pl.String(),
    "rank": pl.Int32(),
    "score": pl.Float64(),
}


class Scope(NamedTuple):
    """Passages that are ranked against each other, and the queries that rank them.

    ``passages`` has passage_id and text, ordered by passage id descending (the tie rule's order); ``queries`` has
    query_id, group_id and text, ordered by query and group.
    """

    passages: pl.DataFrame
    queries: pl.DataFrame


def rounded(scores: np.ndarray) -> np.ndarray:
    """Scores rounded to ``DECIMALS`` decimals, as 32-bit floats, without a negative zero."""
    return (np.round(np.asarray(scores, dtype=np.float64), DECIMALS) + 0.0).astype(np.float32)


def descending_bits(scores: np.ndarray) -> np.ndarray:
    """32-bit unsigned integers that sort ascending as ``scores`` (32-bit floats, none NaN) sort descending."""
    bits = (scores.astype(np.float32, copy=False) + np.float32(0.0)).view(np.int32)  # adding zero makes 0.0 of -0.0
    # Positive floats sort as their bits do, negative ones the other way round: those keep their bits here.
    return (bits ^ ~(bits >> 31) & 0x7FFFFFFF).view(np.uint32)


def scores_of_bits(bits: np.ndarray) -> np.ndarray:
    """The 32-bit floats that ``descending_bits`` made ``bits`` of; a negative zero comes back as zero."""
    ascending = ~bits
    return np.where(ascending >> 31, ascending & np.uint32(0x7FFFFFFF), bits).view(np.float32)


def top(scores: np.ndarray, depth: int) -> np.ndarray:
    """Columns of the ``depth`` best scores per row, best first; equal scores by column, lowest first.

    ``scores`` (32-bit floats) has one row per query, its columns in the tie rule's order.
    """
    best = TopK(scores.shape[0], depth)
    best.add(scores, 0)
    return best.columns()


class TopK:
    """The best of each query over passages that come block by block: exact, in memory for the best and one block.

    Score and column are packed into one integer, so no tie at the cut is left to the selection algorithm, and the result
    does not depend on how the columns are cut into blocks or in which order these come.
    """

    def __init__(self, n_queries: int, depth: int) -> None:
        self.depth = depth
        self._keys = np.empty((n_queries, 0), dtype=np.uint64)

    def add(self, scores: np.ndarray, start: int) -> None:
        """``scores`` (32-bit floats, none NaN) are those of columns ``start``, ``start + 1``, ...: (queries, columns).

        Columns count in the tie rule's order, and each is added once.
        """
        keys = descending_bits(scores).astype(np.uint64) << np.uint64(32)
        keys |= np.arange(start, start + scores.shape[1], dtype=np.uint64)
        self._keys = self._cut(np.concatenate([self._keys, self._cut(keys)], axis=1))

    def columns(self) -> np.ndarray:
        """(queries, at most ``depth``): best first."""
        return (self._sorted() & np.uint64(0xFFFFFFFF)).astype(np.int64)

    def scores(self) -> np.ndarray:
        """Their scores, 32-bit floats, in the same places."""
        return scores_of_bits((self._sorted() >> np.uint64(32)).astype(np.uint32))

    def _cut(self, keys: np.ndarray) -> np.ndarray:
        if keys.shape[1] <= self.depth:
            return keys
        return np.partition(keys, self.depth - 1, axis=1)[:, : self.depth]

    def _sorted(self) -> np.ndarray:
        self._keys.sort(axis=1)
        return self._keys


def whole_run(parts: Sequence[tuple[Scope, TopK]]) -> pl.DataFrame:
    """All scopes' rows as one run (``RUN_SCHEMA``), ordered by query, group and rank; empty where there is no scope.

    Of each part the best have a row per query of its scope, and columns that are places in the scope's passages.
    """
    found = [(scope, best.columns(), best.scores()) for scope, best in parts]
    if not found:
        return pl.DataFrame(schema=RUN_SCHEMA)
    passages = pl.concat([scope.passages["passage_id"] for scope, _, _ in found])
    queries = pl.concat([scope.queries.select(UNIT) for scope, _, _ in found])
    at = np.cumsum([0, *(scope.passages.height for scope, _, _ in found)])
    kept = np.repeat([columns.shape[1] for _, columns, _ in found], [len(columns) for _, columns, _ in found])
    rows = np.repeat(np.arange(queries.height), kept)
    places = np.concatenate(
        [(columns + start).reshape(-1) for (_, columns, _), start in zip(found, at[:-1], strict=True)]
    )
    first = np.repeat(np.cumsum(kept) - kept, kept)
    run = {
        "query_id": queries["query_id"].gather(rows),
        "passage_id": passages.gather(places),
        "group_id": queries["group_id"].gather(rows),
        "rank": (np.arange(1, len(rows) + 1) - first).astype(np.int32),
        "score": np.concatenate([scores.reshape(-1) for _, _, scores in found]).astype(np.float64),
    }
    return pl.DataFrame(run).sort("query_id", "group_id", "rank")
