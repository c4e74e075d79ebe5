"""The data card's list of steps: how projects, passages, queries and judgments came to be, each with its figures."""

from datetime import datetime

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.judging.prompts import Guideline, load_guideline
from tendril_assets.judging.systems import System
from tendril_assets.queries.wording import AMBITION_LEVELS
from tendril_assets.release.figures import Figures
from tendril_assets.release.label_quality import published_judge
from tendril_assets.release.wording import listed, named, plural, share, usd
from tendril_assets.spec import CollectionSpec

# How a request ended that gave no grade, as an adjective; other statuses are named as they are.
_ENDED = {
    "parse_error": "unparsed",
    "contradiction": "contradictory",
    "error": "failed",
    "bad_body": "unreadable",
    "open": "not answered yet",
}


def creation(spec: CollectionSpec, figures: Figures, counts: dict, choice: pl.DataFrame) -> str:
    """A Markdown list, one point per step. Raises ExportInvariantError where no judge is in use."""
    steps = {
        "Selection": _selection(spec, figures, counts),
        "Reading": _documents(figures),
        "Passage filtering": _filtering(spec, figures, counts),
        "Anonymisation": _anonymisation(spec, figures),
        "Query wording": f"Areas of action use a summary of at most {spec.wording.summary_max_words} words, written from "
        f"the catalog by `{spec.wording.summary.model}` (temperature {spec.wording.summary.temperature:g}). Criteria use "
        f"the criterion's text followed by its ambition levels ({', '.join(AMBITION_LEVELS.values())}). The test "
        "collection uses the same wording.",
        "Relevance judgments": _judging(spec, figures, counts, choice),
        "Restricted documents": _restricted(spec, figures, counts),
    }
    return "\n".join(f"- **{name}.** {text}" for name, text in steps.items())


