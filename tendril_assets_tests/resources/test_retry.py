from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.resources.replies import Action, Reply
from tendril_assets.resources.retry import (
    RetryPolicy,
    body_wait_seconds,
    is_congestion,
    jitter,
    retry_after_seconds,
    wait_seconds,
)

NOW = datetime(2026, 11, 29, 20, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("12", 12),
        ("-5", 0),
        ("1.5", 1.5),
        (" 7 ", 7),
        ("0", 0),
        ("121", 120),
        ("99999999999", 120),
        ("Sun, 29 Nov 2026 20:01:00 GMT", 60),
        ("Sun, 29 Nov 2026 20:01:00 -0000", 60),
        ("Sun, 29 Nov 2026 21:01:00 +0100", 60),
        ("Sun, 29 Nov 2026 19:00:00 GMT", 0),
        ("Sun, 29 Nov 2026 21:00:00 GMT", 120),
    ],
)
def test_seconds_and_dates_are_read_and_clamped(value: str, seconds: float) -> None:
    assert retry_after_seconds(value, NOW, cap=120) == seconds


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "morgen",
        "9" * 5000,
        "1e3",
        "0x10",
        "nan",
        "inf",
        "12, 12",
        "Sun, 29 Nov 99999 20:00:00 GMT",
        "Sun, 99 Nov 2026",
        "١٢",
    ],
)
def test_what_cannot_be_read_leaves_the_back_off_to_the_caller(value: str | None) -> None:
    assert retry_after_seconds(value, NOW, cap=120) is None


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60) | st.datetimes().map(lambda d: format_datetime(d.replace(tzinfo=UTC), usegmt=True)))
def test_any_header_gives_a_wait_within_bounds_or_none(value: str) -> None:
    seconds = retry_after_seconds(value, NOW, cap=120)
    assert seconds is None or 0 <= seconds <= 120


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7", "Retry-After-Ms": "1", "X-RateLimit-Reset": "1"}, 7),
        ({"Retry-After": "morgen", "Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After-Ms": "500000"}, 120),
        ({"Retry-After-Ms": "-5"}, 0),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp() * 1000) + 42_000)}, 42),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp()) + 42)}, 42),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp() * 1000) + 15 * 3600_000)}, 120),
        ({"X-RateLimit-Reset": "30"}, 30),
        # What has passed, or cannot be read, says nothing.
        ({"X-RateLimit-Reset": str(int(NOW.timestamp() * 1000) - 1)}, None),
        ({"X-RateLimit-Reset": "0"}, None),
        ({"X-RateLimit-Reset": "6m0s"}, None),
        ({"X-RateLimit-Reset": "9" * 5000}, None),
    ],
)
def test_the_wait_is_read_from_any_of_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_seconds(headers, NOW, cap=120) == (seconds if seconds is None else pytest.approx(seconds))
    assert wait_seconds({k.lower(): v for k, v in headers.items()}, NOW, 120) == wait_seconds(headers, NOW, 120)


def test_a_limit_inside_an_error_body_is_read_too() -> None:
    reset = int(NOW.timestamp() * 1000) + 5000
    body = b'{"error":{"code":429,"metadata":{"headers":{"X-RateLimit-Limit":"20","X-RateLimit-Reset":"%d"}}}}' % reset
    assert body_wait_seconds(body, NOW, cap=120) == 5
    for other in (b"", b"<html>", b"[]", b'{"error":"no"}', b'{"error":{"metadata":{"headers":[1]}}}', b"[" * 10**5):
        assert body_wait_seconds(other, NOW, cap=120) is None


@pytest.mark.parametrize(
    ("http_status", "retry_after", "congested"),
    [(429, None, True), (503, 1.0, True), (529, 0.0, True), (503, None, False), (529, None, False), (502, 1.0, False)],
)
def test_congestion_is_told_from_other_failures(http_status: int, retry_after: float | None, congested: bool) -> None:
    assert is_congestion(Reply("error", Action.RETRY, http_status, retry_after=retry_after)) is congested


def test_no_credit_is_congestion_only_where_it_passes() -> None:
    assert is_congestion(Reply("error", Action.RETRY, 402))
    assert not is_congestion(Reply("error", Action.NO_CREDIT, 402))


def failure(status: str = "error", http_status: int | None = 502, retry_after: float | None = None) -> Reply:
    return Reply(status, Action.RETRY, http_status, retry_after=retry_after)


def test_attempts_depend_on_what_failed_and_what_it_costs() -> None:
    policy = RetryPolicy(attempts=6, unreachable=12, rate_limited=30, paid=3, filtered=2)
    limits = [
        failure(),
        failure(http_status=None),
        failure(http_status=429),
        failure("empty", 200),
        failure("bad_body", 200),
    ]
    assert [policy.limit(reply) for reply in limits] == [6, 12, 30, 3, 3]
    assert policy.limit(Reply("error", Action.RETRY, charged=True)) == 6  # sent, and cut off
    assert policy.limit(failure(http_status=503, retry_after=2.0)) == 30
    assert policy.limit(failure("filtered", 200)) == 2


def test_waits_double_up_to_the_cap_and_vary_by_half() -> None:
    policy = RetryPolicy(first_wait=1, max_wait=8)
    for attempt, full in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (60, 8)]:
        wait = policy.wait(failure(), "k", attempt)
        assert full / 2 <= wait < full


def test_retry_after_is_never_cut_short_and_hardly_exceeded() -> None:
    policy = RetryPolicy()
    for seconds in (0.0, 1.0, 60.0):
        waits = [policy.wait(failure(http_status=429, retry_after=seconds), f"k{i}", 1) for i in range(100)]
        assert all(seconds <= wait < seconds + 1 for wait in waits)
        assert len(set(waits)) > 90  # they do not come back in step


def test_jitter_is_the_same_on_every_run_and_spread_out() -> None:
    assert jitter("k", 1) == jitter("k", 1)
    assert jitter("k", 1) != jitter("k", 2)
    draws = [jitter(f"k{i}", 1) for i in range(2000)]
    assert abs(sum(draws) / 2000 - 0.5) < 0.03  # standard error 0.29 / sqrt(2000) = 0.0065
    assert 0 <= min(draws) < max(draws) < 1
