"""The collection's report: one HTML page that needs no network, for screen, phone and paper.

Sections are functions of ``ReportInputs``; each says so where its tables are still empty. Nothing in the page depends
on the clock, so the same tables give the same bytes.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.release import pictures
from tendril_assets.release.figures import Figures
from tendril_assets.release.judges import choice_as_html, quality_and_price
from tendril_assets.release.label_quality import declared_acceptance, published_judge
from tendril_assets.release.markup import block, listing, note, page_table, picture, section
from tendril_assets.release.model_training import fates
from tendril_assets.release.report_tables import (
    agreement_table,
    calls_table,
    comparison_table,
    metric_table,
    training_table,
)
from tendril_assets.release.wording import named, plural, share, usd
from tendril_assets.spec import CollectionSpec

_STYLE = Path(__file__).parent / "report.css"


class ReportInputs(NamedTuple):
    """What a report is made from.

    ``figures`` are ``figures.REPORT_FIGURES``, ``tables`` the tables ``figures.REPORT_TABLES``, ``differences`` the
    view group_differences.
    """

    spec: CollectionSpec
    figures: Figures
    tables: Figures
    differences: pl.DataFrame
    sandbox: bool


def headline_measure(spec: CollectionSpec) -> str:
    """The measure pictures show: the first that the specification names."""
    return spec.evaluation.measures[0]


def render_report(inputs: ReportInputs) -> str:
    """The whole page."""
    title = inputs.spec.release.title
    sections = [
        ("Corpus", "corpus", _corpus(inputs)),
        ("Labels", "labels", _labels(inputs)),
        ("Judge agreement", "agreement", _agreement(inputs)),
        ("Cost and calls", "cost", _cost(inputs)),
        ("Training", "training", _training(inputs)),
        ("Retrieval quality", "quality", _quality(inputs)),
        ("What fine-tuning changed", "differences", _differences(inputs)),
        ("How this was made", "making", _making(inputs)),
    ]
    links = "".join(f'<a href="#{anchor}">{escape(name)}</a>' for name, anchor, _ in sections)
    body = "".join(section(name, anchor, content) for name, anchor, content in sections)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}: '
        "report</title>\n"
        f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{_stamp(inputs)}{_tiles(inputs)}<nav>{links}</nav></header>\n"
        f"<main>{body}</main>\n<footer>{_footer(inputs)}</footer>\n</body>\n</html>\n"
    )


def _stamp(inputs: ReportInputs) -> str:
    spec = inputs.spec
    lead = (
        f'<p class="lead">Collection <code>{escape(spec.collection)}</code>, version {escape(spec.release.version)}</p>'
    )
    if not inputs.sandbox:
        return lead
    text = "Made from sample data: it shows the pipeline, not a result."
    return f'{lead}<p class="stamp"><strong>Sandbox.</strong> {text}</p>'


def _tiles(inputs: ReportInputs) -> str:
    counts = inputs.figures["counts"].row(0, named=True)
    calls = inputs.figures["calls"]
    unknown = int(calls["unknown_costs"].sum())
    group = inputs.spec.group
    tiles = [
        (
            "Passages",
            f"{counts['passages']:,}",
            f"from {plural(counts['documents'], 'document')} of {plural(counts['groups'], group)}",
        ),
        ("Queries", f"{counts['queries']:,}", f"{counts['judged_queries']:,} with judgments"),
        ("Judgments", f"{counts['judgments']:,}", f"of {plural(counts['candidates'], 'candidate pair')}"),
        ("Requests", f"{counts['requests']:,}", "distinct, to the judge"),
        (
            "Known cost",
            usd(calls["known_cost"].sum() or 0),
            f"unknown for {plural(unknown, 'answer')}" if unknown else "no cost unknown",
        ),
    ]
    cells = "".join(f"<div><dt>{n}</dt><dd>{escape(v)}<small>{escape(s)}</small></dd></div>" for n, v, s in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _corpus(inputs: ReportInputs) -> str:
    figures = inputs.figures
    fates = page_table(("Fate", "Passages"), [(named(f), f"{n:,}") for f, n in figures["drops"].iter_rows()])
    outcomes = figures["document_outcomes"].select("outcome", "documents", "pages")
    documents = page_table(
        ("Outcome of reading", "Documents", "Pages"),
        [(named(o), f"{d:,}", f"{p:,}") for o, d, p in outcomes.iter_rows()],
    )
    group = named(inputs.spec.group)
    states = page_table(
        (f"State of {group.lower()}", f"{group}s"),
        [(named(s), f"{n:,}") for s, n in figures["group_states"].iter_rows()],
    )
    masked = [(label, f"{n:,}", f"{d:,}") for label, n, d in figures["entities"].iter_rows()]
    entities = page_table(("Masked entity", "Occurrences", "Documents"), masked) if masked else ""
    return block(
        "Passages leave for one stated reason each, or stay.",
        picture(pictures.passage_fates(figures["drops"]), "No passage has been read yet.", details=fates),
        f"<h3>{escape(group)}s and documents</h3>{states}{documents}{entities}",
    )


def _labels(inputs: ReportInputs) -> str:
    figures = inputs.figures
    rows = [
        (
            r["catalog"],
            *(f"{r[c]:,}" for c in ("queries", "groups", "judgments", "positives")),
            share(r["positives"], r["judgments"]),
        )
        for r in figures["catalogs"].iter_rows(named=True)
    ]
    heads = ("Catalog", "Queries", f"{named(inputs.spec.group)}s", "Judgments", "Positives", "Share")
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
    return block(
        f"{failures}{spread}",
        picture(pictures.label_distribution(figures["grades"]), "No pair has been judged yet."),
        f"<h3>By catalog</h3>{page_table(heads, rows)}{note('A positive is a judgment with grade 1 or 2.')}"
        if rows
        else "",
    )


def _agreement(inputs: ReportInputs) -> str:
    agreement, confidence = inputs.tables["judge_agreement"], inputs.spec.judge.calibration.confidence
    return block(
        "How far the judge agrees with people, beside how far people agree with each other. Chance agreement is 0.",
        picture(
            pictures.judge_agreement(agreement, confidence),
            "The judge has not been measured yet.",
            details=agreement_table(agreement, confidence),
        ),
        _calibration(inputs),
    )


def _calibration(inputs: ReportInputs) -> str:
    """The judges that were measured, where there was a choice among several."""
    choice, systems = inputs.tables["judge_choice"], inputs.tables["calibration_systems"]
    if choice.height < 2:
        return ""
    declared = declared_acceptance(inputs.spec.judge.calibration)
    return (
        f"<h3>The judges that were measured</h3><p>{escape(f'Declared before the data: {declared}.')}</p>"
        + picture(quality_and_price(inputs.spec, choice, inputs.tables["judge_agreement"]), "")
        + choice_as_html(choice, systems)
    )


def _cost(inputs: ReportInputs) -> str:
    calls = inputs.figures["calls"]
    prompt, cached = int(calls["prompt_tokens"].sum()), int(calls["cached_tokens"].sum())
    cache = f" {share(cached, prompt)} of the prompt tokens came from the provider's cache." if prompt else ""
    by_prices = calls["estimated_cost"].sum() or 0
    estimated = f" By token prices the unknown ones come to about {usd(by_prices)}." if by_prices else ""
    return block(
        f"What was asked and what it cost. An unknown cost is counted, never added.{estimated}{cache}",
        picture(pictures.costs(inputs.figures), "Nothing has been asked yet."),
        calls_table(calls) if calls.height else "",
    )


def _training(inputs: ReportInputs) -> str:
    trained, curves = inputs.tables["trained_models"].sort("model"), inputs.tables["learning_curves"]
    parts = [f"<h3>Models</h3>{training_table(trained, inputs.spec.models)}"] if trained.height else []
    for r in trained.iter_rows(named=True):
        own = curves.filter(pl.col("model") == r["model"])
        curve = pictures.learning_curve(r["model"], own, r["best_step"], r["best_value"])
        parts.append(
            f"<h3>{escape(r['model'])}</h3>"
            + picture(curve, "This model reported no validation measure.")
            + picture(pictures.loss_curve(r["model"], own, r["best_step"]), "This model reported no loss.")
        )
    use = inputs.figures["training_use"]
    examples = page_table(*fates(use, inputs.spec.subsets)) if use.height else ""
    lead = (
        f"The weights with the best balanced nDCG@10 on the held-out {inputs.spec.group}s are kept; balanced is the mean "
        "over levels. The table gives it for the base and for the weights that were kept."
    )
    return block(
        lead if parts else "No model has been trained yet.",
        *parts,
        f"<h3>Possible training examples</h3>{examples}" if examples else "",
    )


def _quality(inputs: ReportInputs) -> str:
    scores, spec = inputs.tables["system_scores"], inputs.spec
    measure = headline_measure(spec)
    overall = scores.filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    text = ""
    if overall.height:
        r = overall.row(0, named=True)
        text = (
            f"External test collection: {plural(r['groups'], spec.group)}, {r['queries']:,} rankings with a "
            "relevant passage, "
            f"{r['excluded']:,} without one left out. Macro means over {spec.group}s; intervals from "
            f"{spec.evaluation.resamples:,} resamples of {spec.group}s."
        )
    return block(
        text,
        picture(pictures.systems(scores, measure, spec.evaluation.confidence), "No system has been evaluated yet."),
        f"<h3>All measures</h3>{metric_table(scores, spec.evaluation.measures)}" if scores.height else "",
    )


def _differences(inputs: ReportInputs) -> str:
    measure = headline_measure(inputs.spec)
    comparisons, confidence = inputs.tables["comparisons"], inputs.spec.evaluation.confidence
    shown = inputs.differences.filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    columns = [
        picture(
            pictures.group_differences(model, shown.filter(pl.col("model") == model), measure, inputs.spec.group), ""
        )
        for model in shown["model"].unique().sort()
    ]
    return block(
        "Paired bootstrap with the same resamples for both systems; p after Holm's correction over the "
        "fine-tuned models, per measure.",
        picture(pictures.differences(comparisons, measure, confidence), "No fine-tuned model has been compared yet."),
        *columns,
        f"<h3>All comparisons</h3>{comparison_table(comparisons, confidence)}" if comparisons.height else "",
    )


def _making(inputs: ReportInputs) -> str:
    spec = inputs.spec
    judge = published_judge(spec, inputs.tables["judge_choice"])
    facts = [
        ("Specification", f"<code>{spec.fingerprint()}</code>, seed {spec.seed}"),
        (
            "Judge",
            f"<code>{escape(judge.llm.model)}</code>, guideline <code>{escape(judge.guideline.name)}</code>"
            if judge
            else "none: no system meets the declared acceptance",
        ),
        ("Summaries", f"<code>{escape(spec.queries.summary.model)}</code>"),
        ("Models", ", ".join(f"<code>{escape(m)}</code> ({escape(e.base_title)})" for m, e in spec.models.items())),
    ]
    return listing(facts)


def _footer(inputs: ReportInputs) -> str:
    return (
        f"Every figure on this page is read from the warehouse tables of <code>{escape(inputs.spec.collection)}</code>."
    )
