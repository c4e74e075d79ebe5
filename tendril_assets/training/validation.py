"""Balanced nDCG@10 on the validation groups: the figure the best step is chosen by.

Ranked and measured by the same code as the test collection, in the same scope: query -> mean within its group -> mean
over groups (macro), once per subset; the balanced value is the plain mean of the subsets, so that a level with many
queries does not outvote the other.
"""

from collections.abc import Sequence

import polars as pl

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation import aggregate
from tendril_assets.evaluation.collection import Reach, judged_collection
from tendril_assets.evaluation.dense import Encoder, rank_dense
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.training.examples import ExchangeSet

MEASURE = "ndcg@10"
BALANCED = f"balanced_{MEASURE}"
_DEPTH = 10


def require_levels(exchange: ExchangeSet, subsets: Sequence[str]) -> None:
    """Raise TrainingError where a subset has no relevant passage in the validation groups: it has no mean then."""
    found = set(exchange.qrels.filter(pl.col("score") > 0).join(exchange.queries, on="query_id")["level"])
    missing = [name for name in subsets if name not in found]
    if missing:
        raise TrainingError(
            f"no relevant passage in the validation groups for {', '.join(missing)}: the best step is chosen by the "
            "mean over all levels. Hold out more groups (splits.validation_share) or judge more"
        )


class Validation:
    """The validation set, ready to be scored again and again.

    Raises:
        TrainingError: see ``require_levels``.
    """

    def __init__(self, exchange: ExchangeSet, subsets: Sequence[str], reach: Reach = "group") -> None:
        require_levels(exchange, subsets)
        self._subsets = tuple(subsets)
        self._queries = exchange.queries
        judged = judged_collection(exchange.corpus, exchange.queries, exchange.qrels, reach)
        self._qrels, self._scopes = judged.qrels, judged.scopes

    def sizes(self) -> dict[str, dict[str, int]]:
        """Per subset what its mean is over: ``groups``, and ``queries`` counted once in each group where one has a
        relevant passage."""
        relevant = self._qrels.filter(pl.col("score") > 0).select("query_id", "group_id").unique()
        counted = relevant.join(self._queries, on="query_id").group_by("level")
        rows = counted.agg(pl.col("group_id").n_unique(), pl.len()).iter_rows()
        found = {level: {"groups": groups, "queries": queries} for level, groups, queries in rows}
        return {name: found[name] for name in self._subsets}

    def score(self, encoder: Encoder) -> dict[str, float]:
        """``balanced_ndcg@10`` and ``ndcg@10:<subset>`` of each subset, as ``learning_curves`` names them."""
        return self.measure(rank_dense(self._scopes, encoder, _DEPTH))

    def measure(self, run: pl.DataFrame) -> dict[str, float]:
        """The same for a run (query_id, passage_id, group_id, score)."""
        scores = aggregate.with_levels(score_queries(run, self._qrels, [MEASURE]), self._queries)
        means = dict(aggregate.macro_means(aggregate.group_scores(scores)).select("level", "value").iter_rows())
        return {BALANCED: aggregate.balanced(scores, MEASURE, self._subsets)} | {
            f"{MEASURE}:{name}": means[name] for name in self._subsets
        }
