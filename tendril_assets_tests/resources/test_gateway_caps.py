import contextlib
import json
import random
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from tendril_assets.errors import GatewayError, IncompleteJudgments, SettingsError
from tendril_assets.resources.gateway_client import Caps, Endpoint, GatewayRequest, Prices, Spent, fetch_prices
from tendril_assets.resources.ledger import Ledger
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.loopback import ScriptedHandler, loopback_server
from tendril_assets_tests.resources.asking import PRICES, SECRET, ask, request, requests, stored
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply

# Case 13


def test_a_cap_in_money_stops_before_it_is_exceeded(tmp_path: Path) -> None:
    caps = Caps(max_usd=Decimal("0.0010"), prices=PRICES)
    with StubGateway(lambda call: reply(cost=0.0003)) as gateway:
        summary = ask(gateway, tmp_path, requests(10), concurrency=1, caps=caps)
        assert len(gateway.calls) == 3
    assert (summary.state, summary.answered, summary.n_open) == ("incomplete: budget", 3, 7)
    with pytest.raises(IncompleteJudgments) as caught:
        summary.require_complete()
    assert caught.value.n_open == 7


def test_calls_in_flight_count_at_their_worst(tmp_path: Path) -> None:
    caps = Caps(max_usd=Decimal("0.0010"), prices=PRICES)
    with StubGateway(lambda call: Scripted(200, reply(cost=0.0003).body, delay_s=0.05)) as gateway:
        summary = ask(gateway, tmp_path, requests(10), concurrency=8, caps=caps)
        assert len(gateway.calls) == 3
    assert summary.cost == Decimal("0.0009")


def test_cheaper_calls_than_feared_use_the_cap_to_the_end(tmp_path: Path) -> None:
    # Worst case 0.0003, real cost 0.0001: after n calls another fits while 0.0001 n + 0.0003 <= 0.0010, so 8 go out.
    caps = Caps(max_usd=Decimal("0.0010"), prices=PRICES)
    with StubGateway(lambda call: reply(cost=0.0001)) as gateway:
        summary = ask(gateway, tmp_path, requests(20), concurrency=8, caps=caps)
        assert len(gateway.calls) == 8
    assert summary.state == "incomplete: budget"


def test_unknown_costs_count_at_their_worst(tmp_path: Path) -> None:
    caps = Caps(max_usd=Decimal("0.0010"), prices=PRICES)
    with StubGateway(lambda call: reply(cost="absent")) as gateway:
        summary = ask(gateway, tmp_path, requests(10), concurrency=1, caps=caps)
        assert len(gateway.calls) == 3
    assert (summary.cost, summary.cost_unknown) == (0, 3)


def test_retries_count_against_the_caps(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(502)) as gateway:
        summary = ask(gateway, tmp_path, requests(5), concurrency=1, caps=Caps(max_calls=4))
        assert len(gateway.calls) == 4
    assert (summary.state, summary.n_open) == ("incomplete: budget", 5)
    assert stored(tmp_path) == {}  # cut short and free of charge: simply open


def test_caps_hold_over_the_steps_of_a_run(tmp_path: Path) -> None:
    caps = Caps(max_usd=Decimal("0.0010"), max_calls=3, prices=PRICES)
    with StubGateway(lambda call: reply(cost=0.0003)) as gateway:
        first = ask(gateway, tmp_path, requests(2), concurrency=1, caps=caps, run="r1")
        assert first.is_complete
        spent = Spent(first.cost, first.calls)
        again = [request(f"second {i}") for i in range(5)]
        second = ask(gateway, tmp_path, again, concurrency=1, caps=caps, run="r1", spent=spent)
        assert (second.state, second.calls, second.n_open) == ("incomplete: budget", 1, 4)
        # Another run has its caps anew.
        assert ask(gateway, tmp_path, again[1:3], caps=caps, run="r2").is_complete
        assert len(gateway.calls) == 5


@pytest.mark.parametrize("kind", ["failing", "refused", "unreachable"])
def test_a_cap_in_calls_holds_over_steps_whose_calls_all_fail(tmp_path: Path, kind: str) -> None:
    caps, steps = Caps(max_calls=6), 0
    with StubGateway(lambda call: Scripted(503 if kind == "failing" else 400)) as stub:
        gateway = SimpleNamespace(base_url="http://127.0.0.1:9") if kind == "unreachable" else stub
        while (spent := Ledger(tmp_path).spent("r1")).calls < 6:
            steps += 1
            with contextlib.suppress(GatewayError):
                ask(gateway, tmp_path, requests(9), concurrency=4, caps=caps, run="r1", spent=spent)
            # Each step is seen by the next one.
            assert spent.calls < Ledger(tmp_path).spent("r1").calls
        last = ask(gateway, tmp_path, requests(9), caps=caps, run="r1", spent=spent)
        assert (last.state, last.calls, last.n_open) == ("incomplete: budget", 0, 9)
        assert spent.calls == 6
        assert len(stub.calls) == (0 if kind == "unreachable" else 6)
    # A refusal ends each step after at most the four calls that are in flight.
    assert steps == 1 if kind == "failing" else 1 <= steps <= 6


