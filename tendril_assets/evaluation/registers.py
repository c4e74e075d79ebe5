"""Scores per register, with what each is composed of: the figures of a collection whose queries came about in several ways.

A register is never seen alone by its mean. Beside each figure stand how many queries and groups it rests on, what share of
the queries a language model wrote, and which group most of them belong to; registers named for it are measured once more
without that group (``part``). Each figure is taken in two ways (``unit``), for they answer two questions:

* ``query``: the mean over queries, which are what is resampled. How well are such questions answered? The interval says
  nothing of questions about other groups.
* ``group``: the mean over groups of the means within them; groups are resampled. How well is a group of this kind answered?

Every system is compared with BM25 by the same units, with Holm's correction over the systems that are compared, per
register, part, unit and measure. A row that would rest on fewer queries than the specification asks for is left out and
told.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.evaluation import aggregate, significance
from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.evaluation.ranking import UNIT
from tendril_assets.spec_evaluation import ALL, EvaluationSpec

WHOLE, WITHOUT = "whole", "without_dominant"
QUERY, GROUP = "query", "group"
_STRATUM = ["level", "part"]
_PER = ["part", "unit"]


class RegisterTables(NamedTuple):
    """Rows of ``register_scores`` and ``register_comparisons``; ``too_few``: level, part and queries of what is left out."""

    scores: pl.DataFrame
    comparisons: pl.DataFrame
    too_few: pl.DataFrame


def register_tables(
    by_query: pl.DataFrame,
    test: JudgedCollection,
    systems: Sequence[str],
    baseline: str,
    rules: EvaluationSpec,
    seed: int,
) -> RegisterTables:
    """``by_query``: query_scores of every system. ``test``: the queries under test, with group_id and generated."""
    composition = compositions(by_query, test, rules.without_dominant)
    few = pl.col("queries") < rules.min_queries
    too_few = composition.filter(few).select(*_STRATUM, "queries").sort(_STRATUM)
    shown = composition.filter(~few)
    units = _in_units(_in_parts(by_query, composition)).join(shown, on=_STRATUM, how="semi", maintain_order="left")
    intervals = significance.system_intervals(
        units, seed=seed, resamples=rules.resamples, confidence=rules.confidence, per=_PER
    ).drop("reason")
    scores = (
        aggregate.macro_means(units, _PER)
        .rename({"groups": "n"})
        .drop("queries")
        .join(intervals, on=["system", *_PER, "level", "measure"], how="left", maintain_order="left")
        .join(shown, on=_STRATUM, how="left", maintain_order="left")
    )
    compared = significance.comparisons(
        units.filter(~pl.col("measure").str.starts_with("judged@")),
        {"baseline": [(system, baseline) for system in systems if system != baseline]},
        seed=seed,
        resamples=rules.resamples,
        confidence=rules.confidence,
        per=_PER,
    ).rename({"groups": "n"})
    return RegisterTables(scores, compared, too_few)


def compositions(by_query: pl.DataFrame, test: JudgedCollection, without: Sequence[str]) -> pl.DataFrame:
    """What each register, and all of them, rest on: level, part, queries, groups, excluded, generated, dominant,
    dominant_share.

    ``queries`` are those with a relevant passage; ``excluded`` the others of the register: nobody has judged them yet, or
    nothing relevant was found. ``generated``: share, of the queries, that a model wrote. ``dominant``: the group of most
    queries, of equal ones the lowest; its share is of all queries of the part, so in ``without_dominant`` it is the next
    largest group's.
    """
    counted = by_query.select(*UNIT, "level").unique().join(test.queries.select("query_id", "generated"), on="query_id")
    whole = pl.concat([counted, counted.with_columns(level=pl.lit(ALL))])
    named = test.queries.select("query_id", "group_id", "level").join(
        counted.select("query_id", home="group_id").unique("query_id"), on="query_id", how="left"
    )
    named = named.select("query_id", pl.coalesce("group_id", "home"), "level")
    known = pl.concat([named, named.with_columns(level=pl.lit(ALL))])
    parts = [_composed(whole, known, WHOLE)]
    of = parts[0].filter(pl.col("level").is_in(list(without))).select("level", "dominant")
    rest, rest_known = (_outside(frame, of) for frame in (whole, known))
    parts.append(_composed(rest, rest_known, WITHOUT))
    return pl.concat(parts).sort(_STRATUM)


def headline(scores: pl.DataFrame, measure: str) -> pl.DataFrame:
    """The rows of ``register_scores`` for one measure over queries, all registers together first, best system first.

    Every system is there: the best of many is best by luck too. No headline without its composition: its columns come along.
    """
    rows = scores.filter((pl.col("measure") == measure) & (pl.col("unit") == QUERY))
    order = [pl.col("level") != ALL, pl.col("level"), pl.col("part") != WHOLE, -pl.col("value"), pl.col("system")]
    return rows.sort(order)


def _composed(units: pl.DataFrame, known: pl.DataFrame, part: str) -> pl.DataFrame:
    """``units``: level, query_id, group_id and generated of what is measured; ``known``: level and query_id of all."""
    sizes = units.group_by("level", "group_id").agg(n=pl.len().cast(pl.Int32))
    largest = sizes.sort("level", "n", "group_id", descending=[False, True, False]).unique("level", keep="first")
    whole = units.group_by("level").agg(
        queries=pl.len().cast(pl.Int32),
        groups=pl.col("group_id").n_unique().cast(pl.Int32),
        generated=pl.col("generated").mean(),
    )
    left = (
        known.join(units, on=["level", "query_id"], how="anti").group_by("level").agg(excluded=pl.len().cast(pl.Int32))
    )
    levels = known.select("level").unique()
    return (
        levels.join(whole, on="level", how="left")
        .join(left, on="level", how="left")
        .with_columns(pl.col("queries", "groups", "excluded").fill_null(0))
        .join(largest, on="level", how="left")
        .select(
            "level",
            "queries",
            "groups",
            "excluded",
            "generated",
            part=pl.lit(part),
            dominant="group_id",
            dominant_share=pl.col("n") / pl.col("queries"),
        )
    )


def _outside(units: pl.DataFrame, dominant: pl.DataFrame) -> pl.DataFrame:
    """Rows of the levels of ``dominant`` (level, dominant) that belong to another group, or to none that is known."""
    joined = units.join(dominant, on="level", maintain_order="left")
    return joined.filter(pl.col("group_id").ne_missing(pl.col("dominant"))).drop("dominant")


def _in_parts(by_query: pl.DataFrame, composition: pl.DataFrame) -> pl.DataFrame:
    """Every score in part ``whole``, and those of the registers named for it once more without the dominant group."""
    asked = composition.filter(part=WITHOUT).select("level")
    of = composition.filter(part=WHOLE).join(asked, on="level").select("level", "dominant")
    whole = by_query.with_columns(part=pl.lit(WHOLE))
    return pl.concat([whole, _outside(by_query, of).with_columns(part=pl.lit(WITHOUT))])


def _in_units(scores: pl.DataFrame) -> pl.DataFrame:
    """Means per unit that is resampled, in the form of ``aggregate.group_scores``: queries as their own, and groups."""
    named = pl.concat_str(UNIT, separator="\x1f")
    parts = [
        aggregate.group_scores(rows.with_columns(unit=pl.lit(unit)), _PER)
        for rows, unit in ((scores.with_columns(group_id=named), QUERY), (scores, GROUP))
    ]
    # All registers together have no part without a dominant group: that would be those registers alone.
    return pl.concat(parts).filter((pl.col("level") != ALL) | (pl.col("part") == WHOLE))
