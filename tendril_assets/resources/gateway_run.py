"""What a run of the gateway client is given and what it gives back."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from tendril_assets.errors import IncompleteJudgments, SettingsError
from tendril_assets.resources.gateway_window import Window
from tendril_assets.resources.ledger_entry import FAILURE_STATUSES, FINAL_STATUSES
from tendril_assets.resources.loopback import is_loopback
from tendril_assets.resources.replies import Reply
from tendril_assets.resources.retry import is_congestion

COMPLETE = "complete"
STOPPED = "incomplete: stopped"
BUDGET = "incomplete: budget"
FAILURES = "incomplete: failures"
ERROR = "incomplete: error"

_RATE_SECONDS = 10.0


@dataclass(frozen=True)
class Endpoint:
    """A gateway: ``base_url`` up to and without ``/chat/completions``, and its key. Raises SettingsError."""

    base_url: str
    api_key: str = field(repr=False)

    def __post_init__(self) -> None:
        complaint = f"the gateway's base URL {self.base_url!r} should look like https://host/api/v1"
        try:
            parts = urlsplit(self.base_url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError as error:
            # Brackets without an end, a port beyond 65,535.
            raise SettingsError(f"{complaint}: {error}") from None
        if not is_address:
            raise SettingsError(complaint)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise SettingsError(
                "the gateway's base URL must hold neither credentials nor a query: the key has its own setting"
            )
        if not self.api_key:
            raise SettingsError("the gateway's API key is empty: set TENDRIL_LLM_API_KEY")
        if not (self.api_key.isascii() and self.api_key.isprintable()) or " " in self.api_key:
            raise SettingsError("the gateway's API key holds blanks, control characters or letters outside ASCII")

    @property
    def is_local(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname)

    def url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """``key``: the ledger key, a hash of everything that determines the answer. ``body``: the JSON that is sent.

    ``repeat`` tells apart the answers of one body that is asked again on purpose; it is part of the key, never of the
    body, and goes out as the header ``X-Repeat``.
    """

    key: str
    purpose: str
    body: dict[str, Any] = field(repr=False)
    repeat: str | None = None

    def __post_init__(self) -> None:
        if self.repeat is not None and not (
            0 < len(self.repeat) <= 100 and self.repeat.isascii() and self.repeat.isprintable()
        ):
            raise ValueError(f"the label of a repeat should be 1 to 100 printable ASCII characters: {self.repeat!r}")


@dataclass(frozen=True)
class Progress:
    """Where a run stands. ``open`` and ``eta_s`` are None while the number of requests is not known.

    ``by_status``: requests given up on, by status. ``calls``: HTTP calls, retries included; ``calls_per_s``: those of the
    last ten seconds or so, while ``eta_s`` goes by the requests finished in them. ``in_flight`` now, of at most
    ``limit``, which falls when the gateway refuses for congestion (``rate_limited`` replies so far) and recovers.
    ``cost`` is what the gateway named; ``cost_unknown`` counts replies of which it did not say. ``cost_forecast``:
    ``cost`` scaled to all requests. ``cached_share``: of the prompt tokens, as far as replies say. ``trouble``: why the
    latest call got no reply that counts, while the gateway is down or cannot be reached.
    """

    done: int
    open: int | None
    failed: int
    calls_per_s: float
    cost: Decimal
    eta_s: float | None
    by_status: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    in_flight: int = 0
    limit: int = 0
    rate_limited: int = 0
    cost_unknown: int = 0
    cost_forecast: Decimal | None = None
    cached_share: float | None = None
    trouble: str | None = None


@dataclass(frozen=True)
class RunSummary:
    """What became of the requests of one run.

    ``answered`` counts final answers (truncated and filtered ones among them), ``failed`` requests given up on,
    ``n_open`` everything without a final answer: failed, stopped or never handed out. ``calls`` are HTTP calls.
    ``cost`` sums what the gateway named over ``cost_known`` replies; ``cost_unknown`` counts those where it did not
    say, and ``cost_estimate`` is what those cost by token prices, as far as the prices are known. ``rate_limited``
    replies said that too much was in flight; ``lowest_limit`` is how far the number in flight was cut for it.
    ``reconnected`` counts calls whose connection the gateway had just closed. ``cached_share``: of the prompt tokens of
    replies that say how many came from a cache.
    """

    state: str
    requests: int
    answered: int
    failed: int
    n_open: int
    duplicates: int
    calls: int
    by_status: dict[str, int]
    cost: Decimal
    cost_known: int
    cost_unknown: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    reasoning_tokens: int = 0
    cost_estimate: Decimal = Decimal(0)
    rate_limited: int = 0
    lowest_limit: int = 0
    reconnected: int = 0
    cached_share: float | None = None

    @property
    def is_complete(self) -> bool:
        return self.state == COMPLETE

    def require_complete(self) -> None:
        """Raises IncompleteJudgments where requests are open."""
        if self.n_open:
            raise IncompleteJudgments(
                f"{self.n_open:,} of {self.requests:,} requests have no answer ({self.state}). Run the step again: "
                "only they are asked.",
                self.n_open,
            )

    def __str__(self) -> str:
        statuses = ", ".join(f"{n:,} {status}" for status, n in self.by_status.items()) or "no reply"
        estimate = f", about {self.cost_estimate:.4f} USD more" if self.cost_estimate else ""
        limited = (
            f"; {self.rate_limited:,} replies asked for fewer at once, down to {self.lowest_limit:,} in flight"
            if self.rate_limited
            else ""
        )
        closed = f"; {self.reconnected:,} calls met a connection just closed" if self.reconnected else ""
        return (
            f"{self.state}: {self.answered:,} of {self.requests:,} requests answered, {self.n_open:,} open, "
            f"{self.calls:,} calls in {self.seconds:.1f} s ({statuses}); {self.cost} USD named by {self.cost_known:,} "
            f"replies, unknown for {self.cost_unknown:,}{estimate}{limited}{closed}"
        )


class Tally:
    """Counts of a run in progress. All figures are about this run, not about the ledger."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.taken = self.duplicates = self.answered = self.failed = self.failed_in_a_row = 0
        self.calls = self.replies = self.rate_limited = self.reconnected = self.cost_known = self.cost_unknown = 0
        self.prompt_tokens = self.completion_tokens = self.cached_tokens = self.reasoning_tokens = 0
        self._cacheable_tokens = 0
        self.cost = self.cost_estimate = Decimal(0)
        self.by_status: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.trouble: str | None = None
        self.started = time.perf_counter()
        # When, and how many requests were finished and calls made by then.
        self._marks: deque[tuple[float, int, int]] = deque([(self.started, 0, 0)])

    def attempt(self, reply: Reply) -> None:
        """Count one HTTP attempt."""
        self.calls += 1
        if reply.http_status is not None:
            self.replies += 1
        self.trouble = _trouble(reply)
        if reply.cost is not None:
            self.cost += reply.cost
            self.cost_known += 1
        elif reply.charged:
            self.cost_unknown += 1
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        self.reasoning_tokens += reply.reasoning_tokens or 0
        if reply.cached_tokens is not None:
            self.cached_tokens += reply.cached_tokens
            self._cacheable_tokens += reply.prompt_tokens or 0
        if is_congestion(reply):
            self.rate_limited += 1
        if reply.warning:
            self.warnings[reply.warning] += 1

    def stored(self, status: str) -> None:
        """Count one entry in the ledger."""
        self.by_status[status] += 1
        if status in FINAL_STATUSES:
            self.answered += 1
            self.failed_in_a_row = 0
        else:
            self.failed += 1
            self.failed_in_a_row += 1

    @property
    def requests(self) -> int | None:
        """Different requests of this run; an upper bound while some of the iterator was not seen."""
        return None if self.total is None else self.total - self.duplicates

    @property
    def cached_share(self) -> float | None:
        return self.cached_tokens / self._cacheable_tokens if self._cacheable_tokens else None

    def progress(self, window: Window) -> Progress:
        now, finished = time.perf_counter(), self.answered + self.failed
        self._marks.append((now, finished, self.calls))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _RATE_SECONDS:
            self._marks.popleft()
        since, finished_before, calls_before = self._marks[0]
        seconds = now - since
        rate = (finished - finished_before) / seconds if seconds > 0 else 0.0
        still = None if self.requests is None else max(0, self.requests - finished)
        is_forecast = self.requests is not None and finished > 0 and self.cost_known > 0
        return Progress(
            done=self.answered,
            open=still,
            failed=self.failed,
            calls_per_s=(self.calls - calls_before) / seconds if seconds > 0 else 0.0,
            cost=self.cost,
            eta_s=still / rate if still is not None and rate > 0 else None,
            by_status={status: n for status, n in self.by_status.items() if status in FAILURE_STATUSES},
            calls=self.calls,
            in_flight=window.in_flight,
            limit=window.limit,
            rate_limited=self.rate_limited,
            cost_unknown=self.cost_unknown,
            cost_forecast=self.cost * (self.requests or 0) / finished if is_forecast else None,
            cached_share=self.cached_share,
            trouble=self.trouble,
        )

    def summary(self, state: str, unseen: int, lowest_limit: int) -> RunSummary:
        """``unseen``: requests the iterator still held."""
        requests = self.taken + unseen
        return RunSummary(
            state=state,
            requests=requests,
            answered=self.answered,
            failed=self.failed,
            n_open=requests - self.answered,
            duplicates=self.duplicates,
            calls=self.calls,
            by_status=dict(sorted(self.by_status.items())),
            cost=self.cost,
            cost_known=self.cost_known,
            cost_unknown=self.cost_unknown,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            seconds=time.perf_counter() - self.started,
            reasoning_tokens=self.reasoning_tokens,
            cost_estimate=self.cost_estimate,
            rate_limited=self.rate_limited,
            lowest_limit=lowest_limit,
            reconnected=self.reconnected,
            cached_share=self.cached_share,
        )


def _trouble(reply: Reply) -> str | None:
    """In our words alone: a body could quote the request."""
    if reply.http_status is None:
        return reply.detail
    return f"HTTP status {reply.http_status}" if reply.http_status >= 500 else None
