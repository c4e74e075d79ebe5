"""Every way a gateway can misbehave, one at a time over real HTTP: what it costs, how often it is asked, what is stored."""

import gzip
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayError, GatewayRefused, IncompleteJudgments, InsufficientCredits, SettingsError
from tendril_assets.judging.parse import parse_verdict
from tendril_assets.resources.gateway_client import (
    Caps,
    Endpoint,
    GatewayRequest,
    Prices,
    RetryPolicy,
    RunSummary,
    fetch_prices,
)
from tendril_assets.resources.ledger import LedgerEntry
from tendril_assets_tests.resources.asking import FAST, PRICES, SECRET, ask, open_of, request, requests, stored
from tendril_assets_tests.resources.hostile_gateway import NEVER, Act, HostileGateway, bad, completion, error, good

WHOLE = completion("1")
CHUNK = b'data: {"choices":[{"delta":{"content":"1"},"finish_reason":"stop"}],"usage":{"cost":0.0001}}\n\n'
EMPTY = completion("", message={"reasoning": "Also 1."})
CENT = "0.0001"


def label_of(entry: LedgerEntry) -> int | None:
    return parse_verdict(entry.content, entry.finish_reason, entry.status).grade


def play(folder: Path, acts: list[Act], **options: object) -> tuple[HostileGateway, RunSummary, LedgerEntry]:
    """One request; the last act is played again for as long as it is asked."""
    with HostileGateway(lambda key, attempt: acts[min(attempt, len(acts)) - 1]) as gateway:
        summary = ask(gateway, folder, [request("k")], **{"concurrency": 1, "timeout_s": 20.0, **options})
    return gateway, summary, stored(folder)["k"]


