import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import (
    GatewayError,
    GatewayRefused,
    IncompleteJudgments,
    InsufficientCredits,
    LedgerError,
    SettingsError,
)
from tendril_assets.resources import gateway_run
from tendril_assets.resources.gateway_client import (
    Caps,
    Endpoint,
    GatewayRequest,
    Prices,
    Progress,
    RetryPolicy,
    RunSummary,
    answer,
    fetch_prices,
)
from tendril_assets.resources.ledger import Ledger, LedgerEntry
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply

SECRET = "sk-or-secret-0815"
FAST = RetryPolicy(first_wait=0.01, max_wait=0.02, retry_after_cap=0.3)
PRICES = {"toy/model": Prices(request=Decimal("0.0003"))}


def request(key: str) -> GatewayRequest:
    messages = [{"role": "user", "content": key}]
    return GatewayRequest(key, "judge", {"model": "toy/model", "max_tokens": 10, "temperature": 0, "messages": messages})


def requests(n: int) -> list[GatewayRequest]:
    return [request(f"k{i}") for i in range(n)]


def ask(gateway: StubGateway | StandInGateway, folder: Path, asked: object, **options: object) -> RunSummary:
    options = {"concurrency": 4, "retry": FAST, "timeout_s": 5.0, **options}
    return answer(asked, Ledger(folder), endpoint=Endpoint(gateway.base_url, SECRET), **options)


def stored(folder: Path) -> dict[str, LedgerEntry]:
    return {entry.request_key: entry for entry in Ledger(folder).entries()}


def open_of(folder: Path, asked: list[GatewayRequest]) -> list[GatewayRequest]:
    answered = Ledger(folder).answered_keys()
    return [one for one in asked if one.key not in answered]


