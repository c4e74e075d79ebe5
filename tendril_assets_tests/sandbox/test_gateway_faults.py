"""The stand-in gateway's faults: each looks as its name says, comes by share and is counted and charged exactly."""

import json
from collections import Counter

import httpx
import pytest

from tendril_assets.sandbox.gateway import StandInGateway, StandInOptions
from tendril_assets.sandbox.gateway_faults import FAULTS
from tendril_assets_tests.sandbox.posting import body, post

FAULTY = {
    "html_502": (502, b"<html>"),
    "status_524": (524, b"<html>"),
    "blank_body": (200, b"\n\n"),
    "keep_alive": (200, b": OPENROUTER PROCESSING\n"),
    "error_in_200": (200, b'{"error"'),
    "rate_limited": (429, b'{"error"'),
}


@pytest.mark.parametrize("kind", FAULTY)
def test_faults_look_as_their_name_says(kind: str) -> None:
    with StandInGateway(faults={kind: 1.0}) as gateway:
        response = post(gateway, body())
        assert gateway.counters()["faults"] == {kind: 1}
    status, start = FAULTY[kind]
    assert response.status_code == status
    assert response.content.startswith(start)


@pytest.mark.parametrize(
    ("kind", "reason", "content", "paid_tokens"),
    [
        # "Verstanden." is the stand-in's answer to a prompt that asks for nothing: 11 characters, 3 tokens of four.
        ("truncated", "length", "Verst", 2),
        ("filtered", "content_filter", None, 0),
        ("empty", "stop", "", 0),
        # "Die Antwort wäre Verstanden.": 28 characters of reasoning are paid for
        ("reasoning_only", "stop", "", 7),
        ("error_in_choice", "error", "Verst", 2),
    ],
)
def test_unfinished_replies(kind: str, reason: str, content: str | None, paid_tokens: int) -> None:
    with StandInGateway(faults={kind: 1.0}) as gateway:
        reply = post(gateway, body()).json()
        counted = gateway.counters()
    (choice,) = reply["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == (reason, content)
    assert ("error" in choice, "reasoning" in choice["message"]) == (
        kind == "error_in_choice",
        kind == "reasoning_only",
    )
    assert reply["usage"]["completion_tokens"] == paid_tokens
    # "Hallo" is 2 tokens at 100 nano-USD
    assert (counted["nano_usd"], counted["untold_nano_usd"]) == (200 + 400 * paid_tokens, 0)


def test_a_rate_limited_reply_says_when_to_come_back() -> None:
    with StandInGateway(faults={"rate_limited": 1.0}) as gateway:
        assert post(gateway, body()).headers["retry-after"] == "0"
        assert gateway.counters()["nano_usd"] == 0


def test_a_reset_connection_gives_no_reply_and_the_gateway_lives_on() -> None:
    with StandInGateway(faults={"reset": 1.0}) as gateway:
        for _ in range(2):
            with pytest.raises(httpx.ReadError):
                post(gateway, body())
        counted = gateway.counters()
    assert (counted["answered"], counted["faults"], counted["in_flight"]) == (0, {"reset": 2}, 0)
    # The model had worked: "Hallo" is 2 tokens in, "Verstanden." 3 out, and nobody was told.
    assert counted["nano_usd"] == counted["untold_nano_usd"] == 2 * (2 * 100 + 3 * 400)


def test_every_request_is_counted_once_and_every_amount_is_told_or_known_to_be_untold() -> None:
    """A mix of all faults: the replies that arrived account for the gateway's counters to the nano-USD."""
    seen: Counter[str] = Counter()
    told = 0
    with StandInGateway(faults=dict.fromkeys(FAULTS, 0.06), rate_limit=400) as gateway:
        for i in range(400):
            try:
                response = post(gateway, body(str(i)))
            except httpx.TransportError:
                seen["broken"] += 1
                continue
            seen[str(response.status_code)] += 1
            start = response.content.find(b"{")
            if response.status_code == 200 and start >= 0:
                told += round(1e9 * json.loads(response.content[start:]).get("usage", {}).get("cost", 0))
        counted = gateway.counters()
    faults = counted["faults"]
    assert set(faults) == set(FAULTS)
    assert counted["requests"] == 400 == counted["good"] + sum(faults.values()) + counted["rate_limited"]
    assert seen["broken"] == faults["cut"] + faults["reset"]
    assert seen["429"] == faults["rate_limited"] + counted["rate_limited"]
    assert told == counted["nano_usd"] - counted["untold_nano_usd"] > 0
    assert counted["answered"] == counted["good"] + faults["keep_alive"] + faults["truncated"]
    assert counted["cpu_s"] > 0


def test_a_cut_connection_breaks_off_inside_the_body() -> None:
    with StandInGateway(faults={"cut": 1.0}) as gateway:
        with pytest.raises(httpx.RemoteProtocolError):
            post(gateway, body())
        assert gateway.counters()["answered"] == 0


def test_faults_come_by_share_and_differ_between_attempts() -> None:
    with StandInGateway(faults={"html_502": 0.3}) as gateway:
        first = [post(gateway, body(str(i))).status_code for i in range(200)]
        again = [post(gateway, body(str(i))).status_code for i in range(200)]
    with StandInGateway(faults={"html_502": 0.3}) as gateway:
        assert [post(gateway, body(str(i))).status_code for i in range(50)] == first[:50]
    # 60 expected, standard deviation 6.5
    assert 40 < first.count(502) < 80
    assert first != again


@pytest.mark.parametrize("faults", [{"unknown": 0.1}, {"cut": -0.1}, {"cut": 0.6, "empty": 0.6}])
def test_impossible_faults_are_refused(faults: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"unknown faults|between 0 and 1"):
        StandInOptions(faults=faults)
