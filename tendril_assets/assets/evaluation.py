"""Evaluation: every system ranks the test collection; scores, intervals and comparisons follow.

The test collection is handed over as files, each system writes its ranking as a file (see ``assets.runs``), and one
cheap step loads them, so no model ever runs while the warehouse is open. A collection that tests on what it holds out of
itself has its scores per register too (``evaluation.registers``), and none of its test figures is over validation queries.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, store, table_assets, table_check, work_asset
from tendril_assets.assets.rank_system import BM25
from tendril_assets.assets.ranked_inputs import needed_tables, read_test
from tendril_assets.assets.register_shown import register_metadata
from tendril_assets.assets.runs import (
    EMPTY,
    INPUTS,
    PARTS,
    read_inputs,
    read_run,
    read_weights,
    require_present_parts,
    run_assets,
)
from tendril_assets.assets.shown import (
    catalog_comparison_pictures,
    catalog_pictures,
    comparison_pictures,
    group_pictures,
    score_pictures,
)
from tendril_assets.assets.stale_models import stale_metadata, stale_models
from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.collection import judged_collection
from tendril_assets.evaluation.held_out import under_test
from tendril_assets.evaluation.metrics import GAIN, TIE_RULE, ties_at_cuts
from tendril_assets.evaluation.registers import register_tables
from tendril_assets.evaluation.tables import ScoreTables, score_tables
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_evaluation import ALL
from tendril_assets.tables import TABLES

SCORES = ("query_scores", "group_scores", "system_scores", "comparisons", "catalog_scores", "catalog_comparisons")
REGISTER_SCORES = ("register_scores", "register_comparisons")


def evaluation_assets(spec: CollectionSpec) -> Stage:
    """Inputs, one asset per ranked system, the tables of rankings and scores, the check that no ranking is short."""
    by_register = spec.evaluation.test == "held_out"
    tables_of_scores = (*SCORES, *(REGISTER_SCORES if by_register else ()))

    @work_asset(
        spec,
        INPUTS,
        stage="evaluation",
        description=_INPUTS_ARE[spec.evaluation.test],
        deps=needed_tables(spec),
        pool="duckdb",
        kinds={"parquet"},
    )
    def evaluation_inputs(warehouse: Warehouse, artifacts: Artifacts) -> dg.MaterializeResult:
        read = read_test(warehouse, spec)
        test = judged_collection(*read[:3], spec.evaluation.scope)
        for name, frame in zip(PARTS, read[:3], strict=True):
            artifacts.write_frame(spec.collection, name, frame)
        judged = test.queries.join(test.qrels, on="query_id", how="semi").group_by("level").len().sort("level")
        return dg.MaterializeResult(
            data_version=dg.DataVersion(test.ranked_hash),
            metadata={
                "passages": test.corpus.height,
                "queries": test.queries.height,
                "judgments": test.qrels.height,
                "groups": test.qrels["group_id"].n_unique(),
                "judged_queries_by_level": dict(judged.iter_rows()),
                **read.told,
                **_note(test.qrels),
            },
        )

    @table_assets(
        spec, ["retrieval_runs", "ranked_systems"], deps=[INPUTS, *(f"runs/{system}" for system in spec.systems)]
    )
    def retrieval_runs(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        test = read_inputs(artifacts, spec)
        require_present_parts(artifacts, spec)
        runs = pl.concat([read_run(artifacts, spec, system, test) for system in spec.systems])
        ranked = [(system, read_weights(artifacts, spec, system), test.ranked_hash) for system in spec.systems]
        frames = {"retrieval_runs": runs, "ranked_systems": TABLES["ranked_systems"].frame(ranked)}
        metadata = {"ties": TIE_RULE, **_note(test.qrels)}
        yield from store(context, warehouse, spec, frames, {"retrieval_runs": metadata})

    @table_assets(
        spec,
        tables_of_scores,
        deps=[INPUTS, "retrieval_runs", "ranked_systems", "trained_passages", "erased_ids"],
        pool="cpu",
    )
    def scores(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        test = read_inputs(artifacts, spec)
        ranked = warehouse.load(spec.collection, "ranked_systems")
        _require_rankings_of(spec, test.ranked_hash, ranked)
        runs = warehouse.load(spec.collection, "retrieval_runs")
        test = under_test(test)
        tables = score_tables(runs, test, list(spec.models), spec.evaluation, spec.seed)
        frames = {name: getattr(tables, name) for name in SCORES}
        # What a card compares with the weights it describes: the scores say themselves whose they are.
        frames["system_scores"] = tables.system_scores.join(ranked, on="system", how="left", maintain_order="left")
        metadata = _metadata(
            spec, tables, ties_at_cuts(runs, spec.evaluation.cutoffs), _note(test.qrels), by_register=by_register
        )
        metadata["system_scores"] |= stale_metadata(stale_models(warehouse, spec.collection))
        if by_register:
            found = register_tables(tables.query_scores, test, spec.systems, BM25, spec.evaluation, spec.seed)
            frames |= dict(zip(REGISTER_SCORES, found[:2], strict=True))
            metadata |= register_metadata(spec, found)
        yield from store(context, warehouse, spec, frames, metadata)

    @table_check(
        spec,
        "retrieval_runs",
        "every_system_ranks_every_judged_query",
        description="A query that a system does not rank counts 0, so a ranking that lost some would only look weak.",
    )
    def complete(warehouse: Warehouse, artifacts: Artifacts) -> dg.AssetCheckResult:
        wanted = read_inputs(artifacts, spec).units.height
        ranked = warehouse.frame(
            spec.collection,
            "SELECT system, count(DISTINCT (query_id, group_id)) AS units FROM retrieval_runs GROUP BY system",
        )
        units = dict(ranked.select("system", "units").iter_rows())
        found = {system: units.get(system, 0) for system in spec.systems}
        return dg.AssetCheckResult(passed=set(found.values()) == {wanted}, metadata={"judged": wanted, "ranked": found})

    return Stage([evaluation_inputs, *run_assets(spec), retrieval_runs, scores], [complete])


_INPUTS_ARE = {
    "landed": "The external test collection as files, for the systems that rank it.",
    "held_out": "Corpus, queries and judgments of the held-out groups as files, for the systems that rank them.",
}


def _require_rankings_of(spec: CollectionSpec, test_hash: str, ranked: pl.DataFrame) -> None:
    """Raises TendrilError where a system has no ranking of the present test collection: all it lacks would count 0."""
    of = dict(ranked.select("system", "test_hash").iter_rows())
    if lacking := [system for system in spec.systems if of.get(system) != test_hash]:
        raise TendrilError(
            f"{spec.collection}.retrieval_runs holds no ranking of the present test collection by {', '.join(lacking)}: "
            f"materialise {spec.collection}/runs/<system> of each, then {spec.collection}/retrieval_runs, then the scores"
        )


def _note(qrels: pl.DataFrame) -> dict[str, str]:
    return {"note": EMPTY} if qrels.is_empty() else {}


def _metadata(
    spec: CollectionSpec,
    tables: ScoreTables,
    ties: dict[str, dict[str, float]],
    note: dict[str, str],
    *,
    by_register: bool,
) -> dict[str, dict[str, Any]]:
    """``by_register``: nothing over all levels, nor over catalogs, is shown; register_scores has it with what it rests on."""
    rules = spec.evaluation
    if by_register:
        of_levels = {name: getattr(tables, name).filter(pl.col("level") != ALL) for name in SCORES}
        tables = tables._replace(**of_levels)
    bootstrap = {"resamples": rules.resamples, "confidence": rules.confidence, "seed": spec.seed, **note}
    without = {"without_interval": tables.reasons} if tables.reasons else {}
    return {
        "query_scores": {
            "gain": GAIN,
            "ties": TIE_RULE,
            "tied_at_cut": ties,
            "excluded": dict(tables.excluded.select("level", "excluded").iter_rows()),
            **note,
        },
        "group_scores": {**group_pictures(spec, tables.group_scores), **note},
        "system_scores": {
            **score_pictures(spec, tables.system_scores),
            "scores": _markdown(tables.system_scores),
            **bootstrap,
            **without,
        },
        "comparisons": {
            **comparison_pictures(spec, tables.comparisons),
            "correction": "Holm over the fine-tuned models, per baseline, measure and level",
            **bootstrap,
        },
        "catalog_scores": {
            **catalog_pictures(spec, tables.catalog_scores),
            "scores": _markdown(tables.catalog_scores.filter(pl.col("measure") == rules.measures[0]), "catalog"),
            **bootstrap,
        },
        "catalog_comparisons": {
            **catalog_comparison_pictures(spec, tables.catalog_comparisons),
            "correction": "Holm over the fine-tuned models, per baseline, catalog, measure and level; not over catalogs",
            **bootstrap,
        },
    }


def _markdown(scores: pl.DataFrame, *per: str) -> dg.MarkdownMetadataValue:
    """One row per line of ``system_scores`` or, with their further columns, of the like."""
    first = ["measure", *per, "level", "system"]
    counted = ["groups", "queries", "excluded", "excluded_groups"]
    lines = [
        f"| {' | '.join([*first, 'mean', 'interval', *counted])} |",
        f"|{'---|' * (len(first) + 2 + len(counted))}",
    ]
    for row in scores.sort(first).iter_rows(named=True):
        ends = "-" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        cells = [*(row[name] for name in first), f"{row['value']:.3f}", ends, *(f"{row[name]}" for name in counted)]
        lines.append(f"| {' | '.join(cells)} |")
    return dg.MetadataValue.md("\n".join(lines))
