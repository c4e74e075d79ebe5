"""The workers of one run: bounded, each with a client and a connection of its own, over one iterator.

Never a task per request, and never one connection pool for all workers: its scan grows with the square of the
connections. Each outcome is in the ledger before its worker takes the next request. A run ends early by a *halt*:
nothing new is handed out, waits between attempts are cut short, what is in flight is finished and stored.
"""

import asyncio
import contextlib
import json
import logging
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from tendril_assets.errors import GatewayError, GatewayRefused, InsufficientCredits
from tendril_assets.judging.prices import output_limit
from tendril_assets.resources import gateway_run as states
from tendril_assets.resources.caps import Caps, Purse
from tendril_assets.resources.gateway_run import Endpoint, GatewayRequest, Progress, RunSummary, Tally
from tendril_assets.resources.ledger_entry import FAILURE_STATUSES, LedgerEntry
from tendril_assets.resources.ledger_writer import LedgerWriter
from tendril_assets.resources.replies import Action, Reply, read_reply
from tendril_assets.resources.retry import RetryPolicy, jitter, retry_after_seconds

_log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
_POLL_SECONDS = 0.1
_CONNECT_SECONDS = 10.0
# So many requests in a row, each given up after all its attempts: the gateway or the model is down.
_DOWN = 50
# A stretch of this many characters shared with a request is taken for a quotation of it.
_QUOTATION = 24


_UNASKED = Reply("error", Action.KEEP)


class IteratorFailed(Exception):
    """The caller's iterator raised; the cause is its error."""


class _Ask:
    """One request on its way: the sum over its attempts."""

    __slots__ = ("_kinds", "attempts", "charged", "cost", "last", "payload", "request", "seconds", "worst")

    def __init__(self, request: GatewayRequest, payload: bytes, worst: Decimal) -> None:
        self.request, self.payload, self.worst = request, payload, worst
        self.attempts, self.seconds = 0, 0.0
        self.cost: Decimal | None = None
        self.charged = False
        self._kinds: Counter[tuple[str, bool]] = Counter()
        self.last: Reply | None = None

    def add(self, reply: Reply) -> None:
        """Take note of an attempt. ``cost`` is the sum over the attempts that named one."""
        if reply.cost is not None:
            self.cost = reply.cost if self.cost is None else self.cost + reply.cost
        self.charged |= reply.charged
        self._kinds[reply.status, reply.http_status == 429] += 1
        self.last = reply

    def is_given_up(self, policy: RetryPolicy) -> bool:
        """Whether the last attempt used up what the policy allows for failures of its kind."""
        reply = self.last
        return reply is not None and self._kinds[reply.status, reply.http_status == 429] >= policy.limit(reply)