# What is played, status, attempts, grade, cost (None: not named by any attempt), calls of unknown cost
SCENARIOS = {
    # Case 4
    "comment lines before the reply": ([good(body=b": PROCESSING\n\n\n" + WHOLE)], "answered", 1, 1, CENT, 0),
    "blank lines dripping before it": (
        [Act(body=b"\n" * 200 + WHOLE, drip_s=0.01, named=Decimal(CENT), label=1)], "answered", 1, 1, CENT, 0,
    ),
    "blanks alone, then a reply": ([bad("bad_body", b"\n\n   \n", None), good(2)], "answered", 2, 2, CENT, 1),
    "blanks for ever": ([bad("bad_body", b"\n\n   \n", None)], "bad_body", 3, None, None, 3),
    # Case 8
    "cost 0": ([good(0, "0")], "answered", 1, 0, "0", 0),
    "cost null": ([bad("answered", completion(cost="null"), None)], "answered", 1, 1, None, 1),
    "cost absent": ([bad("answered", completion(cost=None), None)], "answered", 1, 1, None, 1),
    "cost NaN": ([bad("answered", completion(cost="NaN"), None)], "answered", 1, 1, None, 1),
    "cost a text": ([bad("answered", completion(cost='"NaN"'), None)], "answered", 1, 1, None, 1),
    "cost negative": ([bad("answered", completion(cost="-1"), None)], "answered", 1, 1, None, 1),
    "cost of a planet": ([bad("answered", completion(cost="1e30"), None)], "answered", 1, 1, None, 1),
    "cost of many digits": ([good(1, "0.000000012345678901")], "answered", 1, 1, "0.000000012345678901", 0),
    "cost in LiteLLM's header": (
        [Act(body=completion(cost=None), headers={"x-litellm-response-cost": "1.5e-05"}, named=Decimal("1.5e-05"))],
        "answered", 1, 1, "0.000015", 0,
    ),
    # Case 9
    "filtered twice": ([bad("filtered", completion(None, "content_filter"))], "filtered", 2, None, "0.0002", 0),
    "filtered with a verdict": ([bad("filtered", completion("2", "content_filter"))], "filtered", 2, None, "0.0002", 0),
    "a refusal, then an answer": (
        [bad("filtered", completion(None, message={"refusal": "no"})), good(2)], "answered", 2, 2, "0.0002", 0,
    ),
    "flagged input": ([error(403, {"error": {"metadata": {"reasons": ["x"]}}})], "filtered", 1, None, None, 0),
    # Case 10
    "524 twice": ([error(524, b"<html>timeout</html>")] * 2 + [good(2)], "answered", 3, 2, CENT, 0),
    "408": ([error(408), good()], "answered", 2, 1, CENT, 0),
    "502 for ever": ([error(502, b"<html>bad gateway</html>")], "error", 6, None, None, 0),
    "cut in the body": ([bad("error", WHOLE, None, sent=40, ending="close"), good()], "answered", 2, 1, CENT, 1),
    "cut in a chunk": (
        [bad("error", WHOLE, None, sent=40, chunked=True, ending="close"), good()], "answered", 2, 1, CENT, 1,
    ),
    "reset in the body": ([bad("error", WHOLE, None, sent=40, ending="reset"), good()], "answered", 2, 1, CENT, 1),
    "chunked": ([good(2, chunked=True)], "answered", 1, 2, CENT, 0),
    "the end of the connection ends it": ([good(2, length=-1, ending="close")], "answered", 1, 2, CENT, 0),
    "cut, and nothing says so": (
        [bad("bad_body", WHOLE[:-9], None, length=-1, ending="close"), good()], "answered", 2, 1, CENT, 1,
    ),
    "longer than declared": ([bad("error", WHOLE, None, length=40), good(2)], "answered", 2, 2, CENT, 1),
    "shorter than declared": (
        [bad("error", WHOLE, None, length=len(WHOLE) + 50, ending="close"), good()], "answered", 2, 1, CENT, 1,
    ),
    # What looks like success
    "204": ([Act(204, length=-1, what="bad_body"), good()], "answered", 2, 1, CENT, 1),
    "206": ([bad("bad_body", WHOLE, CENT, status=206), good(2)], "answered", 2, 2, "0.0002", 0),
    "a page": ([bad("bad_body", b"<html>1</html>", None), good(2)], "answered", 2, 2, CENT, 1),
    "null": ([bad("bad_body", b"null", None)], "bad_body", 3, None, None, 3),
    "a stream of chunks": ([bad("bad_body", CHUNK + b"data: [DONE]\n\n")], "bad_body", 3, None, "0.0003", 0),
    "two replies in one": ([bad("bad_body", WHOLE + WHOLE, None), good(2)], "answered", 2, 2, CENT, 1),
    "gzip nobody declared": ([bad("bad_body", gzip.compress(WHOLE), None), good(2)], "answered", 2, 2, CENT, 1),
    "gzip that is none": (
        [bad("error", WHOLE, None, headers={"Content-Encoding": "gzip"}), good(2)], "answered", 2, 2, CENT, 1,
    ),
    "gzip": (
        [Act(body=gzip.compress(WHOLE), headers={"Content-Encoding": "gzip"}, named=Decimal(CENT))],
        "answered", 1, 1, CENT, 0,
    ),
    "another charset by name": (
        [good(2, headers={"Content-Type": "application/json; charset=utf-16"})], "answered", 1, 2, CENT, 0,
    ),
    "empty after hidden reasoning": ([bad("empty", EMPTY)], "empty", 3, None, "0.0003", 0),
    "empty once": ([bad("empty", EMPTY), good(2)], "answered", 2, 2, "0.0002", 0),
    "an error in a 200": (
        [bad("error", b'{"error":{"code":502,"message":"upstream"}}', None, works=False), good()], "answered", 2, 1, CENT, 0,
    ),
    "an error in a 200 for ever": (
        [bad("error", b'{"error":{"code":"502"}}', None, works=False)], "error", 6, None, None, 0,
    ),
    "broken off, and charged": ([bad("error", completion("1", "error"))], "error", 3, None, "0.0003", 0),
    "an error beside a verdict": ([bad("error", completion("1", error="x"))], "error", 3, None, "0.0003", 0),
    "length with a verdict": ([bad("truncated", completion("1", "length"))], "truncated", 1, None, CENT, 0),
    "no finish reason": ([bad("bad_body", completion("1", None))], "bad_body", 3, None, "0.0003", 0),
    "a tool call": ([bad("empty", completion(None, "tool_calls")), good()], "answered", 2, 1, "0.0002", 0),
    "words instead of a verdict": ([bad("answered", completion("Die Passage passt: 1"))], "answered", 1, None, CENT, 0),
    "too long a prompt": ([error(400, {"error": {"code": "context_length_exceeded"}})], "error", 1, None, None, 0),
    # Waiting
    "a full budget for requests in flight": (
        [error(402, {"error": {"metadata": {"limit_source": "openrouter_in_flight_budget"}}})] * 2 + [good()],
        "answered", 3, 1, CENT, 0,
    ),
    "429 more often than any error": ([error(429, headers={"Retry-After": "0"})] * 9 + [good()], "answered", 10, 1, CENT, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario(name: str, tmp_path: Path) -> None:
    acts, status, attempts, grade, cost, unknown = SCENARIOS[name]
    gateway, summary, entry = play(tmp_path, acts)
    assert (entry.status, entry.attempts, label_of(entry)) == (status, attempts, grade)
    assert entry.cost == (None if cost is None else Decimal(cost))
    # The client's figures are the gateway's own.
    assert len(gateway.books) == summary.calls == attempts
    assert summary.cost == gateway.named == (entry.cost or 0)
    assert summary.cost_unknown == gateway.unnamed == unknown
    assert summary.by_status == {status: 1}
    assert summary.n_open == (status in ("bad_body", "empty", "error"))
    assert all(call.headers["authorization"] == f"Bearer {SECRET}" for call in gateway.books)


# Case 5: played with a cap of 0.3 s; own back-off is at most 0.02 s
@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("0.25", 0.25, 2.0),
        ("-5", 0.0, 2.0),
        ("12", 0.3, 2.5),
        ("Sun, 29 Nov 2020 19:00:00 GMT", 0.0, 2.0),
        ("Sun, 29 Nov 2099 21:00:00 -0000", 0.3, 2.5),
        ("Sun, 29 Nov 99999 21:00:00 GMT", 0.0, 2.0),
        ("morgen", 0.0, 2.0),
        ("9" * 5000, 0.0, 2.0),
    ],
    ids=["seconds", "negative", "over the cap", "past date", "far date", "no year", "no number", "too long a number"],
)
def test_retry_after_in_every_form(tmp_path: Path, header: str, least: float, most: float) -> None:
    began = time.monotonic()
    gateway, _, entry = play(tmp_path, [error(429, headers={"Retry-After": header}), good()])
    assert (entry.status, entry.attempts, len(gateway.books)) == ("answered", 2, 2)
    assert least <= time.monotonic() - began < most + 20  # a busy machine may be late, never early


