"""The score tables of all systems from their rankings: queries, groups, systems, comparisons."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.evaluation import aggregate, significance
from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.evaluation.metrics import Judgments
from tendril_assets.spec import EvaluationSpec

BASELINE = "bm25"


class ScoreTables(NamedTuple):
    """Rows of the four score tables; ``excluded`` has level and excluded; ``reasons`` say why intervals are empty."""

    query_scores: pl.DataFrame
    group_scores: pl.DataFrame
    system_scores: pl.DataFrame
    comparisons: pl.DataFrame
    excluded: pl.DataFrame
    reasons: list[str]


def score_tables(
    runs: pl.DataFrame, test: JudgedCollection, models: Sequence[str], rules: EvaluationSpec, seed: int
) -> ScoreTables:
    """``runs`` are rows of ``retrieval_runs`` of BM25 and of ``<model>_base`` and ``<model>_tuned`` for each model.

    Each fine-tuned model is compared with its base and with BM25; Holm corrects each of the two questions over the
    models, per measure and level. judged@k, which is no merit of a system, is not compared.
    """
    systems = [BASELINE, *(f"{m}_{kind}" for kind in ("base", "tuned") for m in models)]
    options = {"seed": seed, "resamples": rules.resamples, "confidence": rules.confidence}
    judgments = Judgments(test.qrels)
    scored = []
    for system in systems:
        run = judgments.place(runs.filter(pl.col("system") == system))
        scored.append(judgments.score(run, rules.measures).select(pl.lit(system).alias("system"), pl.all()))
    by_query = aggregate.with_levels(pl.concat(scored), test.queries)
    by_group = aggregate.group_scores(by_query)
    intervals = significance.system_intervals(by_group, **options)
    excluded = aggregate.exclusions(test.qrels, test.queries)
    by_system = (
        aggregate.macro_means(by_group)
        .join(intervals, on=["system", "level", "measure"], how="left", maintain_order="left")
        .join(excluded, on="level", how="left", maintain_order="left")
    )
    families = {
        "base": [(f"{m}_tuned", f"{m}_base") for m in models],
        "bm25": [(f"{m}_tuned", BASELINE) for m in models],
    }
    compared = by_group.filter(~pl.col("measure").str.starts_with("judged@"))
    return ScoreTables(
        by_query,
        by_group,
        by_system.drop("reason"),
        significance.comparisons(compared, families, **options),
        excluded,
        by_system["reason"].drop_nulls().unique().sort().to_list(),
    )
