"""The report's sections on what a collection of several registers is built of: acts, registers, where grades come from.

No figure over all registers stands without what it is composed of.
"""

import polars as pl

from tendril_assets.evaluation.registers import QUERY, WHOLE
from tendril_assets.release import pictures, register_pictures
from tendril_assets.release.markup import block, note, page_table, picture, raw_table
from tendril_assets.release.register_card import ROUTES
from tendril_assets.release.register_pictures import composed_of, dominant_of, register_name
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.wording import figure, named, plural, share, system_name
from tendril_assets.spec_evaluation import ALL

_PARTS = {
    "test": "Tests, of held-out {group}s",
    "dev": "Dev, of held-out {group}s; no test figure",
    "train": "Training",
}


def tiles(inputs: ReportInputs) -> list[tuple[str, str, str]]:
    """The best system on all registers and on those that are measured twice, each with what it rests on."""
    measure, spec = headline_measure(inputs.spec), inputs.spec
    rows = inputs.tables["register_scores"].filter(measure=measure, unit=QUERY).sort("value", "system", descending=True)
    if rows.is_empty():
        return [(named(measure), "-", "no system has been evaluated yet")]
    dominant, found = dominant_of(rows), []
    for level in (ALL, *spec.evaluation.without_dominant):
        best = rows.filter(level=level, part=WHOLE).head(1)
        for row in best.iter_rows(named=True):
            words = f"{system_name(row['system'])}; {composed_of(row, spec.group)}"
            rest = rows.filter(level=level, part="without_dominant", system=row["system"])
            words += "".join(f"; {figure(value)} without {dominant[level]}" for value in rest["value"])
            words += "; stale, see below" if row["system"] in inputs.stale else ""
            found.append((f"Best {named(measure)}, {register_name(level, WHOLE).lower()}", figure(row["value"]), words))
    return found


def list_outcomes(inputs: ReportInputs) -> list[tuple[str, ...]]:
    """What became of the landed list."""
    return [
        (named(outcome), f"{n:,}") for outcome, n in inputs.figures["act_outcomes"].select("outcome", "acts").rows()
    ]


def splits(inputs: ReportInputs) -> str:
    """How many groups of each kind each split holds, and how many passages."""
    kinds, group = inputs.figures["act_kinds"], inputs.spec.group
    if kinds.is_empty():
        return ""
    order = {split: place for place, split in enumerate(("train", "validation", *inputs.spec.splits.test))}
    columns = sorted(kinds["split"].unique(), key=lambda name: (order.get(name, len(order)), name))
    totals = kinds.group_by("split").agg(pl.col("groups", "passages").sum())
    groups, passages = (dict(totals.select("split", name).iter_rows()) for name in ("groups", "passages"))
    rows = [(f"{named(group)}s", *(f"{groups[split]:,}" for split in columns))]
    for kind in (
        kinds.group_by("kind").agg(pl.col("groups").sum()).sort("groups", "kind", descending=[True, False])["kind"]
    ):
        of = dict(kinds.filter(kind=kind).select("split", "groups").iter_rows())
        rows.append((kind, *(f"{of.get(split, 0):,}" for split in columns)))
    rows.append(("Passages", *(f"{passages[split]:,}" for split in columns)))
    rows.append(("Share", *(share(passages[split], sum(passages.values())) for split in columns)))
    heads = ("", *("dev" if split == "validation" else split for split in columns))
    fixed = note(f"By {group}, fixed before a question was generated or judged.")
    return f"<h3>Splits</h3>{page_table(heads, rows)}{fixed}"


def registers(inputs: ReportInputs) -> str:
    """What each register is made of, how live questions were attached, what became of generated questions."""
    found, group = inputs.figures["registers"], inputs.spec.group
    rows: list[list[str]] = []
    for part, title in _PARTS.items():
        own = found.filter(part=part)
        rows += [[title.format(group=group)]] if own.height else []
        for r in own.iter_rows(named=True):
            largest = f"{share(r['dominant_queries'], r['annotated'])}<small>{r['dominant_group']}</small>"
            rows.append(
                [
                    named(r["level"]),
                    *(f"{r[name]:,}" for name in ("queries", "annotated", "answered", "groups")),
                    largest if r["dominant_group"] else "-",
                    share(r["generated"], r["queries"]),
                    f"{r['median_characters']:,.0f}",
                ]
            )
    heads = (
        "Register",
        "Queries",
        "Annotated",
        "Answered",
        f"{named(group)}s",
        "Largest share",
        "By a model",
        "Length",
    )
    fates = inputs.figures["question_fates"]
    return block(
        "Registers differ in where their questions come from, in length and in wording: none stands for another."
        if rows
        else "No query has been written yet.",
        raw_table(heads, rows)
        + note(
            f"Annotated queries have a judgment, answered ones a relevant passage. The largest share of the annotated ones is "
            f"about the {group} below it. A query that belongs to no {group} counts for none here; in the measures it counts for "
            f"the {group} that holds most of its relevant passages. Length: characters, median."
        )
        if rows
        else "",
        _attached(inputs),
        "<h3>Generated questions</h3>"
        + picture(register_pictures.question_fates(fates), "", details=_fates(fates), long=True)
        if fates.height
        else "",
    )


