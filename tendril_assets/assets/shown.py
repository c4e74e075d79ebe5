"""The report's pictures on the pages of the assets they belong to."""

from collections.abc import Iterable
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.release import pictures, results_pictures
from tendril_assets.release.images import markdown_image
from tendril_assets.release.judges import quality_and_price
from tendril_assets.release.pictures import Picture
from tendril_assets.release.report_inputs import headline_measure
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec


def picture_metadata(drawn: Iterable[Picture | None]) -> dict[str, Any]:
    """One entry ``picture`` with every picture that there is; no entry where there is none yet."""
    images = [markdown_image(picture) for picture in drawn if picture is not None]
    return {"picture": dg.MetadataValue.md("\n\n".join(images))} if images else {}


def passage_fates(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, Any]:
    """What became of the raw passages, once decisions and corpus are written."""
    return picture_metadata([pictures.passage_fates(_read(warehouse, spec, "release/drops"))])


def label_pictures(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, Any]:
    """Grades by level and positives by catalog, once the qrels are written."""
    grades = _read(warehouse, spec, "release/grades")
    return picture_metadata(
        [
            pictures.label_distribution(grades),
            pictures.positives(_read(warehouse, spec, "views/positives_by_catalog_and_level")),
        ]
    )


def cost_pictures(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, Any]:
    """Known cost by purpose and by day, once the calls are written."""
    calls = {"calls": _read(warehouse, spec, "release/calls")}
    return picture_metadata(
        [pictures.costs(calls), pictures.costs_over_time(_read(warehouse, spec, "views/cost_by_day"))]
    )


def agreement_picture(spec: CollectionSpec, agreement: pl.DataFrame) -> dict[str, Any]:
    """``agreement``: table judge_agreement."""
    return picture_metadata([pictures.judge_agreement(agreement, spec.judge.calibration.confidence)])


def choice_picture(spec: CollectionSpec, choice: pl.DataFrame, agreement: pl.DataFrame) -> dict[str, Any]:
    """``choice``: table judge_choice; ``agreement``: table judge_agreement."""
    return picture_metadata([quality_and_price(spec, choice, agreement)])


def score_pictures(spec: CollectionSpec, scores: pl.DataFrame) -> dict[str, Any]:
    """``scores``: table system_scores."""
    return picture_metadata([results_pictures.systems(scores, headline_measure(spec), spec.evaluation.confidence)])


def comparison_pictures(spec: CollectionSpec, comparisons: pl.DataFrame) -> dict[str, Any]:
    """``comparisons``: table comparisons."""
    measure, confidence = headline_measure(spec), spec.evaluation.confidence
    return picture_metadata([results_pictures.differences(comparisons, measure, confidence)])


def catalog_pictures(spec: CollectionSpec, scores: pl.DataFrame) -> dict[str, Any]:
    """Every system per catalog. ``scores``: table catalog_scores."""
    measure, confidence = headline_measure(spec), spec.evaluation.confidence
    return picture_metadata([results_pictures.catalogs(scores, spec.systems, measure, confidence, spec.group)])


def catalog_comparison_pictures(spec: CollectionSpec, comparisons: pl.DataFrame) -> dict[str, Any]:
    """``comparisons``: table catalog_comparisons."""
    measure, confidence = headline_measure(spec), spec.evaluation.confidence
    return picture_metadata([results_pictures.catalog_differences(comparisons, measure, confidence, spec.group)])


def group_pictures(spec: CollectionSpec, groups: pl.DataFrame) -> dict[str, Any]:
    """Fine-tuned minus base per group, one picture per model. ``groups``: table group_scores."""
    measure = headline_measure(spec)
    own = groups.filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    drawn = []
    for model in spec.models:
        sides = (own.filter(pl.col("system") == f"{model}_{kind}") for kind in ("tuned", "base"))
        tuned, base = (side.select("group_id", "value") for side in sides)
        rows = tuned.join(base, on="group_id", suffix="_base").select(
            "group_id", difference=pl.col("value") - pl.col("value_base")
        )
        drawn.append(results_pictures.group_differences(model, rows, measure, spec.group))
    return picture_metadata(drawn)


def _read(warehouse: Warehouse, spec: CollectionSpec, name: str) -> pl.DataFrame:
    return warehouse.frame(spec.collection, sql.query(name), f"draw {name.rpartition('/')[2]}")
