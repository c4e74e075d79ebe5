"""What a run writes into the ledger about each call."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayError, GatewayRefused, InsufficientCredits
from tendril_assets.resources import gateway_http
from tendril_assets.resources.gateway_client import Caps, Endpoint, GatewayRequest, Prices, Spent, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.replies import Action, Reply
from tendril_assets_tests.resources.asking import FAST, SECRET, ask, request, requests, stored
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply

PRICES = Prices(prompt=Decimal("0.00001"), completion=Decimal("0.0001"), cached=Decimal("0.000001"))


def completion(usage: dict[str, object]) -> Scripted:
    choices = [{"finish_reason": "stop", "message": {"content": "1"}}]
    return Scripted(body=json.dumps({"id": "gen-1", "choices": choices, "usage": usage}).encode())


def test_the_reply_and_the_run_are_named(tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": 0.5,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    with StubGateway(lambda call: completion(usage)) as gateway:
        summary = ask(gateway, tmp_path, requests(2), run="run-7")
    entry = stored(tmp_path)["k0"]
    assert (entry.run, entry.reply_id, entry.reasoning_tokens, entry.repeat) == ("run-7", "gen-1", 15, None)
    assert (entry.cost, entry.cost_estimate) == (Decimal("0.5"), None)
    assert (summary.reasoning_tokens, summary.cached_share, summary.cost_estimate) == (30, 0.6, 0)


def test_a_repeat_goes_out_as_a_header_and_not_in_the_body(tmp_path: Path) -> None:
    one = request("k0")
    again = GatewayRequest("k0 again", "judge", one.body, repeat="drift 2026-11-30")
    with StubGateway(lambda call: reply()) as gateway:
        ask(gateway, tmp_path, [one, again], concurrency=1)
        first, second = gateway.calls
    assert "X-Repeat" not in first.headers
    assert second.headers["X-Repeat"] == "drift 2026-11-30"
    assert first.body == second.body
    assert {key: entry.repeat for key, entry in stored(tmp_path).items()} == {
        "k0": None,
        "k0 again": "drift 2026-11-30",
    }


@pytest.mark.parametrize("label", ["", "zweite Prüfung", "a\nb", "x" * 101])
def test_a_label_that_is_no_header_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        GatewayRequest("k", "judge", {}, repeat=label)


def test_costs_the_gateway_did_not_name_are_estimated_apart(tmp_path: Path) -> None:
    usages = {
        "k0": {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0},
        "k1": {"prompt_tokens": 100, "completion_tokens": 20},
        "k2": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60}},
        "k3": {"prompt_tokens": 100},
        "k4": {},
    }
    with StubGateway(lambda call: completion(usages[call.body["messages"][-1]["content"]])) as gateway:
        summary = ask(gateway, tmp_path, requests(5), caps=Caps(prices={"toy/model": PRICES}))
    entries = stored(tmp_path)
    assert [entries[f"k{i}"].cost for i in range(5)] == [0, None, None, None, None]
    assert [entries[f"k{i}"].cost_estimate for i in range(5)] == [
        None,
        Decimal("0.003"),  # 100 x 0.00001 + 20 x 0.0001
        Decimal("0.00246"),  # 40 x 0.00001 + 60 x 0.000001 + 20 x 0.0001
        Decimal("0.00166"),  # the worst case: (2 bytes + 64) x 0.00001 + 10 x 0.0001
        Decimal("0.00166"),
    ]
    assert (summary.cost, summary.cost_known, summary.cost_unknown) == (0, 1, 4)
    assert summary.cost_estimate == Decimal("0.00878")


def test_each_unnamed_attempt_is_estimated_and_free_failures_are_not(tmp_path: Path) -> None:
    def script(call: Call) -> Scripted:
        return [Scripted(502), completion({}), reply("", cost="absent"), reply("1", cost=0.25)][call.attempt - 1]

    with StubGateway(lambda call: script(call) if call.attempt != 2 else Scripted(200, b"\n")) as gateway:
        summary = ask(gateway, tmp_path, requests(1), caps=Caps(prices={"toy/model": PRICES}))
    entry = stored(tmp_path)["k0"]
    # A body of blanks at its worst, 0.00166; an empty answer by its tokens: 10 x 0.00001 + 1 x 0.0001 = 0.0002.
    assert (entry.attempts, entry.cost, entry.cost_estimate) == (4, Decimal("0.25"), Decimal("0.00186"))
    assert (summary.cost_known, summary.cost_unknown) == (1, 2)


def test_costs_of_case_8(tmp_path: Path) -> None:
    costs = [0.0001, 0, None, "absent", "NaN", -1]
    with StubGateway(lambda call: reply(cost=costs[call.number - 1])) as gateway:
        summary = ask(gateway, tmp_path, requests(6), concurrency=1)
    assert (summary.cost, summary.cost_known, summary.cost_unknown) == (Decimal("0.0001"), 2, 4)
    # No list names a price for this model: no estimate, and no zero either.
    assert (summary.cost_estimate, stored(tmp_path)["k2"].cost_estimate) == (0, None)


def test_without_prices_the_lists_of_the_package_serve_for_an_estimate(tmp_path: Path) -> None:
    from tendril_assets.judging.prices import load_price_table

    model, prices = next(iter(load_price_table().prices.items()))
    body = {**request("k0").body, "model": model}
    with StubGateway(lambda call: reply(cost="absent")) as gateway:
        ask(gateway, tmp_path, [GatewayRequest("k0", "judge", body)])
    assert stored(tmp_path)["k0"].cost_estimate == prices.cost_of(10, 1)


# Whatever ends a run, what was paid for is in the ledger


@pytest.mark.parametrize(
    ("answers", "error", "http_status", "spent"),
    [
        ([reply("", cost=0.5), Scripted(402)], InsufficientCredits, 402, Spent(Decimal("0.5"), 2)),
        ([reply("", cost=0.5), Scripted(401)], GatewayRefused, 401, Spent(Decimal("0.5"), 2)),
        # Paid for by itself: an error inside a 200 that names its cost.
        (
            [Scripted(200, b'{"error": {"code": 400, "message": "no"}, "usage": {"cost": 0.25}}')],
            GatewayRefused,
            400,
            Spent(Decimal("0.25"), 1),
        ),
        # Of unknown cost: 10 x 0.00001 + 1 x 0.0001 for the empty answer.
        ([reply("", cost="absent"), Scripted(403)], GatewayRefused, 403, Spent(Decimal("0.0002"), 2)),
    ],
)
def test_what_was_paid_for_before_a_refusal_is_stored(
    tmp_path: Path, answers: list[Scripted], error: type[GatewayError], http_status: int, spent: Spent
) -> None:
    caps = Caps(prices={"toy/model": PRICES})
    with StubGateway(lambda call: answers[call.number - 1]) as gateway, pytest.raises(error) as caught:
        ask(gateway, tmp_path, requests(3), concurrency=1, caps=caps, run="r1")
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.http_status, entry.attempts) == ("error", http_status, len(answers))
    assert Ledger(tmp_path).spent("r1") == spent
    assert caught.value.n_open == 3


@pytest.mark.parametrize("headers", [{}, {"x-litellm-response-cost": "0"}])
@pytest.mark.parametrize("status", [400, 402])
def test_a_refusal_that_was_free_leaves_the_request_simply_open(
    tmp_path: Path, status: int, headers: dict[str, str]
) -> None:
    with StubGateway(lambda call: Scripted(status, headers=headers)) as gateway, pytest.raises(GatewayError):
        ask(gateway, tmp_path, requests(3), concurrency=1, run="r1")
    assert stored(tmp_path) == {}


def test_an_attempt_that_may_have_been_charged_is_stored_where_nothing_can_be_reached_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Transport:
        calls = 0

        def __init__(self, *_: object) -> None: ...

        async def __aenter__(self) -> "Transport":
            return self

        async def __aexit__(self, *_: object) -> None: ...

        async def post(self, payload: bytes, repeat: str | None) -> gateway_http.Outcome:
            Transport.calls += 1
            late = Transport.calls == 1
            detail = "no whole reply in time" if late else "the connection was refused"
            return gateway_http.Outcome(Reply("error", Action.RETRY, detail=detail, charged=late))

    monkeypatch.setattr(gateway_http, "GatewayHttp", Transport)
    with pytest.raises(GatewayError, match="the connection was refused") as caught:
        answer(
            requests(1),
            Ledger(tmp_path),
            endpoint=Endpoint("http://127.0.0.1:9", SECRET),
            retry=FAST,
            caps=Caps(prices={"toy/model": PRICES}),
            run="r1",
        )
    # The first went out and may have been answered.
    assert "Nothing was asked" not in str(caught.value)
    # The worst case, as above.
    assert Ledger(tmp_path).spent("r1") == Spent(Decimal("0.00166"), Transport.calls)
