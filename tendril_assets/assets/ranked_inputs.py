"""The test collection as files, for the systems that rank it: landed, or held out of the collection itself."""

from typing import Any, NamedTuple

import polars as pl

from tendril_assets.assets.common import counts
from tendril_assets.evaluation.held_out import held_out
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

LANDED = ("test_corpus", "test_queries", "test_qrels")
_GENERATED = "generated_questions"


class RankedInputs(NamedTuple):
    """Corpus, queries and qrels as ``evaluation.collection`` wants them, and what is told of them beside."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame
    told: dict[str, Any]


def needed_tables(spec: CollectionSpec) -> tuple[str, ...]:
    """The tables that the test collection is read from."""
    if spec.evaluation.test == "landed":
        return LANDED
    return ("corpus", "queries", "project_queries", "qrels", "splits", *([_GENERATED] if _generates(spec) else []))


def read_test(warehouse: Warehouse, spec: CollectionSpec) -> RankedInputs:
    """The external test tables, or the corpus with the queries of its held-out and validation groups."""
    collection = spec.collection
    if spec.evaluation.test == "landed":
        corpus, queries, qrels = (warehouse.load(collection, name) for name in LANDED)
        return RankedInputs(corpus, queries, qrels, {})
    written = warehouse.load(collection, _GENERATED, ["query_id", "status"]) if _generates(spec) else None
    found = held_out(
        warehouse.load(collection, "queries"),
        warehouse.load(collection, "qrels"),
        warehouse.load(collection, "project_queries", ["query_id", "group_id"]),
        warehouse.load(collection, "splits"),
        spec.splits.test,
        [] if written is None else written["query_id"].drop_nulls().unique().sort().to_list(),
    )
    told = {
        "queries_by_split": counts(found.queries.with_columns(pl.col("split").fill_null("no group")), "split"),
        "queries_of_training_and_other_groups": len(found.mixed),
    }
    qrels = found.qrels.select("query_id", "passage_id", "score")
    return RankedInputs(warehouse.load(collection, "corpus"), found.queries, qrels, told)


def _generates(spec: CollectionSpec) -> bool:
    return spec.registers is not None and spec.registers.generation is not None
