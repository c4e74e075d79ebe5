"""The collection's report: one HTML page that needs no network, for screen, phone and paper.

Sections are functions of ``ReportInputs``; each says so where its tables are still empty. Nothing in the page depends
on the clock, so the same tables give the same bytes.
"""

from html import escape
from pathlib import Path

import polars as pl

from tendril_assets.evaluation.metrics import TIE_RULE
from tendril_assets.release import report_register_results, report_registers
from tendril_assets.release.label_quality import published_judge
from tendril_assets.release.markup import listing, section
from tendril_assets.release.report_data import agreement, corpus, cost, labels
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.report_results import differences, quality, training
from tendril_assets.release.results_pictures import OWN_BASE
from tendril_assets.release.wording import certainty, figure, interval, listed, named, plural, signed, system_name, usd
from tendril_assets.spec import CollectionSpec

_STYLES = tuple(Path(__file__).parent / name for name in ("pictures.css", "report.css"))


def render_report(inputs: ReportInputs) -> str:
    """The whole page."""
    title = inputs.spec.release.title
    by_register = inputs.spec.evaluation.test == "held_out"
    of_registers = [("Registers", "registers", report_registers.registers(inputs))] if inputs.spec.registers else []
    sections = [
        ("Corpus", "corpus", corpus(inputs)),
        *of_registers,
        ("Labels", "labels", labels(inputs)),
        ("Judge agreement", "agreement", agreement(inputs)),
        ("Cost and calls", "cost", cost(inputs)),
        ("Training", "training", training(inputs)),
        ("Retrieval quality", "quality", (report_register_results.quality if by_register else quality)(inputs)),
        ("Differences", "differences", report_register_results.differences(inputs))
        if by_register
        else ("What fine-tuning changed", "differences", differences(inputs)),
        ("How this was made", "making", _making(inputs)),
    ]
    links = "".join(f'<a href="#{anchor}">{escape(name)}</a>' for name, anchor, _ in sections)
    body = "".join(section(name, anchor, content) for name, anchor, content in sections)
    style = "".join(path.read_text(encoding="utf-8") for path in _STYLES)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}: '
        "report</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
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
    spent = usd(calls["known_cost"].sum() or 0)
    known = f"unknown for {plural(unknown, 'answer')}" if unknown else "no cost unknown"
    passages = f"from {plural(counts['documents'], 'document')} of {plural(counts['groups'], group)}"
    tiles = [
        ("Passages", f"{counts['passages']:,}", passages),
        ("Queries", f"{counts['queries']:,}", f"{counts['judged_queries']:,} with judgments"),
    ]
    if inputs.spec.evaluation.test == "held_out":
        tiles += [
            (
                "Judgments",
                f"{counts['judgments']:,}",
                f"by several routes; a pool of {plural(counts['candidates'], 'pair')}",
            ),
            ("Known cost", spent, f"of {plural(int(calls['requests'].sum()), 'request')}; {known}"),
            *report_registers.tiles(inputs),
        ]
    else:
        tiles += [
            ("Judgments", f"{counts['judgments']:,}", f"of {plural(counts['candidates'], 'candidate pair')}"),
            ("Requests", f"{counts['requests']:,}", "distinct, to the judge"),
            ("Known cost", spent, known),
            _result(inputs),
        ]
    cells = "".join(f"<div><dt>{escape(n)}</dt><dd>{v}<small>{escape(s)}</small></dd></div>" for n, v, s in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _result(inputs: ReportInputs) -> tuple[str, str, str]:
    """The best system on the external test collection, beside those it is compared with."""
    measure = headline_measure(inputs.spec)
    here = (pl.col("measure") == measure) & (pl.col("level") == "all")
    scores = inputs.tables["system_scores"].filter(here).sort("value", "system", descending=[True, False])
    if not scores.height:
        return named(measure), "-", "no system has been evaluated yet"
    best = scores.row(0, named=True)
    gains = inputs.tables["comparisons"].filter(here & (pl.col("system") == best["system"])).with_columns(own=OWN_BASE)
    words = system_name(best["system"])
    for r in gains.sort(~pl.col("own"), "baseline").iter_rows(named=True):
        than = "its base" if r["own"] else system_name(r["baseline"])
        words += f"; over {than} {signed(r['difference'])} {interval(r['low'], r['high'], sign=True)}".rstrip()
    if best["system"] in inputs.stale:
        words += "; stale, see below"
    return f"Best {named(measure)}", figure(best["value"]), words


def _making(inputs: ReportInputs) -> str:
    spec = inputs.spec
    judge = published_judge(spec, inputs.tables["judge_choice"])
    rules = spec.evaluation
    resampled = f"queries, or of {spec.group}s" if rules.test == "held_out" else f"{spec.group}s"
    facts = [
        ("Specification", f"<code>{spec.fingerprint()}</code>, seed {spec.seed}"),
        (
            "Judge",
            f"<code>{escape(judge.llm.model)}</code>, guideline <code>{escape(judge.guideline.name)}</code>"
            if judge
            else "none: no system meets the declared acceptance",
        ),
        *([("Summaries", f"<code>{escape(spec.queries.summary.model)}</code>")] if spec.queries else []),
        (
            "Models",
            ", ".join(f"<code>{escape(m)}</code> ({escape(e.base_title)})" for m, e in spec.models.items()) or "none",
        ),
        *_composed_systems(spec),
        ("Measures", escape(listed([named(m) for m in rules.measures]))),
        ("Ties", escape(TIE_RULE)),
        ("Intervals", f"{certainty(rules.confidence)}, {rules.resamples:,} resamples of {escape(resampled)}"),
    ]
    return listing(facts)


def _composed_systems(spec: CollectionSpec) -> list[tuple[str, str]]:
    """Writers of questions, hybrids and reranked systems, as the specification describes them."""
    rules, facts = spec.evaluation, []
    if spec.registers and spec.registers.generation:
        writers = {one.llm.model: one.family for one in spec.registers.generation.sets.values()}
        told = ", ".join(f"<code>{escape(model)}</code> ({escape(family)})" for model, family in writers.items())
        facts.append(("Writers of questions", told))
    made = [
        f"{system_name(name)}: {listed([system_name(of) for of in one.of])} fused by reciprocal ranks, k = {one.k}"
        for name, one in rules.hybrids.items()
    ] + [
        f"{system_name(name)}: the first {one.depth} of {system_name(one.of)} reordered by {spec.rerankers[one.reranker].base}"
        for name, one in rules.reranked.items()
    ]
    return [*facts, *([("Systems", escape("; ".join(made)))] if made else [])]


def _footer(inputs: ReportInputs) -> str:
    return (
        f"Every figure on this page is read from the warehouse tables of <code>{escape(inputs.spec.collection)}</code>."
    )
