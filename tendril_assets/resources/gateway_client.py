"""The gateway client: bounded workers, each with a client and a connection of its own, over an iterator of requests.

Never a task per request, and never one connection pool for all workers: the pool's scan grows with the square of the
connections. Each answer is in the ledger before its worker takes the next request. The key and the texts are in no log
line and in no exception.
"""

import asyncio
import contextlib
import json
import logging
import signal
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import FrameType

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from tendril_assets.errors import GatewayError, GatewayRefused, InsufficientCredits
from tendril_assets.resources import gateway_run as states
from tendril_assets.resources.caps import Caps, Prices, Purse, output_limit
from tendril_assets.resources.gateway_run import Endpoint, GatewayRequest, Progress, RunSummary, Tally
from tendril_assets.resources.ledger import Ledger, LedgerEntry, LedgerWriter
from tendril_assets.resources.replies import Action, Reply, read_cost, read_reply
from tendril_assets.resources.retry import RetryPolicy, jitter, retry_after_seconds

__all__ = ["Caps", "Endpoint", "GatewayRequest", "Prices", "Progress", "RetryPolicy", "RunSummary", "answer", "fetch_prices"]

_log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
_POLL_SECONDS = 0.1
# So many requests failing one after another, each after all its attempts, is a gateway that is down.
_DOWN = 50


