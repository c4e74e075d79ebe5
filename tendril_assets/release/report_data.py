"""The report's sections on what was built: corpus, labels, judge agreement, cost."""

from html import escape

import polars as pl

from tendril_assets.judging.agreement import confusion_counts
from tendril_assets.release import pictures, report_registers
from tendril_assets.release.judges import choice_as_html, quality_and_price, who_judges
from tendril_assets.release.label_quality import declared_acceptance
from tendril_assets.release.markup import block, note, page_table, picture, side_by_side
from tendril_assets.release.pictures import measured_agreement
from tendril_assets.release.report_inputs import ReportInputs
from tendril_assets.release.report_tables import agreement_table, calls_table, confusion_tables, days_table
from tendril_assets.release.wording import named, plural, share, usd

_OUTCOMES = {"ok": "Read in full", "partial": "Read in part"}


def corpus(inputs: ReportInputs) -> str:
    figures = inputs.figures
    total = int(figures["drops"]["passages"].sum())
    fates = page_table(
        ("Fate", "Passages", "Share"),
        [(named(f), f"{n:,}", share(n, total)) for f, n in figures["drops"].iter_rows()],
    )
    outcomes = figures["document_outcomes"].select("outcome", "documents", "pages")
    group = named(inputs.spec.group)
    listed = report_registers.list_outcomes(inputs) if inputs.spec.registers else []
    tables = [
        (("The list that was landed", f"{group}s"), listed),
        (
            (f"State of {group.lower()}", f"{group}s"),
            [(named(s), f"{n:,}") for s, n in figures["group_states"].iter_rows()],
        ),
        (
            ("Outcome of reading", "Documents", "Pages"),
            [(_OUTCOMES.get(o, named(o)), f"{d:,}", f"{p:,}") for o, d, p in outcomes.iter_rows()],
        ),
        (
            ("Masked entity", "Times", "Documents"),
            [(label, f"{n:,}", f"{d:,}") for label, n, d in figures["entities"].iter_rows()],
        ),
        (("Removal list", "Entries", "Documents", "Passages"), _removals(inputs.tables["removal_effects"])),
    ]
    return block(
        "Passages leave for one stated reason each, or stay.",
        picture(pictures.passage_fates(figures["drops"]), "No passage has been read yet.", details=fates, long=True),
        report_registers.splits(inputs) if inputs.spec.registers else "",
        f"<h3>{escape(group)}s and documents</h3>",
        side_by_side([page_table(heads, rows) for heads, rows in tables if rows]),
    )


def _removals(effects: pl.DataFrame) -> list[tuple[str, ...]]:
    """What the entries of the removal list took out, by kind and by what came of them."""
    sums = effects.group_by("kind", "state").agg(pl.len(), pl.col("documents", "passages").sum()).sort("kind", "state")
    return [
        (f"{named(kind)}, {named(state).lower()}", *(f"{n:,}" for n in numbers))
        for kind, state, *numbers in sums.iter_rows()
    ]


def labels(inputs: ReportInputs) -> str:
    if inputs.spec.registers:
        return report_registers.labels(inputs)
    figures, by_level = inputs.figures, inputs.views["positives_by_catalog_and_level"]
    counts = figures["counts"].row(0, named=True)
    failed = figures["verdicts"].filter(pl.col("status") != "ok")
    parts = [f"{r['pairs']:,} {named(r['status']).lower()}" for r in failed.iter_rows(named=True)]
    failures = (
        f"{plural(int(failed['pairs'].sum()), 'pair')} without an accepted grade: {', '.join(parts)}."
        if parts
        else "Every candidate pair has an accepted grade."
    )
    median = counts["median_judgments_per_query"]
    spread = (
        f" A judged query has {median:,.0f} judgments in the median and {counts['max_judgments_per_query']:,} at most."
        if median is not None
        else ""
    )
    rows = [
        (
            r["catalog"],
            *(f"{r[c]:,}" for c in ("queries", "groups", "documents", "passages", "judgments", "positives")),
            share(r["positives"], r["judgments"]),
        )
        for r in figures["catalogs"].iter_rows(named=True)
    ]
    heads = (
        "Catalog",
        "Queries",
        f"{named(inputs.spec.group)}s",
        "Documents",
        "Passages",
        "Judgments",
        "Positives",
        "Share",
    )
    detail = [
        (
            r["catalog"],
            named(r["level"]),
            f"{r['judgments']:,}",
            f"{r['positives'] - r['fully_relevant']:,}",
            f"{r['fully_relevant']:,}",
            share(r["positives"], r["judgments"]),
        )
        for r in by_level.sort("catalog", "level").iter_rows(named=True)
    ]
    graded = [(named(level), f"{score}", f"{n:,}") for level, score, n in figures["grades"].iter_rows()]
    return block(
        f"{failures}{spread}",
        picture(
            pictures.label_distribution(figures["grades"]),
            "No pair has been judged yet.",
            details=page_table(("Level", "Grade", "Judgments"), graded),
            long=True,
        ),
        f"<h3>By catalog</h3>{page_table(heads, rows)}"
        + note(
            f"A positive is a judgment with grade 1 or 2. {named(inputs.spec.group)}s, documents and passages may count "
            "for several catalogs; queries, judgments and positives count once."
        )
        if rows
        else "",
        picture(
            pictures.positives(by_level),
            "",
            details=page_table(("Catalog", "Level", "Judgments", "Grade 1", "Grade 2", "Positive"), detail, left=2),
            long=True,
        ),
    )


