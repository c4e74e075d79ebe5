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
from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.judge_in_use import planned_judge
from tendril_assets.assets.judging import completeness
from tendril_assets.assets.reading import residual_in_documents
from tendril_assets.assets.release_checks import red_checks
from tendril_assets.assets.released import (
    PASSAGES,
    TABLE,
    former_releases,
    known_withdrawals,
    passages_of_releases,
    with_release,
)
from tendril_assets.assets.stages import TABLE as ACCEPTED
from tendril_assets.assets.stale_models import mark_stale_models, stale_metadata, stale_models, stale_systems
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.errors import ExportInvariantError
from tendril_assets.files import write_atomically
from tendril_assets.release.figures import (
    REPORT_FIGURES,
    REPORT_TABLES,
    REPORT_VIEWS,
    card_figures,
    figure_query,
    read_figures,
)
from tendril_assets.release.folders import MODELS
from tendril_assets.release.huggingface import Rows, published_rows
from tendril_assets.release.invariants import Breach, breach_queries, personal_breaches, sql_breaches
from tendril_assets.release.label_quality import require_planned_judge
from tendril_assets.release.manifest import MANIFEST, damaged_files, read_manifest
from tendril_assets.release.model_folder import write_model
from tendril_assets.release.model_inputs import ModelInputs
from tendril_assets.release.publish import Release, ReleaseInputs, content_of, write_release
from tendril_assets.release.report import render_report
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.weights import read_weights_folder
from tendril_assets.release.withdrawn import Withdrawal, is_withdrawn
from tendril_assets.release.wording import certainty, figure, interval, markdown_table, named, system_name
from tendril_assets.resources import sql
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.text_work import residual_search
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.training.job import data_hash, read_exchange

ROWS = ("corpus", "queries", "qrels")
PARTS_QUERIES = ("query_parts",)


def release_assets(spec: CollectionSpec) -> Stage:
    """``releases`` (folder and table), ``released_passages``, ``model_cards``, ``report``, ``snapshot``."""
    return Stage(
        [_releases(spec), _released_passages(spec), _model_cards(spec), _report(spec), _snapshot(spec)],
        [_files_intact(spec)],
    )


def _releases(spec: CollectionSpec) -> dg.AssetsDefinition:
    names = (*ROWS, *breach_queries(spec), *card_figures(spec), *(PARTS_QUERIES if spec.registers else ()))
    deps = _inputs(spec, names) | {"judge_agreement", "judge_choice"}

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
    _personal(_frame(warehouse, spec, "corpus"), artifacts, spec, settings)
    with warehouse.one_state("read what a release is made of"):
        return _release_inputs(warehouse, artifacts, spec, settings)


def _release_inputs(
    warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, settings: Settings
) -> ReleaseInputs:
    choice = warehouse.load(spec.collection, "judge_choice")
    require_planned_judge(spec, choice, planned_judge(artifacts, spec))
    frames = {name: _frame(warehouse, spec, name) for name in (*ROWS, *breach_queries(spec))}
    rows = _published(warehouse, spec, frames)
    breaches = sql_breaches(*(frames[name] for name in breach_queries(spec)))
    personal = _personal(frames["corpus"], artifacts, spec, settings)
    return ReleaseInputs(
        spec=spec,
        rows=rows,
        figures=read_figures(lambda name: _frame(warehouse, spec, name), card_figures(spec)),
        agreement=warehouse.load(spec.collection, "judge_agreement"),
        choice=choice,
        # First the few names of red checks: of the ids after them, which say what is wrong, an error shows only some.
        breaches=[*red_checks(warehouse, artifacts, spec), *breaches, *personal],
        open_requests=completeness(warehouse, spec)["n_open"],
        key_fingerprint=KeyedHasher(settings.hash_key).fingerprint,
        sandbox=settings.is_sandbox,
        withdrawn=known_withdrawals(warehouse, spec.collection, settings.release / spec.collection),
    )


def _published(warehouse: Warehouse, spec: CollectionSpec, frames: Mapping[str, pl.DataFrame]) -> Rows:
    """The rows to publish; where queries are of registers, the judgments in parts: train, dev and test."""
    parts = _frame(warehouse, spec, PARTS_QUERIES[0]) if spec.registers else None
    return published_rows(*(frames[name] for name in ROWS), spec.release.group_column, parts)


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


def _model_cards(spec: CollectionSpec) -> dg.AssetsDefinition:
    deps = {"trained_models", "system_scores", "comparisons", "judge_agreement", "training_examples", "releases"}
    deps |= {"trained_passages", "erased_ids"}

    @work_asset(
        spec,
        "model_cards",
        stage="release",
        description="Each fine-tuned model as a folder to load or publish: weights, card, licence and notice. Every figure of "
        "the card is from the tables.",
        deps=sorted(deps | _inputs(spec, ("training_use", *ROWS))),
        pool="cpu",
        kinds={"markdown", "huggingface"},
    )
    def model_cards(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> dg.MaterializeResult:
        settings = Settings.from_env()
        root = settings.release / spec.collection / MODELS
        if not spec.models:
            return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(str(root)), "models": "none"})
        stale = mark_stale_models(warehouse, spec, settings)
        inputs = model_inputs(warehouse, artifacts, spec, settings)
        trained = dict(inputs.trained.select("model", "path").sort("model").iter_rows())
        rows, refused = [], []
        for model in sorted(trained.keys() & spec.models.keys()):
            try:
                folder = write_model(root, model, inputs, read_weights_folder(Path(trained[model])))
            except ExportInvariantError as error:
                refused.append(str(error))
                continue
            context.log.info(f"model {folder.path}: {folder.outcome}")
            if folder.lacking:
                context.log.warning(f"model {folder.path}: {folder.lacking}")
            rows.append((model, "; ".join(filter(None, (folder.outcome, folder.lacking))), f"`{folder.path}`"))
        names = {spec.release.published_model(model).name for model in spec.models}
        there = (path.name for path in root.iterdir() if not path.name.startswith(".")) if root.is_dir() else ()
        aside = {
            "not trained": sorted(spec.models.keys() - trained.keys()),
            "not in the specification": sorted(trained.keys() - spec.models.keys()),
            # Of models under a former name, or gone since.
            "other folders": sorted(set(there) - names),
        }
        for what, which in aside.items():
            if which:
                context.log.warning(f"models, {what}: {', '.join(which)}")
        if refused:
            raise ExportInvariantError("\n".join(refused))
        table = markdown_table(("model", "outcome", "folder"), rows, figures=False)
        return dg.MaterializeResult(
            metadata={
                "path": dg.MetadataValue.path(str(root)),
                "models": dg.MetadataValue.md(table),
                **{what: ", ".join(which) for what, which in aside.items() if which},
                **stale_metadata(stale),
            }
        )

    return model_cards


