import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayRefused, InsufficientCredits, LedgerError
from tendril_assets.judging.request import parameters
from tendril_assets.resources import gateway_run
from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, Progress, RetryPolicy, RunSummary, answer
from tendril_assets.resources.ledger import Ledger, LedgerEntry
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.asking import SECRET, ask, open_of, request, requests, stored
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply

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
        assert time.monotonic() - began < 30  # of the 60 s it was told to wait
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
        [sys.executable, "-c", RUN, gateway.base_url, str(folder), str(n)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
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
def test_a_signal_stores_what_is_in_flight_and_then_takes_its_usual_course(
    tmp_path: Path, number: int, code: int
) -> None:
    with StandInGateway(latency_s=0.1) as gateway:
        process = run_child(gateway, tmp_path, 1000)
        wait_for(gateway, 20)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        counted = gateway.counters()
        assert process.returncode == code
        assert output == ("interrupted\n" if number == signal.SIGINT else "")
        # What the gateway answered is stored, to the last one.
        assert len(Ledger(tmp_path).answered_keys()) == counted["answered"] < 1000


def test_a_second_signal_abandons_what_is_in_flight_and_says_so(tmp_path: Path) -> None:
    with StandInGateway(latency_s=120) as gateway:
        process = run_child(gateway, tmp_path, 1000)
        deadline = time.monotonic() + 60
        while gateway.counters()["requests"] < 8:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        time.sleep(3.5)  # what comes sooner is the same stop, passed on by a parent
        assert process.poll() is None  # the first waits for what is in flight
        # The three seconds count from when the process heard the first one: a busy machine is told again.
        deadline = time.monotonic() + 60
        while process.poll() is None:
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
        process.communicate()
    assert process.returncode == -signal.SIGTERM
    # They may have been answered and charged all the same: rows without a final status, and a cost that is unknown.
    entries = list(stored(tmp_path).values())
    assert {(e.status, e.detail, e.attempts, e.cost) for e in entries} == {("error", "abandoned in flight", 1, None)}
    assert len(entries) == 8
    assert Ledger(tmp_path).answered_keys() == set()


def test_kill_9_again_and_again_asks_no_stored_answer_twice(tmp_path: Path) -> None:
    state, n = tmp_path / "state", 600
    # 8 at once, 0.05 s each: after 130 answers a child has 3 s left, however late this test looks.
    with StandInGateway(latency_s=0.05, state=state, faults={"html_502": 0.05, "cut": 0.05}) as gateway:
        for answered in (30, 80, 130):
            process = run_child(gateway, tmp_path / "ledger", n)
            wait_for(gateway, answered)
            process.kill()
            process.communicate()
        before = Ledger(tmp_path / "ledger").answered_keys()
        assert 100 < len(before) < n
    # Another gateway process with the same memory: what it answered before must not come again.
    with StandInGateway(state=state) as gateway:
        process = run_child(gateway, tmp_path / "ledger", n)
        output, _ = process.communicate(timeout=60)
        assert output.startswith("complete")
        counted = gateway.counters()
        assert counted["requests"] == n - len(before)
    report = Ledger(tmp_path / "ledger").verify()
    assert (report.entries, report.answered_twice, report.is_sound) == (n, 0, True)
    # What had arrived was stored before the kill; at most what was in flight at the three kills was lost on the way.
    assert counted["asked_twice"] == 0
    assert counted["lost_on_the_way"] <= 3 * 8


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
        ("html_502", "status_524", "keep_alive", "blank_body", "truncated", "filtered", "empty", "error_in_200", "cut"),
        0.05,
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


# A body that one model refuses


def refusing(*refused: str, status: int = 400) -> Callable[[Call], Scripted]:
    keys = set(refused)
    return lambda call: Scripted(status) if call.body["messages"][-1]["content"] in keys else reply()


@pytest.mark.parametrize("status", [400, 422])
def test_a_text_that_a_proven_model_refuses_fails_alone(tmp_path: Path, status: int) -> None:
    with StubGateway(refusing("k7", "k8", status=status)) as gateway:
        summary = ask(gateway, tmp_path, requests(20), concurrency=1)
    assert (summary.state, summary.answered, summary.failed, summary.n_open) == ("incomplete: failures", 18, 2, 2)
    assert summary.calls == 20
    assert stored(tmp_path)["k7"].status == "error"
    assert stored(tmp_path)["k7"].http_status == status


def test_the_first_request_of_a_run_may_be_that_text_where_the_model_answered_before(tmp_path: Path) -> None:
    with StubGateway(refusing("k0")) as gateway:
        with pytest.raises(GatewayRefused):
            ask(gateway, tmp_path, requests(3), concurrency=1)
        assert len(gateway.calls) == 1
        summary = ask(gateway, tmp_path, requests(3), concurrency=1, proven=(parameters(request("k0").body),))
    assert (summary.answered, summary.failed) == (2, 1)


def test_one_refusal_after_the_other_ends_the_run(tmp_path: Path) -> None:
    with (
        StubGateway(refusing(*(f"k{i}" for i in range(5, 100)))) as gateway,
        pytest.raises(GatewayRefused, match="5 answers"),
    ):
        ask(gateway, tmp_path, requests(100), concurrency=1)
    # 5 answers, then 20 refusals in a row.
    assert len(gateway.calls) == 25


@pytest.mark.parametrize("status", [401, 403, 404])
def test_other_refusals_end_the_run_at_once(tmp_path: Path, status: int) -> None:
    with StubGateway(refusing("k3", status=status)) as gateway, pytest.raises(GatewayRefused):
        ask(gateway, tmp_path, requests(20), concurrency=1, proven=(parameters(request("k0").body),))
    assert len(gateway.calls) == 4


def of_effort(effort: str, n: int) -> list[GatewayRequest]:
    asked = (request(f"{effort} {i}") for i in range(n))
    return [GatewayRequest(one.key, "judge", {**one.body, "reasoning": {"effort": effort}}) for one in asked]


def test_one_effort_of_a_model_proves_nothing_for_another(tmp_path: Path) -> None:
    low, high = of_effort("low", 60), of_effort("high", 60)
    taken_in_turn = [one for pair in zip(low, high, strict=True) for one in pair]

    def script(call: Call) -> Scripted:
        return reply() if call.body["reasoning"]["effort"] == "low" else Scripted(400)

    with StubGateway(script) as gateway:
        with pytest.raises(GatewayRefused):
            ask(gateway, tmp_path / "alone", taken_in_turn, concurrency=1)
        assert len(gateway.calls) == 2
        # Proven by an earlier run; the other's answers in between do not interrupt its row of refusals.
        with pytest.raises(GatewayRefused):
            ask(gateway, tmp_path / "proven", taken_in_turn, concurrency=1, proven=(parameters(high[0].body),))
        assert len(gateway.calls) == 2 + 40


# What the errors say


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (308, "name the final one in TENDRIL_LLM_BASE_URL"),
        (400, "the parameters of judge.llm"),
        (422, "the parameters of judge.llm"),
        (401, "check TENDRIL_LLM_API_KEY"),
        (403, "check base URL, key"),
        (404, "check base URL, model name"),
    ],
)
def test_a_refusal_says_what_to_look_at(tmp_path: Path, status: int, remedy: str) -> None:
    with StubGateway(lambda call: Scripted(status)) as gateway, pytest.raises(GatewayRefused, match=remedy):
        ask(gateway, tmp_path, requests(1))


