"""Splits of the groups, and the training passages that repeat held-out text."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.duplicates import load_index
from tendril_assets.qrels.leakage import find_leakage
from tendril_assets.qrels.splits import TRAIN, VALIDATION, assign_splits
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec


def splits_assets(spec: CollectionSpec) -> Stage:
    """qrels -> splits -> leakage."""
    collection = spec.collection

    @table_assets(spec, ["splits"], deps=["qrels"])
    def write_splits(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        groups = warehouse.load(collection, "qrels", ["group_id"])["group_id"].unique()
        splits = assign_splits(groups, spec.splits, spec.seed)
        yield from store(
            context, warehouse, spec, {"splits": splits}, {"splits": {"by_split": counts(splits, "split")}}
        )

    @table_assets(
        spec,
        ["leakage"],
        deps=["splits", "corpus", "test_corpus", "passage_texts", "similar_texts"],
        pool="cpu",
        version="2",
    )
    def write_leakage(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        splits = warehouse.load(collection, "splits")
        leakage = find_leakage(load_index(warehouse, collection), splits)
        training = splits.filter(split=TRAIN).join(warehouse.load(collection, "corpus", ["group_id"]), on="group_id")
        metadata = {
            "by_cause": counts(leakage, "cause_set"),
            "leaking_passages": leakage["passage_id"].n_unique(),
            "training_passages": training.height,
        }
        yield from store(context, warehouse, spec, {"leakage": leakage}, {"leakage": metadata})

    @table_check(
        spec,
        "splits",
        "each_group_in_one_split",
        description="Every group with qrels is in exactly one split, and with two groups or more none is empty.",
    )
    def each_group_in_one_split(warehouse: Warehouse) -> dg.AssetCheckResult:
        splits = warehouse.load(collection, "splits")
        groups = warehouse.load(collection, "qrels", ["group_id"])["group_id"].unique()
        twice = splits.filter(splits["group_id"].is_duplicated())["group_id"].unique().sort().to_list()
        differing = sorted(set(groups) ^ set(splits["group_id"]))
        expected = {TRAIN, VALIDATION} if len(groups) > 1 else set(splits["split"])
        return dg.AssetCheckResult(
            passed=not twice and not differing and set(splits["split"]) == expected,
            metadata={"in_two_splits": str(twice[:20]), "missing_or_unknown": str(differing[:20])},
        )

    return Stage([write_splits, write_leakage], [each_group_in_one_split])