def _selection(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    rules = spec.sampling
    quotas = listed([f"{named(tier).lower()} {n}" for tier, n in rules.quotas.items()])
    ends = [f"{r['groups']:,} {named(r['state']).lower()}" for r in figures["group_states"].iter_rows(named=True)]
    return (
        f"{plural(counts['sampled_groups'], spec.group)} were sampled, with up to {rules.documents_per_project} documents "
        f"each: {listed(ends)}. Every {spec.group} gets one criterion per selected area. Areas are drawn by quota from "
        f"tiers of prior relevance evidence ({quotas}), then topped up until every area appears in at least "
        f"{plural(rules.min_projects_per_area, spec.group)}. The external test collection is left out. The seed is "
        f"{spec.seed}."
    )


def _documents(figures: Figures) -> str:
    outcomes = figures["document_outcomes"]
    if not outcomes.height:
        return "Passages were delivered by an upstream pipeline."
    parts = listed([f"{r['documents']:,} {named(r['outcome']).lower()}" for r in outcomes.iter_rows(named=True)])
    return f"{plural(int(outcomes['documents'].sum()), 'document')} by outcome: {parts}."


def _filtering(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    rules, near = spec.filters, spec.filters.near_duplicate
    fates = {r["fate"]: r["passages"] for r in figures["drops"].iter_rows(named=True)}
    dropped = listed([f"{named(f).lower()} {n:,}" for f, n in fates.items() if f != "in_corpus"]) or "none"
    guard = "; pairs that differ in a negation or a number are kept" if near.guard else ""
    return (
        f"Of {plural(counts['raw_passages'], 'passage')}, {counts['passages']:,} are published; left out: {dropped}. Kept "
        f"are passages of {rules.min_characters}-{rules.max_characters:,} characters that are not dominated by digits or "
        f"symbols, are no degenerate tables and repeat no older kept passage of their {spec.group} (Jaccard similarity of "
        f"{near.unit[:-1]} {near.n}-grams >= {near.threshold}{guard})."
    )


def _anonymisation(spec: CollectionSpec, figures: Figures) -> str:
    entities = figures["entities"]
    labels = listed([f"{r['label']} {r['entities']:,}" for r in entities.iter_rows(named=True)])
    rules = spec.anonymization
    tool = f"the model `{rules.model}`" if rules.detector == "model" else "its checksum rules"
    pinned = f" (revision `{rules.revision}`)" if rules.revision else ""
    return (
        f"{plural(int(entities['entities'].sum()), 'entity')} replaced by placeholders such as `<PERSON_1>`"
        f"{f' ({labels})' if labels else ''}, found by gheim with {tool}{pinned} and further patterns, on one machine."
    )


def _restricted(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    states = figures["group_states"]
    left = int(states.filter(pl.col("state") == "restricted")["groups"].sum())
    return (
        f"A {spec.group} whose documents limit their use to preparing an offer, or forbid publication or passing on to "
        f"third parties, is left out as a whole ({left:,} of the {plural(counts['sampled_groups'], spec.group)})."
    )


def _judging(spec: CollectionSpec, figures: Figures, counts: dict, choice: pl.DataFrame) -> str:
    judge = published_judge(spec, choice)
    if judge is None:
        raise ExportInvariantError(
            "judge_choice names no judge in use, so there is none to write of: nothing may be published"
        )
    calls = figures["calls"].filter(pl.col("purpose") == "judge")
    effort = f"{judge.llm.reasoning_effort} reasoning effort, " if judge.llm.reasoning_effort else ""
    when = (
        f", {_period(*calls.select(pl.col('first_at').min(), pl.col('last_at').max()).row(0))}" if calls.height else ""
    )
    parts = [
        f"Each query-passage pair of a {spec.group} was graded by `{judge.llm.model}` ({effort}temperature "
        f"{judge.llm.temperature:g}) with the guideline {_guideline(spec, judge)}{when}.",
        _requests(figures, counts),
        _routes(figures),
        _cost(calls) if calls.height else "",
    ]
    return " ".join(part for part in parts if part)


def _guideline(spec: CollectionSpec, judge: System) -> str:
    """Name and version, and how long it is beside those it was compared with."""
    own = judge.guideline
    text = f"`{own.name}` (version {own.version})"
    others = [load_guideline(name) for name in spec.judge.calibration.guidelines if name != own.name]
    if not others:
        return text
    rank = sum(_length(other) < _length(own) for other in others)
    place = {0: "the shortest", len(others): "the longest"}.get(rank, "one")
    return f"{text}, {place} of {plural(1 + len(others), 'version')} that were compared"


def _length(guideline: Guideline) -> int:
    return len(guideline.system) + sum(map(len, guideline.user.pieces[::2]))


def _requests(figures: Figures, counts: dict) -> str:
    verdicts = figures["verdicts"]
    ok, rest = verdicts.filter(pl.col("status") == "ok"), verdicts.filter(pl.col("status") != "ok")
    answered = int(ok["requests"].sum())
    text = f"{plural(counts['candidates'], 'pair')} needed {plural(counts['requests'], 'request')}"
    if counts["candidates"] > counts["requests"]:
        text += ", since pairs with equal texts share one"
    text += f". {plural(answered, 'request')} gave the {plural(counts['judgments'], 'judgment')}; "
    if not rest.height:
        return text + "none failed."
    ended = [
        f"{r['requests']:,} {_ENDED.get(r['status'], named(r['status']).lower())}" for r in rest.iter_rows(named=True)
    ]
    pairs, failed = int(rest["pairs"].sum()), int(rest["requests"].sum())
    share_of_all = share(failed, counts["requests"])
    return text + (
        f"{failed:,} gave no grade ({listed(ended)}; {share_of_all}), so that {plural(pairs, 'pair')} "
        f"{'is' if pairs == 1 else 'are'} not published."
    )


def _routes(figures: Figures) -> str:
    routes = [(r["provider"] or "an unnamed route", r["requests"]) for r in figures["routes"].iter_rows(named=True)]
    if not routes:
        return ""
    if len(routes) == 1:
        return f"All answers came by way of {routes[0][0]}."
    return f"Answers came by way of {listed([f'{name} ({n:,})' for name, n in routes])}."


def _cost(calls: pl.DataFrame) -> str:
    unknown = int(calls["unknown_costs"].sum())
    by_prices = calls["estimated_cost"].sum() or 0
    estimated = f", by token prices about {usd(by_prices)}" if by_prices else ""
    text = f"Known cost of judging: {usd(calls['known_cost'].sum())}"
    return f"{text} (cost unknown for {plural(unknown, 'answer')}{estimated})." if unknown else f"{text}."


def _period(first: datetime, last: datetime) -> str:
    months = list(dict.fromkeys((first.strftime("%B %Y"), last.strftime("%B %Y"))))
    return f"in {months[0]}" if len(months) == 1 else f"from {months[0]} to {months[1]}"
