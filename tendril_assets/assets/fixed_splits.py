"""Splits as a file of the landing folder fixes them: before anything is generated, each of its promises a check."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import store, table_assets, table_check
from tendril_assets.errors import LandingError
from tendril_assets.qrels.fixed_splits import (
    composition,
    empty_splits,
    fixed_splits,
    foreign_splits,
    gold_in_training,
    kinds_in_training,
    live_outside,
    named_twice,
    split_names,
    unknown,
    unplaced,
)
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_SHOWN = 20
_INPUTS = ("landed_splits", "acts", "sampled_projects", "corpus", "project_status", "removals", "erased_ids")


def fixed_splits_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    """landed_splits, corpus -> splits: of every group, before anything is generated from it."""
    collection = spec.collection

    @table_assets(spec, ["splits"], deps=_INPUTS)
    def write_fixed_splits(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        groups = corpus_groups(warehouse, collection)
        landed = warehouse.load(collection, "landed_splits")
        if landed.is_empty() and not groups.is_empty():
            raise LandingError(
                f"{collection}: the landing folder has no split.json, which says for each {spec.group} whether it is trained "
                f"on, validated by or tested on. Write one ({', '.join(split_names(spec.splits))}: lists of keys), or let "
                f"`tendril split --collection {collection}` make a first one; nothing was written"
            )
        splits = fixed_splits(landed, groups, spec.splits)
        kinds = warehouse.load(collection, "acts", ["project", "kind"])
        corpus = warehouse.load(collection, "corpus", ["group_id"])
        made_of = composition(splits, groups, corpus, kinds, list(split_names(spec.splits).values()))
        removed = len(set(landed["project"]) & removed_groups(warehouse, collection))
        metadata = {
            "policy": spec.splits.policy,
            "composition": dg.MetadataValue.md(
                markdown_table(made_of.columns, made_of.with_columns(pl.col("share").round(3)).rows())
            ),
            "of_the_file_removed_since": removed,
        }
        yield from store(context, warehouse, spec, {"splits": splits}, {"splits": metadata})

    return write_fixed_splits


def corpus_groups(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """``project``, ``group_id`` of the groups that have a passage in the corpus, sorted."""
    there = warehouse.load(collection, "corpus", ["group_id"]).unique()
    groups = warehouse.load(collection, "sampled_projects", ["project", "group_id"])
    return groups.join(there, on="group_id", how="semi").sort("project")


def removed_groups(warehouse: Warehouse, collection: str) -> set[str]:
    """Groups that the removal list names, or that it took out, by their landed name."""
    listed = warehouse.load(collection, "removals", ["kind", "id"]).filter(pl.col("kind").is_in(["project", "act"]))
    status = warehouse.load(collection, "project_status", ["project", "state"])
    return {*listed["id"].str.strip_chars(), *status.filter(pl.col("state") == "removed")["project"]}


def query_groups(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """``query_id``, ``group_id`` of the group that each query belongs to; no row for one that belongs to none."""
    return warehouse.load(collection, "project_queries", ["query_id", "group_id"]).unique()


def fixed_splits_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    """What the file promises, each promise a blocking check that names what breaks it."""
    return [*_of_the_file(spec), *_of_the_queries(spec)]


def _found(
    wrong: list[str], described: str, severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR
) -> dg.AssetCheckResult:
    """Passed where nothing is wrong; else the first names in words, and how many there are."""
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    return dg.AssetCheckResult(
        passed=not wrong,
        severity=severity,
        description=f"{described}: {'; '.join(wrong[:_SHOWN])}{more}" if wrong else None,
        metadata={"found": len(wrong), "names": str(wrong[:_SHOWN])},
    )


def _of_the_file(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection, rules, group = spec.collection, spec.splits, spec.group

    @table_check(
        spec,
        "splits",
        "each_group_in_one_split",
        description=f"The file of the splits names each {group} once, and the table has each once.",
    )
    def each_group_in_one_split(warehouse: Warehouse) -> dg.AssetCheckResult:
        splits = warehouse.load(collection, "splits")
        twice = splits.filter(splits["group_id"].is_duplicated())["group_id"].unique().sort().to_list()
        named = named_twice(warehouse.load(collection, "landed_splits"))
        return _found([*named, *(f"{name} in the table" for name in twice)], "more than once")

    @table_check(
        spec,
        "splits",
        "splits_are_the_corpus",
        description=f"The splits together hold each {group} of the corpus, and no other but those that were removed.",
    )
    def splits_are_the_corpus(warehouse: Warehouse) -> dg.AssetCheckResult:
        landed, groups = warehouse.load(collection, "landed_splits"), corpus_groups(warehouse, collection)
        lacking = [f"{name} is in no split" for name in unplaced(landed, groups)]
        foreign = unknown(landed, groups, removed_groups(warehouse, collection))
        placed = set(warehouse.load(collection, "splits")["group_id"])
        stale = sorted(placed ^ set(groups.filter(pl.col("project").is_in(landed["project"].implode()))["group_id"]))
        return _found(
            [
                *lacking,
                *(f"{name} is not in the corpus" for name in foreign),
                *(
                    f"{name}: the table is not of the present file and corpus, or its split is unknown"
                    for name in stale
                ),
            ],
            "the splits are not the corpus",
        )

    @table_check(
        spec,
        "splits",
        "splits_are_those_named",
        description="The file has the splits of the specification and no others, and none of them is empty.",
    )
    def splits_are_those_named(warehouse: Warehouse) -> dg.AssetCheckResult:
        foreign = foreign_splits(warehouse.load(collection, "landed_splits"), rules)
        empty = empty_splits(warehouse.load(collection, "splits"), rules)
        known = ", ".join(split_names(rules))
        return _found(
            [*(f"{name} is unknown" for name in foreign), *(f"{name} is empty" for name in empty)],
            f"the specification names {known}",
        )

    @table_check(
        spec,
        "splits",
        "held_out_kinds_are_held_out",
        description=f"No {group} of a held-out kind ({', '.join(rules.held_out_kinds) or 'none'}) is trained on or validated "
        "by.",
    )
    def held_out_kinds_are_held_out(warehouse: Warehouse) -> dg.AssetCheckResult:
        splits, groups = warehouse.load(collection, "splits"), corpus_groups(warehouse, collection)
        kinds = warehouse.load(collection, "acts", ["project", "kind"])
        return _found(kinds_in_training(splits, groups, kinds, rules), "of a held-out kind")

    return [each_group_in_one_split, splits_are_the_corpus, splits_are_those_named, held_out_kinds_are_held_out]


def _of_the_queries(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection, rules, group = spec.collection, spec.splits, spec.group
    checks = []
    if rules.live is not None and spec.registers and spec.registers.live:

        @table_check(
            spec,
            "live_attachments",
            "live_groups_are_held_out",
            description=f"Every {group} that a live question is about is in split {rules.live}.",
        )
        def live_groups_are_held_out(warehouse: Warehouse) -> dg.AssetCheckResult:
            attached = warehouse.load(collection, "live_attachments", ["query_id", "project", "group_id"])
            return _found(live_outside(attached, warehouse.load(collection, "splits"), rules), f"not in {rules.live}")

        checks.append(live_groups_are_held_out)

    def in_training(warehouse: Warehouse) -> tuple[pl.DataFrame, pl.DataFrame]:
        return gold_in_training(
            warehouse.load(collection, "qrels"),
            warehouse.load(collection, "qrel_evidence", ["query_id", "passage_id", "route"]),
            query_groups(warehouse, collection),
            warehouse.load(collection, "corpus", ["passage_id", "group_id"]),
            warehouse.load(collection, "splits"),
        )

    @table_check(
        spec,
        "split_sizes",
        "no_held_out_gold_in_training",
        description=f"No passage that answers a held-out query stands in a {group} that is trained on.",
    )
    def no_held_out_gold_in_training(warehouse: Warehouse) -> dg.AssetCheckResult:
        gold, _ = in_training(warehouse)
        return _found(_pairs(gold), "answers that are trained on")

    @table_check(
        spec,
        "split_sizes",
        "judged_relevant_in_training",
        description=f"What a judge found relevant to a held-out query in a {group} that is trained on: a model may have seen "
        "it as the answer to another question.",
        blocking=False,
    )
    def judged_relevant_in_training(warehouse: Warehouse) -> dg.AssetCheckResult:
        _, judged = in_training(warehouse)
        return _found(_pairs(judged), "relevant passages that may be trained on", dg.AssetCheckSeverity.WARN)

    return [*checks, no_held_out_gold_in_training, judged_relevant_in_training]


def _pairs(found: pl.DataFrame) -> list[str]:
    return [f"{query} in {passage}" for query, passage in found.select("query_id", "passage_id").iter_rows()]
