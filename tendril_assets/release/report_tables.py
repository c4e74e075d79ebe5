"""The report's tables: agreement, calls, measures with intervals, comparisons."""

import json
from collections.abc import Mapping
from html import escape

import polars as pl

from tendril_assets.release.markup import page_table, raw_table, warning
from tendril_assets.release.pictures import measured_agreement
from tendril_assets.release.results_pictures import OWN_BASE
from tendril_assets.release.wording import (
    certainty,
    figure,
    interval,
    large,
    named,
    p_value,
    plural,
    signed,
    system_name,
    usd,
)
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
        for r in measured_agreement(agreement)
        .sort("raters", "who", "scale", "level", "statistic", descending=[True, False, True, False, False])
        .iter_rows(named=True)
    ]
    heads = ("Raters", "Level", "Scale", "Statistic", "Value", f"{certainty(confidence)} interval", "n", "Missing")
    return raw_table(heads, [[escape(cell) for cell in row] for row in rows], left=4, css="tight")


def confusion_tables(agreement: pl.DataFrame) -> list[str]:
    """The judge in use against the curated grades, one table per level: rows are curated grades, columns the judge's."""
    own = agreement.filter(
        pl.col("in_use")
        & (pl.col("raters") == "judge_vs_curated")
        & (pl.col("scale") == "graded")
        & (pl.col("statistic") == "kappa")
        & pl.col("confusion").is_not_null()
    )
    tables = []
    for r in own.sort(pl.col("level") != "all", "level").iter_rows(named=True):
        counts = json.loads(r["confusion"])
        heads = (named(r["level"]), *(f"{grade}" for grade in range(len(counts))))
        rows = [(f"{grade}", *(f"{n:,}" for n in row)) for grade, row in enumerate(counts)]
        tables.append(page_table(heads, rows))
    return tables


def calls_table(calls: pl.DataFrame) -> str:
    """Requests by purpose, model and final status, with money and tokens."""
    rows = [
        (
            f"{escape(named(r['purpose']))}<small>{escape(r['model'])}</small>",
            escape(named(r["status"])),
            f"{r['requests']:,}<small>{escape(plural(r['attempts'], 'attempt'))}</small>",
            f"{usd(r['known_cost'])}<small>{_unknown(r['unknown_costs'])}</small>",
            f"{large(r['prompt_tokens'])}<small>{large(r['cached_tokens'])} cached</small>",
            large(r["completion_tokens"]),
        )
        for r in calls.iter_rows(named=True)
    ]
    return raw_table(("Purpose and model", "Status", "Requests", "Known cost", "Tokens in", "Out"), rows, left=2)


def days_table(days: pl.DataFrame) -> str:
    """Calls and money by day, purpose and model; routes together."""
    sums = days.group_by("day", "purpose", "model").agg(
        pl.col("calls").sum(), pl.col("known_cost").sum(), pl.col("unknown_costs").sum()
    )
    rows = [
        (
            f"{r['day']}",
            escape(named(r["purpose"])),
            escape(r["model"]),
            f"{r['calls']:,}",
            f"{usd(r['known_cost'])}<small>{_unknown(r['unknown_costs'])}</small>",
        )
        for r in sums.sort("day", "purpose", "model").iter_rows(named=True)
    ]
    return raw_table(("Day (UTC)", "Purpose", "Model", "Calls", "Known cost"), rows, left=3)


def _unknown(n: int) -> str:
    return f"{n:,} unknown" if n else ""


def training_table(trained: pl.DataFrame, models: Mapping[str, ModelSpec]) -> str:
    """One model a row: what was trained on what, how long, and what it gained on the validation groups.

    ``models``: the specification's, which know where a base was published.
    """
    rows = [
        (
            f"{escape(r['model'])}<small>{escape(_base(r, models))}</small>"
            f"<small>{_millions(r['parameters'])} parameters</small>",
            figure(r["base_value"]),
            f"{figure(r['best_value'])}<small>{signed(r['best_value'] - r['base_value'])}</small>",
            f"{r['best_step']:,}<small>{'the base' if r['best_step'] == 0 else ''}</small>",
            f"{r['steps']:,}<small>{'stopped early' if r['stop_reason'] == EARLY_STOP else 'to the end'}</small>",
            f"{r['examples']:,}",
            f"{r['truncated_inputs']:,}<small>of {r['inputs']:,}</small>",
            f"{r['seconds'] / 60:,.1f}<small class=wrap>{escape(_machine(r))}</small>",
        )
        for r in trained.iter_rows(named=True)
    ]
    heads = ("Model", "Base", "Kept", "Kept step", "Steps", "Examples", "Inputs cut", "Minutes")
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


