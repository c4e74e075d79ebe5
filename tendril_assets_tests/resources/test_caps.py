from decimal import Decimal

import pytest

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prices import Prices, output_limit
from tendril_assets.resources.caps import Caps, Purse

BODY = {"model": "toy/model", "max_tokens": 10, "messages": [{"role": "user", "content": "Fläche"}]}


def test_the_worst_case_counts_a_token_per_byte_and_the_whole_answer() -> None:
    # "Fläche" has 7 bytes, plus 64 for the message's frame: 71 x 0.001 + 10 x 0.01 + 0.5 = 0.671
    prices = Prices(prompt=Decimal("0.001"), completion=Decimal("0.01"), request=Decimal("0.5"))
    assert prices.worst(BODY) == Decimal("0.671")


@pytest.mark.parametrize(
    "body", [{}, {"max_tokens": None}, {"max_tokens": 0}, {"max_tokens": True}, {"max_tokens": "10"}]
)
def test_a_body_without_a_bound_on_its_answer_is_refused(body: dict) -> None:
    with pytest.raises(SettingsError, match="max_tokens"):
        output_limit(body)


def test_the_newer_name_of_the_bound_counts() -> None:
    assert output_limit({"max_completion_tokens": 5}) == 5


def purse(max_usd: str | None = None, max_calls: int | None = None) -> Purse:
    prices = {"toy/model": Prices(request=Decimal("0.0003"))}
    return Purse(Caps(None if max_usd is None else Decimal(max_usd), max_calls, prices))


def test_three_calls_of_0_0003_fit_under_0_0010() -> None:
    money = purse("0.0010")
    for _ in range(3):
        worst = money.worst(BODY)
        assert money.allows(worst) is True
        money.pledge(worst)
        money.settle(worst, Decimal("0.0003"), charged=True)
    assert money.allows(Decimal("0.0003")) is False
    assert money.spent == Decimal("0.0009")


def test_a_call_waits_while_those_in_flight_may_turn_out_cheaper() -> None:
    money = purse("0.0010")
    worst = Decimal("0.0006")
    money.pledge(worst)
    assert money.allows(worst) is None
    money.settle(worst, Decimal("0.0001"), charged=True)
    assert money.allows(worst) is True


def test_an_unknown_cost_keeps_its_worst_case_and_a_free_failure_gives_it_back() -> None:
    money = purse("0.0010")
    worst = Decimal("0.0006")
    money.pledge(worst)
    money.settle(worst, None, charged=False)
    assert money.allows(worst) is True
    money.pledge(worst)
    money.settle(worst, None, charged=True)
    assert money.allows(worst) is False


def test_a_withdrawn_call_was_never_made() -> None:
    money = purse(max_calls=1)
    money.pledge(Decimal(0))
    assert money.allows(Decimal(0)) is False
    money.withdraw(Decimal(0))
    assert money.allows(Decimal(0)) is True


def test_without_a_price_a_cap_in_money_cannot_be_kept() -> None:
    with pytest.raises(SettingsError, match="price of 'other' is unknown"):
        purse("1").worst({**BODY, "model": "other"})
    assert purse(max_calls=1).worst({**BODY, "model": "other"}) == 0