def test_no_reply_in_time_is_tried_again(tmp_path: Path) -> None:
    acts = [bad("error", WHOLE, None, delay_s=NEVER), bad("error", WHOLE, None, drip_s=NEVER), good(2)]
    gateway, summary, entry = play(tmp_path, acts, timeout_s=3.0)  # the third comes at once
    assert (entry.status, entry.attempts, label_of(entry), entry.cost) == ("answered", 3, 2, Decimal(CENT))
    assert (len(gateway.books), summary.cost_unknown) == (3, 2)


# A reply for another request


def test_a_second_reply_behind_the_first_answers_nobody(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: good(int(key == "k0"), after=good(2).whole)) as gateway:
        summary = ask(gateway, tmp_path, requests(6), concurrency=1)
        assert len(gateway.books) == summary.calls == 6
    assert [label_of(entry) for _, entry in sorted(stored(tmp_path).items())] == [1, 0, 0, 0, 0, 0]


def test_a_second_reply_that_comes_late_answers_nobody(tmp_path: Path) -> None:
    stray = good(2).whole

    def script(key: str, attempt: int) -> Act:
        if key == "k1" and attempt == 1:
            # While its request waits for another attempt, the connection is idle.
            return error(429, headers={"Retry-After": "1.5"}, late=stray)
        return good(0, late=stray if key == "k2" else b"")

    def slowly() -> Iterator[GatewayRequest]:
        for one in requests(5):
            if one.key == "k3":
                assert gateway.late_sent.wait(60)  # nor does anybody look at it while the caller takes its time
            if one.key == "k2":
                gateway.late_sent.clear()
            yield one

    # The stray of k1 comes after 0.05 s: long before the second attempt, on a busy machine too.
    patience = RetryPolicy(first_wait=0.01, max_wait=0.02, retry_after_cap=1.5)
    with HostileGateway(script) as gateway:
        summary = ask(gateway, tmp_path, slowly(), concurrency=1, total=5, retry=patience)
        assert len(gateway.books) == summary.calls == 6
    assert [label_of(entry) for _, entry in sorted(stored(tmp_path).items())] == [0, 0, 0, 0, 0]


