"""Prices: exact sums by hand and for any numbers, the table that ships, and every way a table can be wrong."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prices import PRICE_TABLE, Prices, PriceTable, load_price_table
from tendril_assets.sandbox.gateway_money import PRICES, pricing

PRICE = Prices(Decimal("1.5e-7"), Decimal("5e-7"), Decimal("0.001"), Decimal("3e-8"))
tokens = st.integers(0, 10**9)
amounts = st.decimals(0, Decimal("0.01"), places=12)
GOOD = "date: 2026-05-04\nsource: a list\nusd_per_million_tokens:\n  maker/model: {prompt: 0.15, completion: 0.6}\n"


def test_cost_by_hand():
    # 600 fresh x 0.15 + 400 cached x 0.03 + 100 out x 0.50, each per million, and the request: 0.000090 + 0.000012 + 0.00005
    assert PRICE.cost_of(1000, 100, 400) == Decimal("0.001152")
    # Two requests with the same tokens together.
    assert PRICE.cost_of(1000, 100, 400, requests=2) == Decimal("0.002152")


def test_more_cached_than_sent_counts_as_all_of_them():
    assert PRICE.cost_of(10, 0, 99) == PRICE.cost_of(10, 0, 10)


def test_without_a_cache_price_cached_tokens_cost_the_full_price():
    assert Prices(Decimal(2), Decimal(0)).cost_of(3, 0, 3) == 6


def test_a_cache_that_is_free_is_a_price():
    assert Prices(Decimal(2), Decimal(0), cached=Decimal(0)).cost_of(3, 0, 2) == 2


@pytest.mark.parametrize("numbers", [(-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_negative_numbers_are_refused(numbers):
    with pytest.raises(ValueError, match="negative"):
        PRICE.cost_of(*numbers)


@given(prompt=amounts, completion=amounts, cached=amounts, a=tokens, b=tokens, c=tokens)
@settings(max_examples=50, deadline=None)
def test_costs_add_up_exactly_and_never_fall_with_more_tokens(prompt, completion, cached, a, b, c):
    price = Prices(prompt, completion, cached=min(cached, prompt))
    hits = min(a, c)
    whole = price.cost_of(a + b, c, hits)
    assert whole == price.cost_of(a, 0, hits) + price.cost_of(b, c, 0)
    # In integers of 1e-12 USD, where nothing can be rounded.
    units = {name: int(value * 10**12) for name, value in (("p", prompt), ("o", completion), ("c", price.cached))}
    assert whole * 10**12 == (a + b - hits) * units["p"] + hits * units["c"] + c * units["o"]
    assert price.cost_of(a, c, hits) <= whole <= price.cost_of(a + b, c, 0)


def test_the_table_that_ships_says_what_the_sandbox_charges_and_names_no_price_of_zero():
    table = load_price_table()
    for model in ("sandbox/judge", "sandbox/writer", "stand-in/judge", *PRICES):
        listed = pricing(model)
        expected = [Decimal(listed[name]) for name in ("prompt", "completion", "request", "input_cache_read")]
        price = table.prices[model]
        assert [price.prompt, price.completion, price.request, price.cached] == expected
    assert all(price.prompt > 0 and price.completion > 0 for price in table.prices.values())
    assert table.prices["z-ai/glm-5.3-flash"] == Prices(Decimal("1.5e-7"), Decimal("5e-7"), cached=Decimal("3e-8"))


def test_the_table_lies_in_the_package_folder_that_wheels_include():
    assert PRICE_TABLE.is_file()
    assert PRICE_TABLE.is_relative_to(Path(__file__).parents[2] / "tendril_assets")


@pytest.mark.parametrize(("day", "old"), [(date(2026, 8, 2), False), (date(2026, 8, 3), True)])
def test_a_table_is_old_after_ninety_days(day, old):
    # 4 May + 90 days = 2 August.
    assert PriceTable(date(2026, 5, 4), "a list", {}).is_old(day) is old


def test_a_table_is_read_exactly(tmp_path: Path):
    path = tmp_path / "prices.yaml"
    path.write_text(
        GOOD + "  other/free: {prompt: 0, completion: 0, cached: '0'}\nusd_per_request: {maker/model: 0.002}\n",
        encoding="utf-8",
    )
    table = load_price_table(path)
    assert (table.date, table.source) == (date(2026, 5, 4), "a list")
    assert table.prices == {
        "maker/model": Prices(Decimal("1.5e-7"), Decimal("6e-7"), Decimal("0.002")),
        "other/free": Prices(cached=Decimal(0)),
    }


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("date: 2026-05-04", "date: May", "date must be a day"),
        ("date: 2026-05-04", "date: 2026-05-04 10:00:00", "date must be a day"),
        ("source: a list", "source: ' '", "source must say"),
        ("source: a list", "origin: a list", "must have the fields"),
        ("prompt: 0.15", "prompt: free", "maker/model.prompt must be an amount"),
        ("prompt: 0.15", "prompt: -0.15", "maker/model.prompt must be an amount"),
        ("prompt: 0.15", "prompt: .nan", "maker/model.prompt must be an amount"),
        ("prompt: 0.15", "prompt: true", "maker/model.prompt must be an amount"),
        ("prompt: 0.15", "prompt: null", "maker/model.prompt must be an amount"),
        ("prompt: 0.15, ", "", "must have prompt and completion"),
        ("prompt: 0.15", "prompt: 0.15, cache: 1", "must have prompt and completion"),
        ("prompt: 0.15", "prompt: 0.15, cached: 0.2", "never dearer"),
        ("{prompt: 0.15, completion: 0.6}", "0.15", "must have prompt and completion"),
        ("usd_per_million_tokens:", "usd_per_request: {other/model: 1}\nusd_per_million_tokens:", "listed above"),
        ("  maker/model", "  maker/model: {}\n  maker/model", "occurs twice"),
        ("  maker/model", "  on: {prompt: 1, completion: 1}\n  maker/model", "the key on is read as True"),
        (GOOD, "- a list", "must have the fields"),
        (GOOD, "a: [", "cannot be read"),
    ],
)
def test_a_malformed_table_is_refused_with_its_place(tmp_path: Path, old: str, new: str, complaint: str):
    path = tmp_path / "prices.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SettingsError, match=complaint):
        load_price_table(path)


def test_a_missing_table_is_an_error(tmp_path: Path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_price_table(tmp_path / "nothing.yaml")