def test_every_request_is_asked_once_and_stored(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply(model="toy/model-2", provider="p")) as gateway:
        summary = ask(gateway, tmp_path, requests(20))
        assert sorted(gateway.keys()) == sorted(f"k{i}" for i in range(20))
        assert gateway.calls[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert (summary.state, summary.answered, summary.n_open, summary.calls) == ("complete", 20, 0, 20)
    # 20 x 0.0001
    assert (summary.cost, summary.cost_known, summary.cost_unknown) == (Decimal("0.0020"), 20, 0)
    assert (summary.prompt_tokens, summary.completion_tokens) == (200, 20)
    entry = stored(tmp_path)["k7"]
    assert (entry.status, entry.content, entry.attempts, entry.http_status) == ("answered", "1", 1, 200)
    assert (entry.model, entry.answered_model, entry.provider) == ("toy/model", "toy/model-2", "p")
    assert (entry.cost, entry.purpose, entry.finish_reason) == (Decimal("0.0001"), "judge", "stop")
    summary.require_complete()


def test_a_key_that_comes_twice_is_asked_once(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        summary = ask(gateway, tmp_path, [*requests(3), *requests(3)])
        assert len(gateway.calls) == 3
    assert (summary.requests, summary.duplicates, summary.n_open) == (3, 3, 0)


def test_nothing_to_ask_is_complete(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        assert ask(gateway, tmp_path, []).state == "complete"
    assert Ledger(tmp_path).verify().segments == 0


# Case 4


def test_keep_alive_noise_is_skipped_and_blanks_alone_are_asked_again(tmp_path: Path) -> None:
    def script(call: Call) -> Scripted:
        if call.body["messages"][-1]["content"] == "k0":
            return Scripted(body=b": OPENROUTER PROCESSING\n\n\n" + reply("1").body)
        return Scripted(body=b"\n\n   \n") if call.attempt == 1 else reply("2")

    with StubGateway(script) as gateway:
        ask(gateway, tmp_path, requests(2))
    entries = stored(tmp_path)
    assert (entries["k0"].content, entries["k0"].attempts) == ("1", 1)
    assert (entries["k1"].content, entries["k1"].attempts) == ("2", 2)


def test_blanks_for_ever_end_as_a_bad_body_that_stays_open(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(body=b"\n\n   \n")) as gateway:
        summary = ask(gateway, tmp_path, requests(1))
        assert len(gateway.calls) == FAST.paid
    assert (summary.state, summary.failed, summary.n_open) == ("incomplete: failures", 1, 1)
    assert stored(tmp_path)["k0"].status == "bad_body"
    assert len(open_of(tmp_path, requests(1))) == 1
    with pytest.raises(IncompleteJudgments, match="1 of 1 requests") as caught:
        summary.require_complete()
    assert caught.value.n_open == 1


# Case 6


def test_402_keeps_every_answer_and_the_next_run_asks_the_rest(tmp_path: Path) -> None:
    asked = requests(10)
    with StubGateway(lambda call: reply() if call.number <= 4 else Scripted(402, b'{"error":{"code":402}}')) as gateway:
        with pytest.raises(InsufficientCredits, match="insufficient credits") as caught:
            ask(gateway, tmp_path, asked, concurrency=3)
        assert len(gateway.calls) <= 4 + 3
    assert (caught.value.status, caught.value.n_open) == (402, 6)
    assert [entry.status for entry in stored(tmp_path).values()] == ["answered"] * 4
    with StubGateway(lambda call: reply()) as gateway:
        ask(gateway, tmp_path, open_of(tmp_path, asked), concurrency=3)
        assert len(gateway.calls) == 6
    assert len(Ledger(tmp_path).answered_keys()) == 10


def test_402_lets_those_in_flight_finish(tmp_path: Path) -> None:
    def script(call: Call) -> Scripted:
        slow = call.body["messages"][-1]["content"] == "k0"
        return Scripted(200, reply("2").body, delay_s=0.4) if slow else Scripted(402, delay_s=0.1)

    with StubGateway(script) as gateway, pytest.raises(InsufficientCredits) as caught:
        ask(gateway, tmp_path, requests(10), concurrency=2)
    assert stored(tmp_path)["k0"].content == "2"
    assert caught.value.n_open == 9


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 301])
def test_a_permanent_refusal_stops_the_run(tmp_path: Path, status: int) -> None:
    body = json.dumps({"error": {"code": status, "message": "No endpoints found for this model."}}).encode()
    with StubGateway(lambda call: Scripted(status, body)) as gateway:
        with pytest.raises(GatewayRefused, match="No endpoints found") as caught:
            ask(gateway, tmp_path, requests(1000))
        assert len(gateway.calls) <= 4
    assert (caught.value.status, caught.value.n_open) == (status, 1000)
    assert "RetryError" not in "".join(traceback.format_exception(caught.value))
    assert stored(tmp_path) == {}


def test_a_refusal_inside_a_200_stops_too(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(200, b'{"error":{"code":404,"message":"gone"}}')) as gateway:
        with pytest.raises(GatewayRefused) as caught:
            ask(gateway, tmp_path, requests(50))
        assert len(gateway.calls) <= 4
    assert caught.value.status == 404


def test_open_requests_are_counted_without_a_length(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(401)) as gateway, pytest.raises(GatewayRefused) as caught:
        ask(gateway, tmp_path, iter([*requests(40), *requests(40)]))
    assert caught.value.n_open == 40


def test_a_flagged_input_does_not_stop_the_others(tmp_path: Path) -> None:
    flagged = json.dumps({"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"]}}}).encode()
    with StubGateway(lambda call: Scripted(403, flagged) if call.number == 2 else reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(5), concurrency=1)
    assert summary.by_status == {"answered": 4, "filtered": 1}


# Case 9


def test_a_filtered_reply_is_asked_at_most_twice_and_has_no_text(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply("2", reason="content_filter")) as gateway:
        summary = ask(gateway, tmp_path, requests(1))
        assert len(gateway.calls) == 2
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.content, entry.attempts) == ("filtered", None, 2)
    assert entry.cost == Decimal("0.0002")  # both attempts were charged
    assert (summary.by_status, summary.n_open) == ({"filtered": 1}, 0)


def test_a_truncated_reply_is_final(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply("Die", reason="length")) as gateway:
        summary = ask(gateway, tmp_path, requests(2))
        assert len(gateway.calls) == 2
    assert summary.by_status == {"truncated": 2}
    assert open_of(tmp_path, requests(2)) == []


# Case 10


def test_a_cdn_timeout_in_html_is_tried_again(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(524, b"<html>timeout</html>") if call.attempt < 3 else reply("2")) as gateway:
        ask(gateway, tmp_path, requests(1))
    entry = stored(tmp_path)["k0"]
    assert (entry.content, entry.attempts, entry.cost) == ("2", 3, Decimal("0.0001"))


def test_cut_connections_and_slow_replies_are_tried_again(tmp_path: Path) -> None:
    good = reply("1")

    def script(call: Call) -> Scripted:
        if call.attempt > 1:
            return good
        cut = call.body["messages"][-1]["content"] == "k0"
        return Scripted(200, good.body, cut=True) if cut else Scripted(200, good.body, delay_s=0.6)

    with StubGateway(script) as gateway:
        ask(gateway, tmp_path, requests(2), timeout_s=0.3)
    assert [(e.status, e.attempts) for _, e in sorted(stored(tmp_path).items())] == [("answered", 2), ("answered", 2)]