def answer(
    requests: Iterable[GatewayRequest],
    ledger: Ledger,
    *,
    endpoint: Endpoint,
    concurrency: int = 16,
    caps: Caps | None = None,
    retry: RetryPolicy | None = None,
    timeout_s: float = 180.0,
    total: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> RunSummary:
    """Ask every request once and store each outcome in the ledger; returns when all are done, or cannot go on.

    The caller leaves out what ``ledger.answered_keys()`` holds; a key that comes twice in ``requests`` is asked once.
    ``total`` is the number of requests where ``requests`` has no length. ``timeout_s`` bounds one attempt as a whole.
    ``on_progress`` is called at most every half second, in this thread. ``stop``, SIGTERM and SIGINT (in the main thread)
    end the run: nothing new is handed out, what is in flight is finished and stored, and a signal is then delivered to
    its former handler; a second one abandons what is in flight. A cap ends the run the same way. In both cases the
    summary says so in ``state`` and ``n_open``.

    Raises:
        InsufficientCredits: 402; ``n_open`` requests are left.
        GatewayRefused: 400, 401, 403, 404 or another status that asking again does not change.
        GatewayError: the gateway is down: many requests in a row failed after all their attempts.
        LedgerError: the ledger cannot be written; what it acknowledged is stored.
        SettingsError: a body without ``max_tokens``, or a money cap for a model without a known price.
    """
    caps = caps or Caps()
    if caps.max_usd is not None and caps.prices is None:
        caps = replace(caps, prices=fetch_prices(endpoint))
    if total is None and isinstance(requests, Sized):
        total = len(requests)
    with ledger.writer() as writer:
        run = _Run(iter(requests), writer, endpoint, concurrency, caps, retry or RetryPolicy(), timeout_s, total)
        with _signals(run) as caught:
            asyncio.run(run.go(on_progress, stop))
        summary = run.summary()
    _log.info("%s", summary)
    if run.failure is not None:
        _raise(run.failure, summary)
    if caught:
        signal.raise_signal(caught[0])
    return summary


def fetch_prices(endpoint: Endpoint) -> dict[str, Prices]:
    """Prices by model from the gateway's ``/models`` list; models with an unreadable price are left out.

    Raises GatewayError where there is no such list.
    """
    try:
        with httpx.Client(trust_env=not endpoint.is_local, timeout=30.0) as client:
            response = client.get(endpoint.url("models"), headers={"Authorization": f"Bearer {endpoint.api_key}"})
        models = json.loads(response.content, parse_float=Decimal)["data"] if response.status_code == 200 else None
        rows = [(m["id"], m["pricing"]) for m in models or []]
    except (httpx.HTTPError, ValueError, TypeError, KeyError) as error:
        raise GatewayError(f"the price list {endpoint.url('models')} cannot be read: {type(error).__name__}") from None
    if models is None:
        raise GatewayError(f"the price list {endpoint.url('models')} answered {response.status_code}", status=response.status_code)
    prices = {}
    for model, pricing in rows:
        with contextlib.suppress(ArithmeticError, TypeError, ValueError):
            parts = [Decimal(str(pricing.get(part, 0))) for part in ("prompt", "completion", "request")]
            if all(read_cost(part)[0] is not None for part in parts):
                prices[model] = Prices(*parts)
    return prices


class _Ask:
    """One request on its way: the sum over its attempts."""

    __slots__ = ("attempts", "cost", "cost_unknown", "kinds", "last", "payload", "request", "seconds", "worst")

    def __init__(self, request: GatewayRequest, payload: bytes, worst: Decimal) -> None:
        self.request, self.payload, self.worst = request, payload, worst
        self.attempts, self.seconds = 0, 0.0
        self.cost, self.cost_unknown = Decimal(0), False
        self.kinds: dict[tuple[str, bool], int] = {}
        self.last: Reply | None = None


class _Run:
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
        self._seen: set[str] = set()
        self._exhausted = False
        self.failure: BaseException | None = None
        self.reason: str | None = None
        self._resume_at = 0.0
        self._signals = 0
        self._workers: list[asyncio.Task[None]] = []

    async def go(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._halted, self._settled = asyncio.Event(), asyncio.Event()
        if self.reason is not None:
            self._halted.set()
        # One TLS context for all: making one costs more than a hundred requests.
        tls = httpx.create_ssl_context() if self._endpoint.base_url.startswith("https") else ssl.create_default_context()
        self._workers = [asyncio.create_task(self._work(tls)) for _ in range(self._concurrency)]
        watcher = asyncio.create_task(self._watch(on_progress, stop))
        await asyncio.gather(*self._workers, return_exceptions=True)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        if on_progress is not None and self.failure is None:
            on_progress(self.tally.progress())

    def halt(self, reason: str, failure: BaseException | None = None) -> None:
        """Hand out nothing more. The first reason stands."""
        if self.reason is None:
            self.reason = reason
            self.failure = failure
        if hasattr(self, "_halted"):
            self._halted.set()
            self._settled.set()

    def signalled(self, _number: int) -> None:
        """Called in a signal handler."""
        self._signals += 1
        if not hasattr(self, "_loop"):
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
        elif not self._exhausted and not isinstance(self.failure, _IteratorError):
            unseen = sum(1 for request in self._requests if self._is_new(request.key))
        state = self.reason or (states.FAILURES if self.tally.answered < self.tally.taken else states.COMPLETE)
        for warning, n in self.tally.warnings.items():
            _log.warning("%s in %d replies: counted as unknown", warning, n)
        return self.tally.summary(state, unseen)

    async def _work(self, tls: ssl.SSLContext) -> None:
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
                verify=tls, limits=limits, headers=headers, timeout=self._timeout_s, trust_env=not self._endpoint.is_local
            ) as client:
                while (ask := await self._take()) is not None:
                    reply = await retrying(self._attempt, client, ask)
                    self._finish(ask, reply)
        except Exception as error:
            # Whatever ends one worker ends the run, and is raised once the others have stored what they have in flight.
            self.halt(states.REFUSED, error)

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
            self.halt(states.REFUSED, self._writer.trouble)
        while self.reason is None and not self._exhausted:
            try:
                request = next(self._requests)
            except StopIteration:
                self._exhausted = True
                return None
            except Exception as error:
                raise _IteratorError from error
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
        """One HTTP call. After a halt, the reply the request has so far."""
        if ask.last is not None and not await self._pledge(ask.worst):
            return replace(ask.last, action=Action.KEEP)
        await self._rate_limit_gate(ask)
        ask.attempts += 1
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.post(self._endpoint.url("chat/completions"), content=ask.payload)
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

    def _remember(self, ask: _Ask, reply: Reply) -> None:
        if reply.cost is not None:
            ask.cost += reply.cost
        elif reply.charged:
            ask.cost_unknown = True
        kind = (reply.status, reply.http_status == 429)
        ask.kinds[kind] = ask.kinds.get(kind, 0) + 1
        ask.last = reply
        if reply.http_status == 429 and reply.retry_after is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + reply.retry_after)
        # At once, not when the worker comes round: nothing may be handed out in between.
        if reply.action in (Action.NO_CREDIT, Action.REFUSED):
            self.halt(states.REFUSED, _refusal(reply, self._endpoint, ask))

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
        ask: _Ask = state.args[1]
        reply: Reply = state.outcome.result()
        return self.reason is not None or ask.kinds[reply.status, reply.http_status == 429] >= self._policy.limit(reply)

    def _wait(self, state: RetryCallState) -> float:
        return self._policy.wait(state.outcome.result(), state.args[1].request.key, state.attempt_number)

    def _finish(self, ask: _Ask, reply: Reply) -> None:
        if reply.action in (Action.NO_CREDIT, Action.REFUSED):
            return
        given_up = ask.kinds[reply.status, reply.http_status == 429] >= self._policy.limit(reply)
        cut_short = self.reason is not None and reply.status in ("error", "bad_body", "empty") and not given_up
        if cut_short and not (ask.cost or ask.cost_unknown):
            # Cost nothing and said nothing: simply open.
            return
        self._writer.append(self._entry(ask, reply))
        self.tally.stored(reply.status)
        if self.tally.failed_in_a_row >= max(_DOWN, 2 * self._concurrency):
            last = reply.detail if reply.http_status is None else f"status {reply.http_status}"
            message = (
                f"{self.tally.failed_in_a_row} requests in a row failed at {self._endpoint.base_url} after all their attempts "
                f"(last: {last}): the gateway seems to be down. Run the step again later: only open requests are asked."
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
            cost=None if ask.cost_unknown or (not ask.cost and reply.cost is None) else ask.cost,
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
