import asyncio
import json
import logging
import time
import traceback
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayError, GatewayRefused, IncompleteJudgments, InsufficientCredits
from tendril_assets.resources import gateway_http
from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, Progress, RetryPolicy, answer
from tendril_assets.resources.gateway_run import Tally
from tendril_assets.resources.gateway_window import Window
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.replies import Action, Reply, read_reply
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.asking import FAST, SECRET, ask, open_of, request, requests, stored
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply


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
    with StubGateway(
        lambda call: Scripted(524, b"<html>timeout</html>") if call.attempt < 3 else reply("2")
    ) as gateway:
        ask(gateway, tmp_path, requests(1))
    entry = stored(tmp_path)["k0"]
    assert (entry.content, entry.attempts, entry.cost) == ("2", 3, Decimal("0.0001"))


def test_cut_connections_and_slow_replies_are_tried_again(tmp_path: Path) -> None:
    good = reply("1")

    def script(call: Call) -> Scripted:
        if call.attempt > 1:
            return good
        cut = call.body["messages"][-1]["content"] == "k0"
        return Scripted(200, good.body, cut=True) if cut else Scripted(200, good.body, delay_s=60)

    # What comes at once has three seconds on a busy machine; the slow one is far beyond them.
    with StubGateway(script) as gateway:
        ask(gateway, tmp_path, requests(2), timeout_s=3.0)
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


def test_a_gateway_that_is_down_ends_the_run(tmp_path: Path) -> None:
    with (
        StubGateway(lambda call: Scripted(503)) as gateway,
        pytest.raises(GatewayError, match="50 requests in a row") as caught,
    ):
        ask(gateway, tmp_path, requests(500), retry=RetryPolicy(attempts=2, first_wait=0.001, max_wait=0.001))
    assert caught.value.n_open == 500
    assert 50 <= len(stored(tmp_path)) < 60


def test_one_429_holds_all_workers_back(tmp_path: Path) -> None:
    limited = Scripted(429, headers={"Retry-After": "0.3"})
    with StubGateway(lambda call: limited if call.number == 1 else Scripted(200, reply().body, delay_s=0.1)) as gateway:
        summary = ask(gateway, tmp_path, requests(40), concurrency=2)
        first, *rest = gateway.calls
        # One other call may have been on its way; all the others waited. Where the 429 itself is late on a busy machine,
        # the other worker gets through another call each 0.1 s.
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


class Counted:
    """Requests made one by one; ``look`` notes how many tasks live and how many requests were taken ahead."""

    def __init__(self, n: int) -> None:
        self.n, self.taken = n, 0
        self.tasks: list[int] = []
        self.ahead: list[int] = []

    def __iter__(self) -> Iterator[GatewayRequest]:
        for i in range(self.n):
            self.taken += 1
            yield request(f"k{i}")

    def look(self, progress: Progress) -> None:
        self.tasks.append(len(asyncio.all_tasks()))
        self.ahead.append(self.taken - progress.done - progress.failed)


def test_workers_are_bounded_over_a_lazy_iterator(tmp_path: Path) -> None:
    counted = Counted(3000)
    with StandInGateway(latency_s=0.02) as gateway:
        summary = ask(gateway, tmp_path, counted, concurrency=32, total=3000, on_progress=counted.look, timeout_s=60)
    assert (summary.answered, summary.calls, summary.n_open) == (3000, 3000, 0)
    assert len(counted.tasks) >= 2
    # The workers, at most one writer of a body each, the watcher, and asyncio's own.
    assert max(counted.tasks) < 100
    assert max(counted.ahead) <= 32


def test_50_000_pairs_with_32_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the client but its sockets, which the test before has."""
    counted = Counted(50_000)

    class Transport:
        def __init__(self, *_: object) -> None:
            self.body = reply().body

        async def __aenter__(self) -> "Transport":
            return self

        async def __aexit__(self, *_: object) -> None:
            pass

        async def post(self, payload: bytes, repeat: str | None) -> gateway_http.Outcome:
            await asyncio.sleep(0)
            return gateway_http.Outcome(read_reply(200, self.body))

    monkeypatch.setattr(gateway_http, "GatewayHttp", Transport)
    summary = answer(
        counted,
        Ledger(tmp_path),
        endpoint=Endpoint("http://127.0.0.1:9", SECRET),
        concurrency=32,
        total=50_000,
        on_progress=counted.look,
    )
    assert (summary.answered, summary.calls, summary.cost) == (50_000, 50_000, Decimal("5.0000"))
    assert max(counted.tasks) < 100
    assert max(counted.ahead) <= 32


def test_progress_is_reported_at_most_every_half_second_and_at_the_end(tmp_path: Path) -> None:
    seen: list[tuple[float, Progress]] = []
    with StubGateway(lambda call: Scripted(200, reply().body, delay_s=0.05)) as gateway:
        ask(gateway, tmp_path, requests(60), concurrency=2, on_progress=lambda p: seen.append((time.monotonic(), p)))
    times = [at for at, _ in seen[:-1]]
    assert len(times) >= 2
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(times))
    last = seen[-1][1]
    assert (last.done, last.open, last.failed, last.cost) == (60, 0, 0, Decimal("0.0060"))
    middle = seen[0][1]
    assert middle.open == 60 - middle.done
    assert middle.calls_per_s > 0
    assert middle.eta_s == pytest.approx(middle.open / middle.calls_per_s)
    # 0.0001 for each of 60
    assert middle.cost_forecast == last.cost_forecast == Decimal("0.0060")
    assert (middle.limit, last.in_flight, last.calls, last.rate_limited, last.by_status) == (2, 0, 60, 0, {})
    assert 1 <= middle.in_flight <= 2


def test_calls_per_second_count_retries_and_the_time_left_does_not() -> None:
    tally = Tally(100)
    for _ in range(30):
        tally.attempt(Reply("error", Action.RETRY, 503))
    for _ in range(10):
        tally.stored("answered")
    now = tally.progress(Window(4))
    assert now.calls == 30
    assert now.eta_s is not None
    # 90 are open; three calls were needed for each that is finished.
    assert now.calls_per_s == pytest.approx(3 * 90 / now.eta_s)


def test_progress_says_why_nothing_comes_and_stops_saying_so(tmp_path: Path) -> None:
    told: list[str | None] = []

    def script(call: Call) -> Scripted:
        return Scripted(502) if call.attempt <= 3 else Scripted(200, reply().body, delay_s=1.2)

    slow = RetryPolicy(first_wait=0.4, max_wait=0.5)
    with StubGateway(script) as gateway:
        summary = ask(
            gateway, tmp_path, requests(2), concurrency=2, retry=slow, on_progress=lambda p: told.append(p.trouble)
        )
    assert summary.answered == 2
    assert "HTTP status 502" in told
    assert told[-1] is None