def test_a_failure_that_lasts_is_a_row_with_the_beginning_of_its_body(tmp_path: Path) -> None:
    page = f"<html>Authorization: Bearer {SECRET}".encode() + b"x" * 5000
    with StubGateway(lambda call: Scripted(502, page)) as gateway:
        summary = ask(gateway, tmp_path, requests(1))
        assert len(gateway.calls) == FAST.attempts
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.http_status, entry.attempts, entry.cost) == ("error", 502, 6, None)
    assert entry.detail is not None
    assert entry.detail.startswith("<html>Authorization: Bearer ***xxx")
    assert len(entry.detail) <= 500
    assert (summary.failed, summary.n_open, summary.cost_unknown) == (1, 1, 0)


def test_nothing_listening_is_an_error_row_per_request(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        pass
    ask(gateway, tmp_path, requests(3))
    assert {(e.status, e.detail) for e in stored(tmp_path).values()} == {("error", "ConnectError")}


def test_a_gateway_that_is_down_ends_the_run(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(503)) as gateway, pytest.raises(GatewayError, match="50 requests in a row") as caught:
        ask(gateway, tmp_path, requests(500), retry=RetryPolicy(attempts=2, first_wait=0.001, max_wait=0.001))
    assert caught.value.n_open == 500
    assert 50 <= len(stored(tmp_path)) < 60


def test_one_429_holds_all_workers_back(tmp_path: Path) -> None:
    limited = Scripted(429, headers={"Retry-After": "0.3"})
    with StubGateway(lambda call: limited if call.number == 1 else Scripted(200, reply().body, delay_s=0.02)) as gateway:
        summary = ask(gateway, tmp_path, requests(40), concurrency=2)
        first, *rest = gateway.calls
        # One other call may have been on its way; all the others waited.
        assert sum(call.at - first.at < 0.3 for call in rest) <= 3
    assert (summary.answered, summary.calls) == (40, 41)


def test_neither_key_nor_texts_reach_logs_and_exceptions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = "Vertrauliche Passage über die Dachsanierung des Schulhauses"
    echoes = [
        Scripted(400, json.dumps({"error": {"code": 400, "message": f"cannot read {text}"}}).encode()),
        Scripted(401, json.dumps({"error": {"code": 401, "message": f"wrong key {SECRET}"}}).encode()),
        Scripted(402, json.dumps({"error": {"code": 402, "message": f"{SECRET} {text}"}}).encode()),
    ]
    for echo in echoes:
        with StubGateway(lambda call, echo=echo: echo) as gateway, pytest.raises(GatewayError) as caught:
            ask(gateway, tmp_path, [request(text)])
        told = "".join(traceback.format_exception(caught.value)) + str(caught.value.__context__)
        assert SECRET not in told
        assert "Dachsanierung" not in told
    with StubGateway(lambda call: Scripted(500)) as gateway:
        ask(gateway, tmp_path, [request(text)])
    assert SECRET not in caplog.text
    assert "Dachsanierung" not in caplog.text
    assert SECRET not in repr(Endpoint("http://x", SECRET))
    assert "Dachsanierung" not in repr(GatewayRequest("k", "judge", request(text).body))


# Case 12


def test_workers_are_bounded_over_a_lazy_iterator(tmp_path: Path) -> None:
    taken = 0

    def lazily() -> Iterator[GatewayRequest]:
        nonlocal taken
        for i in range(3000):
            taken += 1
            yield request(f"k{i}")

    live: list[int] = []
    ahead: list[int] = []

    def look(progress: Progress) -> None:
        live.append(len(asyncio.all_tasks()))
        ahead.append(taken - progress.done - progress.failed)

    with StandInGateway(latency_s=0.02) as gateway:
        summary = ask(gateway, tmp_path, lazily(), concurrency=32, total=3000, on_progress=look, timeout_s=30)
    assert (summary.answered, summary.calls) == (3000, 3000)
    assert len(live) >= 2
    assert max(live) <= 32 + 3  # the workers, the watcher, and asyncio's own
    assert max(ahead) <= 32


def test_progress_is_reported_at_most_every_half_second_and_at_the_end(tmp_path: Path) -> None:
    seen: list[tuple[float, Progress]] = []
    with StubGateway(lambda call: Scripted(200, reply().body, delay_s=0.05)) as gateway:
        ask(gateway, tmp_path, requests(60), concurrency=2, on_progress=lambda p: seen.append((time.monotonic(), p)))
    times = [at for at, _ in seen[:-1]]
    assert len(times) >= 2
    assert all(later - earlier >= 0.5 for earlier, later in zip(times, times[1:], strict=False))
    last = seen[-1][1]
    assert (last.done, last.open, last.failed, last.cost) == (60, 0, 0, Decimal("0.0060"))
    middle = seen[0][1]
    assert middle.open == 60 - middle.done
    assert middle.calls_per_s > 0
    assert middle.eta_s == pytest.approx(middle.open / middle.calls_per_s)


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
        assert prices == {"toy/model": Prices(Decimal("0.0000001"), Decimal("0.0000004"), Decimal(0))}
        # k0: 2 bytes + 64 at 0.0000001, 10 tokens at 0.0000004: 0.0000106 in the worst case
        assert ask(gateway, tmp_path, requests(1), caps=Caps(max_usd=Decimal("0.0000105"))).calls == 0
        assert ask(gateway, tmp_path, requests(1), caps=Caps(max_usd=Decimal("0.0000106"))).calls == 1


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
        ("https://user:pass@host/api", SECRET, "neither credentials"),
        ("https://host/api?key=1", SECRET, "nor a query"),
        ("https://host/api", "", "TENDRIL_LLM_API_KEY"),
        ("https://host/api", "a\nb", "control characters"),
    ],
)
def test_an_endpoint_that_cannot_work_is_refused(base_url: str, key: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        Endpoint(base_url, key)


# Stopping


def test_a_stop_finishes_what_is_in_flight_in_any_thread(tmp_path: Path) -> None:
    stop = threading.Event()

    def script(call: Call) -> Scripted:
        if call.number == 5:
            stop.set()
        return Scripted(200, reply().body, delay_s=0.2)

    results: list[RunSummary] = []
    with StubGateway(script) as gateway:
        thread = threading.Thread(
            target=lambda: results.append(ask(gateway, tmp_path, requests(1000), concurrency=4, stop=stop))
        )
        thread.start()
        thread.join(20)
        calls = len(gateway.calls)
    (summary,) = results
    assert summary.state == "incomplete: stopped"
    assert calls == summary.answered == len(stored(tmp_path)) < 20
    assert summary.n_open == 1000 - calls


def test_a_stop_cuts_waits_short(tmp_path: Path) -> None:
    stop = threading.Event()
    limited = Scripted(429, headers={"Retry-After": "60"})
    with StubGateway(lambda call: limited) as gateway:
        threading.Timer(0.3, stop.set).start()
        began = time.monotonic()
        summary = ask(gateway, tmp_path, requests(10), stop=stop, retry=RetryPolicy())
        assert time.monotonic() - began < 5
    assert (summary.n_open, stored(tmp_path)) == (10, {})


def test_a_stop_that_is_set_already_asks_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with StubGateway(lambda call: reply()) as gateway:
        assert ask(gateway, tmp_path, requests(10), stop=stop).n_open == 10
        assert gateway.calls == []


RUN = """
import sys
from pathlib import Path
from tendril_assets.resources.gateway_client import *
from tendril_assets.resources.ledger import Ledger
base_url, folder, n = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
body = lambda i: {"model": "toy/model", "max_tokens": 10, "messages": [{"role": "user", "content": f"k{i}"}]}
ledger = Ledger(folder)
answered = ledger.answered_keys()
asked = (GatewayRequest(f"k{i}", "judge", body(i)) for i in range(n) if f"k{i}" not in answered)
print("started", flush=True)
try:
    summary = answer(asked, ledger, endpoint=Endpoint(base_url, "key"), concurrency=8, total=n - len(answered))
    print(summary.state, summary.answered, summary.n_open, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def run_child(gateway: StandInGateway, folder: Path, n: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, gateway.base_url, str(folder), str(n)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def wait_for(gateway: StandInGateway, answered: int) -> None:
    deadline = time.monotonic() + 60
    while gateway.counters()["answered"] < answered:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 0)])
def test_a_signal_stores_what_is_in_flight_and_then_takes_its_usual_course(tmp_path: Path, number: int, code: int) -> None:
    with StandInGateway(latency_s=0.1) as gateway:
        process = run_child(gateway, tmp_path, 1000)
        wait_for(gateway, 20)
        process.send_signal(number)
        output, _ = process.communicate(timeout=20)
        counted = gateway.counters()
        assert process.returncode == code
        assert output == ("interrupted\n" if number == signal.SIGINT else "")
        # What the gateway answered is stored, to the last one.
        assert len(Ledger(tmp_path).answered_keys()) == counted["answered"] < 1000


def test_kill_9_again_and_again_asks_no_stored_answer_twice(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with StandInGateway(latency_s=0.05, state=state, faults={"html_502": 0.05, "cut": 0.05}) as gateway:
        for answered in (30, 80, 130):
            process = run_child(gateway, tmp_path / "ledger", 200)
            wait_for(gateway, answered)
            process.kill()
            process.communicate()
        before = Ledger(tmp_path / "ledger").answered_keys()
        assert 100 < len(before) < 200
    # Another gateway process with the same memory: what it answered before must not come again.
    with StandInGateway(state=state) as gateway:
        process = run_child(gateway, tmp_path / "ledger", 200)
        output, _ = process.communicate(timeout=60)
        assert output.startswith("complete")
        counted = gateway.counters()
        assert counted["requests"] == 200 - len(before)
    report = Ledger(tmp_path / "ledger").verify()
    assert (report.entries, report.answered_twice, report.is_sound) == (200, 0, True)
    # At most what was in flight at the three kills was answered without being stored.
    assert counted["asked_twice"] <= 3 * 8


def test_signal_handlers_are_put_back(tmp_path: Path) -> None:
    before = (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
    with StubGateway(lambda call: reply()) as gateway:
        ask(gateway, tmp_path, requests(2))
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


# What else may break


def test_an_iterator_that_breaks_leaves_what_was_answered(tmp_path: Path) -> None:
    def breaking() -> Iterator[GatewayRequest]:
        yield from requests(5)
        raise KeyError("texts are gone")

    with StubGateway(lambda call: reply()) as gateway, pytest.raises(KeyError, match="texts are gone"):
        ask(gateway, tmp_path, breaking())
    assert len(stored(tmp_path)) == 5


def test_a_progress_display_that_breaks_ends_the_run_in_order(tmp_path: Path) -> None:
    def broken(_: Progress) -> None:
        raise ValueError("no terminal")

    with StubGateway(lambda call: Scripted(200, reply().body, delay_s=0.1)) as gateway:
        with pytest.raises(ValueError, match="no terminal"):
            ask(gateway, tmp_path, requests(1000), on_progress=broken)
        assert len(stored(tmp_path)) == len(gateway.calls) < 100


def test_a_ledger_that_cannot_be_written_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with StubGateway(lambda call: reply()) as gateway:
        ledger = Ledger(tmp_path / "none")
        ledger.folder = tmp_path / "file" / "below"
        with pytest.raises(LedgerError, match="nothing was asked"):
            answer(requests(5), ledger, endpoint=Endpoint(gateway.base_url, SECRET))
        assert gateway.calls == []


def test_a_ledger_that_fills_up_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tendril_assets.resources.ledger_writer import LedgerWriter

    real = LedgerWriter.append

    def full(self: LedgerWriter, *entries: LedgerEntry) -> int:
        sequence = real(self, *entries)
        if self._segment.lines == 7:
            self._trouble = LedgerError("no space left")
        return sequence

    monkeypatch.setattr(LedgerWriter, "append", full)
    with StubGateway(lambda call: reply()) as gateway:
        with pytest.raises(LedgerError, match="no space left"):
            ask(gateway, tmp_path, requests(100), concurrency=2)
        assert len(stored(tmp_path)) == len(gateway.calls) <= 8


def test_a_mix_of_everything_that_breaks_ends_with_every_answer(tmp_path: Path) -> None:
    faults = dict.fromkeys(
        ("html_502", "status_524", "keep_alive", "blank_body", "truncated", "filtered", "empty", "error_in_200", "cut"), 0.05
    )
    asked = requests(400)
    with StandInGateway(faults=faults, rate_limit=400) as gateway:
        for _ in range(3):
            open_before = open_of(tmp_path, asked)
            if open_before:
                ask(gateway, tmp_path, open_before, concurrency=16, retry=RetryPolicy(first_wait=0.01, max_wait=0.02))
        counted = gateway.counters()
    assert set(counted["faults"]) == set(faults)
    assert open_of(tmp_path, asked) == []
    assert counted["asked_twice"] == 0
    report = Ledger(tmp_path).verify()
    assert report.answered_twice == 0
    assert report.by_status["answered"] > 300
    assert report.by_status["truncated"] > 5


def test_states_are_told_apart() -> None:
    states = [gateway_run.COMPLETE, gateway_run.STOPPED, gateway_run.BUDGET, gateway_run.FAILURES, gateway_run.ERROR]
    assert len(set(states)) == 5
    assert [state.startswith("incomplete: ") for state in states] == [False, True, True, True, True]
