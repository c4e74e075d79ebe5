from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prices import Prices, output_limit
from tendril_assets.resources.caps import Caps, Purse, Spent

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


def test_what_earlier_steps_of_the_run_spent_counts() -> None:
    prices = {"toy/model": Prices(request=Decimal("0.0003"))}
    money = Purse(Caps(Decimal("0.0010"), 5, prices), Spent(Decimal("0.0005"), 4))
    worst = Decimal("0.0003")
    assert money.allows(worst) is True
    money.pledge(worst)
    money.settle(worst, Decimal("0.0001"), charged=True)
    assert (money.spent, money.calls) == (Decimal("0.0006"), 5)
    assert money.allows(worst) is False  # the fifth call was the last
    assert Purse(Caps(Decimal("0.0010"), None, prices), Spent(Decimal("0.0008"))).allows(worst) is False
    assert Purse(Caps(Decimal("0.0010"), None, prices), Spent(Decimal("0.0007"))).allows(worst) is True


# A call: its worst case in steps of 0.0001 USD, the share of it that it really costs in tenths, and how it ends.
CALLS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 10), st.sampled_from(["named", "unnamed", "free", "never sent"])),
    max_size=60,
)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 100), st.integers(0, 60), st.integers(1, 80), CALLS, st.randoms(use_true_random=False))
def test_whatever_calls_cost_and_however_they_end_the_caps_hold(
    cap: int, before: int, most_calls: int, calls: list[tuple[int, int, str]], random
) -> None:
    step = Decimal("0.0001")
    earlier = Spent(min(before, cap) * step, 3)
    money = Purse(Caps(cap * step, most_calls), earlier)
    charged, sent = earlier.usd, earlier.calls
    in_flight: list[tuple[Decimal, int, str]] = []

    def settle() -> None:
        nonlocal charged, sent
        worst, tenths, end = in_flight.pop(random.randrange(len(in_flight)))
        cost = worst * tenths / 10
        if end == "never sent":
            money.withdraw(worst)
            return
        sent += 1
        charged += 0 if end == "free" else cost
        money.settle(worst, cost if end == "named" else None, charged=end != "free")

    for worst, tenths, end in calls:
        while money.allows(worst * step) is None:
            assert in_flight
            settle()
        if money.allows(worst * step):
            money.pledge(worst * step)
            in_flight.append((worst * step, tenths, end))
        assert money.spent + money.pledged <= cap * step
        assert money.calls <= max(most_calls, earlier.calls)
        if in_flight and random.random() < 0.5:
            settle()
    while in_flight:
        settle()
    # What was really charged, also where the gateway did not say so, is under the cap.
    assert charged <= money.spent + money.pledged <= cap * step
    assert sent == money.calls <= max(most_calls, earlier.calls)
