"""What a set of open requests will cost, before anything is sent, and where caps would stop it.

An estimate is an interval with a hard upper bound. The bound has a token for each byte of a prompt, every reply at
``max_tokens`` and nothing from a cache; it holds for one charged attempt per request. The upper end of the interval has
no cache either; the expected value and the lower end reckon with what a provider's prompt cache serves of the prefix
that requests share (guideline, then query), in the order they are sent in (``prefix_order``). Tokens are whole numbers
and money is ``Decimal``, so that the sums are exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import polars as pl

from tendril_assets.judging.prefix_order import LEADS
from tendril_assets.judging.prices import TOKENS_PER_MESSAGE, Prices
from tendril_assets.judging.token_rates import GENEROUS, MILLI, CacheRule, Rates

# Columns of a frame of open requests, in the order they will be sent in apart from the leads: characters of the rendered
# messages and their UTF-8 bytes, what requests with the same start have in common, and its characters.
SIZES = {
    "prompt_characters": pl.Int64(),
    "prompt_bytes": pl.Int64(),
    "prefix": pl.UInt64(),
    "prefix_characters": pl.Int64(),
}
# A system and a user message.
_MESSAGES = 2


class Tokens(NamedTuple):
    low: int
    expected: int
    high: int
    bound: int


class Money(NamedTuple):
    """USD. ``uncached`` is ``expected`` without any cache."""

    low: Decimal
    expected: Decimal
    high: Decimal
    bound: Decimal
    uncached: Decimal


@dataclass(frozen=True)
class Estimate:
    """Of one step and model. ``cached``: prompt tokens that caches are expected to serve. ``calls``: HTTP calls.
    ``usd`` is None where the price is unknown, which is not a price of zero."""

    requests: int
    calls: int
    prompt: Tokens
    completion: Tokens
    cached: int
    usd: Money | None

    @property
    def cached_share(self) -> float | None:
        """Of the expected prompt tokens; None without any."""
        return self.cached / self.prompt.expected if self.prompt.expected else None


def estimate(
    requests: pl.DataFrame,
    max_tokens: int,
    price: Prices | None,
    rates: Rates,
    rule: CacheRule | None,
    in_flight: int = 1,
) -> Estimate:
    """Estimate of asking each row of ``requests`` once.

    Args:
        requests: ``SIZES``.
        max_tokens: limit of one reply, reasoning included.
        price: None where it is unknown.
        rule: which prefixes the cache serves; None: none.
        in_flight: requests at once; so many of the first find the cache cold.
    """
    n = requests.height
    characters, framing = int(requests["prompt_characters"].sum()), rates.framing * n
    bound = int(requests["prompt_bytes"].sum()) + _MESSAGES * TOKENS_PER_MESSAGE * n
    fewest, expected, most = (
        min(bound, -(-characters * MILLI // rate) + framing) for rate in reversed(rates.characters)
    )
    prompt = Tokens(fewest, expected, most, bound)
    limit = max_tokens * n
    completion = Tokens(*(min(limit, -(-rate * n // MILLI)) for rate in rates.completion), limit)
    generous = None if rule is None else CacheRule(*map(min, rule, GENEROUS))
    best = _served(requests, rates.characters.high, generous, leads=1, cold=0)
    cached = _expected_cached(requests, rates, rule, in_flight)
    calls = -(-rates.attempts * n // MILLI)
    usd = None if price is None else _money(price, n, prompt, completion, min(best, fewest), min(cached, expected))
    return Estimate(n, calls, prompt, completion, min(cached, expected), usd)


def _money(price: Prices, n: int, prompt: Tokens, completion: Tokens, best: int, cached: int) -> Money:
    high = price.cost_of(prompt.high, completion.high, 0, n)
    expected = price.cost_of(prompt.expected, completion.expected, cached, n)
    # Caches serve whole blocks: by rounding alone fewer tokens may come out dearer than more of them.
    low = min(price.cost_of(prompt.low, completion.low, best, n), expected)
    bound = price.cost_of(prompt.bound, completion.bound, 0, n)
    return Money(low, expected, high, bound, price.cost_of(prompt.expected, completion.expected, 0, n))


def _expected_cached(requests: pl.DataFrame, rates: Rates, rule: CacheRule | None, in_flight: int) -> int:
    if rates.served is None:
        return _served(requests, rates.characters.expected, rule, leads=LEADS, cold=in_flight)
    prefixes = int(requests["prefix_characters"].sum()) * MILLI // rates.characters.expected
    return prefixes * rates.served // MILLI


def _served(requests: pl.DataFrame, rate: int, rule: CacheRule | None, *, leads: int, cold: int) -> int:
    """Tokens from the cache where the first ``leads`` requests of each prefix and the first ``cold`` of all miss it."""
    if rule is None or requests.is_empty():
        return 0
    warm = (pl.int_range(pl.len()).over("prefix") >= leads) & (pl.int_range(pl.len()) >= cold)
    tokens = rule.served(pl.col("prefix_characters") * MILLI // rate)
    return int(requests.select(tokens.filter(warm).sum()).item())


def total(estimates: Iterable[Estimate]) -> Estimate:
    """The sum; its money is unknown where that of any part with requests is."""
    parts = [part for part in estimates if part.requests]
    known = [part.usd for part in parts if part.usd is not None]
    usd = (
        Money(*(sum(column, Decimal(0)) for column in zip(*known, strict=True))) if known else Money(*[Decimal(0)] * 5)
    )
    return Estimate(
        sum(part.requests for part in parts),
        sum(part.calls for part in parts),
        _sum_tokens(part.prompt for part in parts),
        _sum_tokens(part.completion for part in parts),
        sum(part.cached for part in parts),
        usd if len(known) == len(parts) else None,
    )


def _sum_tokens(parts: Iterable[Tokens]) -> Tokens:
    return Tokens(*(sum(column) for column in zip(Tokens(0, 0, 0, 0), *parts, strict=True)))


@dataclass(frozen=True)
class Stop:
    """A cap that would end the run: in the step at ``index``, after about ``after`` of its requests. ``refused``: the run
    would not begin that step, since a cap in money needs a price."""

    cap: str
    index: int
    after: int
    refused: bool = False


def first_stops(steps: Sequence[Estimate], max_usd: Decimal | None, max_calls: int | None) -> list[Stop]:
    """Where each cap would end a run that asks ``steps`` one after the other; nothing for a cap that is not reached.

    A cap in money leaves room for the worst case of the next call, so it stops short of the cap by about that much.
    """
    stops = []
    if max_usd is not None and (stop := _money_stop(steps, max_usd)):
        stops.append(stop)
    left = max_calls
    for index, step in enumerate(steps):
        if left is None or step.calls <= left:
            left = None if left is None else left - step.calls
            continue
        stops.append(Stop("calls", index, left * step.requests // step.calls))
        break
    return stops


def _money_stop(steps: Sequence[Estimate], left: Decimal) -> Stop | None:
    for index, step in enumerate(steps):
        if not step.requests:
            continue
        if step.usd is None:
            return Stop("money", index, 0, refused=True)
        each, worst = step.usd.expected / step.requests, step.usd.bound / step.requests
        if left < worst:
            return Stop("money", index, 0)
        if left < each * (step.requests - 1) + worst:
            return Stop("money", index, int((left - worst) / each) + 1)
        left -= step.usd.expected
    return None
