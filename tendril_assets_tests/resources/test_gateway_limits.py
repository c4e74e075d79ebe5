"""Gateways that bear only so much: driven near their limit, with few refusals, and nothing given up."""

import time
from pathlib import Path

import pytest

from tendril_assets.resources.gateway_client import Progress
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.asking import ask, requests
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply


class Crowded:
    """A script that refuses what is more than ``most`` at once; the others take ``latency_s``."""

    def __init__(self, most: int, latency_s: float, refusal: Scripted) -> None:
        self.most, self.latency_s, self.refusal = most, latency_s, refusal
        self.gateway: StubGateway | None = None

    def __call__(self, call: Call) -> Scripted:
        assert self.gateway is not None
        if self.gateway.in_flight > self.most:
            return self.refusal
        return Scripted(200, reply().body, delay_s=self.latency_s)


@pytest.mark.parametrize(
    "refusal",
    [
        Scripted(429),
        Scripted(429, headers={"Retry-After": "0"}),
        Scripted(429, headers={"Retry-After-Ms": "200"}),
        Scripted(503, headers={"Retry-After": "0"}),
        Scripted(529, headers={"Retry-After": "0"}),
        Scripted(402, b'{"error":{"code":402,"metadata":{"limit_source":"openrouter_in_flight_budget"}}}'),
        Scripted(200, b'{"error":{"code":429,"message":"Provider returned error"}}'),
    ],
    ids=["429", "429 at once", "429 ms", "503", "529", "402 in flight", "429 in 200"],
)
def test_a_gateway_with_room_for_n_is_kept_at_n(tmp_path: Path, refusal: Scripted) -> None:
    script = Crowded(8, 0.1, refusal)
    seen: list[Progress] = []
    with StubGateway(script) as gateway:
        script.gateway = gateway
        summary = ask(gateway, tmp_path, requests(400), concurrency=32, on_progress=seen.append, timeout_s=30)
        assert len(gateway.calls) == summary.calls
    assert (summary.answered, summary.failed, summary.n_open) == (400, 0, 0)
    # 24 of the first 32 are too many (fewer where a busy machine sends them late); then it is known how many are not.
    # Without a limit three of four calls would be refused all the time: 1,200 and more.
    assert 1 <= summary.rate_limited <= 150
    assert summary.rate_limited == summary.calls - 400
    assert 1 <= summary.lowest_limit <= 16
    middle = [p.limit for p in seen[2:-1]]
    assert middle
    assert sum(middle) / len(middle) >= 4


def test_throughput_stays_near_the_limit_of_a_crowded_gateway(tmp_path: Path) -> None:
    script = Crowded(8, 0.25, Scripted(429))
    with StubGateway(script) as gateway:
        script.gateway = gateway
        summary = ask(gateway, tmp_path, requests(320), concurrency=32, timeout_s=30)
    # 8 at once, a quarter of a second each: 32 a second, so 10 s for 320. Wide, for a busy machine adds to each call.
    assert summary.seconds < 20
    assert summary.rate_limited / summary.calls < 0.15


def test_a_rate_limit_is_kept_near_and_nothing_is_given_up(tmp_path: Path) -> None:
    with StandInGateway(rate_limit=100, latency_s=0.1) as gateway:
        summary = ask(gateway, tmp_path, requests(700), concurrency=64, timeout_s=30)
        counted = gateway.counters()
    assert (summary.answered, summary.failed, counted["asked_twice"]) == (700, 0, 0)
    assert counted["rate_limited"] == summary.rate_limited
    assert summary.rate_limited / summary.calls < 0.15
    # 100 at once are saved up, so 6 s is the least; half of the rate is the floor on a busy machine.
    assert summary.seconds < 14


def test_the_limit_recovers_once_the_gateway_does(tmp_path: Path) -> None:
    limits: list[int] = []

    def script(call: Call) -> Scripted:
        return Scripted(429) if 20 < call.number <= 30 else Scripted(200, reply().body, delay_s=0.05)

    with StubGateway(script) as gateway:
        summary = ask(
            gateway,
            tmp_path,
            requests(900),
            concurrency=8,
            on_progress=lambda p: limits.append(p.limit),
            timeout_s=30,
        )
    assert (summary.answered, summary.rate_limited) == (900, 10)
    assert summary.lowest_limit < 8
    assert limits[-1] == 8


def test_other_failures_do_not_cut_the_limit(tmp_path: Path) -> None:
    with StubGateway(lambda call: Scripted(502) if call.attempt == 1 else reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(40), concurrency=8)
    assert (summary.answered, summary.rate_limited, summary.lowest_limit) == (40, 0, 8)


def test_refusals_that_have_nothing_to_do_with_load_cost_only_those_who_meet_them(tmp_path: Path) -> None:
    refusal = Scripted(429, headers={"Retry-After": "0"})
    with StubGateway(lambda call: refusal if call.number > 60 and call.number % 50 == 0 else reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(600), concurrency=16)
    # One in 50: 600 answers need 612 calls, of which those numbered 100, 150, ..., 600 are refused.
    assert (summary.answered, summary.failed, summary.rate_limited) == (600, 0, 11)
    assert summary.lowest_limit == 16


def test_without_retry_after_a_reset_in_the_body_is_waited_for(tmp_path: Path) -> None:
    def script(call: Call) -> Scripted:
        if call.number > 1:
            return reply()
        reset = int(1000 * (time.time() + 30))
        body = b'{"error":{"code":429,"metadata":{"headers":{"X-RateLimit-Reset":"%d"}}}}' % reset
        return Scripted(429, body)

    with StubGateway(script) as gateway:
        ask(gateway, tmp_path, requests(1), concurrency=1)
        first, second = gateway.calls
    # The policy of the tests caps a wait at 0.3 s; its own back-off would have been 0.02 s at most.
    assert second.at - first.at >= 0.29
