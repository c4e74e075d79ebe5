"""The score tables of all systems from their rankings: queries, groups, systems, comparisons, and both per catalog."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.evaluation import aggregate, significance
from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.evaluation.metrics import Judgments
from tendril_assets.spec_evaluation import EvaluationSpec

BASELINE = "bm25"
CATALOG = ["catalog"]


class ScoreTables(NamedTuple):
    """Rows of the score tables.

    ``excluded`` has level, excluded and excluded_groups; ``reasons`` say why intervals are empty.
    """

    query_scores: pl.DataFrame
    group_scores: pl.DataFrame
    system_scores: pl.DataFrame
    comparisons: pl.DataFrame
    catalog_scores: pl.DataFrame
    catalog_comparisons: pl.DataFrame
    excluded: pl.DataFrame
    reasons: list[str]


def score_tables(
    runs: pl.DataFrame, test: JudgedCollection, models: Sequence[str], rules: EvaluationSpec, seed: int
) -> ScoreTables:
    """``runs`` are rows of ``retrieval_runs`` of BM25, of ``<model>_base`` and ``<model>_tuned`` for each model, and of the
    hybrids and reranked systems of ``rules``.

    Each fine-tuned model is compared with its base and with BM25; Holm corrects each of the two questions over the
    models, per measure and level. No mean rests on fewer than ``rules.min_queries`` queries: one that would is left out.
    judged@k, which is no merit of a system, is not compared. The tables per catalog are empty where no query of the
    collection has a catalog.
    """
    systems = [
        BASELINE,
        *(f"{m}_{kind}" for kind in ("base", "tuned") for m in models),
        *rules.hybrids,
        *rules.reranked,
    ]
    judgments = Judgments(test.qrels)
    scored = []
    for system in systems:
        run = judgments.place(runs.filter(pl.col("system") == system))
        scored.append(judgments.score(run, rules.measures).select(pl.lit(system).alias("system"), pl.all()))
    by_query = aggregate.with_levels(pl.concat(scored), test.queries)
    families = {
        "base": [(f"{m}_tuned", f"{m}_base") for m in models],
        "bm25": [(f"{m}_tuned", BASELINE) for m in models],
    }
    by_group = aggregate.group_scores(by_query)
    excluded = aggregate.exclusions(test.qrels, test.queries)
    enough = _resting_on_enough(by_group, rules.min_queries)
    by_system = _with_intervals(enough, excluded, rules, seed)

    catalogs = aggregate.in_catalogs(test.queries)
    catalog_groups = aggregate.group_scores(by_query.join(catalogs.drop("level"), on="query_id"), CATALOG)
    catalog_groups = _resting_on_enough(catalog_groups, rules.min_queries, CATALOG)
    catalog_excluded = aggregate.exclusions(test.qrels, catalogs, CATALOG)
    return ScoreTables(
        query_scores=by_query,
        group_scores=by_group,
        system_scores=by_system.drop("reason"),
        comparisons=_compared(enough, families, rules, seed),
        catalog_scores=_with_intervals(catalog_groups, catalog_excluded, rules, seed, CATALOG).drop("reason"),
        catalog_comparisons=_compared(catalog_groups, families, rules, seed, CATALOG),
        excluded=excluded,
        reasons=by_system["reason"].drop_nulls().unique().sort().to_list(),
    )


def _resting_on_enough(groups: pl.DataFrame, least: int, per: Sequence[str] = ()) -> pl.DataFrame:
    """The rows of ``group_scores`` of the levels, and strata of ``per``, with at least so many queries."""
    of = ["system", *per, "level", "measure"]
    return groups.filter(pl.col("queries").sum().over(of) >= least) if least > 1 else groups


def _with_intervals(
    groups: pl.DataFrame, excluded: pl.DataFrame, rules: EvaluationSpec, seed: int, per: Sequence[str] = ()
) -> pl.DataFrame:
    """Macro means with their intervals, and beside each how many units and groups are behind it and how many left out."""
    intervals = significance.system_intervals(
        groups, seed=seed, resamples=rules.resamples, confidence=rules.confidence, per=per
    )
    return (
        aggregate.macro_means(groups, per)
        .join(intervals, on=["system", *per, "level", "measure"], how="left", maintain_order="left")
        .join(excluded, on=[*per, "level"], how="left", maintain_order="left")
    )


def _compared(
    groups: pl.DataFrame,
    families: Mapping[str, Sequence[tuple[str, str]]],
    rules: EvaluationSpec,
    seed: int,
    per: Sequence[str] = (),
) -> pl.DataFrame:
    merits = groups.filter(~pl.col("measure").str.starts_with("judged@"))
    return significance.comparisons(
        merits, families, seed=seed, resamples=rules.resamples, confidence=rules.confidence, per=per
    )
