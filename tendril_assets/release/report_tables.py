"""The report's tables: agreement, calls, measures with intervals, comparisons."""

from collections.abc import Mapping
from html import escape

import polars as pl

from tendril_assets.release.markup import page_table, raw_table
from tendril_assets.release.wording import certainty, figure, interval, named, p_value, signed, system_name, usd
from tendril_assets.spec_training import ModelSpec
from tendril_assets.training.record import EARLY_STOP


def agreement_table(agreement: pl.DataFrame, confidence: float) -> str:
    """Every figure of the judge in use and of the people, with its interval, the units it rests on and those left out."""
    rows = [
        (
            f"{named(r['raters'])}: {r['who']}" if r["raters"].startswith("annotator_") else named(r["raters"]),
            named(r["level"]),
            named(r["scale"]),
            named(r["statistic"]),
            figure(r["value"]) if r["value"] is not None else f"undefined: {named(r['reason'] or 'no figure').lower()}",
            interval(r["low"], r["high"]),
            f"{r['n']:,}",
            f"{r['missing']:,}",
        )
        for r in agreement.filter("in_use")
        .sort("raters", "who", "scale", "level", "statistic", descending=[True, False, True, False, False])
        .iter_rows(named=True)
    ]
    heads = ("Raters", "Level", "Scale", "Statistic", "Value", f"{certainty(confidence)} interval", "n", "Missing")
    return page_table(heads, rows, left=4)


def calls_table(calls: pl.DataFrame) -> str:
    """Requests by purpose, model and final status, with money and tokens."""
    rows = [
        (
            f"{escape(named(r['purpose']))}<small>{escape(r['model'])}</small>",
            escape(named(r["status"])),
            f"{r['requests']:,}",
            f"{r['attempts']:,}",
            usd(r["known_cost"]),
            f"{r['unknown_costs']:,}",
            f"{r['prompt_tokens']:,}",
            f"{r['cached_tokens']:,}",
            f"{r['completion_tokens']:,}",
        )
        for r in calls.iter_rows(named=True)
    ]
    heads = (
        "Purpose and model",
        "Status",
        "Requests",
        "Attempts",
        "Known cost",
        "Unknown",
        "Tokens in",
        "Cached",
        "Out",
    )
    return raw_table(heads, rows, left=2)


def training_table(trained: pl.DataFrame, models: Mapping[str, ModelSpec]) -> str:
    """One model a row: what was trained on what, how long, and what it gained on the validation groups.

    ``models``: the specification's, which know where a base was published.
    """
    rows = [
        (
            f"{escape(r['model'])}<small>{escape(_base(r, models))}</small>",
            figure(r["base_value"]),
            f"{figure(r['best_value'])}<small>{signed(r['best_value'] - r['base_value'])}</small>",
            f"{r['best_step']:,}<small>{'the base' if r['best_step'] == 0 else ''}</small>",
            f"{r['steps']:,}<small>{'stopped early' if r['stop_reason'] == EARLY_STOP else 'to the end'}</small>",
            f"{r['examples']:,}",
            f"{r['truncated_inputs']:,}<small>of {r['inputs']:,}</small>",
            _millions(r["parameters"]),
            f"{r['seconds'] / 60:,.1f}<small>{escape(_machine(r))}</small>",
        )
        for r in trained.iter_rows(named=True)
    ]
    heads = ("Model", "Base", "Kept", "Kept step", "Steps", "Examples", "Inputs cut", "Parameters", "Minutes")
    return raw_table(heads, rows)


def _base(row: dict, models: Mapping[str, ModelSpec]) -> str:
    """The base by its published name, else without the path to it, which says nothing to readers elsewhere."""
    entry = models.get(row["model"])
    if entry is None or entry.base != row["base"]:  # the table is of an earlier specification
        entry = ModelSpec.model_construct(base=row["base"])
    return entry.base_title


def _millions(parameters: int) -> str:
    return f"{parameters / 1e6:,.1f}\u00a0M" if parameters >= 1e5 else f"{parameters:,}"


def _machine(r: dict) -> str:
    times = f"{r['processes']} × " if r["processes"] > 1 else ""
    return f"{times}{r['device']}, {r['precision']}"


def metric_table(scores: pl.DataFrame, measures: tuple[str, ...]) -> str:
    """Systems by measures in blocks per level; the interval stands under its value."""
    present = [m for m in measures if m in set(scores["measure"])]
    values = {(r["level"], r["system"], r["measure"]): r for r in scores.iter_rows(named=True)}
    rows: list[list[str]] = []
    for level in sorted(scores["level"].unique(), key=lambda x: (x != "all", x)):
        rows.append([escape(named(level))])
        for system in scores.filter(pl.col("level") == level)["system"].unique(maintain_order=True):
            cells = [_measured(values.get((level, system, m))) for m in present]
            rows.append([escape(system_name(system)), *cells])
    return raw_table(["System", *(escape(named(m)) for m in present)], rows)


def comparison_table(comparisons: pl.DataFrame, confidence: float) -> str:
    """Every paired difference, in blocks per pair of systems."""
    rows: list[list[str]] = []
    ordered = comparisons.sort("system", "baseline", pl.col("level") != "all", "level", maintain_order=True)
    former = None
    for r in ordered.iter_rows(named=True):
        pair = f"{system_name(r['system'])} against {system_name(r['baseline'])}"
        if pair != former:
            rows.append([escape(pair)])
            former = pair
        rows.append(
            [
                escape(named(r["level"])),
                escape(named(r["measure"])),
                signed(r["difference"]),
                interval(r["low"], r["high"], sign=True),
                escape(p_value(r["p"])),
                escape(p_value(r["p_holm"])),
                f"{r['groups']:,}",
            ]
        )
    heads = ["Level", "Measure", "Difference", f"{certainty(confidence)} interval", "p", "p, Holm", "Groups"]
    return raw_table(heads, rows, left=2)


def _measured(r: dict | None) -> str:
    if r is None:
        return "-"
    return f"{figure(r['value'])}<small>{interval(r['low'], r['high'])}</small>"
