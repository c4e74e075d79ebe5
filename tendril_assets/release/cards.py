"""The data card: prose in which every figure is read from a query, a table, a written file or the specification."""

from datetime import datetime
from typing import NamedTuple

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.figures import Figures, assert_sums
from tendril_assets.release.front_matter import front_matter
from tendril_assets.release.huggingface import Config, require_rows
from tendril_assets.release.label_quality import label_quality, published_judge
from tendril_assets.release.wording import (
    listed,
    markdown_table,
    named,
    plural,
    share,
    usd,
)
from tendril_assets.spec import CollectionSpec

SANDBOX_NOTE = (
    "> **Sandbox release.** Its identifiers were made with a public secret and protect nothing. "
    "It must not be published."
)


class CardInputs(NamedTuple):
    """Everything a data card is written from."""

    spec: CollectionSpec
    figures: Figures
    agreement: pl.DataFrame
    choice: pl.DataFrame
    configs: list[Config]
    sizes: dict[str, int]
    sandbox: bool


def dataset_card(inputs: CardInputs) -> str:
    """README.md of the release: front matter and prose.

    Raises ExportInvariantError where sums of the figures, or the figures and the written files, disagree.
    """
    assert_sums(inputs.figures)
    counts = inputs.figures["counts"].row(0, named=True)
    expected = {"corpus": counts["passages"], "queries": counts["queries"], "qrels": counts["judgments"]}
    require_rows(inputs.configs, expected)
    spec = inputs.spec
    sections = [
        f"# {spec.release.title}",
        SANDBOX_NOTE if inputs.sandbox else "",
        _opening(spec, counts),
        "## Dataset structure",
        _structure(inputs, counts),
        _grade_table(inputs.figures),
        _catalog_table(spec, inputs.figures, counts),
        _usage(spec),
        "## Dataset creation",
        _creation(spec, inputs.figures, counts, inputs.choice),
        "## Label quality",
        label_quality(spec, inputs.agreement, inputs.choice),
        "## Limitations",
        _limitations(spec, inputs.figures, counts),
        "## Access and versions",
        _access(spec),
        "## Licence",
        _licence(spec),
    ]
    body = "\n\n".join(s for s in sections if s)
    return front_matter(spec, inputs.configs, inputs.sizes, sandbox=inputs.sandbox) + "\n" + body + "\n"


def _opening(spec: CollectionSpec, counts: dict) -> str:
    return (
        f"{plural(counts['judgments'], 'relevance judgment')} by a large language model over "
        f"{plural(counts['passages'], 'anonymised passage')} from {plural(counts['documents'], 'document')} of "
        f"{plural(counts['groups'], spec.group)}, for {plural(counts['queries'], 'query')}."
    )


def _structure(inputs: CardInputs, counts: dict) -> str:
    group = inputs.spec.release.group_column
    rows = [
        (f"`{c.name}`" + (" (default)" if c.name == "qrels" else ""), f"`{', '.join(c.features)}`", f"{c.rows:,}")
        for c in inputs.configs
    ]
    levels = " or ".join(
        f"`{r['level']}` ({plural(r['queries'], 'query')})" for r in inputs.figures["levels"].iter_rows(named=True)
    )
    return "\n\n".join(
        [
            "Three configs in the retrieval format of MTEB, all with the split `train`; `beir/` holds the same rows in "
            "the BEIR layout.",
            markdown_table(("Config", "Columns", "Rows"), rows),
            "\n".join(
                [
                    "- `score`: 0 = not relevant, 1 = partially relevant, 2 = relevant.",
                    f"- `level`: {levels}. `area` is the area of action, for a narrower query that of its parent.",
                    f"- `{group}`, `document`: keyed hashes that group passages "
                    f"({plural(counts['groups'], inputs.spec.group)}, "
                    f"{plural(counts['documents'], 'document')}) and cannot be reversed. A passage was only "
                    "judged against "
                    f"queries selected for its own {inputs.spec.group}.",
                    "- `page`: page of the source document on which the passage starts.",
                ]
            ),
        ]
    )


