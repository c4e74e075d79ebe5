"""The estimate: worked by hand, and what holds for any requests, prices and rates."""

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.budget import SIZES, Estimate, Money, Stop, Tokens, estimate, first_stops, total
from tendril_assets.judging.prices import Prices
from tendril_assets.judging.token_rates import CacheRule, Rates, Span

PRICE = Prices(Decimal("0.10e-6"), Decimal("0.40e-6"), cached=Decimal("0.01e-6"))
# 2, 3 and 4 characters per token; 10, 20 and 30 tokens per reply; no framing.
RATES = Rates(Span(2000, 3000, 4000), Span(10_000, 20_000, 30_000), framing=0)
ANY_PREFIX = CacheRule(1, 1)


def sizes(*rows: tuple[int, int, int, int]) -> pl.DataFrame:
    """Characters, bytes, prefix and its characters of each request."""
    return pl.DataFrame(rows, schema=SIZES, orient="row")


FIVE = sizes(*[(600, 660, 7, 300)] * 5)


def test_tokens_and_money_by_hand():
    # 5 x 600 = 3,000 characters: 750, 1,000 and 1,500 tokens; at most 5 x (660 bytes + 2 x 64) = 3,940.
    # Cached: expected from the third request on, 3 x 300 / 3 = 300; at best from the second on, 4 x 300 / 4 = 300.
    # Replies: 50, 100 and 150 tokens, at most 5 x 40.
    figure = estimate(FIVE, 40, PRICE, RATES, ANY_PREFIX)
    assert (figure.requests, figure.calls, figure.cached) == (5, 5, 300)
    assert figure.prompt == Tokens(750, 1000, 1500, 3940)
    assert figure.completion == Tokens(50, 100, 150, 200)
    assert figure.cached_share == pytest.approx(0.3)
    assert figure.usd is not None
    # In 1e-6 USD: (750 - 300) x 0.1 + 300 x 0.01 + 50 x 0.4 = 45 + 3 + 20
    assert figure.usd.low * 10**6 == 68
    # (1,000 - 300) x 0.1 + 300 x 0.01 + 100 x 0.4 = 70 + 3 + 40; without the cache 100 + 40
    assert figure.usd.expected * 10**6 == 113
    assert figure.usd.uncached * 10**6 == 140
    # 1,500 x 0.1 + 150 x 0.4, and 3,940 x 0.1 + 200 x 0.4
    assert figure.usd.high * 10**6 == 210
    assert figure.usd.bound * 10**6 == 474


def test_the_first_requests_in_flight_find_the_cache_cold():
    # With four in flight only the fifth request can hit: 300 / 3 tokens.
    assert estimate(FIVE, 40, PRICE, RATES, ANY_PREFIX, in_flight=4).cached == 100


def test_each_prefix_has_its_own_leads():
    # Of three requests with one prefix and two with another only one is the third of its kind.
    two = sizes(*[(600, 600, 1, 300)] * 3, *[(600, 600, 2, 300)] * 2)
    assert estimate(two, 40, PRICE, RATES, ANY_PREFIX).cached == 100


def test_a_prefix_is_served_from_the_minimum_on_in_whole_blocks():
    # 300 characters are 100 tokens: of the rule 64 + n x 32 they give 96, of a minimum of 128 nothing.
    assert estimate(FIVE, 40, PRICE, RATES, CacheRule(64, 32)).cached == 3 * 96
    strict = estimate(FIVE, 40, PRICE, RATES, CacheRule(128, 16))
    assert strict.cached == 0
    # At best from the second request on in blocks of 16 tokens: 300 / 4 = 75, so 64, four times.
    assert strict.usd is not None
    assert strict.usd.low == PRICE.cost_of(750, 50, 4 * 64)


def test_providers_that_cache_nothing_unmarked_save_nothing_even_at_best():
    figure = estimate(FIVE, 40, PRICE, RATES, None)
    assert figure.cached == 0
    assert figure.usd is not None
    assert figure.usd.low == PRICE.cost_of(750, 50)


def test_a_measured_share_of_the_prefix_replaces_the_rule():
    # Half of 5 x 300 / 3 = 500 prefix tokens.
    measured = Rates(RATES.characters, RATES.completion, framing=0, served=500)
    assert estimate(FIVE, 40, PRICE, measured, CacheRule(10**6, 1)).cached == 250


def test_attempts_count_as_calls_and_framing_as_tokens():
    figure = estimate(FIVE, 40, PRICE, Rates(RATES.characters, RATES.completion, framing=10, attempts=1250), ANY_PREFIX)
    # 5 x 1.25 = 6.25 calls, and 5 x 10 tokens more.
    assert (figure.calls, figure.prompt.expected) == (7, 1050)


def test_an_unknown_price_is_not_zero():
    assert estimate(FIVE, 40, None, RATES, ANY_PREFIX).usd is None


def test_nothing_open_costs_nothing():
    figure = estimate(sizes(), 40, PRICE, RATES, ANY_PREFIX)
    assert figure == Estimate(0, 0, Tokens(0, 0, 0, 0), Tokens(0, 0, 0, 0), 0, Money(*[Decimal(0)] * 5))
    assert figure.cached_share is None


