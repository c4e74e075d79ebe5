"""The pool: what the queries without a gold of their own are judged on."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, store, table_assets, table_check
from tendril_assets.assets.rank_system import BM25, rank_system_once
from tendril_assets.evaluation.collection import whole_scope
from tendril_assets.evaluation.ranking import RUN_SCHEMA
from tendril_assets.judging.pool import pool_sizes, pool_table, pooled_queries
from tendril_assets.qrels.published import removed_pairs
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

TABLE = "pool"
# Stands for the group of a query that was written for no act; a ranking needs one.
NO_GROUP = "-"


def pool_assets(spec: CollectionSpec) -> Stage:
    """queries, corpus -> pool; nothing where candidates are no pool."""
    if spec.candidates.policy != "pooled":
        return Stage([], [])
    collection, rules = spec.collection, spec.candidates

    @table_assets(
        spec,
        [TABLE],
        deps=["corpus", "queries", "project_queries", "live_attachments", "manual_queries", "removals", "erased_ids"],
        pool="gpu",
    )
    def make_pool(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        with warehouse.one_state("read what is pooled"):
            corpus = warehouse.load(collection, "corpus", ["passage_id", "group_id", "text"])
            asked = pooled_queries(
                warehouse.load(collection, "queries", ["query_id", "text"]),
                warehouse.load(collection, "live_attachments", ["query_id", "route"]),
                warehouse.load(collection, "manual_queries", ["query_id"]),
            )
            removed = removed_pairs(warehouse.load(collection, "removals", ["kind", "id"]).iter_rows())
        scopes = whole_scope(corpus, asked.with_columns(group_id=pl.lit(NO_GROUP)))
        runs = {}
        for system in rules.systems:
            run, facts = pl.DataFrame(schema=RUN_SCHEMA), {}
            if scopes:
                run, facts = rank_system_once(context, artifacts, spec, system, scopes, rules.depth)
            # BM25 ranks all that it is asked for; what shares no word with a query was not found by it.
            runs[system] = run.filter(pl.col("score") > 0) if system == BM25 else run
            context.log.info(f"{system}: {runs[system].height:,} pairs{' (as before)' if facts.get('reused') else ''}")
        pool = pool_table(runs, corpus, rules.depth, spec.seed, removed)
        sizes = pool_sizes(pool, rules.systems)
        rows = [(system, f"{pairs:,}", f"{alone:,}") for system, pairs, alone in sizes.iter_rows()]
        metadata = {
            "queries": asked.height,
            "queries_without_a_passage": asked.join(pool, on="query_id", how="anti").height,
            "depth": rules.depth,
            "systems": dg.MetadataValue.md(markdown_table(("system", "pairs", "of no other"), rows)),
        }
        yield from store(context, warehouse, spec, {TABLE: pool}, {TABLE: metadata})

    @table_check(
        spec,
        TABLE,
        "pool_is_blind_and_whole",
        description="Only queries without a gold of their own are pooled; places run from 1 without a gap, each passage is in "
        "the corpus, came from a declared system and within the depth, and no removed pair is there.",
    )
    def pool_is_blind_and_whole(warehouse: Warehouse) -> dg.AssetCheckResult:
        faults = warehouse.frame(
            collection, query("judging/pool_faults"), "check the pool", systems=list(rules.systems), depth=rules.depth
        )
        found = dict(faults.group_by("rule").len().sort("rule").iter_rows())
        return dg.AssetCheckResult(
            passed=faults.is_empty(), metadata={"faults": found, "examples": str(faults.head(20).rows())}
        )

    return Stage([make_pool], [pool_is_blind_and_whole])