# The last report


def test_a_run_that_fails_reports_what_it_has_stored(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with (
        StubGateway(lambda call: reply() if call.number <= 5 else Scripted(402)) as gateway,
        pytest.raises(InsufficientCredits),
    ):
        ask(gateway, tmp_path, requests(10), concurrency=1, on_progress=seen.append)
    assert (seen[-1].done, seen[-1].open, seen[-1].calls, seen[-1].cost) == (5, 5, 6, Decimal("0.0005"))


@pytest.mark.parametrize("delay_s", [0.0, 0.2])
def test_a_report_that_fails_ends_the_run_and_is_not_tried_again(tmp_path: Path, delay_s: float) -> None:
    seen: list[Progress] = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        raise OSError("the terminal is gone")

    with (
        StubGateway(lambda call: Scripted(200, reply().body, delay_s=delay_s)) as gateway,
        pytest.raises(OSError, match="terminal"),
    ):
        ask(gateway, tmp_path, requests(10), concurrency=1, on_progress=report)
    assert len(seen) == 1
    assert stored(tmp_path)


def test_a_last_report_that_fails_does_not_hide_why_the_run_did(tmp_path: Path) -> None:
    def report(progress: Progress) -> None:
        raise OSError("the terminal is gone")

    with StubGateway(lambda call: Scripted(402)) as gateway, pytest.raises(InsufficientCredits):
        ask(gateway, tmp_path, requests(10), concurrency=1, on_progress=report)
