"""The report's sections on measures per register: figures with what they rest on, differences, stages of the recipe."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import polars as pl

from tendril_assets.evaluation.registers import GROUP, QUERY, WHOLE
from tendril_assets.release import register_pictures, results_pictures
from tendril_assets.release.markup import block, folded, note, page_table, picture, raw_table
from tendril_assets.release.register_pictures import blocks, composed_of, dominant_of, register_name
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.report_tables import comparison_table, measured_cell, queries_table, stale_warnings
from tendril_assets.release.wording import (
    certainty,
    figure,
    interval,
    listed,
    named,
    p_value,
    plural,
    signed,
    system_name,
)
from tendril_assets.spec_evaluation import ALL

# Rows of the table of the hardest queries.
_HARDEST = 10


def quality(inputs: ReportInputs) -> str:
    """Every system per register, those named for it twice."""
    scores, spec = inputs.tables["register_scores"], inputs.spec
    rules, group = spec.evaluation, spec.group
    lead = (
        f"Held-out {group}s: each query is ranked against the whole corpus. The mean is over queries, and its interval from "
        f"{rules.resamples:,} resamples of them, so it says nothing of questions about other {group}s; means over {group}s are "
        "in the second table."
    )
    return block(
        lead if scores.height else "",
        stale_warnings(inputs.stale),
        picture(
            register_pictures.register_scores(scores, headline_measure(spec), rules.confidence, group),
            "No system has been evaluated yet.",
        ),
        note(_too_few(inputs)) if scores.height and _too_few(inputs) else "",
        f"<h3>All measures</h3>{_measures(scores, QUERY, rules.measures, group)}"
        + folded(f"Means over {group}s of the means within", _measures(scores, GROUP, rules.measures, group), long=True)
        if scores.height
        else "",
        _hardest(inputs),
    )


def _too_few(inputs: ReportInputs) -> str:
    """What has no row of its own: a register of few answered queries, or what is left of one without its largest group."""
    scores, least = inputs.tables["register_scores"], inputs.spec.evaluation.min_queries
    shown = set(scores.select("level", "part").unique().iter_rows())
    tests = inputs.figures["registers"].filter(pl.col("part") == "test")
    few = [
        f"{named(level)} ({answered:,})"
        for level, answered in tests.select("level", "answered").iter_rows()
        if (level, WHOLE) not in shown
    ]
    dominant = dominant_of(scores)
    few += [
        register_name(level, "without_dominant", dominant[level])
        for level in inputs.spec.evaluation.without_dominant
        if (level, WHOLE) in shown and (level, "without_dominant") not in shown
    ]
    if not few:
        return ""
    return f"Fewer than {plural(least, 'answered query')}, so without a row of its own: {listed(few)}."


def _measures(scores: pl.DataFrame, unit: str, measures: Sequence[str], group: str) -> str:
    """Systems by measures in blocks per register and part; the interval stands under its value."""
    own = scores.filter(unit=unit)
    dominant = dominant_of(scores)
    values = {(r["level"], r["part"], r["system"], r["measure"]): r for r in own.iter_rows(named=True)}
    rows: list[list[str]] = []
    for level, part in blocks(own):
        rests = own.filter(level=level, part=part)
        row = rests.row(0, named=True)
        left_out = (
            f"; {plural(row['excluded'], 'query')} without a relevant passage left out" if row["excluded"] else ""
        )
        name = register_name(level, part, dominant.get(level))
        rows.append([f"{escape(name)}<small>{escape(composed_of(row, group) + left_out)}</small>"])
        for system in rests["system"].unique(maintain_order=True):
            cells = [measured_cell(values.get((level, part, system, measure))) for measure in measures]
            rows.append([escape(system_name(system)), *cells])
    return raw_table(["System", *(escape(named(measure)) for measure in measures)], rows)


def _hardest(inputs: ReportInputs) -> str:
    """The queries that the best system of all registers ranks worst, folded."""
    rows = inputs.tables["register_scores"].filter(
        measure=headline_measure(inputs.spec), unit=QUERY, level=ALL, part=WHOLE
    )
    if rows.is_empty():
        return ""
    best = rows.sort("value", "system", descending=[True, False])["system"][0]
    own = inputs.views["worst_queries"].filter(pl.col("system") == best).head(_HARDEST)
    return folded(f"The hardest queries of {system_name(best)}", queries_table(own, inputs.spec.group), long=True)


def differences(inputs: ReportInputs) -> str:
    """Every system against BM25, and fine-tuned models against their bases, per register."""
    spec, scores, compared = inputs.spec, inputs.tables["register_scores"], inputs.tables["register_comparisons"]
    measure, confidence = headline_measure(spec), spec.evaluation.confidence
    # All registers together are no population that a training could be said to have changed.
    own = inputs.tables["comparisons"].filter(results_pictures.OWN_BASE & (pl.col("level") != ALL))
    return block(
        "Paired bootstrap with the same resamples for both systems; Holm's correction is over the systems, per register, part, "
        "unit and measure. The permuted p is that of a sign-flip test, without correction: trust it where units are few.",
        stale_warnings(inputs.stale),
        picture(
            register_pictures.register_differences(compared, scores, measure, confidence, spec.group),
            "No system has been compared yet.",
        ),
        folded("Every register and measure", _comparisons(inputs)) if compared.height else "",
        f"<h3>What fine-tuning changed</h3><p>{escape(f'Means over {spec.group}s, which are what is resampled.')}</p>"
        + picture(
            results_pictures.differences(own, measure, confidence),
            "",
            details=comparison_table(own, confidence, spec.evaluation.measures),
        )
        if own.height
        else "",
    )


def _comparisons(inputs: ReportInputs) -> str:
    """Every paired difference, in blocks per register and part, over queries first."""
    compared, measures = inputs.tables["register_comparisons"], inputs.spec.evaluation.measures
    dominant = dominant_of(inputs.tables["register_scores"])
    place = pl.col("measure").replace_strict({m: i for i, m in enumerate(measures)}, default=len(measures))
    rows: list[list[str]] = []
    for level, part in blocks(compared):
        rows.append([escape(register_name(level, part, dominant.get(level)))])
        ordered = compared.filter(level=level, part=part).sort(place, pl.col("unit") != QUERY, "system")
        rows += [
            [
                escape(system_name(r["system"])),
                escape(named(r["measure"])),
                plural(r["n"], "query" if r["unit"] == QUERY else inputs.spec.group),
                *_difference(r),
                escape(p_value(r["p_holm"])),
            ]
            for r in ordered.iter_rows(named=True)
        ]
    ends = f"{certainty(inputs.spec.evaluation.confidence)} interval"
    heads = ("System", "Measure", "Over", "Difference", ends, "p", "p, permuted", "p, Holm")
    return raw_table(heads, rows, left=2, css="tight")


def stages(inputs: ReportInputs) -> str:
    """Which stages of the recipe the validation groups accept."""
    accepted = inputs.tables["stage_acceptance"]
    if accepted.is_empty():
        return ""
    rows = [
        (
            f"{system_name(r['system'])} over {system_name(r['before'])}",
            figure(r["before_value"]),
            figure(r["value"]),
            *_difference(r, escaped=False),
            "yes" if r["accepted"] else "no",
        )
        for r in accepted.iter_rows(named=True)
    ]
    ends = f"{certainty(inputs.spec.evaluation.confidence)} interval"
    heads = ("Stage", "Before", "After", "Difference", ends, "p", "p, permuted", "Accepted")
    first = accepted.row(0, named=True)
    lead = (
        f"A stage is accepted where the whole interval of its difference on the validation {inputs.spec.group}s lies above "
        f"zero: {named(first['measure'])}, {plural(first['queries'], 'query')} in {plural(first['groups'], inputs.spec.group)}."
    )
    drawn = register_pictures.stages(accepted, inputs.spec.evaluation.confidence)
    return f"<h3>Stages of the recipe</h3><p>{escape(lead)}</p>{picture(drawn, '')}{page_table(heads, rows)}"


def _difference(row: Mapping[str, Any], *, escaped: bool = True) -> list[str]:
    """Difference, interval, p of the bootstrap and of the sign flips."""
    ps = [p_value(row["p"]), p_value(row["p_permutation"])]
    return [
        signed(row["difference"]),
        interval(row["low"], row["high"], sign=True),
        *(map(escape, ps) if escaped else ps),
    ]
