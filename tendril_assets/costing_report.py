"""How ``tendril estimate`` shows its figures: a table for people, or one JSON object."""

import json
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table

from tendril_assets.costing import Costing, Line, open_costs
from tendril_assets.judging.budget import Estimate, Stop, first_stops, total
from tendril_assets.judging.token_rates import MILLI, cache_rule
from tendril_assets.settings import Settings
from tendril_assets.wide import print_whole


def show_estimate(settings: Settings, collection: str, console: Console, *, as_json: bool = False) -> None:
    """Calls, tokens and money of what is open, with an interval and its basis. Raises as ``open_costs`` does."""
    costing = open_costs(settings, collection)
    steps = [line.estimate for line in costing.lines]
    stops = first_stops(steps, settings.max_usd, settings.max_calls)
    if as_json:
        # Never wrapped or coloured: it is read by a program.
        console.print(json.dumps(_document(costing, stops), ensure_ascii=False), markup=False, soft_wrap=True)
        return
    open_requests = sum(step.requests for step in steps)
    console.print(f"{collection}: {open_requests:,} open requests to ask", highlight=False)
    for step, name in costing.missing.items():
        writer = "" if step == name else f" ({collection}/{step} writes it)"
        console.print(f"{name}: not written yet, so it is in none of the figures{writer}", markup=False)
    if not open_requests:
        known = " of what is written" if costing.missing else ""
        console.print(f"nothing is open{known}, so nothing has to be paid{known and ' for it'}")
        return
    whole = total(steps)
    print_whole(console, _table(costing, whole))
    if whole.usd is not None:
        console.print(
            f"in all: {_usd(whole.usd.expected)} USD expected ({_usd(whole.usd.low)} to {_usd(whole.usd.high)}), at most "
            f"{_usd(whole.usd.bound)}",
            highlight=False,
        )
    for text in (*_bases(costing), *_caps(costing, stops, settings)):
        console.print(text, markup=False, highlight=False)


def _table(costing: Costing, whole: Estimate) -> Table:
    table = Table(title="USD by low, expected and high estimate, and the most it can be")
    for name in ("step", "model and effort"):
        table.add_column(name)
    for name in ("open", "prompt tokens", "from cache", "completion", "no cache", "low", "expected", "high", "at most"):
        table.add_column(name, justify="right")
    for line in costing.lines:
        table.add_row(_step(line), _model(line), *_cells(line.estimate))
    if len(costing.lines) > 1:
        table.add_section()
        table.add_row("all", "", *_cells(whole), style="bold")
    return table


def _cells(estimate: Estimate) -> list[str]:
    tokens = [f"{estimate.prompt.expected:,}", f"{estimate.cached_share or 0:.0%}", f"{estimate.completion.expected:,}"]
    usd = estimate.usd
    money = ["unknown"] * 5
    if usd is not None:
        money = [_usd(amount) for amount in (usd.uncached, usd.low, usd.expected, usd.high, usd.bound)]
    return [f"{estimate.requests:,}", *tokens, *money]


def _bases(costing: Costing) -> list[str]:
    """What the figures rest on: prices, tokens, caches; each text once, with all it holds for."""
    texts: dict[str, dict[str, None]] = {}
    for line in costing.lines:
        texts.setdefault(costing.prices.source(line.asked.llm.model), {})[line.asked.llm.model] = None
    for line in costing.lines:
        texts.setdefault(_rates_text(line), {})[f"{line.asked.step} {_model(line)}"] = None
    told = [f"{', '.join(names)}: {text}" for text, names in texts.items()]
    if any(line.estimate.usd is None for line in costing.lines):
        told.append("an unknown price is not a price of zero: TENDRIL_PRICES can name a price table that holds it")
    return [
        *told,
        "at most: a token for each byte sent, every reply at max_tokens, no cache; charged retries come on top",
    ]


def _rates_text(line: Line) -> str:
    rates = line.rates
    characters = " to ".join(f"{rate / MILLI:.2f}" for rate in (rates.characters.low, rates.characters.high))
    limit = line.asked.llm.max_tokens
    reply = " to ".join(f"{min(limit, rate / MILLI):,.1f}" for rate in (rates.completion.low, rates.completion.high))
    prompt = f"measured on {rates.prompt_replies:,} replies" if rates.prompt_replies else "assumed for the language"
    completion = f"measured on {rates.completion_replies:,} replies" if rates.completion_replies else "assumed"
    if rates.served is not None:
        cache = f"caches served {rates.served / 10:.0f} % of the shared prefix in {rates.cache_replies:,} replies"
    elif (rule := cache_rule(line.asked.llm.model)) is None:
        cache = "no cache without marks in the request"
    else:
        cache = f"cache assumed from {rule.minimum:,} tokens of prefix on, in steps of {rule.block}"
    return f"{characters} characters per token ({prompt}); {reply} tokens per reply ({completion}); {cache}"


def _caps(costing: Costing, stops: list[Stop], settings: Settings) -> list[str]:
    caps = {"money": ("TENDRIL_MAX_USD", settings.max_usd), "calls": ("TENDRIL_MAX_CALLS", settings.max_calls)}
    reached, texts = {stop.cap: stop for stop in stops}, []
    for cap, (name, value) in caps.items():
        if value is None:
            texts.append(f"{name} is not set: no cap in {cap}")
        elif cap not in reached:
            texts.append(f"{name}={value} is not expected to stop a run that asks all of this")
        elif reached[cap].refused:
            line = costing.lines[reached[cap].index]
            texts.append(f"{name}={value} cannot be kept for {line.asked.llm.model}, whose price is unknown: refused")
        else:
            line = costing.lines[reached[cap].index]
            place = f"about request {reached[cap].after:,} of {line.estimate.requests:,} of step {_step(line)}"
            texts.append(f"{name}={value} would stop the run at {place}; the next run goes on from there")
    return texts


def _document(costing: Costing, stops: list[Stop]) -> dict[str, Any]:
    return {
        "collection": costing.collection,
        "not_written_yet": list(costing.missing.values()),
        "steps": [
            {
                "step": line.asked.step,
                "model": line.asked.llm.model,
                "effort": line.asked.llm.reasoning_effort,
                "guideline": line.asked.guideline,
                **_figures(line.estimate),
                "price": costing.prices.source(line.asked.llm.model),
                "basis": _rates_text(line),
            }
            for line in costing.lines
        ],
        "total": _figures(total(line.estimate for line in costing.lines)),
        "stops": [
            {
                "cap": stop.cap,
                "step": costing.lines[stop.index].asked.step,
                "model": costing.lines[stop.index].asked.llm.model,
                "after_requests": stop.after,
                "refused": stop.refused,
            }
            for stop in stops
        ],
    }


def _figures(estimate: Estimate) -> dict[str, Any]:
    """Money as decimal text: a float would not add up."""
    usd = None if estimate.usd is None else {k: format(v, "f") for k, v in estimate.usd._asdict().items()}
    return {
        "requests": estimate.requests,
        "calls": estimate.calls,
        "prompt_tokens": estimate.prompt._asdict(),
        "completion_tokens": estimate.completion._asdict(),
        "cached_tokens": estimate.cached,
        "usd": usd,
    }


def _model(line: Line) -> str:
    llm = line.asked.llm
    return f"{llm.model} {llm.reasoning_effort or ''}".strip()


def _step(line: Line) -> str:
    return f"{line.asked.step} ({line.asked.guideline})" if line.asked.guideline else line.asked.step


def _usd(amount: Decimal) -> str:
    """Cents where there are many, else as many places as show something."""
    return f"{amount:,.2f}" if amount >= 100 else f"{amount:.4f}"
