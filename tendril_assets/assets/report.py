"""The report: one page of the collection, of what is there. It waits for no release."""

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import work_asset
from tendril_assets.assets.figures import figure_frame, figure_inputs
from tendril_assets.assets.register_shown import headline_table
from tendril_assets.assets.stale_models import stale_systems
from tendril_assets.files import write_atomically
from tendril_assets.release.figures import REPORT_VIEWS, read_figures, report_figures, report_tables
from tendril_assets.release.report import render_report
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.wording import certainty, figure, interval, markdown_table, named, system_name
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec


def report_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    """``report``: the collection's page."""
    views = {table for name in REPORT_VIEWS for table in sql.inputs(f"views/{name}")}
    deps = figure_inputs(spec, report_figures(spec)) | {
        *report_tables(spec),
        *views,
        *sql.inputs("views/stale_systems"),
    }

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
        figures=read_figures(lambda name: figure_frame(warehouse, spec, name), report_figures(spec)),
        tables={name: warehouse.load(spec.collection, name) for name in report_tables(spec)},
        views={
            name: warehouse.frame(spec.collection, sql.query(f"views/{name}"), f"read {name}") for name in REPORT_VIEWS
        },
        sandbox=settings.is_sandbox,
        stale=stale_systems(warehouse, spec.collection),
    )


def _report_metadata(path: Path, inputs: ReportInputs) -> dict[str, Any]:
    grades = [
        (named(level), score, f"{n:,}")
        for level, score, n in inputs.figures["grades"].select("level", "score", "judgments").iter_rows()
    ]
    return {
        "path": dg.MetadataValue.path(str(path)),
        "page": dg.MetadataValue.url(path.as_uri()),
        "systems": dg.MetadataValue.md(_systems(inputs)),
        "grades": dg.MetadataValue.md(markdown_table(("Level", "Grade", "Judgments"), grades)),
    }


def _systems(inputs: ReportInputs) -> str:
    """Every system by the headline measure: per register where there are registers, for they are no one population."""
    spec = inputs.spec
    if spec.evaluation.test == "held_out":
        return headline_table(inputs.tables["register_scores"], headline_measure(spec), spec.group, inputs.stale)
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
    return markdown_table(("System", named(measure), ends), rows)
