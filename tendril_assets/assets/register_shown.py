"""What the pages of the register tables show: the headline with its composition, all figures, what was left out; the
pictures of generated questions and of the recipe's stages."""

from collections.abc import Collection
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.shown import picture_metadata
from tendril_assets.evaluation.registers import RegisterTables, headline
from tendril_assets.release import register_pictures
from tendril_assets.release.register_pictures import composed_of, dominant_of, register_name
from tendril_assets.release.report_inputs import headline_measure
from tendril_assets.release.wording import figure, interval, markdown_table, p_value, signed, system_name
from tendril_assets.spec import CollectionSpec

CORRECTION = "Holm over the systems compared with BM25, per register, part, unit and measure"


def register_metadata(spec: CollectionSpec, found: RegisterTables) -> dict[str, dict[str, Any]]:
    """Metadata of ``register_scores`` and ``register_comparisons``."""
    rules, measure = spec.evaluation, headline_measure(spec)
    bootstrap = {"resamples": rules.resamples, "confidence": rules.confidence, "seed": spec.seed}
    few = [(register_name(level, part), queries) for level, part, queries in found.too_few.iter_rows()]
    left_out = {"left_out": dg.MetadataValue.md(markdown_table(("register", "queries"), few))} if few else {}
    drawn = register_pictures.register_scores(found.scores, measure, rules.confidence, spec.group)
    differences = register_pictures.register_differences(
        found.comparisons, found.scores, measure, rules.confidence, spec.group
    )
    return {
        "register_scores": {
            **picture_metadata([drawn]),
            "headline": dg.MetadataValue.md(headline_table(found.scores, measure, spec.group)),
            "scores": dg.MetadataValue.md(_all_scores(found.scores)),
            "min_queries": rules.min_queries,
            **left_out,
            **bootstrap,
        },
        "register_comparisons": {
            **picture_metadata([differences]),
            "comparisons": dg.MetadataValue.md(_all_comparisons(found.comparisons, measure)),
            "correction": CORRECTION,
            **bootstrap,
        },
    }


def headline_table(scores: pl.DataFrame, measure: str, group: str, stale: Collection[str] = ()) -> str:
    """Every system per register, with what the register rests on. ``scores``: table register_scores; ``stale``: systems whose
    figures no longer hold.
    """
    dominant = dominant_of(scores)
    rows = [
        (
            register_name(row["level"], row["part"], dominant.get(row["level"])),
            system_name(row["system"]) + (" (stale)" if row["system"] in stale else ""),
            figure(row["value"]),
            interval(row["low"], row["high"]) or "-",
            composed_of(row, group),
        )
        for row in headline(scores, measure).iter_rows(named=True)
    ]
    return markdown_table(("register", "system", measure, "interval", "rests on"), rows, figures=False)


def _all_scores(scores: pl.DataFrame) -> str:
    header = ("measure", "register", "part", "unit", "system", "mean", "interval", "n", "queries", "left out")
    keys = ("measure", "level", "part", "unit", "system")
    rows = [
        (
            *(row[key] for key in keys),
            figure(row["value"]),
            interval(row["low"], row["high"]) or "-",
            row["n"],
            row["queries"],
            row["excluded"],
        )
        for row in scores.sort(keys).iter_rows(named=True)
    ]
    return markdown_table(header, rows, figures=False)


def _all_comparisons(comparisons: pl.DataFrame, measure: str) -> str:
    header = ("register", "part", "unit", "system", "difference", "interval", "p", "p after Holm", "p, sign flips", "n")
    keys = ("level", "part", "unit", "system")
    rows = [
        (
            *(row[key] for key in keys),
            signed(row["difference"]),
            interval(row["low"], row["high"], sign=True) or "-",
            *(p_value(row[p]) for p in ("p", "p_holm", "p_permutation")),
            row["n"],
        )
        for row in comparisons.filter(pl.col("measure") == measure).sort(keys).iter_rows(named=True)
    ]
    return markdown_table(header, rows, figures=False)


def question_pictures(questions: pl.DataFrame) -> dict[str, Any]:
    """What became of the questions of each set. ``questions``: table generated_questions."""
    fates = questions.group_by("question_set", "model", "status").agg(questions=pl.len())
    return picture_metadata([register_pictures.question_fates(fates)])


def stage_pictures(spec: CollectionSpec, accepted: pl.DataFrame) -> dict[str, Any]:
    """``accepted``: table stage_acceptance."""
    return picture_metadata([register_pictures.stages(accepted, spec.evaluation.confidence)])
