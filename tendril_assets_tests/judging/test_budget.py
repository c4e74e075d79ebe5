"""The estimate, worked by hand."""

from decimal import Decimal

import polars as pl

from tendril_assets.judging.budget import Estimate, estimate
from tendril_assets.judging.prices import Prices
from tendril_assets.spec import LLMSpec

REQUESTS = pl.DataFrame({"prompt_characters": [3000, 3001]})
PRICES = {"toy/model": Prices(Decimal("0.10e-6"), Decimal("0.40e-6"))}


def test_tokens_and_money_by_hand():
    # 6,001 characters at 3 a token: 2,000.33, up to 2,001, plus 2 x 10 of framing = 2,021.
    # Low effort: 2 x 400 = 800. USD: (2,021 x 0.10 + 800 x 0.40) / 1e6 = 522.1e-6.
    # Cap: 2 x 1,024 = 2,048 tokens: (202.1 + 819.2) / 1e6.
    figure = estimate(REQUESTS, LLMSpec(model="toy/model", reasoning_effort="low"), PRICES)
    assert figure == Estimate(2, 2021, 800, Decimal("0.0005221"), Decimal("0.0010213"))


def test_a_reply_is_never_longer_than_max_tokens():
    figure = estimate(REQUESTS, LLMSpec(model="toy/model", reasoning_effort="high", max_tokens=50), PRICES)
    assert figure.completion_tokens == 100
    assert figure.usd == figure.usd_cap


def test_an_unknown_price_is_not_zero():
    figure = estimate(REQUESTS, LLMSpec(model="toy/other"), PRICES)
    assert (figure.calls, figure.usd, figure.usd_cap) == (2, None, None)


def test_nothing_open_costs_nothing():
    figure = estimate(REQUESTS.clear(), LLMSpec(model="toy/model"), PRICES)
    assert figure == Estimate(0, 0, 0, Decimal(0), Decimal(0))


def test_a_price_per_request_is_added():
    prices = {"toy/model": Prices(Decimal(0), Decimal(0), Decimal("0.002"))}
    assert estimate(REQUESTS, LLMSpec(model="toy/model"), prices).usd == Decimal("0.004")
