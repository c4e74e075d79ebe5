"""Training examples, and the files that hand them to the training process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.qrels.leakage import leaks_left
from tendril_assets.qrels.splits import TRAIN, groups_of
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.training.examples import ExchangeSet, build_examples, exchange_set
from tendril_assets.training.job import data_hash
from tendril_assets.training.validation import require_levels


def _exchange_name(part: str) -> str:
    return f"training_{part}"


def exchange_files(spec: CollectionSpec, artifacts: Artifacts) -> dict[str, Path]:
    """Hand-over file of each part of ``ExchangeSet``."""
    return {part: artifacts.exchange(spec.collection, _exchange_name(part)) for part in ExchangeSet._fields}


def examples_assets(spec: CollectionSpec) -> Stage:
    """splits, leakage -> training_examples."""
    return Stage([_examples_asset(spec)], _checks(spec))


def _examples_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(spec, ["training_examples"], deps=["qrels", "corpus", "queries", "splits", "leakage"])
    def write_training_examples(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        qrels, corpus, queries, splits = (
            warehouse.load(collection, table) for table in ("qrels", "corpus", "queries", "splits")
        )
        leaked = set(warehouse.load(collection, "leakage", ["passage_id"])["passage_id"])
        examples = build_examples(qrels, corpus, queries, splits, leaked, spec.training, spec.seed)
        metadata: dict[str, Any] = {
            "used_by_level": counts(examples.filter("used"), "level"),
            "by_reason": counts(examples, "reason"),
        }
        if spec.models:  # a collection that only publishes data needs no validation set
            exchange = exchange_set(
                examples, qrels, corpus, queries, splits, whole_corpus=spec.evaluation.scope == "collection"
            )
            require_levels(exchange, spec.subsets)
            for part, frame in exchange._asdict().items():
                artifacts.write_frame(collection, _exchange_name(part), frame)
            metadata |= {
                "validation_queries": exchange.queries.height,
                "validation_passages": exchange.corpus.height,
                "data_hash": data_hash(exchange),
            }
        yield from store(context, warehouse, spec, {"training_examples": examples}, {"training_examples": metadata})

    return write_training_examples


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "training_examples",
        "no_leak_in_training",
        description="No example in use holds a passage that repeats validation or test text.",
    )
    def no_leak_in_training(warehouse: Warehouse) -> dg.AssetCheckResult:
        left = leaks_left(warehouse.load(collection, "training_examples"), warehouse.load(collection, "leakage"))
        return dg.AssetCheckResult(
            passed=left.is_empty(), metadata={"examples_with_leak": left.height, "first": str(left.head(20).rows())}
        )

    @table_check(
        spec,
        "training_examples",
        "only_training_groups",
        description="Every example comes from a group of the training split.",
    )
    def only_training_groups(warehouse: Warehouse) -> dg.AssetCheckResult:
        train = groups_of(warehouse.load(collection, "splits"), TRAIN)
        foreign = warehouse.load(collection, "training_examples", ["group_id"]).filter(~pl.col("group_id").is_in(train))
        return dg.AssetCheckResult(
            passed=foreign.is_empty(), metadata={"groups": str(foreign["group_id"].unique().sort().head(20).to_list())}
        )

    return [no_leak_in_training, only_training_groups]