def test_another_model_is_recorded(tmp_path: Path) -> None:
    _, _, entry = play(tmp_path, [Act(body=completion("1", model="other/model", provider="p"))])
    assert (entry.status, entry.model, entry.answered_model, entry.provider) == (
        "answered", "toy/model", "other/model", "p",
    )  # fmt: skip


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_never_takes_the_key_along(tmp_path: Path, status: int) -> None:
    with HostileGateway(lambda key, attempt: good()) as elsewhere:
        to = {"Location": f"{elsewhere.base_url}/chat/completions"}
        moved = Act(status, WHOLE, to, what="error", works=False)
        with HostileGateway(lambda key, attempt: moved) as gateway, pytest.raises(GatewayRefused) as caught:
            ask(gateway, tmp_path, requests(50), concurrency=2)
        assert elsewhere.books == []
        assert len(gateway.books) <= 2
    assert (caught.value.status, caught.value.n_open) == (status, 50)
    # The whole answer that came with it names a cost, which is kept; its text is no answer.
    assert {(entry.status, entry.content) for entry in stored(tmp_path).values()} == {("error", None)}


# Case 6


@pytest.mark.parametrize(
    "no_credit",
    [
        error(402, {"error": {"code": 402, "message": "Insufficient credits"}}),
        error(429, {"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}),
        Act(body=b'{"error":{"code":402,"message":"out"}}', works=False),
        Act(body=b'data: {"error":{"code":402,"message":"out"}}\n\n', works=False),
    ],
    ids=["402", "a spent quota as 429", "in a 200", "in a stream"],
)
def test_credits_run_out(tmp_path: Path, no_credit: Act) -> None:
    asked, answered = requests(10), []

    def script(key: str, attempt: int) -> Act:
        if len(answered) < 4:
            answered.append(key)
            return good()
        return no_credit

    with HostileGateway(script) as gateway:
        with pytest.raises(InsufficientCredits) as caught:
            ask(gateway, tmp_path, asked, concurrency=3)
        assert 5 <= len(gateway.books) <= 4 + 3
    assert (caught.value.n_open, sorted(stored(tmp_path))) == (6, sorted(answered))
    with HostileGateway(lambda key, attempt: good()) as gateway:
        ask(gateway, tmp_path, open_of(tmp_path, asked), concurrency=3)
        assert sorted(gateway.by_key) == sorted({one.key for one in asked} - set(answered))
        assert len(gateway.books) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_repeated_for_every_request(tmp_path: Path, status: int) -> None:
    refused = error(status, {"error": {"code": status, "message": "No endpoints found"}})
    with HostileGateway(lambda key, attempt: refused) as gateway:
        with pytest.raises(GatewayRefused, match="No endpoints found") as caught:
            ask(gateway, tmp_path, requests(907), concurrency=4)
        assert len(gateway.books) <= 4
    assert (caught.value.status, caught.value.n_open) == (status, 907)


def test_a_server_that_always_answers_wrongly_is_not_paid_for_every_request(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: bad("bad_body", completion("1", None))) as gateway:
        with pytest.raises(GatewayError, match="in a row"):
            ask(gateway, tmp_path, requests(907), concurrency=4)
        assert len(gateway.books) <= 60 * FAST.paid


# Case 8, as a whole


def test_known_and_unknown_costs_are_told_apart(tmp_path: Path) -> None:
    costs = ["0.0001", "0", "null", None, '"NaN"', "-1"]
    with HostileGateway(lambda key, attempt: Act(body=completion(cost=costs[int(key[1:])]))) as gateway:
        summary = ask(gateway, tmp_path, requests(6))
    assert (summary.cost, summary.cost_known, summary.cost_unknown) == (Decimal("0.0001"), 2, 4)


# Case 12 is also in test_gateway_client: workers bounded over a lazy iterator


def test_workers_and_connections_are_bounded(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: good(delay_s=0.01)) as gateway:
        summary = ask(gateway, tmp_path, (request(f"k{i}") for i in range(1500)), concurrency=32, timeout_s=60.0)
        assert gateway.most_open <= 32
    assert (summary.answered, summary.calls, len(gateway.books)) == (1500, 1500, 1500)


# Case 13


def test_a_cap_in_money_is_never_exceeded(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: good(cost="0.0003")) as gateway:
        summary = ask(gateway, tmp_path, requests(8), concurrency=1, caps=Caps(Decimal("0.0010"), None, PRICES))
        assert len(gateway.books) == 3
    assert (summary.state, summary.n_open, summary.cost) == ("incomplete: budget", 5, Decimal("0.0009"))
    with pytest.raises(IncompleteJudgments) as caught:
        summary.require_complete()
    assert caught.value.n_open == 5
    assert [label_of(entry) for entry in stored(tmp_path).values()] == [1, 1, 1]


def test_a_cap_in_money_without_prices_asks_nothing(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: good()) as gateway:
        with pytest.raises(SettingsError, match="price"):
            ask(gateway, tmp_path, requests(8), caps=Caps(Decimal(1), None, {}))
        assert gateway.books == []


def test_models_without_a_price_are_not_free() -> None:
    priced = {"id": "priced", "pricing": {"prompt": "0.0000001", "completion": 0}}
    others = [
        {},
        {"pricing": None},
        {"pricing": {}},
        {"pricing": {"prompt": "0"}},
        {"pricing": "free"},
        {"pricing": [1]},
    ]
    others += [{"pricing": {"prompt": "-1", "completion": "-1"}}, {"pricing": {"prompt": "NaN", "completion": "0"}}]
    rows = [priced, *({"id": f"m{i}", **other} for i, other in enumerate(others))]
    with HostileGateway(lambda key, attempt: Act(body=json.dumps({"data": rows}).encode())) as gateway:
        prices = fetch_prices(Endpoint(gateway.base_url, SECRET))
    assert prices == {"priced": Prices(Decimal("0.0000001"), Decimal(0), Decimal(0))}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"data": 1}', b'{"data": [1]}', b'{"data": [{}]}'])
def test_a_price_list_that_is_none_is_an_error_in_words(body: bytes) -> None:
    with (
        HostileGateway(lambda key, attempt: Act(body=body)) as gateway,
        pytest.raises(GatewayError, match="price list"),
    ):
        fetch_prices(Endpoint(gateway.base_url, SECRET))


def test_a_cap_in_calls_counts_every_attempt(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: error(503) if attempt < 3 else good()) as gateway:
        summary = ask(gateway, tmp_path, requests(8), concurrency=1, caps=Caps(None, 7))
        assert len(gateway.books) == summary.calls == 7
    assert (summary.state, summary.answered) == ("incomplete: budget", 2)


def test_costs_unknown_keep_their_worst_case_under_the_cap(tmp_path: Path) -> None:
    with HostileGateway(lambda key, attempt: Act(body=completion(cost=None))) as gateway:
        ask(gateway, tmp_path, requests(8), concurrency=4, caps=Caps(Decimal("0.0010"), None, PRICES))
        assert len(gateway.books) == 3


def test_the_ledger_s_lines_are_json_whatever_came(tmp_path: Path) -> None:
    odd = completion("\ud800\u0000\u2028 1", model="m" * 5000, id="\udfff")
    _, _, entry = play(tmp_path, [Act(body=odd)])
    (segment,) = tmp_path.glob("*.jsonl")
    (line,) = segment.read_bytes().splitlines()
    assert json.loads(line)["content"] == entry.content
    assert label_of(entry) is None
