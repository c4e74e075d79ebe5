"""Negatives mined for the training questions, and the pairs that training examples are made of, by policy."""

import json
from collections.abc import Iterator, Sequence

import dagster as dg
import polars as pl

from tendril_assets.assets.common import store, table_assets
from tendril_assets.assets.fixed_splits import query_groups
from tendril_assets.evaluation import bm25
from tendril_assets.evaluation.collection import frame_hash
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.qrels.leakage import leaking
from tendril_assets.qrels.neighbours import body
from tendril_assets.qrels.splits import TRAIN, in_own_groups
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.frames import content_hash
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.mining import (
    MINING_VERSION,
    MiningRule,
    Rank,
    mine_negatives,
    mined_by_reason,
    mined_pairs,
)
from tendril_assets.training.pools import judged_pairs

MINED = "mined_negatives"
_MADE_FROM = "mined_from"
_INPUTS = ("qrels", "corpus", "queries", "splits", "leakage", "passages")


def bm25_ranking(spec: CollectionSpec) -> Rank:
    """BM25 with the parameters of the evaluation, as mining and validation use it."""

    def rank(scopes: Sequence[Scope], depth: int) -> pl.DataFrame:
        return bm25.rank_bm25(scopes, spec.evaluation.bm25, depth)

    return rank


def mined_negatives_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    """qrels, splits, leakage -> mined_negatives; kept where nothing that they come from has changed."""
    collection = spec.collection

    @table_assets(
        spec,
        [MINED],
        deps=[*_INPUTS, "split_sizes", *(["project_queries"] if spec.registers else [])],
        pool="cpu",
        version=MINING_VERSION,
    )
    def write_mined_negatives(
        context: dg.AssetExecutionContext, warehouse: Warehouse
    ) -> Iterator[dg.MaterializeResult]:
        positives = positive_pairs(warehouse, spec)
        made_from = _made_from(warehouse, spec, positives)
        queries = warehouse.load(collection, "queries", ["query_id", "level", "text"])
        if warehouse.meta_get(collection, _MADE_FROM) == made_from and warehouse.exists(collection, MINED):
            mined = warehouse.load(collection, MINED)
            context.log.info("no question, passage or grade has changed: what was mined holds")
        else:
            mined = _mine(warehouse, spec, positives, queries)
            # Unset while the table is written, so that a run cut off in between leaves nothing that looks current.
            warehouse.meta_set(collection, _MADE_FROM, "")
        reasons = mined_by_reason(mined, queries)
        metadata = {"by_reason": dg.MetadataValue.md(markdown_table(reasons.columns, reasons.rows()))}
        yield from store(context, warehouse, spec, {MINED: mined}, {MINED: metadata})
        warehouse.meta_set(collection, _MADE_FROM, made_from)

    return write_mined_negatives


def _mine(warehouse: Warehouse, spec: CollectionSpec, positives: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    collection = spec.collection
    asked = positives.filter("is_positive", pl.col("reason").is_null()).select("query_id", "group_id").unique()
    splits = warehouse.load(collection, "splits")
    places = warehouse.load(collection, "passages", ["passage_id", "position"]).unique("passage_id")
    trained = (
        warehouse.load(collection, "corpus")
        .join(splits.filter(pl.col("split") == TRAIN), on="group_id", how="semi")
        .join(places, on="passage_id", how="left")
        .sort("passage_id")
    )
    compared = [body(text) for text in trained["text"]] if has_headings(spec) else trained["text"]
    return mine_negatives(
        asked.join(queries, on="query_id").sort("query_id", "group_id"),
        warehouse.load(collection, "qrels", ["query_id", "passage_id", "score"]).filter(pl.col("score") > 0),
        trained.with_columns(compared=pl.Series(compared, dtype=pl.String)),
        leaking(warehouse.load(collection, "leakage")),
        mining_rule(spec),
        bm25_ranking(spec),
        spec.examples.mined_depth,
    )


def has_headings(spec: CollectionSpec) -> bool:
    """Whether the first line of a passage is a heading, which all passages of a section have alike."""
    return spec.chunking.policy == "clauses" and spec.chunking.heading


def mining_rule(spec: CollectionSpec) -> MiningRule:
    """What counts as a repeat of an answer: what earns a neighbour its grade, else what makes near-duplicates."""
    near_duplicate = spec.filters.near_duplicate
    return MiningRule(near_duplicate, spec.qrels.neighbour_overlap or near_duplicate.threshold)


def _made_from(warehouse: Warehouse, spec: CollectionSpec, positives: pl.DataFrame) -> str:
    """What determines the table: its inputs, by content, and the rules."""
    read = [content_hash(TABLES[name], warehouse.load(spec.collection, name)) for name in _INPUTS]
    rule = mining_rule(spec)
    rules = {
        "mining": MINING_VERSION,
        "bm25": spec.evaluation.bm25.model_dump(mode="json"),
        "tokeniser": bm25.TOKENISER_VERSION,
        "near_duplicate": rule.near_duplicate.model_dump(mode="json", exclude={"guard", "drop"}),
        "share": rule.share,
        "depth": spec.examples.mined_depth,
        "headings": has_headings(spec),
        "asked": frame_hash(positives.filter("is_positive").select("query_id", "group_id", "reason").sort(pl.all())),
    }
    return json.dumps([rules, read], sort_keys=True)


def positive_pairs(warehouse: Warehouse, spec: CollectionSpec) -> pl.DataFrame:
    """``pools.judged_pairs`` of the queries that are trained on: of the trained levels and, where a query belongs to a group
    of its own, of those of training groups."""
    collection = spec.collection
    qrels, corpus, queries, splits, leakage = (
        warehouse.load(collection, name) for name in ("qrels", "corpus", "queries", "splits", "leakage")
    )
    untrained = queries.filter(~pl.col("level").is_in(list(spec.trained_subsets))).select("query_id")
    qrels = qrels.join(untrained, on="query_id", how="anti")
    if spec.registers:
        train = splits.filter(pl.col("split") == TRAIN)
        qrels = qrels.join(
            query_groups(warehouse, collection).join(train, on="group_id", how="semi"), on="query_id", how="semi"
        )
    return judged_pairs(qrels, corpus, queries, splits, leaking(leakage), spec.training.positive_grade)


def training_pairs(warehouse: Warehouse, spec: CollectionSpec) -> pl.DataFrame:
    """What training examples are chosen from: the judged pairs, or the positives among them and what was mined."""
    pairs = positive_pairs(warehouse, spec)
    if spec.examples.negatives == "judged":
        return pairs
    return mined_pairs(pairs, warehouse.load(spec.collection, MINED), warehouse.load(spec.collection, "corpus"))


def validation_qrels(warehouse: Warehouse, spec: CollectionSpec) -> pl.DataFrame:
    """The grades that validation measures by: those of the trained levels, each in the group that its query belongs to."""
    collection = spec.collection
    queries = warehouse.load(collection, "queries", ["query_id", "level"])
    untrained = queries.filter(~pl.col("level").is_in(list(spec.trained_subsets)))
    qrels = warehouse.load(collection, "qrels").join(untrained, on="query_id", how="anti")
    if not spec.registers:
        return qrels
    return in_own_groups(qrels, query_groups(warehouse, collection)).filter(pl.col("group_id").is_not_null())
