"""Which passages validation ranks where a query may be answered from the whole corpus.

The best step is chosen by ranking again and again, every so many steps. To embed a large corpus each time would cost more
than the training: 62,594 passages every 56 steps are several times the texts of those steps. What decides nDCG@10 is the
top of the ranking, so validation ranks the passages of its own groups, all that was judged for its queries, and what BM25
ranks within a depth for each query: the answers among their hardest rivals. The figure is a little higher than over the
whole corpus, and compares steps of one training all the same; what a system is worth is measured over the whole corpus, by
the evaluation. Passages of test groups that were not judged for a validation query are left out: no step is chosen by them.
"""

import polars as pl

from tendril_assets.evaluation.ranking import Scope
from tendril_assets.qrels.splits import VALIDATION
from tendril_assets.training.mining import Rank


def validation_passages(
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    splits: pl.DataFrame,
    tests: tuple[str, ...],
    rank: Rank,
    depth: int,
) -> pl.Series:
    """Ids of the passages that validation ranks, sorted.

    Args:
        queries: ``query_id``, ``text`` of the validation queries.
        qrels: ``query_id``, ``passage_id`` of what was judged for them.
        corpus: ``passage_id``, ``group_id``, ``text`` of the whole corpus.
        splits: a ``splits`` frame.
        tests: splits that are left out.
        rank: ranks scopes.
        depth: passages that BM25 adds per query.
    """
    placed = corpus.join(splits, on="group_id", how="left").filter(
        pl.col("split").is_null() | ~pl.col("split").is_in(list(tests))
    )
    own = placed.filter(pl.col("split") == VALIDATION)["passage_id"]
    judged = qrels.join(queries, on="query_id", how="semi")["passage_id"]
    asked = queries.select("query_id", pl.lit("").alias("group_id"), "text").unique("query_id").sort("query_id")
    ranked = placed.select("passage_id", "text").sort("passage_id", descending=True)
    run = rank([Scope(ranked, asked)] if asked.height and ranked.height else [], depth)
    rivals = run.filter(pl.col("score") > 0)["passage_id"]
    return pl.concat([own, judged, rivals]).unique().sort()
