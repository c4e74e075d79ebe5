"""Reciprocal rank fusion: one ranking out of several, by ranks alone, for scores of different rankers do not compare.

Score of a passage: the sum over the rankings that found it of 1 / (k + rank), with k = 60 where nobody says otherwise.
Passages of equal score in one ranking share its best rank: a repeated text would else gain by the letters of its id. So
equal texts stay tied, and are ordered by the tie rule as everywhere. A ranking that ends says nothing of what is below
its end: that adds 0.

Source: Cormack, Clarke and Buettcher (2009), Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods.
"""

from collections.abc import Sequence

import polars as pl

from tendril_assets.evaluation.ranking import RUN_SCHEMA, UNIT

FUSION_VERSION = "1"
_PAIR = [*UNIT, "passage_id"]
_SUM_DECIMALS = 12  # sums of the same fractions in another order differ far below it


def reciprocal_ranks(run: pl.DataFrame, k: int) -> pl.DataFrame:
    """query_id, group_id, passage_id and ``gain`` = 1 / (k + rank) of a run, equal scores at the best of their ranks.

    The rank follows from the scores, compared as 32-bit floats; a ``rank`` column is ignored.
    """
    best = pl.col("score").cast(pl.Float32).rank("min", descending=True).over(UNIT)
    return run.select(*_PAIR, gain=1.0 / (k + best.cast(pl.Float64)))


def fuse(runs: Sequence[pl.DataFrame], k: int, depth: int) -> pl.DataFrame:
    """The fused run (``ranking.RUN_SCHEMA``) of ``runs``, at most ``depth`` passages per query and group.

    A run without a row for a query adds nothing to it; a query without a row in any run has none in the result. The order
    of ``runs`` does not matter. Raises ValueError for fewer than two runs, k or depth below 1, and a pair that one run
    has twice.
    """
    if len(runs) < 2 or k < 1 or depth < 1:
        raise ValueError(f"fusion needs two runs or more, k >= 1 and depth >= 1; given {len(runs)}, {k}, {depth}")
    for number, run in enumerate(runs, start=1):
        if run.select(_PAIR).is_duplicated().any():
            twice = run.filter(run.select(_PAIR).is_duplicated()).select(_PAIR).row(0)
            raise ValueError(f"run {number} has a pair twice: {twice}")
    gains = pl.concat([reciprocal_ranks(run, k) for run in runs])
    fused = (
        gains.group_by(_PAIR)
        .agg(pl.col("gain").sort(descending=True).sum().round(_SUM_DECIMALS))
        .select(*_PAIR, score=pl.col("gain").cast(pl.Float32).cast(pl.Float64))
    )
    return ranked(fused, depth)


def ranked(scored: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Rows with query_id, group_id, passage_id and score (32-bit values) as a run, best first, cut at ``depth``."""
    ordered = scored.sort(*UNIT, "score", "passage_id", descending=[False, False, True, True])
    placed = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(UNIT))
    return placed.filter(pl.col("rank") <= depth).select(pl.col(name).cast(kind) for name, kind in RUN_SCHEMA.items())