class Run:
    """One run. ``go`` is its coroutine, ``halt`` ends it early, ``failure`` is what to raise afterwards."""

    def __init__(
        self,
        requests: Iterator[GatewayRequest],
        writer: LedgerWriter,
        endpoint: Endpoint,
        concurrency: int,
        caps: Caps,
        policy: RetryPolicy,
        timeout_s: float,
        total: int | None,
    ) -> None:
        self._requests, self._writer, self._endpoint = requests, writer, endpoint
        self._concurrency, self._policy, self._timeout_s = max(1, concurrency), policy, timeout_s
        self._purse, self.tally = Purse(caps), Tally(total)
        # Parsed once: parsing it for each request takes longer than sending one.
        self._url = httpx.URL(endpoint.url("chat/completions"))
        self._seen: set[str] = set()
        self._exhausted = False
        self.failure: BaseException | None = None
        self.reason: str | None = None
        self._resume_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halted, self._settled = asyncio.Event(), asyncio.Event()
        self._signals = 0
        self._workers: list[asyncio.Task[None]] = []

    async def go(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        self._loop = asyncio.get_running_loop()
        if self.reason is not None or (stop is not None and stop.is_set()):
            self.halt(states.STOPPED)
        # One TLS context for all: loading the certificates costs more than a hundred requests.
        is_tls = self._endpoint.base_url.startswith("https")
        tls = httpx.create_ssl_context() if is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._workers = [asyncio.create_task(self._work(tls)) for _ in range(self._concurrency)]
        watcher = asyncio.create_task(self._watch(on_progress, stop))
        await asyncio.gather(*self._workers, return_exceptions=True)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        if on_progress is not None and self.failure is None:
            on_progress(self.tally.progress())

    def halt(self, reason: str, failure: BaseException | None = None) -> None:
        """Hand out nothing more. The first reason and the first failure stand."""
        self.reason = self.reason or reason
        self.failure = self.failure or failure
        self._halted.set()
        self._settled.set()

    def signalled(self) -> None:
        """For a signal handler: the first ends the run in order, the second abandons what is in flight."""
        self._signals += 1
        if self._loop is None or self._loop.is_closed():
            self.halt(states.STOPPED)
            return
        self._loop.call_soon_threadsafe(self.halt, states.STOPPED)
        if self._signals > 1:
            for worker in self._workers:
                self._loop.call_soon_threadsafe(worker.cancel)

    def summary(self) -> RunSummary:
        unseen = 0
        if not self._exhausted and self.tally.total is not None:
            unseen = max(0, self.tally.total - self.tally.taken - self.tally.duplicates)
        elif not self._exhausted and not isinstance(self.failure, IteratorFailed):
            unseen = sum(1 for request in self._requests if self._is_new(request.key))
        state = self.reason or (states.FAILURES if self.tally.answered < self.tally.taken else states.COMPLETE)
        for warning, n in self.tally.warnings.items():
            _log.warning("%s in %d replies: counted as unknown", warning, n)
        return self.tally.summary(state, unseen)

    async def _work(self, tls: ssl.SSLContext) -> None:
        timeout = httpx.Timeout(self._timeout_s, connect=min(_CONNECT_SECONDS, self._timeout_s))
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60.0)
        headers = {"Authorization": f"Bearer {self._endpoint.api_key}", "Content-Type": "application/json"}
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda reply: reply.action is Action.RETRY),
            stop=self._gives_up,
            wait=self._wait,
            sleep=self._sleep,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        try:
            async with httpx.AsyncClient(
                verify=tls, limits=limits, headers=headers, timeout=timeout, trust_env=not self._endpoint.is_local
            ) as client:
                while (ask := await self._take()) is not None:
                    reply = await self._attempt(client, ask)
                    if reply.action is Action.RETRY:
                        reply = await retrying(self._again, client, ask, [reply])
                    self._finish(ask, reply)
        except Exception as error:
            # Whatever ends one worker ends the run, and is raised once the others have stored what they have in flight.
            self.halt(states.ERROR, error)

    async def _take(self) -> _Ask | None:
        """The next request, once the caps allow it; None when there is none or the run is ending."""
        request = self._next_request()
        if request is None:
            return None
        output_limit(request.body)
        worst = self._purse.worst(request.body)
        if not await self._pledge(worst):
            return None
        payload = json.dumps(request.body, ensure_ascii=False, separators=(",", ":"))
        return _Ask(request, payload.encode("utf-8", "replace"), worst)

    def _next_request(self) -> GatewayRequest | None:
        if self._writer.trouble is not None:
            self.halt(states.ERROR, self._writer.trouble)
        while self.reason is None and not self._exhausted:
            try:
                request = next(self._requests)
            except StopIteration:
                self._exhausted = True
                return None
            except Exception as error:
                raise IteratorFailed from error
            if self._is_new(request.key):
                self.tally.taken += 1
                return request
            self.tally.duplicates += 1
        return None

    def _is_new(self, key: str) -> bool:
        before = len(self._seen)
        self._seen.add(key)
        return len(self._seen) > before

    async def _pledge(self, worst: Decimal) -> bool:
        while self.reason is None:
            allowed = self._purse.allows(worst)
            if allowed:
                self._purse.pledge(worst)
                return True
            if allowed is False:
                self.halt(states.BUDGET)
                return False
            self._settled.clear()
            await self._settled.wait()
        return False

    async def _attempt(self, client: httpx.AsyncClient, ask: _Ask) -> Reply:
        """One HTTP call; after a halt none, but what the request has so far."""
        if ask.last is not None and not await self._pledge(ask.worst):
            return replace(ask.last, action=Action.KEEP)
        await self._rate_limit_gate(ask)
        if self.reason is not None:
            self._purse.withdraw(ask.worst)
            self._settled.set()
            return replace(ask.last or _UNASKED, action=Action.KEEP)
        ask.attempts += 1
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.post(self._url, content=ask.payload)
            wait = retry_after_seconds(
                response.headers.get("retry-after"), datetime.now(UTC), self._policy.retry_after_cap
            )
            reply = read_reply(response.status_code, response.content, wait)
        except (TimeoutError, httpx.RequestError) as error:
            # The name alone: a message could quote the request.
            sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            reply = Reply("error", Action.RETRY, detail=type(error).__name__, charged=sent)
        except BaseException:
            self._settle(ask, None, True)
            raise
        ask.seconds = time.perf_counter() - started
        self._settle(ask, reply.cost, reply.charged)
        self.tally.attempt(reply)
        self._remember(ask, reply)
        return reply

    async def _again(self, client: httpx.AsyncClient, ask: _Ask, failed: list[Reply]) -> Reply:
        """What tenacity calls: it is given the first failure as it happened, and pays its way only after one."""
        return failed.pop() if failed else await self._attempt(client, ask)

    def _remember(self, ask: _Ask, reply: Reply) -> None:
        ask.add(reply)
        if reply.http_status == 429 and reply.retry_after is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + reply.retry_after)
        # At once, not when the worker comes round: nothing may be handed out in between.
        if reply.action in (Action.NO_CREDIT, Action.REFUSED):
            self.halt(states.ERROR, _refusal(reply, self._endpoint, ask))

    def _settle(self, ask: _Ask, cost: Decimal | None, charged: bool) -> None:
        self._purse.settle(ask.worst, cost, charged)
        self._settled.set()

    async def _rate_limit_gate(self, ask: _Ask) -> None:
        """One 429 holds all workers back, and they come back one by one."""
        while self.reason is None and (left := self._resume_at - time.monotonic()) > 0:
            await self._sleep(left + jitter(ask.request.key, ask.attempts) * min(1.0, 0.1 + 0.1 * left))

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._halted.wait()

    def _gives_up(self, state: RetryCallState) -> bool:
        return self.reason is not None or state.args[1].is_given_up(self._policy)

    def _wait(self, state: RetryCallState) -> float:
        ask: _Ask = state.args[1]
        return self._policy.wait(ask.last or _UNASKED, ask.request.key, state.attempt_number)

    def _finish(self, ask: _Ask, reply: Reply) -> None:
        if ask.attempts == 0 or reply.action in (Action.NO_CREDIT, Action.REFUSED):
            return
        cut_short = self.reason is not None and reply.status in FAILURE_STATUSES and not ask.is_given_up(self._policy)
        if cut_short and not ask.charged:
            # It said nothing and cost nothing: simply open.
            return
        self._writer.append(self._entry(ask, reply))
        self.tally.stored(reply.status)
        if self.tally.failed_in_a_row >= max(_DOWN, 2 * self._concurrency):
            last = reply.detail if reply.http_status is None else f"{reply.status}, HTTP status {reply.http_status}"
            message = (
                f"{self.tally.failed_in_a_row} requests in a row failed at {self._endpoint.base_url} after all their "
                f"attempts (the last: {last}): gateway or model seem to be down. Run the step again later: only open "
                "requests are asked."
            )
            self.halt(states.FAILURES, GatewayError(message, status=reply.http_status))

    def _entry(self, ask: _Ask, reply: Reply) -> LedgerEntry:
        secret = self._endpoint.api_key
        return LedgerEntry(
            request_key=ask.request.key,
            purpose=ask.request.purpose,
            model=str(ask.request.body.get("model")),
            status=reply.status,
            attempts=ask.attempts,
            seconds=ask.seconds,
            called_at=datetime.now(UTC),
            answered_model=reply.answered_model,
            provider=reply.provider,
            http_status=reply.http_status,
            finish_reason=reply.finish_reason,
            content=reply.content,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cached_tokens=reply.cached_tokens,
            cost=ask.cost,
            detail=None if reply.detail is None else reply.detail.replace(secret, "***"),
        )

    async def _watch(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        last = time.monotonic()
        try:
            while True:
                await asyncio.sleep(_POLL_SECONDS)
                if stop is not None and stop.is_set():
                    self.halt(states.STOPPED)
                if on_progress is not None and time.monotonic() - last >= PROGRESS_SECONDS:
                    on_progress(self.tally.progress())
                    last = time.monotonic()
        except Exception as error:
            self.halt(states.STOPPED, error)


def _refusal(reply: Reply, endpoint: Endpoint, ask: _Ask) -> GatewayError:
    said = _quotable(reply.message, endpoint.api_key, ask.request.body)
    if reply.action is Action.NO_CREDIT:
        message = f"{endpoint.base_url} answered 402, insufficient credits{said}. Add credits and run the step again."
        return InsufficientCredits(message, status=402)
    message = (
        f"{endpoint.base_url} refused model {ask.request.body.get('model')!r} with status {reply.http_status}{said}. "
        "Asking again does not change that: check base URL, key, model name and provider pin, then run the step again."
    )
    return GatewayRefused(message, status=reply.http_status)


def _quotable(message: str | None, secret: str, body: dict[str, Any]) -> str:
    """The gateway's own words for an exception; nothing where they hold the key or quote the request's texts."""
    if message is None or secret in message:
        return ""
    texts = "\n".join(str(m.get("content", "")) for m in body.get("messages", ()))
    stretches = (message[i : i + _QUOTATION] for i in range(max(1, len(message) - _QUOTATION + 1)))
    if any(stretch in texts for stretch in stretches):
        return ""
    return f' ("{" ".join(message.split())}")'
