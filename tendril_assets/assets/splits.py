"""Splits of the groups, what they hold of each level, and the passages that repeat held-out text."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.duplicates import load_index
from tendril_assets.qrels.leakage import find_leakage, groups_under_test, leaking
from tendril_assets.qrels.splits import TRAIN, VALIDATION, assign_splits, groups_of, split_sizes, too_few
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_SHOWN = 20


def splits_assets(spec: CollectionSpec) -> Stage:
    """qrels -> splits, split_sizes -> leakage."""
    return Stage([_splits(spec), _leakage(spec)], _checks(spec))


def _splits(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(spec, ["splits", "split_sizes"], deps=["qrels", "queries"], version="2")
    def write_splits(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        qrels = warehouse.load(collection, "qrels")
        splits = assign_splits(qrels["group_id"].unique(), spec.splits, spec.seed)
        sizes = split_sizes(splits, qrels, warehouse.load(collection, "queries", ["query_id", "level"]), spec.subsets)
        metadata = {
            "splits": {"by_split": counts(splits, "split"), "policy": spec.splits.policy},
            "split_sizes": {"sizes": dg.MetadataValue.md(markdown_table(sizes.columns, sizes.rows()))},
        }
        yield from store(context, warehouse, spec, {"splits": splits, "split_sizes": sizes}, metadata)

    return write_splits


def _leakage(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(
        spec,
        ["leakage"],
        deps=["splits", "corpus", "test_corpus", "passage_texts", "similar_texts"],
        pool="cpu",
        version="3",
    )
    def write_leakage(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        splits = warehouse.load(collection, "splits")
        leakage = find_leakage(load_index(warehouse, collection), splits)
        passages = warehouse.load(collection, "corpus", ["group_id"]).join(splits, on="group_id")
        selecting = leakage.filter(split=VALIDATION)
        metadata = {
            "by_cause": counts(leakage.filter(split=TRAIN), "cause_set"),
            "leaking_passages": len(leaking(leakage)),
            "training_passages": passages.filter(split=TRAIN).height,
            "validation_passages_repeating_test": selecting["passage_id"].n_unique(),
            "validation_passages": passages.filter(split=VALIDATION).height,
        }
        yield from store(context, warehouse, spec, {"leakage": leakage}, {"leakage": metadata})

    return write_leakage


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

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
            metadata={"in_two_splits": str(twice[:_SHOWN]), "missing_or_unknown": str(differing[:_SHOWN])},
        )

    @table_check(
        spec,
        "splits",
        "no_test_group_in_splits",
        description="No project of the external test collection is trained on or validated on.",
    )
    def no_test_group_in_splits(warehouse: Warehouse) -> dg.AssetCheckResult:
        found = groups_under_test(
            warehouse.load(collection, "splits"),
            warehouse.load(collection, "sampled_projects", ["project", "group_id"]),
            warehouse.load(collection, "test_projects", ["project"])["project"],
            warehouse.load(collection, "test_corpus", ["group_id"])["group_id"],
        )
        return dg.AssetCheckResult(passed=not found, metadata={"groups": str(found[:_SHOWN])})

    # A collection that trains no model needs no validation set, so there a small one is told and stops nothing.
    blocking = bool(spec.models)

    @table_check(
        spec,
        "split_sizes",
        "validation_holds_every_level",
        description=f"At least {spec.splits.min_validation_groups} validation groups of each level can be measured.",
        blocking=blocking,
    )
    def validation_holds_every_level(warehouse: Warehouse) -> dg.AssetCheckResult:
        sizes = warehouse.load(collection, "split_sizes")
        short = too_few(sizes, spec.subsets, spec.splits.min_validation_groups)
        held_out = len(groups_of(warehouse.load(collection, "splits"), VALIDATION))
        return dg.AssetCheckResult(
            passed=not short,
            severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
            description="; ".join(short) or None,
            metadata={
                "validation_groups": held_out,
                "sizes": dg.MetadataValue.md(markdown_table(sizes.columns, sizes.rows())),
            },
        )

    return [each_group_in_one_split, no_test_group_in_splits, validation_holds_every_level]