def _attached(inputs: ReportInputs) -> str:
    """Live questions by what attached them, and the routes that their grades take."""
    routes, group = inputs.figures["live_routes"], inputs.spec.group
    if routes.is_empty():
        return ""
    rows = []
    for how in sorted(routes["how"].unique(), key=lambda name: (name == "none", name)):
        own = routes.filter(how=how)
        by_route = dict(own.select("route", "questions").iter_rows())
        clauses, borne_out = int(own["named"].sum()), int(own["verified"].sum())
        counts = (f"{by_route.get(route, 0):,}" for route in ("clauses", "pool", "dropped", "none"))
        checked = f"{share(borne_out, clauses)} of {clauses:,}" if clauses and how != "none" else "-"
        rows.append((named(how), f"{int(own['questions'].sum()):,}", *counts, checked))
    heads = ("Attached by", "Questions", "By clauses", "Pool", "Dropped", "Left out", "Clause found")
    return f"<h3>Live questions and their {group}s</h3>{page_table(heads, rows)}" + note(
        f"By clauses: those that are named hold the gold. Dropped: a named clause is not in our revision. Clause found: how "
        f"often a clause that a question names stands in the {group} it was attached to."
    )


def _fates(fates: pl.DataFrame) -> str:
    totals = dict(fates.group_by("question_set").agg(pl.col("questions").sum()).iter_rows())
    rows = [
        (
            r["question_set"],
            r["model"],
            named(r["status"]),
            f"{r['questions']:,}",
            share(r["questions"], totals[r["question_set"]]),
        )
        for r in fates.iter_rows(named=True)
    ]
    return page_table(("Set", "Model", "Fate", "Questions", "Share"), rows, left=3)


def labels(inputs: ReportInputs) -> str:
    """Grades per register and by the route they came by, and what of the pool is judged."""
    figures = inputs.figures
    graded = [(named(level), f"{score}", f"{n:,}") for level, score, n in figures["grades"].iter_rows()]
    total = int(figures["grade_routes"]["judgments"].sum())
    routes = [
        (ROUTES.get(r["route"], r["route"]), f"{r['score']}", f"{r['judgments']:,}", share(r["judgments"], total))
        for r in figures["grade_routes"].iter_rows(named=True)
    ]
    pool = [
        (named(level), *(f"{n:,}" for n in (*counts, counts[1] - counts[2] - counts[3])))
        for level, *counts in figures["pool_sizes"]
        .select("level", "queries", "pairs", "by_judge", "by_other_routes")
        .iter_rows()
    ]
    failed = figures["verdicts"].filter(pl.col("status") != "ok")
    unanswered = ", ".join(
        f"{n:,} {named(status).lower()}" for status, n in failed.select("status", "pairs").iter_rows()
    )
    pooled = "<h3>The pool</h3>" + page_table(
        ("Register", "Queries", "Pairs", "By the judge", "By another route", "Open"), pool
    )
    return block(
        f"{plural(total, 'judgment')}, each with the route it came by."
        + (f" Pairs without an accepted grade of the judge: {unanswered}." if unanswered else ""),
        picture(
            pictures.label_distribution(figures["grades"]),
            "No pair has been judged yet.",
            details=page_table(("Register", "Grade", "Judgments"), graded),
            long=True,
        ),
        f"<h3>By route</h3>{page_table(('Grade from', 'Grade', 'Judgments', 'Share'), routes)}" if routes else "",
        pooled + (_not_judged(inputs) if not any(figures["pool_sizes"]["by_judge"]) else "") if pool else "",
    )


def _not_judged(inputs: ReportInputs) -> str:
    choice = inputs.tables["judge_choice"]
    refused = choice.height and not choice["in_use"].any()
    return note(
        "No judge meets the declared acceptance, so no label of a judge is applied: see below."
        if refused
        else "Nothing of it has been judged yet."
    )
