"""The test inside the collection: the queries of held-out groups, against the whole corpus.

The groups of the test splits are never trained on, and every system ranks all passages, those of training groups among
them: whoever searches searches in all. The queries of the validation split are ranked too, for stages of a recipe are
accepted by them, and are no part of any test figure. Queries of training groups are not ranked at all.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.qrels.splits import TRAIN, VALIDATION


class HeldOut(NamedTuple):
    """``queries`` has query_id, text, level, catalog, area, group_id, split and generated; ``qrels`` are theirs.

    ``group_id`` and ``split`` are null for a query that belongs to no group; it is held out, for nothing trains on it.
    ``mixed`` are the queries left out because one of their groups is trained on.
    """

    queries: pl.DataFrame
    qrels: pl.DataFrame
    mixed: list[str]


def held_out(
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    query_groups: pl.DataFrame,
    splits: pl.DataFrame,
    tests: Sequence[str],
    generated: Sequence[str],
) -> HeldOut:
    """The queries that are ranked, and their judgments.

    A query of several groups counts in the one that holds most of its relevant passages, of equal ones in the lowest.

    Args:
        queries: table ``queries``.
        qrels: table ``qrels``.
        query_groups: ``query_id``, ``group_id`` of the groups each query belongs to.
        splits: ``group_id``, ``split``.
        tests: names of the test splits.
        generated: ids of the queries that a language model wrote.
    """
    relevant = qrels.filter(pl.col("score") >= 1).group_by("query_id", "group_id").agg(relevant=pl.len())
    placed = (
        query_groups.select("query_id", "group_id")
        .unique()
        .join(splits.select("group_id", "split"), on="group_id", how="left")
        .join(relevant, on=["query_id", "group_id"], how="left")
        .with_columns(pl.col("relevant").fill_null(0))
        .sort("query_id", "relevant", "group_id", descending=[False, True, False])
    )
    trained = placed.filter(pl.col("split") == TRAIN)["query_id"].unique()
    outside = placed.filter(~pl.col("split").is_in([*tests, VALIDATION]).fill_null(value=False))["query_id"].unique()
    home = placed.unique("query_id", keep="first", maintain_order=True).select("query_id", "group_id", "split")
    kept = (
        queries.filter(~pl.col("query_id").is_in(outside.implode()))
        .join(home, on="query_id", how="left", maintain_order="left")
        .with_columns(generated=pl.col("query_id").is_in(pl.Series(generated, dtype=pl.String).implode()))
    )
    elsewhere = placed.filter(pl.col("split").is_in([*tests, VALIDATION]))["query_id"]
    mixed = sorted(set(trained) & set(elsewhere))
    return HeldOut(kept, qrels.join(kept, on="query_id", how="semi", maintain_order="left"), mixed)


def under_test(test: JudgedCollection) -> JudgedCollection:
    """The collection without the queries of the validation split: what test figures are over. A collection whose queries
    name no split is as it was.
    """
    return _restricted(test, pl.col("split").ne_missing(VALIDATION))


def under_validation(test: JudgedCollection) -> JudgedCollection:
    """The queries of the validation split alone: what stages of a recipe are accepted by."""
    return _restricted(test, pl.col("split").eq_missing(VALIDATION))


def _restricted(test: JudgedCollection, kept: pl.Expr) -> JudgedCollection:
    if "split" not in test.queries.columns:
        return test
    queries = test.queries.filter(kept)
    return test._replace(
        queries=queries, qrels=test.qrels.join(queries, on="query_id", how="semi", maintain_order="left")
    )
