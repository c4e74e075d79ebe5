"""From queries to groups to systems: every mean is taken inside a group first, then over groups.

A group with many queries would otherwise outweigh the others, and the bootstrap resamples groups. Each subset (level)
is averaged by itself. The level ``all`` is the mean over a group's queries of all levels, then the macro mean over
groups: it weighs levels by their queries. ``balanced`` is another figure, the plain mean of the levels' macro means,
and is what checkpoints are chosen by.

Frames may carry a ``system`` column; without one they describe a single system. ``per`` names further columns that are
never averaged over, the catalog of the queries: a query belongs to one catalog, a group to all that it has queries of, so
queries add up over catalogs and groups do not.
"""

from collections.abc import Sequence

import polars as pl

from tendril_assets.evaluation.ranking import UNIT
from tendril_assets.spec_evaluation import ALL

NO_CATALOG = "(none)"


def with_levels(scores: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """``scores`` with the ``level`` of each query; ``queries`` has query_id and level.

    Raises ValueError where a scored query is unknown.
    """
    joined = scores.join(queries.select("query_id", "level"), on="query_id", how="left", maintain_order="left")
    unknown = joined.filter(pl.col("level").is_null())["query_id"].unique().sort().to_list()
    if unknown:
        raise ValueError(f"{len(unknown)} scored queries have no level, among them {unknown[:20]}")
    return joined


def in_catalogs(queries: pl.DataFrame) -> pl.DataFrame:
    """query_id, level and catalog of each query, ``NO_CATALOG`` where it has none; no row where none has one."""
    named = queries.select("query_id", "level", "catalog")
    if named["catalog"].null_count() == named.height:
        return named.clear()
    return named.with_columns(pl.col("catalog").fill_null(NO_CATALOG))


def group_scores(scores: pl.DataFrame, per: Sequence[str] = ()) -> pl.DataFrame:
    """Mean of each measure over a group's queries, per level and for ``all``.

    ``scores`` has query_id, group_id, [per], level, measure and value. The result has [system], [per], group_id, level,
    measure, value and ``queries``, the number of queries behind the mean. Raises ValueError for a value that is not
    finite.
    """
    bad = scores.filter(~pl.col("value").is_finite() | pl.col("value").is_null())
    if not bad.is_empty():
        raise ValueError(f"{bad.height} query scores are missing or not finite, the first: {bad.row(0, named=True)}")
    keys = [*_system(scores), *per, "group_id", "level", "measure"]
    doubled = pl.concat([scores, scores.with_columns(level=pl.lit(ALL))])
    return doubled.group_by(keys).agg(_ordered_mean("query_id"), pl.len().cast(pl.Int32).alias("queries")).sort(keys)


def macro_means(groups: pl.DataFrame, per: Sequence[str] = ()) -> pl.DataFrame:
    """Mean over groups of ``group_scores``: [system], [per], level, measure, value, groups, queries."""
    keys = [*_system(groups), *per, "level", "measure"]
    return (
        groups.group_by(keys)
        .agg(
            _ordered_mean("group_id"),
            pl.len().cast(pl.Int32).alias("groups"),
            pl.col("queries").sum().cast(pl.Int32),
        )
        .sort(keys)
    )


def balanced(scores: pl.DataFrame, measure: str, levels: Sequence[str] | None = None) -> float:
    """Mean over levels of the macro mean over groups of one measure, for one system.

    ``scores`` has query_id, group_id, level, measure and value; ``levels`` are those that must all be there (by
    default, those that occur). Raises ValueError where a level has no scored query, for the mean of the others would
    be another figure under the same name.
    """
    one = scores.filter(pl.col("measure") == measure)
    means = dict(macro_means(group_scores(one)).filter(pl.col("level") != ALL).select("level", "value").iter_rows())
    wanted = sorted(means) if levels is None else list(levels)
    missing = [level for level in wanted if level not in means]
    if missing or not wanted:
        raise ValueError(
            f"balanced {measure} needs a query with a relevant passage in each level; none in {missing or 'any'}"
        )
    return sum(means[level] for level in wanted) / len(wanted)


def exclusions(qrels: pl.DataFrame, queries: pl.DataFrame, per: Sequence[str] = ()) -> pl.DataFrame:
    """What is left out of every mean, per level and for ``all``: [per], level, excluded, excluded_groups.

    ``excluded`` are the (query, group) units judged without a relevant passage, and the queries without any judgment,
    which belong to no group and count once. ``excluded_groups`` are the groups in which none of the judged queries has a
    relevant passage. ``queries`` has query_id, [per] and level; a level without exclusions counts 0.
    """
    strata = [*per, "level"]
    known = queries.select("query_id", *strata)
    units = qrels.group_by(UNIT).agg(counted=pl.col("score").max() >= 1)
    # A query that was never judged is a row without a group.
    rows = known.join(units, on="query_id", how="left").with_columns(pl.col("counted").fill_null(value=False))
    rows = pl.concat([rows, rows.with_columns(level=pl.lit(ALL))])
    by_group = rows.filter(pl.col("group_id").is_not_null()).group_by(*strata, "group_id").agg(pl.col("counted").any())
    groups = by_group.group_by(strata).agg(excluded_groups=(~pl.col("counted")).sum().cast(pl.Int32))
    return (
        rows.group_by(strata)
        .agg(excluded=(~pl.col("counted")).sum().cast(pl.Int32))
        .join(groups, on=strata, how="left")
        .with_columns(pl.col("excluded_groups").fill_null(0))
        .sort(strata)
    )


def _system(frame: pl.DataFrame) -> list[str]:
    return ["system"] if "system" in frame.columns else []


def _ordered_mean(by: str) -> pl.Expr:
    """Mean of ``value``, summed in the order of ``by``: the same bits whatever order the rows arrive in."""
    return pl.col("value").sort_by(by).mean().alias("value")
