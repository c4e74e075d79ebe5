"""The human anchor of a pool: which of its pairs people grade, so that a judge can be measured on what it will judge.

The sample is stratified, for relevant pairs are rare and kappa over nearly all zeros says little: by the judge's grade where
one is known, else by the best rank a system gave the pair. Nobody who grades sees either.
"""

from typing import Literal

import polars as pl

from tendril_assets.corpus.identifiers import keyed_orders

Strata = Literal["grade", "rank"]
PAIR = ["query_id", "passage_id"]
# The last rank of each band; relevant pairs thin out fast below the first few.
_BANDS = (1, 3, 10)


def by_grade(pool: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """``pool``'s pairs that have a grade, with it as ``stratum``; ``verdicts``: query_id, passage_id, grade (may be empty)."""
    graded = verdicts.select(*PAIR, stratum=pl.col("grade").cast(pl.String)).drop_nulls("stratum")
    return pool.select(PAIR).join(graded, on=PAIR)


def by_rank(pool: pl.DataFrame) -> pl.DataFrame:
    """``pool``'s pairs with the band of their best rank as ``stratum``: 1, 2 to 3, 4 to 10, below."""
    band = pl.sum_horizontal(*(pl.col("best_rank") > last for last in _BANDS))
    return pool.select(*PAIR, stratum=band.cast(pl.String))


def draw_anchor(pairs: pl.DataFrame, size: int, seed: int, known: pl.DataFrame) -> pl.DataFrame:
    """``size`` of the pairs, or all there are: query_id, passage_id, stratum, by pair.

    Args:
        pairs: query_id, passage_id (each pair once), stratum.
        known: pairs that people have graded already; they are not drawn again.

    Each stratum gives as many as the others, where it has them; what a rare one lacks the others give. Within a stratum the
    lowest keyed hashes are taken: who comes later, into the pool or into another stratum, moves none of those that stay.
    """
    open_pairs = pairs.join(known.select(PAIR), on=PAIR, how="anti")
    places = keyed_orders(seed, "anchor", (f"{q}\n{p}" for q, p in open_pairs.select(PAIR).iter_rows()))
    ordered = open_pairs.with_columns(drawn=pl.Series(places, dtype=pl.Int64)).sort("drawn", *PAIR)
    available = sorted(ordered["stratum"].value_counts().iter_rows(), key=lambda row: (row[1], row[0]))
    chosen, left = [ordered.clear()], size
    for position, (stratum, n) in enumerate(available):
        take = min(n, left // (len(available) - position))
        chosen.append(ordered.filter(stratum=stratum).head(take))
        left -= take
    return pl.concat(chosen).select(*PAIR, "stratum").sort(PAIR)
