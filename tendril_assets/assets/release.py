"""Release, model cards, report and snapshot: what leaves the warehouse.

The release repeats the blocking checks before it writes (``release.invariants``), so that materialising it alone
cannot get round a red one. The report does not wait for it: it is also for finding out why it refuses. Model
cards name the release they were trained on, so they come after it; materialised alone they do without.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, store, table_assets, table_check, work_asset
from tendril_assets.assets.figures import PARTS_QUERIES, ROWS, figure_frame, figure_inputs, published
from tendril_assets.assets.judge_in_use import planned_judge
from tendril_assets.assets.judging import completeness
from tendril_assets.assets.model_cards import model_cards_asset
from tendril_assets.assets.reading import residual_in_documents
from tendril_assets.assets.release_checks import red_checks
from tendril_assets.assets.release_results import measured_rows, result_tables
from tendril_assets.assets.released import (
    PASSAGES,
    TABLE,
    known_withdrawals,
    passages_of_releases,
    with_release,
)
from tendril_assets.assets.report import report_asset
from tendril_assets.assets.stages import TABLE as ACCEPTED
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.figures import card_figures, read_figures
from tendril_assets.release.invariants import Breach, breach_queries, personal_breaches, sql_breaches
from tendril_assets.release.label_quality import require_planned_judge
from tendril_assets.release.manifest import MANIFEST, damaged_files, read_manifest
from tendril_assets.release.publish import NO_SYSTEMS, Release, ReleaseInputs, write_release
from tendril_assets.release.withdrawn import Withdrawal, is_withdrawn
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources import sql
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.text_work import residual_search
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec


def release_assets(spec: CollectionSpec) -> Stage:
    """``releases`` (folder and table), ``released_passages``, ``model_cards``, ``report``, ``snapshot``."""
    return Stage(
        [_releases(spec), _released_passages(spec), model_cards_asset(spec), report_asset(spec), _snapshot(spec)],
        [_files_intact(spec)],
    )


def _releases(spec: CollectionSpec) -> dg.AssetsDefinition:
    names = (*ROWS, *breach_queries(spec), *card_figures(spec), *(PARTS_QUERIES if spec.registers else ()))
    # Of a collection that tests on what it holds out the card has results, so a release waits for them: written before, it
    # would say that there are none, and a published version never changes.
    deps = figure_inputs(spec, names) | {"judge_agreement", "judge_choice"} | result_tables(spec)
    deps |= {"calibration_systems"} if spec.registers else set()

    @table_assets(spec, [TABLE], deps=sorted(deps), pool="cpu", kinds={"parquet", "huggingface"})
    def releases(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        settings = Settings.from_env()
        root = settings.release / spec.collection
        release = write_release(root, release_inputs(warehouse, artifacts, spec, settings))
        context.log.info(f"release {release.path}: {release.outcome}")
        table = with_release(warehouse, spec, root, release)
        told = known_withdrawals(warehouse, spec.collection, root)
        yield from store(context, warehouse, spec, {TABLE: table}, {TABLE: _release_metadata(release, told)})

    return releases


def release_inputs(
    warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, settings: Settings
) -> ReleaseInputs:
    """Everything a release is made of, read from the warehouse, with what speaks against it."""
    # Takes long where its cache was taken away: that is filled here, while others may write.
    _personal(figure_frame(warehouse, spec, "corpus"), artifacts, spec, settings)
    with warehouse.one_state("read what a release is made of"):
        return _release_inputs(warehouse, artifacts, spec, settings)


def _release_inputs(
    warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, settings: Settings
) -> ReleaseInputs:
    choice = warehouse.load(spec.collection, "judge_choice")
    require_planned_judge(spec, choice, planned_judge(artifacts, spec))
    frames = {name: figure_frame(warehouse, spec, name) for name in (*ROWS, *breach_queries(spec))}
    rows = published(warehouse, spec, frames)
    breaches = sql_breaches(*(frames[name] for name in breach_queries(spec)))
    personal = _personal(frames["corpus"], artifacts, spec, settings)
    return ReleaseInputs(
        spec=spec,
        rows=rows,
        figures=read_figures(lambda name: figure_frame(warehouse, spec, name), card_figures(spec)),
        agreement=warehouse.load(spec.collection, "judge_agreement"),
        choice=choice,
        # First the few names of red checks: of the ids after them, which say what is wrong, an error shows only some.
        breaches=[*red_checks(warehouse, artifacts, spec), *breaches, *personal],
        open_requests=completeness(warehouse, spec)["n_open"],
        key_fingerprint=KeyedHasher(settings.hash_key).fingerprint,
        sandbox=settings.is_sandbox,
        withdrawn=known_withdrawals(warehouse, spec.collection, settings.release / spec.collection),
        systems=warehouse.load(spec.collection, "calibration_systems") if spec.registers else NO_SYSTEMS,
        measured=measured_rows(warehouse, spec),
    )


def _personal(corpus: pl.DataFrame, artifacts: Artifacts, spec: CollectionSpec, settings: Settings) -> list[Breach]:
    if spec.anonymization.detector == "none":
        return []
    found = residual_in_documents(corpus, residual_search(), artifacts, spec.collection, settings.workers)
    return personal_breaches(found)


def _release_metadata(release: Release, told: list[Withdrawal]) -> dict[str, Any]:
    rows = markdown_table(("config", "rows"), [(name, f"{n:,}") for name, n in release.manifest["rows"].items()])
    return {
        "path": dg.MetadataValue.path(str(release.path)),
        "outcome": release.outcome,
        "sandbox": release.manifest["sandbox"],
        "content_hash": release.manifest["content_hash"],
        "rows": dg.MetadataValue.md(rows),
        **({"withdrawn": dg.MetadataValue.md(_withdrawn(told))} if told else {}),
    }


def _released_passages(spec: CollectionSpec) -> dg.AssetsDefinition:
    @table_assets(spec, [PASSAGES], deps=[TABLE])
    def released_passages(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        yield from store(context, warehouse, spec, {PASSAGES: passages_of_releases(warehouse, spec.collection)})

    return released_passages


def _withdrawn(told: list[Withdrawal]) -> str:
    rows = [(one.version, f"{one.at:%Y-%m-%d}", f"{len(one.passages):,}", f"{one.judgments:,}") for one in told]
    return markdown_table(("withdrawn version", "since", "removed passages its copies hold", "judgments"), rows)


_CORPUS_ENDS = (
    "corpus",
    "passage_decisions",
    "project_status",
    "removal_effects",
    "similar_texts",
    "cleared_restrictions",
    "guarded_pairs",
    "erased_ids",
    "erasures",
)
_JUDGING_ENDS = ("judge_agreement", "calibration_systems", "judge_choice", "leakage", "split_sizes")


def _snapshot(spec: CollectionSpec) -> dg.AssetsDefinition:
    stages = [ACCEPTED] if spec.evaluation.test == "held_out" else []

    @work_asset(
        spec,
        "snapshot",
        stage="release",
        description="The analysts' read-only copy of the warehouse, with views and without raw texts.",
        # Of the corpus and the judging stages too: their jobs end with a snapshot, and a removal shows in the analysts' copy.
        # Not of the model cards: the copy holds nothing of them, and a refused card is no reason to go without it.
        deps=[*_CORPUS_ENDS, *_JUDGING_ENDS, *stages, "releases", PASSAGES, "report"],
        pool="duckdb",
        kinds={"duckdb"},
    )
    def snapshot(context: dg.AssetExecutionContext, warehouse: Warehouse) -> dg.MaterializeResult:
        made = warehouse.publish_snapshot()
        left_out = {"tables left out": made.stale, "views left out": made.left_out_views}
        if made.stale:
            context.log.warning(
                f"left out, written by an earlier version: {', '.join(made.stale)}; materialise them again, then the snapshot"
            )
        views = [(name.split("/")[1], sql.grain(name)) for name in sql.names("views")]
        return dg.MaterializeResult(
            metadata={
                "path": dg.MetadataValue.path(str(made.path)),
                "size_bytes": made.path.stat().st_size,
                **{what: ", ".join(names) for what, names in left_out.items() if names},
                "views": dg.MetadataValue.md(markdown_table(("view", "grain"), views)),
            }
        )

    return snapshot


def _files_intact(spec: CollectionSpec) -> dg.AssetChecksDefinition:
    @table_check(
        spec,
        "releases",
        "release_files_intact",
        description="Every release in the table is on disk, and its files are those it was written with: else put them back "
        "from a copy or from the version's tag. The folder of a withdrawn version may be deleted.",
    )
    def release_files_intact(warehouse: Warehouse) -> dg.AssetCheckResult:
        damaged: dict[str, list[str]] = {}
        for release in warehouse.load(spec.collection, "releases").iter_rows(named=True):
            if found := _damaged(release):
                damaged[release["version"]] = found[:20]
        return dg.AssetCheckResult(passed=not damaged, metadata={"damaged": dg.MetadataValue.json(damaged)})

    return release_files_intact


def _damaged(release: Mapping[str, Any]) -> list[str]:
    """Files of a row of ``releases`` that are missing or others; the manifest itself where it is not the row's."""
    folder = Path(release["path"])
    if release["withdrawn_at"] is not None and not folder.exists():
        return []
    try:
        manifest = read_manifest(folder)
    except ExportInvariantError:
        return [MANIFEST]
    is_other = manifest["content_hash"] != release["content_hash"] and not is_withdrawn(manifest)
    return [*([MANIFEST] if is_other else []), *damaged_files(folder, manifest)]
