"""The qrels: accepted grades, refused as long as requests are open."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.judging import completeness
from tendril_assets.assets.routed_qrels import routed_qrels
from tendril_assets.assets.shown import label_pictures
from tendril_assets.qrels.assemble import assemble, require_complete
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec


def qrels_assets(spec: CollectionSpec) -> Stage:
    """judgments -> qrels; where grades come by several routes, with the evidence of each."""
    return routed_qrels(spec) if spec.registers else _judged_qrels(spec)


def _judged_qrels(spec: CollectionSpec) -> Stage:
    """Every grade is the judge's."""
    collection = spec.collection

    @table_assets(spec, ["qrels"], deps=["judgments", "candidates", "judge_calls"])
    def write_qrels(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        """The check upstream blocks too; this holds where the asset is materialised by itself."""
        state = completeness(warehouse, spec)
        require_complete(
            state["n_open"], state["requests"], allow_incomplete=spec.judge.allow_incomplete, where=collection
        )
        judgments = warehouse.load(collection, "judgments")
        qrels = assemble(judgments)
        grades = qrels.select(pl.col("score").cast(pl.String))
        metadata = {
            "by_score": counts(grades, "score"),
            "not_accepted": judgments.height - qrels.height,
            "open_requests": state["n_open"],
        }
        yield from store(context, warehouse, spec, {"qrels": qrels}, {"qrels": metadata}, {"qrels": label_pictures})

    @table_check(
        spec,
        "qrels",
        "qrels_match_judgments",
        description="Each qrel is the grade of an accepted judgment, and each accepted judgment is a qrel.",
    )
    def qrels_match_judgments(warehouse: Warehouse) -> dg.AssetCheckResult:
        differing = warehouse.frame(collection, query("qrels/mismatches"))
        return dg.AssetCheckResult(
            passed=differing.is_empty(),
            metadata={"differing": differing.height, "examples": str(differing.head(20).rows())},
        )

    return Stage([write_qrels], [qrels_match_judgments])