def agreement(inputs: ReportInputs) -> str:
    figures, confidence = inputs.tables["judge_agreement"], inputs.spec.judge.calibration.confidence
    confusions = confusion_tables(figures)
    people = (measured_agreement(figures)["raters"] == "annotators").any()
    beside = ", beside how far people agree with each other" if people else ""
    return block(
        f"How far the judge agrees with people{beside}. Chance agreement is 0.",
        picture(
            pictures.judge_agreement(figures, confidence),
            "The judge has not been measured yet.",
            details=agreement_table(figures, confidence),
            long=True,
        ),
        f"<h3>Pairs by grade</h3><p>Rows are the curated grades, columns those of the judge.{_apart(figures)}</p>"
        + side_by_side(confusions, three=True)
        if confusions
        else "",
        _calibration(inputs),
    )


def _apart(agreement: pl.DataFrame) -> str:
    """How many pairs have equal grades, and how many are two steps apart, over all levels."""
    own = agreement.filter(pl.col("in_use") & (pl.col("raters") == "judge_vs_curated"), scale="graded", level="all")
    counts = own.filter(statistic="kappa")["confusion"].drop_nulls()
    if counts.is_empty():
        return ""
    found = confusion_counts(counts[0])
    return (
        f" Of {plural(found.pairs, 'pair')}, {found.exact:,} have equal grades and {found.gross:,} are two steps apart."
    )


def _calibration(inputs: ReportInputs) -> str:
    """The judges that were measured, where there was a choice among several, or whether there is any judge is one."""
    choice, systems = inputs.tables["judge_choice"], inputs.tables["calibration_systems"]
    calibration = inputs.spec.judge.calibration
    if choice.height < (1 if calibration.none_accepted == "without" else 2):
        return ""
    declared = declared_acceptance(calibration)
    return (
        f"<h3>The judges that were measured</h3><p>{escape(f'Declared before the data: {declared}. {who_judges(choice)}')}</p>"
        + picture(quality_and_price(inputs.spec, choice, inputs.tables["judge_agreement"]), "")
        + choice_as_html(choice, systems)
    )


def cost(inputs: ReportInputs) -> str:
    calls, days = inputs.figures["calls"], inputs.views["cost_by_day"]
    when = f" All of it was on {days['day'][0]} (UTC)." if days["day"].n_unique() == 1 else ""
    prompt, cached = int(calls["prompt_tokens"].sum()), int(calls["cached_tokens"].sum())
    cache = f" {share(cached, prompt)} of the prompt tokens came from the provider's cache." if prompt else ""
    by_prices = calls["estimated_cost"].sum() or 0
    estimated = f" By token prices the unknown ones come to about {usd(by_prices)}." if by_prices else ""
    return block(
        f"What was asked and what it cost. An unknown cost is counted, never added.{when}{estimated}{cache}",
        picture(
            pictures.costs(inputs.figures),
            "Nothing has been asked yet.",
            details=calls_table(calls) if calls.height else "",
        ),
        picture(pictures.costs_over_time(days), "", details=days_table(days) if days.height else "", long=True),
    )
