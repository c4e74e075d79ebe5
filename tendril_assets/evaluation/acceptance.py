"""Each stage of a recipe has to earn its place: on the validation queries, against the stage before it.

A recipe adds one thing after another: a model, its fine-tuning, the fusion with BM25, a reranker. A stage is accepted where
it raises nDCG@10 by more than chance: the interval of the paired difference over the validation groups lies above zero. The
test queries have no part in it, so what is accepted is tested on queries that nothing was chosen by. A stage that is not
accepted stays in the tables; it is told, and whoever puts the recipe to use leaves it out.

The stage before:

``base``      a model as published: BM25
``tuned``     the same model as published
``hybrid``    of the systems it fuses the one that ranks the validation queries best: to beat a poor part is nothing gained
``reranked``  the system that it reorders, or a part of that one which ranks them better still
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tendril_assets.evaluation.aggregate import group_scores
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.evaluation.significance import Bootstrap, Interval, SignFlips
from tendril_assets.spec_evaluation import ALL, EvaluationSpec
from tendril_assets.tables import TABLES

MEASURE = "ndcg@10"
BASE, TUNED, HYBRID, RERANKED = "base", "tuned", "hybrid", "reranked"
_TRAINED = "trained"
# With so few groups an interval may be much too narrow, whatever it says: the sign-flip test tells more then.
_FEW = 6


class RecipeStage(NamedTuple):
    """A ranked system as a stage of the recipe, and the systems it is made of: the best of them is the stage before."""

    system: str
    stage: str
    made_of: tuple[str, ...]


def recipe_stages(models: Sequence[str], rules: EvaluationSpec, start: str) -> list[RecipeStage]:
    """The stages of every model, hybrid and reranked system, in the order of the work; ``start`` is what all begin with."""
    found = [RecipeStage(f"{model}_base", BASE, (start,)) for model in models]
    found += [RecipeStage(f"{model}_tuned", TUNED, (f"{model}_base",)) for model in models]
    found += [RecipeStage(name, HYBRID, tuple(hybrid.of)) for name, hybrid in rules.hybrids.items()]
    fused = {name: tuple(hybrid.of) for name, hybrid in rules.hybrids.items()}
    reranked = rules.reranked.items()
    return [*found, *(RecipeStage(name, RERANKED, (one.of, *fused.get(one.of, ()))) for name, one in reranked)]


def stage_acceptance(
    stages: Sequence[RecipeStage], runs: pl.DataFrame, qrels: pl.DataFrame, rules: EvaluationSpec, seed: int
) -> pl.DataFrame:
    """A ``stage_acceptance`` frame, in the order of ``stages``.

    Args:
        stages: what is compared with what.
        runs: rows of ``retrieval_runs``, of every system named; rankings of other queries are ignored.
        qrels: query_id, passage_id, group_id, score of the validation queries.
        rules: number of resamples and confidence.
        seed: the collection's seed, which names the draws.
    """
    named = dict.fromkeys(name for stage in stages for name in (*stage.made_of, stage.system))
    by_system = {system: _by_group(runs.filter(pl.col("system") == system), qrels) for system in named}
    return TABLES["stage_acceptance"].frame(list(_rows(stages, by_system, rules, seed)))


def _by_group(run: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """group_id, value, queries: mean of each group that has a query with a relevant passage, ordered by group."""
    scores = score_queries(run, qrels, [MEASURE])
    # One figure over all levels: those that are trained on are what the caller gives.
    means = group_scores(scores.with_columns(level=pl.lit(_TRAINED))).filter(pl.col("level") == ALL)
    return means.select("group_id", "value", "queries").sort("group_id")


def _rows(
    stages: Sequence[RecipeStage], by_system: Mapping[str, pl.DataFrame], rules: EvaluationSpec, seed: int
) -> Iterator[tuple]:
    for stage in stages:
        # Of equal ones the first named.
        before = max(stage.made_of, key=lambda system: by_system[system]["value"].mean() or 0.0)
        mine, former = by_system[stage.system], by_system[before]
        n_groups, queries = mine.height, int(mine["queries"].sum())
        if not n_groups:
            nothing = "no validation query has a relevant passage"
            yield stage.system, stage.stage, before, MEASURE, *[None] * 7, 0, 0, False, nothing
            continue
        values, others = (frame["value"].to_numpy()[:, None] for frame in (mine, former))
        tested = Bootstrap(n_groups, rules.resamples, seed).paired(values, others, rules.confidence)[0]
        flipped = SignFlips(n_groups, rules.resamples, seed).p(values - others)[0]
        low, high, _ = tested.interval
        means = (float(np.mean(values)), float(np.mean(others)))
        accepted = low is not None and low > 0
        told = _told(tested.difference, tested.interval, before, n_groups, flipped)
        figures = (*means, tested.difference, low, high, tested.p, flipped, n_groups, queries)
        yield stage.system, stage.stage, before, MEASURE, *figures, accepted, told


def _told(difference: float, interval: Interval, before: str, n_groups: int, flipped: float | None) -> str:
    if interval.low is None or interval.high is None:
        return f"{difference:+.4f} against {before} in a single group: that is no evidence"
    ends = f"[{interval.low:+.4f}, {interval.high:+.4f}]"
    if interval.low <= 0:
        word = "does not raise" if difference <= 0 else "is not shown to raise"
        return f"{word} {MEASURE} of {before}: {difference:+.4f} {ends}"
    few = (
        f"; only {n_groups} groups, by sign flips p = {flipped:.3f}" if n_groups < _FEW and flipped is not None else ""
    )
    return f"raises {MEASURE} of {before} by {difference:.4f} {ends}{few}"
