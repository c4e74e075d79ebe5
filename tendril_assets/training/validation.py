"""Balanced nDCG@10 on the validation groups: the figure the best step is chosen by.

Ranked and measured by the same code as the test collection, in the same scope: query -> mean within its group -> mean
over groups (macro), once per subset; the balanced value is the plain mean of the subsets, so that a level with many
queries does not outvote the other.
"""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation import aggregate
from tendril_assets.evaluation.dense import Encoder, rank_dense
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.evaluation.ranking import scopes
from tendril_assets.training.examples import ExchangeSet

MEASURE = "ndcg@10"
BALANCED = f"balanced_{MEASURE}"
_DEPTH = 10


def levels_without_relevant(qrels: pl.DataFrame, queries: pl.DataFrame, subsets: Sequence[str]) -> list[str]:
    """Subsets without a single relevant passage in ``qrels`` (query_id, score): no mean can be taken over them."""
    found = set(qrels.filter(pl.col("score") > 0).join(queries, on="query_id")["level"])
    return [name for name in subsets if name not in found]


class Validation:
    """The validation set, ready to be scored again and again.

    Raises:
        TrainingError: a subset has no query with a relevant passage, so that the balanced value is undefined.
    """

    def __init__(
        self, exchange: ExchangeSet, subsets: Sequence[str], scope: Literal["group", "collection"] = "group"
    ) -> None:
        missing = levels_without_relevant(exchange.qrels, exchange.queries, subsets)
        if missing:
            raise TrainingError(
                f"no relevant passage in the validation groups for {', '.join(missing)}: the best step is chosen by the "
                "mean over all levels. Hold out more groups (splits.validation_share) or judge more"
            )
        self._subsets = tuple(subsets)
        self._qrels = exchange.qrels
        self._queries = exchange.queries
        self._scopes = scopes(exchange.queries, exchange.corpus, exchange.qrels, scope)

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