@pytest.mark.parametrize("seed", range(3))
def test_a_cap_in_money_holds_where_the_gateway_does_not_always_name_the_cost(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    charged = Decimal(0)

    def script(call: Call) -> Scripted:
        nonlocal charged
        cost = Decimal(draw.randint(0, 3)) / 10_000  # at most the worst case
        kind = draw.choice(["named", "unnamed", "blank", "502", "429", "cut"])
        if kind in ("502", "429"):
            return Scripted(int(kind))
        charged += cost
        if kind == "blank":
            return Scripted(200, b"\n", delay_s=0.01)
        done = reply(cost=float(cost) if kind == "named" else None)
        return Scripted(200, done.body, cut=kind == "cut", delay_s=0.01)

    caps = Caps(max_usd=Decimal("0.0100"), prices=PRICES)
    with StubGateway(script) as gateway:
        summary = ask(gateway, tmp_path, requests(300), concurrency=8, caps=caps)
    assert summary.state == "incomplete: budget"
    # Used up to the last call that might fit, and not beyond.
    assert charged <= Decimal("0.0100")
    assert summary.cost + summary.cost_unknown * Decimal("0.0003") > Decimal("0.0097")


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_cap_in_calls_is_exact(tmp_path: Path, concurrency: int) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(50), concurrency=concurrency, caps=Caps(max_calls=17))
        assert len(gateway.calls) == 17
    assert (summary.answered, summary.n_open, summary.calls) == (17, 33, 17)


def test_an_unknown_price_and_a_cap_in_money_refuse_to_start(tmp_path: Path) -> None:
    caps = Caps(max_usd=Decimal(1), prices={})
    with StubGateway(lambda call: reply()) as gateway:
        with pytest.raises(SettingsError, match="the price of 'toy/model' is unknown"):
            ask(gateway, tmp_path, requests(10), caps=caps)
        assert gateway.calls == []


def test_prices_come_from_the_gateway_where_none_are_named(tmp_path: Path) -> None:
    with StandInGateway(models=("toy/model",)) as gateway:
        prices = fetch_prices(Endpoint(gateway.base_url, SECRET))
        assert prices == {"toy/model": Prices(Decimal("1e-7"), Decimal("4e-7"), cached=Decimal("1e-8"))}
        # k0: 2 bytes + 64 at 0.0000001, 10 tokens at 0.0000004: 0.0000106 in the worst case
        assert ask(gateway, tmp_path, requests(1), caps=Caps(max_usd=Decimal("0.0000105"))).calls == 0
        assert ask(gateway, tmp_path, requests(1), caps=Caps(max_usd=Decimal("0.0000106"))).calls == 1


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        ({"prompt": "0.1", "completion": 0.2}, Prices(Decimal("0.1"), Decimal("0.2"))),
        (
            {"prompt": "0.1", "completion": "0.2", "request": None, "input_cache_read": None},
            Prices(Decimal("0.1"), Decimal("0.2")),
        ),
        (
            {"prompt": "0.1", "completion": "0.2", "request": "0.3", "input_cache_read": "0.01"},
            Prices(Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal("0.01")),
        ),
        # No discount is reckoned with where it cannot be read; what must be paid has to be known.
        ({"prompt": "0.1", "completion": "0.2", "input_cache_read": "?"}, Prices(Decimal("0.1"), Decimal("0.2"))),
        ({"prompt": "0.1", "completion": "0.2", "request": "?"}, None),
        ({"prompt": None, "completion": "0.2"}, None),
        ({"prompt": "0.1"}, None),
        ({"prompt": "-1", "completion": "-1"}, None),
        (None, None),
    ],
)
def test_a_price_that_is_null_is_absent(pricing: object, expected: Prices | None) -> None:
    listed = json.dumps({"data": [{"id": "toy/model", "pricing": pricing}]}).encode()

    class Handler(ScriptedHandler):
        def do_GET(self) -> None:
            self.give(Scripted(200, listed))

    server, thread = loopback_server(Handler)
    thread.start()
    try:
        found = fetch_prices(Endpoint(f"http://127.0.0.1:{server.server_address[1]}", SECRET))
    finally:
        server.shutdown()
        server.server_close()
    assert found == ({} if expected is None else {"toy/model": expected})


def test_a_gateway_without_a_price_list_is_an_error() -> None:
    with StubGateway(lambda call: reply()) as gateway, pytest.raises(GatewayError, match="price list"):
        fetch_prices(Endpoint(gateway.base_url, SECRET))


def test_a_body_without_max_tokens_is_never_sent(tmp_path: Path) -> None:
    body = {"model": "toy/model", "messages": []}
    with StubGateway(lambda call: reply()) as gateway:
        with pytest.raises(SettingsError, match="max_tokens"):
            ask(gateway, tmp_path, [GatewayRequest("k", "judge", body)])
        assert gateway.calls == []


@pytest.mark.parametrize(
    ("base_url", "key", "complaint"),
    [
        ("openrouter.ai/api/v1", SECRET, "should look like"),
        ("ftp://host/api", SECRET, "should look like"),
        ("https://[::1/api", SECRET, "should look like"),
        ("https://host:99999/api", SECRET, "should look like"),
        ("https://user:pass@host/api", SECRET, "neither credentials"),
        ("https://host/api?key=1", SECRET, "nor a query"),
        ("https://host/api", "", "TENDRIL_LLM_API_KEY"),
        ("https://host/api", "a\nb", "control characters"),
    ],
)
def test_an_endpoint_that_cannot_work_is_refused(base_url: str, key: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        Endpoint(base_url, key)
