"""Parts of the card of a collection of several registers: where queries and grades come from, and whether a judge may grade."""

import polars as pl

from tendril_assets.judging.agreement import confusion_counts
from tendril_assets.release.figures import Figures
from tendril_assets.release.front_matter import Provenance
from tendril_assets.release.label_quality import how_it_was_chosen, published_judge
from tendril_assets.release.register_card import ROUTES
from tendril_assets.release.wording import certainty, figure, interval, listed, markdown_table, named, plural, share
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_registers import GenerationSpec

# What became of a passage that was asked about, where it gave no question, as cards list it.
_NO_REJECTION = ("open", "accepted")
_BY = {
    "clauses": "by the clauses they name",
    "generated": "by the passage they were written from",
    "judge": "through the pool",
    "published": "as published before",
}


def provenance(figures: Figures) -> Provenance:
    """Who made judgments and texts, in the hub's words."""
    routes = set(figures["grade_routes"]["route"])
    annotations = [
        *(["found"] if "clauses" in routes else []),
        *(["machine-generated"] if routes - {"clauses"} else []),
    ]
    generated = int(figures["registers"]["generated"].sum())
    return Provenance(
        tuple(annotations), ("found", "machine-generated") if generated else ("found",), is_judged="judge" in routes
    )


def registers(spec: CollectionSpec, figures: Figures) -> str:
    """Where queries and grades come from, register by register."""
    parts = []
    declared = spec.registers
    if declared and declared.live:
        parts.append(_live(spec, declared.live.level, figures))
    if declared and declared.manual:
        parts.append(_manual(spec, declared.manual.level, figures))
    if declared and declared.generation:
        parts.append(_generated(spec, declared.generation, figures))
    order = {route: place for place, route in enumerate(ROUTES)}
    routes = sorted(figures["grade_routes"].rows(), key=lambda row: (order.get(row[0], len(order)), -row[1]))
    rows = [(ROUTES.get(route, route), score, f"{n:,}") for route, score, n in routes]
    table = markdown_table(("Grade from", "Score", "Judgments"), rows)
    said = []
    if spec.qrels.neighbour_overlap:
        least = share(spec.qrels.neighbour_overlap, 1)
        said.append(f"A neighbour has grade 1 only where it holds at least {least} of that text.")
    if spec.qrels.append_only:
        said.append("Judgments are append-only: a pair once published stays, unless it is removed on request.")
    return "\n\n".join([*parts, table, *([" ".join(said)] if said else [])])


def _live(spec: CollectionSpec, level: str, figures: Figures) -> str:
    routes = figures["live_routes"]
    if not routes.height:
        return f"**{named(level)}.** No question was collected."
    by_route = dict(routes.group_by("route").agg(pl.col("questions").sum()).iter_rows())
    unattached = int(routes.filter(how="none")["questions"].sum())
    total, group = int(routes["questions"].sum()), spec.group
    clauses, pool, dropped, none = (by_route.get(route, 0) for route in ("clauses", "pool", "dropped", "none"))
    repeats = none - unattached
    text = (
        f"**{named(level)}.** {plural(total, 'question')} that people asked were collected. {total - unattached:,} belong to "
        f"one of our {group}s, by a heading they stand under or by what they name. By route: {clauses:,} are graded by the "
        f"clauses they name, {pool:,} go into the pool, {dropped:,} name a clause that our text does not have and are dropped, "
        f"{unattached:,} belong to no {group} of ours"
        + (f", {repeats:,} {'repeats' if repeats == 1 else 'repeat'} another." if repeats else ".")
    )
    named_by = routes.group_by("how").agg(pl.col("named").sum(), pl.col("verified").sum()).sort("how")
    verified = [
        f"by {_HOW.get(how, how)} {share(held, n)} ({held:,} of {n:,})" for how, n, held in named_by.iter_rows() if n
    ]
    if verified:
        borne_out = f" An attachment is borne out where a clause that the question names stands in the {group}'s text"
        text += f"{borne_out}: {listed(verified)}."
    return text + _annotated(level, figures) + _dominant(spec, level, figures)


_HOW = {"section": "the heading", "topic": "the topic", "question": "the question"}


def _manual(spec: CollectionSpec, level: str, figures: Figures) -> str:
    origins = figures["query_origins"].row(0, named=True)
    return (
        f"**{named(level)}.** {origins['manual']:,} of {plural(origins['manual_landed'], 'query')} that people wrote to a sheet "
        f"of {spec.group}s from held-out groups, spread over their kinds; they go into the pool."
        + _annotated(level, figures)
    )


def _annotated(level: str, figures: Figures) -> str:
    """How many queries of a register have a judgment, and by what."""
    ways = figures["annotated_by"].filter(level=level)
    if not ways.height:
        return " None of them is annotated."
    each = [f"{n:,} {_BY.get(route, f'by route {route}')}" for route, n in ways.select("route", "queries").iter_rows()]
    return f" {int(ways['queries'].sum()):,} are annotated: {listed(each)}."


def _dominant(spec: CollectionSpec, level: str, figures: Figures) -> str:
    own = figures["registers"].filter(
        pl.col("level") == level, pl.col("part") == "test", pl.col("dominant_queries") > 0
    )
    if not own.height:
        return ""
    row = own.row(0, named=True)
    twice = ", so every measure is taken with it and without" if level in spec.evaluation.without_dominant else ""
    return (
        f" {share(row['dominant_queries'], row['annotated'])} of the annotated ones in the tests are about "
        f"`{row['dominant_group']}`{twice}."
    )


