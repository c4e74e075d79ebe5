"""Splits of the groups, what they hold of each level, and the passages that repeat held-out text."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.duplicates import load_index
from tendril_assets.assets.fixed_splits import fixed_splits_asset, fixed_splits_checks, query_groups
from tendril_assets.qrels.leakage import find_leakage, groups_under_test, leaking
from tendril_assets.qrels.splits import (
    TRAIN,
    VALIDATION,
    assign_splits,
    groups_of,
    in_own_groups,
    split_sizes,
    too_few,
)
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_SHOWN = 20


def splits_assets(spec: CollectionSpec) -> Stage:
    """qrels -> splits, split_sizes -> leakage; where a file fixes the splits, they come first: splits, qrels -> split_sizes."""
    if spec.splits.policy == "file":
        assets = [fixed_splits_asset(spec), _sizes(spec), _leakage(spec)]
        return Stage(assets, [*fixed_splits_checks(spec), _validation_check(spec)])
    return Stage([_splits(spec), _leakage(spec)], [*_checks(spec), _validation_check(spec)])


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


def _sizes(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(spec, ["split_sizes"], deps=["splits", "qrels", "queries", "project_queries"])
    def write_split_sizes(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        """A query counts in the split of its own group, wherever the passages stand that were judged for it."""
        queries = warehouse.load(collection, "queries", ["query_id", "level"])
        qrels = in_own_groups(warehouse.load(collection, "qrels"), query_groups(warehouse, collection))
        sizes = split_sizes(
            warehouse.load(collection, "splits"), qrels, queries, spec.subsets, (TRAIN, VALIDATION, *spec.splits.test)
        )
        metadata = {
            "sizes": dg.MetadataValue.md(markdown_table(sizes.columns, sizes.rows())),
            "queries_without_group": qrels.filter(qrels["group_id"].is_null())["query_id"].n_unique(),
        }
        yield from store(context, warehouse, spec, {"split_sizes": sizes}, {"split_sizes": metadata})

    return write_split_sizes


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
        leakage = find_leakage(load_index(warehouse, collection), splits, spec.splits.test)
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

    return [each_group_in_one_split, no_test_group_in_splits]


def _validation_check(spec: CollectionSpec) -> dg.AssetChecksDefinition:
    collection = spec.collection
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
        short = too_few(sizes, spec.trained_subsets, spec.splits.min_validation_groups)
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

    return validation_holds_every_level