def curve_table(curves: pl.DataFrame, best_step: int) -> str:
    """The validation measures step by step; the kept step is marked."""
    measured = curves.filter(pl.col("measure").str.contains("ndcg"))
    measures = measured["measure"].unique().sort().to_list()
    values = {(step, measure): value for step, measure, value in measured.select("step", "measure", "value").rows()}
    rows = [
        (f"{step:,}{', kept' if step == best_step else ''}", *(figure(values.get((step, m))) for m in measures))
        for step in measured["step"].unique().sort()
    ]
    heads = ("Step", *(named(m.partition(":")[2] or m.partition("@")[0].removesuffix("_ndcg")) for m in measures))
    return page_table(heads, rows)


def queries_table(worst: pl.DataFrame, group: str) -> str:
    """The hardest queries: figure, relevant passages, where the first of them stands."""
    rows = [
        (
            f"{escape(r['text'] or r['query_id'])}<small>{escape(' · '.join(_where(r, group)))}</small>",
            figure(r["ndcg_at_10"]),
            f"{r['relevant']:,}",
            "-" if r["first_relevant_rank"] is None else f"{r['first_relevant_rank']:,}",
        )
        for r in worst.iter_rows(named=True)
    ]
    return raw_table(("Query", "nDCG@10", "Relevant", "First at rank"), rows, css="reasons")


def _where(row: dict, group: str) -> list[str]:
    return [named(row["level"]), *([row["catalog"]] if row["catalog"] else []), f"{group} {row['group_id']}"]


def differences_table(differences: pl.DataFrame, group: str) -> str:
    """Base and fine-tuned model per group, largest gain first."""
    rows = [
        (r["group_id"], f"{r['queries']:,}", figure(r["base"]), figure(r["tuned"]), signed(r["difference"]))
        for r in differences.sort("difference", "group_id", descending=[True, False]).iter_rows(named=True)
    ]
    return page_table((named(group), "Queries", "Base", "Fine-tuned", "Difference"), rows)


def metric_table(scores: pl.DataFrame, measures: tuple[str, ...], group: str, by: str = "level") -> str:
    """Systems by measures in blocks per level, or per catalog; the interval stands under its value, and what the figures
    rest on in the block's head. ``scores``: table system_scores, or rows of catalog_scores at one level; ``group``: the
    collection's word for a group."""
    present = [m for m in measures if m in set(scores["measure"])]
    values = {(r[by], r["system"], r["measure"]): r for r in scores.iter_rows(named=True)}
    rows: list[list[str]] = []
    for key in sorted(scores[by].unique(), key=lambda x: (x != "all", x)):
        block = scores.filter(pl.col(by) == key)
        name = named(key) if by == "level" else key
        rows.append([f"{escape(name)}<small>{escape(_rests_on(block.row(0, named=True), group))}</small>"])
        for system in block["system"].unique(maintain_order=True):
            cells = [measured_cell(values.get((key, system, m))) for m in present]
            rows.append([escape(system_name(system)), *cells])
    return raw_table(["System", *(escape(named(m)) for m in present)], rows)


def _rests_on(row: dict, group: str) -> str:
    """What a mean is over, and what is left out of it."""
    text = f"{plural(row['queries'], 'ranking')} in {plural(row['groups'], group)}"
    left_out = [
        plural(row[column], noun)
        for column, noun in (("excluded", "ranking"), ("excluded_groups", group))
        if row[column]
    ]
    return f"{text}; without a relevant passage and left out: {', '.join(left_out)}" if left_out else text


def comparison_table(comparisons: pl.DataFrame, confidence: float, measures: tuple[str, ...]) -> str:
    """Every paired difference, in blocks per pair of systems, measures in the order of the specification."""
    rows: list[list[str]] = []
    place = pl.col("measure").replace_strict({m: i for i, m in enumerate(measures)}, default=len(measures))
    ordered = comparisons.sort("system", ~OWN_BASE, "baseline", pl.col("level") != "all", "level", place, "measure")
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
                escape(p_value(r["p_permutation"])),
                f"{r['groups']:,}",
            ]
        )
    heads = [
        "Level",
        "Measure",
        "Difference",
        f"{certainty(confidence)} interval",
        "p",
        "p, Holm",
        "p, permuted",
        "Groups",
    ]
    return raw_table(heads, rows, left=2, css="tight")


def measured_cell(r: dict | None) -> str:
    """A value with its interval below it."""
    if r is None:
        return "-"
    return f"{figure(r['value'])}<small>{interval(r['low'], r['high'])}</small>"


def stale_warnings(stale: Mapping[str, str]) -> str:
    """A warning for every system whose figures no longer hold. ``stale``: system -> why."""
    return "".join(warning(f"{system_name(system)} is stale: {reason}") for system, reason in sorted(stale.items()))
