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
    bits = (scores.astype(np.float32) + np.float32(0.0)).view(np.uint32)  # adding zero makes 0.0 of -0.0
    ascending = np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000))
    return ~ascending


def top(scores: np.ndarray, depth: int) -> np.ndarray:
    """Columns of the ``depth`` best scores per row, best first; equal scores by column, lowest first.

    ``scores`` has one row per query, its columns in the tie rule's order. Exact: position and score are packed into
    one integer, so no tie at the cut is left to the selection algorithm.
    """
    keys = descending_bits(scores).astype(np.uint64) << np.uint64(32)
    keys |= np.arange(scores.shape[1], dtype=np.uint64)
    if scores.shape[1] > depth:
        keys = np.partition(keys, depth - 1, axis=1)[:, :depth]
    return (np.sort(keys, axis=1) & np.uint64(0xFFFFFFFF)).astype(np.int64)


def run_rows(scope: Scope, scores: np.ndarray, depth: int) -> pl.DataFrame:
    """Rows of a run (``RUN_SCHEMA``) from raw scores: one row per query of the scope, one column per passage."""
    exact = rounded(scores)
    best = top(exact, depth)
    n_queries, kept = best.shape
    rows = np.repeat(np.arange(n_queries), kept)
    columns = best.reshape(-1)
    return pl.DataFrame(
        {
            "query_id": scope.queries["query_id"].gather(rows),
            "passage_id": scope.passages["passage_id"].gather(columns),
            "group_id": scope.queries["group_id"].gather(rows),
            "rank": np.tile(np.arange(1, kept + 1, dtype=np.int32), n_queries),
            "score": exact[rows, columns],
        },
        schema_overrides={"score": pl.Float64},
    ).select(list(RUN_SCHEMA))


def whole_run(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All scopes' rows as one run, ordered by query, group and rank; an empty run where there is no scope."""
    return pl.concat([pl.DataFrame(schema=RUN_SCHEMA), *parts]).sort("query_id", "group_id", "rank")