def _grade_table(figures: Figures) -> str:
    grades = figures["grades"]
    table = grades.pivot("score", index="level", values="judgments").sort("level")
    totals = grades.group_by("score").agg(pl.col("judgments").sum()).sort("score")["judgments"].to_list()
    rows = [(named(level), *(f"{n:,}" for n in values)) for level, *values in table.iter_rows()]
    rows.append(("Total", *(f"{n:,}" for n in totals)))
    return markdown_table(("Level", "Score 0", "Score 1", "Score 2"), rows)


def _catalog_table(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    rows = [
        (r["catalog"], *(f"{r[c]:,}" for c in ("queries", "groups", "documents", "passages", "judgments", "positives")))
        for r in figures["catalogs"].iter_rows(named=True)
    ]
    group = named(spec.group)
    table = markdown_table(
        (
            "Catalog",
            f"Queries ({counts['queries']:,})",
            f"{group}s ({counts['groups']:,})",
            f"Documents ({counts['documents']:,})",
            f"Passages ({counts['passages']:,})",
            f"Judgments ({counts['judgments']:,})",
            "Positives",
        ),
        rows,
    )
    note = (
        f"Each row covers the judgments against one catalog's queries. {group}s, documents and passages repeat across "
        "rows; the head gives the unique totals. A positive is a judgment with score 1 or 2."
    )
    return f"{table}\n\n{note}"


def _usage(spec: CollectionSpec) -> str:
    lines = "\n".join(
        f'{c} = load_dataset("{spec.release.hub_id(spec.release.name)}", "{c}", split="train")'
        for c in ("corpus", "queries", "qrels")
    )
    return f"```python\nfrom datasets import load_dataset\n\n{lines}\n```"


def _creation(spec: CollectionSpec, figures: Figures, counts: dict, choice: pl.DataFrame) -> str:
    quotas = listed([f"{named(tier).lower()} {n}" for tier, n in spec.sampling.quotas.items()])
    near = spec.filters.near_duplicate
    fates = {r["fate"]: r["passages"] for r in figures["drops"].iter_rows(named=True)}
    dropped = listed([f"{named(f).lower()} {n:,}" for f, n in fates.items() if f != "in_corpus"]) or "none"
    masked = int(figures["entities"]["entities"].sum())
    labels = listed([f"{r['label']} {r['entities']:,}" for r in figures["entities"].iter_rows(named=True)])
    steps = [
        f"**Selection.** {plural(counts['sampled_groups'], spec.group)} were sampled, with up to "
        f"{spec.sampling.documents_per_project} documents each: {_states(figures, spec)}. Every {spec.group} gets "
        "one criterion "
        f"per selected area. Areas are drawn by quota from tiers of prior relevance evidence ({quotas}), then topped "
        f"up until every area appears in at least {plural(spec.sampling.min_projects_per_area, spec.group)}. The "
        "external "
        f"test collection is left out. The seed is {spec.seed}.",
        f"**Reading.** {_documents(figures)}.",
        f"**Passage filtering.** Of {plural(counts['raw_passages'], 'passage')}, {counts['passages']:,} are "
        "published; left out: "
        f"{dropped}. Kept are passages of {spec.filters.min_characters}-{spec.filters.max_characters:,} "
        "characters that are not "
        "dominated by digits or symbols, are no degenerate tables and repeat no older kept passage of their "
        f"{spec.group} "
        f"(Jaccard similarity of {near.unit[:-1]} {near.n}-grams >= {near.threshold}"
        + ("; pairs that differ in a negation or a number are kept)." if near.guard else ")."),
        f"**Anonymisation.** {plural(masked, 'entity')} replaced by placeholders such as `<PERSON_1>`"
        + (f" ({labels})." if labels else "."),
        f"**Query wording.** Areas of action use a summary of at most {spec.queries.summary_max_words} words by "
        f"`{spec.queries.summary.model}` (temperature {spec.queries.summary.temperature:g}). Criteria use the "
        "criterion's text "
        "followed by its ambition levels. The test collection uses the same wording.",
        f"**Relevance judgments.** {_judging(spec, figures, counts, choice)}",
        f"**Restricted documents.** A {spec.group} whose documents limit their use to preparing an offer, or "
        "forbid publication "
        "or passing on, is left out as a whole.",
    ]
    return "\n".join(f"- {s}" for s in steps)


def _states(figures: Figures, spec: CollectionSpec) -> str:
    return listed(
        [f"{r['groups']:,} {named(r['state']).lower()}" for r in figures["group_states"].iter_rows(named=True)]
    )


def _documents(figures: Figures) -> str:
    outcomes = figures["document_outcomes"]
    if not outcomes.height:
        return "Passages were delivered by an upstream pipeline"
    parts = listed([f"{r['documents']:,} {named(r['outcome']).lower()}" for r in outcomes.iter_rows(named=True)])
    return f"{plural(int(outcomes['documents'].sum()), 'document')} by outcome: {parts}"


def _judging(spec: CollectionSpec, figures: Figures, counts: dict, choice: pl.DataFrame) -> str:
    judge = published_judge(spec, choice)
    if judge is None:
        raise ExportInvariantError(
            "judge_choice names no judge in use, so there is none to write of: nothing may be published"
        )
    llm = judge.llm
    calls = figures["calls"].filter(pl.col("purpose") == "judge")
    effort = f"{llm.reasoning_effort} reasoning effort, " if llm.reasoning_effort else ""
    text = (
        f"Each query-passage pair of a {spec.group} was graded by `{llm.model}` ({effort}temperature "
        f"{llm.temperature:g}) with "
        f"the guideline `{judge.guideline.name}`"
    )
    if calls.height:
        text += f", {_period(*calls.select(pl.col('first_at').min(), pl.col('last_at').max()).row(0))}"
    rest = figures["verdicts"].filter(pl.col("status") != "ok")
    failures = listed([f"{r['pairs']:,} {named(r['status']).lower()}" for r in rest.iter_rows(named=True)])
    text += (
        f". {plural(counts['candidates'], 'pair')} needed {plural(counts['requests'], 'request')}, since pairs "
        "with equal texts "
        f"share one. Without an accepted grade, and not published: {failures or 'none'}."
    )
    if calls.height:
        unknown = int(calls["unknown_costs"].sum())
        by_prices = calls["estimated_cost"].sum() or 0
        estimated = f", by token prices about {usd(by_prices)}" if by_prices else ""
        text += f" Known cost of judging: {usd(calls['known_cost'].sum())}" + (
            f" (cost unknown for {plural(unknown, 'answer')}{estimated})." if unknown else "."
        )
    return text


def _period(first: datetime, last: datetime) -> str:
    months = list(dict.fromkeys((first.strftime("%B %Y"), last.strftime("%B %Y"))))
    return f"in {months[0]}" if len(months) == 1 else f"from {months[0]} to {months[1]}"


def _limitations(spec: CollectionSpec, figures: Figures, counts: dict) -> str:
    zero = int(figures["grades"].filter(pl.col("score") == 0)["judgments"].sum())
    missing = figures["missing_catalogs"]["catalog"].to_list()
    unjudged = counts["queries"] - counts["judged_queries"]
    points = [
        f"**Missing catalogs.** No query comes from {listed(missing)}, which the test collection has."
        if missing
        else "",
        "**Skewed labels.** Queries have very different numbers of judgments (median "
        f"{counts['median_judgments_per_query']:,.0f}, "
        f"maximum {counts['max_judgments_per_query']:,}), and {share(zero, counts['judgments'])} of the judgments "
        "are 0.",
        f"**Queries without judgments.** {plural(unjudged, 'query')}." if unjudged else "",
        "**Imperfect anonymisation.** Automatic anonymisation can miss entities; please report personal data "
        "that you find.",
        f"**One language.** Queries and most passages are in one language (`{spec.release.language}`).",
    ]
    return "\n".join(f"- {p}" for p in points if p)


def _access(spec: CollectionSpec) -> str:
    return (
        f"Access is granted after accepting the licence. This is version {spec.release.version}; each release "
        "carries a git tag of that "
        "name: pin it with `revision=`. Passages are removed on request, for example where personal data remains; "
        "`CHANGELOG.md` says what changed."
    )


def _licence(spec: CollectionSpec) -> str:
    return (
        "The selection, queries, judgments, anonymisation and identifiers are released under the "
        f"{spec.release.licence_name} (`LICENSE.md`), which allows commercial use and adds restrictions of use. "
        "Models trained on the "
        "data are not derivatives of it under that licence. The source documents remain the property of their authors."
    )