def model_inputs(warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, settings: Settings) -> ModelInputs:
    """Everything the model cards are made of, read from the warehouse and the hand-over files."""
    names = ("trained_models", "system_scores", "comparisons")
    trained, scores, comparisons = (warehouse.load(spec.collection, name) for name in names)
    return ModelInputs(
        spec=spec,
        trained=trained,
        scores=scores,
        comparisons=comparisons,
        training_use=_frame(warehouse, spec, "training_use"),
        agreement=warehouse.load(spec.collection, "judge_agreement"),
        present_data=data_hash(read_exchange(exchange_files(spec, artifacts))),
        released=_is_released(warehouse, spec),
        sandbox=settings.is_sandbox,
        stale={one.model: one.reason for one in stale_models(warehouse, spec.collection)},
    )


def _is_released(warehouse: Warehouse, spec: CollectionSpec) -> bool:
    """Whether the release of the specification's version holds the rows as they are now."""
    written = former_releases(warehouse, spec.collection)
    here = (pl.col("version") == spec.release.version) & pl.col("withdrawn_at").is_null()
    found = written.filter(here)["content_hash"].to_list()
    rows = _published(warehouse, spec, {name: _frame(warehouse, spec, name) for name in ROWS})
    return bool(found) and found == [content_of(rows)]


def _report(spec: CollectionSpec) -> dg.AssetsDefinition:
    views = {table for name in REPORT_VIEWS for table in sql.inputs(f"views/{name}")}
    deps = _inputs(spec, REPORT_FIGURES) | {*REPORT_TABLES, *views, *sql.inputs("views/stale_systems")}

    @work_asset(
        spec,
        "report",
        stage="release",
        description="One self-contained page with pictures: labels, drops, agreement, cost, training, systems.",
        deps=sorted(deps),
        pool="duckdb",
        kinds={"html"},
    )
    def report(warehouse: Warehouse) -> dg.MaterializeResult:
        settings = Settings.from_env()
        with warehouse.one_state("read what the report shows"):
            inputs = report_inputs(warehouse, spec, settings)
        path = settings.reports / f"{spec.collection}.html"
        write_atomically(path, render_report(inputs).encode())
        return dg.MaterializeResult(metadata=_report_metadata(path, inputs))

    return report


def report_inputs(warehouse: Warehouse, spec: CollectionSpec, settings: Settings) -> ReportInputs:
    """Everything a report is made of, read from the warehouse."""
    return ReportInputs(
        spec=spec,
        figures=read_figures(lambda name: _frame(warehouse, spec, name), REPORT_FIGURES),
        tables={name: warehouse.load(spec.collection, name) for name in REPORT_TABLES},
        views={
            name: warehouse.frame(spec.collection, sql.query(f"views/{name}"), f"read {name}") for name in REPORT_VIEWS
        },
        sandbox=settings.is_sandbox,
        stale=stale_systems(warehouse, spec.collection),
    )


def _report_metadata(path: Path, inputs: ReportInputs) -> dict[str, Any]:
    spec = inputs.spec
    measure, ends = headline_measure(spec), f"{certainty(spec.evaluation.confidence)} interval"
    scores = inputs.tables["system_scores"].filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    rows = [
        (
            system_name(r["system"]) + (" (stale)" if r["system"] in inputs.stale else ""),
            figure(r["value"]),
            interval(r["low"], r["high"]),
        )
        for r in scores.sort("value", descending=True).iter_rows(named=True)
    ]
    grades = [
        (named(level), score, f"{n:,}")
        for level, score, n in inputs.figures["grades"].select("level", "score", "judgments").iter_rows()
    ]
    return {
        "path": dg.MetadataValue.path(str(path)),
        "page": dg.MetadataValue.url(path.as_uri()),
        "systems": dg.MetadataValue.md(markdown_table(("System", named(measure), ends), rows)),
        "grades": dg.MetadataValue.md(markdown_table(("Level", "Grade", "Judgments"), grades)),
    }


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


def _frame(warehouse: Warehouse, spec: CollectionSpec, name: str) -> pl.DataFrame:
    return warehouse.frame(spec.collection, sql.query(f"release/{figure_query(name, spec)}"), f"read {name}")


def _inputs(spec: CollectionSpec, names: tuple[str, ...]) -> set[str]:
    """Tables that the named figures are read from."""
    return {table for name in names for table in sql.inputs(f"release/{figure_query(name, spec)}")}
