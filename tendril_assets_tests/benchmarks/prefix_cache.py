"""The order of requests: what a provider's prompt cache serves, and what that saves, with many requests in flight.

``python -m tendril_assets_tests.benchmarks.prefix_cache [--size small|published]``

The stand-in gateway keeps a prefix once a reply to it was sent, and looks it up when a request comes in. The same
requests are asked three times over real HTTP, each time of a gateway whose cache is cold: shuffled, grouped by query
(the baseline), and grouped with the leads of each group sent ahead. The best any order can do is one miss per query.
Shuffled requests do well here because this cache never forgets; a real one does, and holds so many prefixes at a time.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.judging.prefix_order import by_prefix
from tendril_assets.judging.prices import load_price_table
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, RunSummary, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets.spec_base import LLMSpec


@dataclass(frozen=True)
class Size:
    """``queries`` with ``passages`` each, ``in_flight`` at once, at ``latency_s``."""

    queries: int
    passages: int
    in_flight: int
    latency_s: float


SIZES = {"small": Size(12, 150, 64, 0.25), "published": Size(24, 1_700, 256, 0.5)}
MODEL = "stand-in/judge"
FACTORY = RequestFactory(LLMSpec(model=MODEL, max_tokens=64))
GUIDELINE = load_guideline("de_short")
TOPIC = "Holz aus nachhaltiger Waldwirtschaft, mit Nachweis der Herkunft und des Labels"


def made_up(size: Size) -> pl.DataFrame:
    """request_key, query_text, passage_text; grouped by query."""
    pairs = [
        (f"{TOPIC} ({q})", f"Die Anbieterin weist Position {p} nach.")
        for q in range(size.queries)
        for p in range(size.passages)
    ]
    keys = [FACTORY.key(render(GUIDELINE, *pair)) for pair in pairs]
    frame = pl.DataFrame(pairs, schema=["query_text", "passage_text"], orient="row")
    return frame.with_columns(pl.Series("request_key", keys))


def asked(requests: pl.DataFrame, size: Size) -> tuple[RunSummary, int]:
    """The run's own figures, and how many of its requests the cache served."""
    stream = (
        GatewayRequest(key, "judge", FACTORY.body(render(GUIDELINE, query, passage)))
        for key, query, passage in requests.select("request_key", "query_text", "passage_text").iter_rows()
    )
    with StandInGateway(latency_s=size.latency_s) as gateway, tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder))
        endpoint = Endpoint(gateway.base_url, gateway.api_key)
        summary = answer(stream, ledger, endpoint=endpoint, concurrency=size.in_flight, total=requests.height)
        summary.require_complete()
        return summary, int((ledger.frame()["cached_tokens"] > 0).sum())


def measure(size: Size) -> dict[str, Any]:
    """Shares of prompt tokens from the cache, requests that missed it, and USD by order."""
    grouped = made_up(size)
    orders: dict[str, Callable[[], pl.DataFrame]] = {
        "shuffled": lambda: grouped.sample(fraction=1.0, shuffle=True, seed=42),
        "grouped": lambda: grouped,
        "leads": lambda: by_prefix(grouped, ["query_text"], size.in_flight),
    }
    price = load_price_table().prices[MODEL]
    figures: dict[str, Any] = {"requests": grouped.height, "in_flight": size.in_flight}
    for name, order in orders.items():
        summary, hits = asked(order(), size)
        uncached = price.cost_of(summary.prompt_tokens, summary.completion_tokens)
        figures |= {
            f"missed_{name}": grouped.height - hits,
            f"cached_share_{name}": summary.cached_tokens / summary.prompt_tokens,
            f"usd_{name}": float(summary.cost),
            f"saved_share_{name}": float(1 - summary.cost / uncached) if uncached else 0.0,
            f"wall_s_{name}": summary.seconds,
        }
    figures["usd_uncached"] = float(uncached)  # the same tokens in every order
    hits = {name: grouped.height - figures[f"missed_{name}"] for name in orders}
    # All but the first request of each query, which no order can serve.
    ideal = grouped.height - size.queries
    figures["share_of_ideal"] = ratio(hits["leads"], ideal)
    figures["share_of_ideal_grouped"] = ratio(hits["grouped"], ideal)
    figures["cached_ratio_grouped"] = ratio(figures["cached_share_leads"], figures["cached_share_grouped"])
    figures["usd_ratio_grouped"] = ratio(figures["usd_leads"], figures["usd_grouped"])
    return {name: value if value is None else round(value, 6) for name, value in figures.items()}


def ratio(figure: float, base: float) -> float | None:
    """None where there is nothing to compare with: no request was served from the cache, none could be."""
    return figure / base if base else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    figures = measure(SIZES[parser.parse_args().size])
    print(f"{'order':<10}{'missed':>8}{'cached share':>14}{'USD':>12}{'saved':>8}{'wall s':>9}")
    for name in ("shuffled", "grouped", "leads"):
        cached, saved = figures[f"cached_share_{name}"], figures[f"saved_share_{name}"]
        usd, wall = figures[f"usd_{name}"], figures[f"wall_s_{name}"]
        print(f"{name:<10}{figures[f'missed_{name}']:>8,.0f}{cached:>14.1%}{usd:>12.6f}{saved:>8.1%}{wall:>9.1f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