def _generated(spec: CollectionSpec, generation: GenerationSpec, figures: Figures) -> str:
    fates, filters = figures["question_fates"], generation.filters
    rows: list[tuple[str, ...]] = []
    for name, declared in generation.sets.items():
        own = fates.filter(question_set=name)
        asked = int(own["questions"].sum())
        kept, unanswered = (int(own.filter(status=status)["questions"].sum()) for status in ("accepted", "open"))
        rejected = own.filter(~pl.col("status").is_in(_NO_REJECTION)).sort(
            "questions", "status", descending=[True, False]
        )
        why = [
            f"{named(s).lower()} {n:,} ({share(n, asked)})"
            for s, n in rejected.select("status", "questions").iter_rows()
        ]
        why += [f"no answer yet {unanswered:,}"] if unanswered else []
        rows.append(
            (
                f"`{name}`",
                named(declared.level),
                f"`{declared.llm.model}` ({declared.family})",
                *(f"{n:,}" for n in (asked, kept)),
                share(asked - kept, asked),
                ", ".join(why) or "none",
            )
        )
    head = ("Set", "Register", "Model (family)", "Asked", "Kept", "Left out", "Because")
    text = (
        f"**Generated.** One question for each passage, at most {generation.per_group} of one {spec.group}. Models of different "
        "families write the training questions and those of the held-out splits. Left out are questions that the model declined "
        f"to write, that take over more than {filters.max_verbatim_words} words in a row, whose words are too common to tell "
        "passages apart, that are in another language, point at the passage itself or repeat another question"
    )
    if teacher := filters.teacher:
        text += (
            f", and those whose passage the reranker `{teacher.reranker}` does not put among the first {teacher.keep_rank} of "
            f"{teacher.depth}"
        )
    return f"{text}.\n\n{markdown_table(head, rows, figures=False)}"


def acceptance(spec: CollectionSpec, agreement: pl.DataFrame, choice: pl.DataFrame, systems: pl.DataFrame) -> str:
    """Whether a judge may grade the pool: what was declared, what was measured, and what follows.

    ``agreement``, ``choice``, ``systems``: tables judge_agreement, judge_choice, calibration_systems.
    """
    calibration = spec.judge.calibration
    judge = published_judge(spec, choice)
    if not choice.height:
        unmeasured = "No judge was measured against people"
        return (
            f"{unmeasured}, and no label of a judge is applied."
            if judge is None
            else f"{unmeasured}: its labels are weak."
        )
    rows = []
    for r in choice.sort("rank").iter_rows(named=True):
        kappa, weighted = (_pooled(agreement, r["system"], statistic) for statistic in ("kappa", "kappa_quadratic"))
        counted = confusion_counts(kappa["confusion"]) if kappa and kappa["confusion"] else None
        rows.append(
            (
                f"`{r['system']}`",
                _agreement(kappa),
                _agreement(weighted),
                f"{counted.exact:,} of {counted.pairs:,}" if counted else "-",
                f"{counted.gross:,} of {counted.pairs:,}" if counted else "-",
                _two_runs(r["system"], systems, calibration.repeats),
                {True: "met", False: "**not met**", None: "-"}[r["accepted"]],
            )
        )
    head = (
        *("Judge", f"Cohen's κ, {certainty(calibration.confidence)} interval", "Quadratic weights", "Exact"),
        *("Two grades apart", "Two runs equal", "Acceptance"),
    )
    applied = (
        f"The pool was graded by `{judge.name}`."
        if judge is not None
        else "**Acceptance is not met: no label of a judge is applied.** The judgments rest on the other routes alone."
    )
    parts = [
        how_it_was_chosen(spec, choice),
        markdown_table(head, rows),
        "Figures are against the grades of people over the pairs of all registers together (0/1/2).",
        _stacks(spec, choice),
        applied,
    ]
    return "\n\n".join(part for part in parts if part)


def _pooled(agreement: pl.DataFrame, system: str, statistic: str) -> dict | None:
    found = agreement.filter(
        (pl.col("system") == system)
        & (pl.col("raters") == "judge_vs_curated")
        & (pl.col("statistic") == statistic)
        & (pl.col("scale") == "graded")
        & (pl.col("level") == "all")
    )
    return found.row(0, named=True) if found.height else None


def _agreement(row: dict | None) -> str:
    if row is None:
        return "-"
    if row["value"] is None:
        return f"undefined ({named(row['reason'] or 'no figure').lower()})"
    return f"{figure(row['value'])} {interval(row['low'], row['high'])}".strip()


def _two_runs(system: str, systems: pl.DataFrame, repeats: int) -> str:
    found = systems.filter(system=system)
    if repeats < 2 or not found.height or found["repeat_share"][0] is None:
        return "-"
    row = found.row(0, named=True)
    ends = interval(row["repeat_share_low"], row["repeat_share_high"])
    return f"{figure(row['repeat_share'])} {ends}".strip() + f" ({plural(row['repeat_n'], 'pair')})"


def _stacks(spec: CollectionSpec, choice: pl.DataFrame) -> str:
    """What serves each judge that was measured, where it was declared: figures of two stacks are never one figure."""
    declared = spec.judge.stacks
    told = [f"`{model}`: {declared[model].in_words}" for model in sorted(set(choice["model"])) if model in declared]
    return f"Inference stack, as declared by whoever serves it: {'; '.join(told)}." if told else ""