def test_the_total_adds_up_and_is_unknown_where_a_part_is():
    known, unknown = estimate(FIVE, 40, PRICE, RATES, ANY_PREFIX), estimate(FIVE, 40, None, RATES, ANY_PREFIX)
    both = total([known, known])
    assert (both.requests, both.cached, both.prompt.bound) == (10, 600, 7880)
    assert both.usd == Money(*(2 * amount for amount in known.usd or ()))
    assert total([known, unknown]).usd is None
    # A step with nothing open needs no price.
    assert total([known, estimate(sizes(), 40, None, RATES, ANY_PREFIX)]).usd == known.usd
    assert total([]).requests == 0


def step(requests: int, each: str | None, worst: str = "0") -> Estimate:
    """A step whose requests cost ``each`` USD and ``worst`` in the worst case."""
    money = None
    if each is not None:
        expected, bound = requests * Decimal(each), requests * Decimal(worst)
        money = Money(expected, expected, expected, bound, expected)
    return Estimate(requests, requests, Tokens(0, 0, 0, 0), Tokens(0, 0, 0, 0), 0, money)


def test_where_caps_stop_by_hand():
    # 10 requests of 0.10 USD leave 2.05 of 3.05; each of the next 100 costs 0.05 and may cost 0.50: the 32nd goes out with
    # 31 x 0.05 = 1.55 spent and 0.50 left, the 33rd does not.
    steps = [step(10, "0.1", "0.2"), step(100, "0.05", "0.5")]
    assert first_stops(steps, Decimal("3.05"), None) == [Stop("money", 1, 32)]
    # The last of the 100 needs 99 x 0.05 + 0.50 = 5.45 and the first step's 1.00.
    assert first_stops(steps, Decimal("6.45"), None) == []
    assert first_stops(steps, Decimal("6.44"), None) == [Stop("money", 1, 99)]
    assert first_stops(steps, Decimal("0.1"), None) == [Stop("money", 0, 0)]
    assert first_stops(steps, None, 10) == [Stop("calls", 1, 0)]
    assert first_stops(steps, Decimal(100), 50) == [Stop("calls", 1, 40)]
    assert first_stops(steps, Decimal(100), 110) == []


def test_a_cap_in_money_refuses_a_step_of_unknown_price():
    assert first_stops([step(3, "0.1", "0.1"), step(5, None)], Decimal(9), None) == [Stop("money", 1, 0, refused=True)]
    # Nothing to ask needs no price.
    assert first_stops([step(0, None)], Decimal(9), None) == []


def test_free_requests_are_never_stopped_by_a_cap_in_money():
    assert first_stops([step(5, "0", "0")], Decimal("0.01"), None) == []


rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 50)), max_size=30
)
rate = st.integers(1, 9000)


@given(
    rows=rows,
    more=st.tuples(st.integers(0, 3), st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 50)),
    characters=st.lists(rate, min_size=3, max_size=3).map(sorted),
    completion=st.lists(rate, min_size=3, max_size=3).map(sorted),
    served=st.none() | st.integers(0, 1000),
    minimum=st.integers(1, 300),
    block=st.integers(1, 100),
    amounts=st.lists(st.decimals(0, Decimal("0.001"), places=10), min_size=4, max_size=4),
    in_flight=st.integers(1, 10),
    max_tokens=st.integers(1, 50),
)
@settings(max_examples=50, deadline=None)
def test_low_to_bound_are_in_order_exact_and_grow_with_the_requests(
    rows, more, characters, completion, served, minimum, block, amounts, in_flight, max_tokens
):
    prompt, reply, request, cached = amounts
    price = Prices(prompt, reply, request, min(cached, prompt))
    rates = Rates(Span(*characters), Span(*completion), served=served)

    def made(chosen) -> Estimate:
        # A prompt is its prefix and a rest; its bytes are at least its characters.
        frame = sizes(*[(before + rest, before + rest + extra, name, before) for name, before, rest, extra in chosen])
        return estimate(frame, max_tokens, price, rates, CacheRule(minimum, block), in_flight)

    figure, larger = made(rows), made([*rows, more])
    for span in (figure.prompt, figure.completion):
        assert span.low <= span.expected <= span.high <= span.bound
    usd = figure.usd
    assert usd is not None
    assert 0 <= usd.low <= usd.expected <= usd.high <= usd.bound
    assert usd.expected <= usd.uncached <= usd.high
    assert 0 <= figure.cached <= figure.prompt.expected
    units = [int(amount * 10**10) for amount in (price.prompt, price.completion, price.request, price.cached or 0)]
    fresh = figure.prompt.expected - figure.cached
    in_units = (
        fresh * units[0] + figure.completion.expected * units[1] + len(rows) * units[2] + figure.cached * units[3]
    )
    assert usd.expected * 10**10 == in_units
    assert larger.usd is not None
    assert larger.usd.bound >= usd.bound
    assert larger.usd.high >= usd.high
    assert larger.usd.uncached >= usd.uncached
    assert larger.prompt.expected >= figure.prompt.expected
    # More than a token a character is cut at the bound, which the cache's share does not know of.
    if served is None and characters[1] >= 1000:
        assert larger.usd.expected >= usd.expected
    assert total([figure, larger]).usd == Money(*(a + b for a, b in zip(usd, larger.usd, strict=True)))
