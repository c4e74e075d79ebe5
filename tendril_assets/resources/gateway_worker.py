"""The workers of one run: bounded, over one iterator and one HTTP session.

Never a task per request. A worker first waits for a slot (``gateway_window``), then takes a request, so that nothing is
taken that cannot be sent. Each outcome is in the ledger before its worker takes the next request. A run ends early by a
*halt*: nothing new is handed out, waits between attempts are cut short, what is in flight is finished and stored.
"""

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from tendril_assets.judging.prices import Prices, load_price_table, output_limit
from tendril_assets.resources import gateway_run as states
from tendril_assets.resources import gateway_stops as stops
from tendril_assets.resources.caps import Caps, Purse, Spent
from tendril_assets.resources.gateway_ask import STALE_TRIES, UNASKED, Ask, kept
from tendril_assets.resources.gateway_run import Endpoint, GatewayRequest, Progress, RunSummary, Tally
from tendril_assets.resources.gateway_window import Window
from tendril_assets.resources.ledger_entry import FAILURE_STATUSES
from tendril_assets.resources.ledger_writer import LedgerWriter
from tendril_assets.resources.replies import Action, Reply
from tendril_assets.resources.retry import RetryPolicy, is_congestion, is_unreachable

if TYPE_CHECKING:
    from tendril_assets.resources.gateway_http import GatewayHttp

_log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
_POLL_SECONDS = 0.1
_SAME_STOP_SECONDS = 3.0
# So many requests in a row, each given up after all its attempts: the gateway or the model is down.
_DOWN = 50
_ABANDONED = Reply("error", Action.KEEP, detail="abandoned in flight", charged=True)
# Statuses about the very body that was sent; from a model that has answered before, about this one's texts.
_ABOUT_ONE = (400, 422)
_REFUSED_IN_A_ROW = 20
# One encoder for all: json.dumps builds one for each call that has options.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class IteratorFailed(Exception):
    """The caller's iterator raised; the cause is its error."""


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
        run: str | None = None,
        spent: Spent | None = None,
        proven: Collection[str] = (),
    ) -> None:
        self._requests, self._writer, self._endpoint, self._name = requests, writer, endpoint, run
        self._concurrency, self._policy, self._timeout_s = max(1, concurrency), policy, timeout_s
        self._prices = caps.prices
        self._proven, self._refused = set(proven), Counter[str]()
        self._purse, self.tally, self._window = Purse(caps, spent), Tally(total), Window(self._concurrency)
        self._seen: set[str] = set()
        self._exhausted = False
        self.failure: BaseException | None = None
        self.reason: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halted, self._settled = asyncio.Event(), asyncio.Event()
        self._first_signal: float | None = None
        self._workers: list[asyncio.Task[None]] = []

    async def go(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        # Here, for a code location that only loads needs no HTTP client.
        from tendril_assets.resources.gateway_http import GatewayHttp

        self._loop = asyncio.get_running_loop()
        if self.reason is not None or (stop is not None and stop.is_set()):
            self.halt(states.STOPPED)
        async with GatewayHttp(self._endpoint, self._timeout_s, self._policy.retry_after_cap) as client:
            self._workers = [asyncio.create_task(self._work(client)) for _ in range(self._concurrency)]
            watcher = asyncio.create_task(self._watch(on_progress, stop))
            await asyncio.gather(*self._workers, return_exceptions=True)
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        if on_progress is not None and self.failure is None:
            on_progress(self.tally.progress(self._window))

    def halt(self, reason: str, failure: BaseException | None = None) -> None:
        """Hand out nothing more. The first reason and the first failure stand."""
        self.reason = self.reason or reason
        self.failure = self.failure or failure
        self._halted.set()
        self._settled.set()
        self._window.close()

    def signalled(self) -> None:
        """For a signal handler: the first ends the run in order, a later one abandons what is in flight.

        Ctrl-C reaches a whole group of processes, and parents pass it on: what comes within a moment is the same stop.
        """
        now = time.monotonic()
        self._first_signal = now if self._first_signal is None else self._first_signal
        if self._loop is None or self._loop.is_closed():
            self.halt(states.STOPPED)
            return
        self._loop.call_soon_threadsafe(self.halt, states.STOPPED)
        if now - self._first_signal >= _SAME_STOP_SECONDS:
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
        return self.tally.summary(state, unseen, self._window.lowest)

    async def _work(self, client: "GatewayHttp") -> None:
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda reply: reply.action is Action.RETRY),
            stop=self._gives_up,
            wait=self._wait,
            sleep=self._sleep,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        try:
            while (ask := await self._take()) is not None:
                reply = await self._attempt(client, ask)
                if reply.action is Action.RETRY:
                    reply = await retrying(self._again, client, ask, [reply])
                self._finish(ask, reply)
        except Exception as error:
            # Whatever ends one worker ends the run, and is raised once the others have stored what they have in flight.
            self.halt(states.ERROR, error)

    async def _take(self) -> Ask | None:
        """The next request with a slot, once the caps allow it; None when there is none or the run is ending."""
        ticket = await self._window.enter()
        if ticket is None:
            return None
        try:
            request = self._next_request()
            if request is not None:
                output_limit(request.body)
                worst = self._purse.worst(request.body)
                if await self._pledge(worst):
                    return Ask(request, _encode(request.body).encode("utf-8", "replace"), worst, ticket)
        except BaseException:
            self._window.leave()
            raise
        self._window.leave()
        return None

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

    async def _attempt(self, client: "GatewayHttp", ask: Ask) -> Reply:
        """One reply, or the failure to get one; after a halt nothing is sent, and it is what the request has so far."""
        if ask.ticket is None:
            ask.ticket = await self._window.enter()
            if ask.ticket is None:
                return kept(ask.last)
            if not await self._pledge(ask.worst):
                self._leave(ask)
                return kept(ask.last)
        elif self.reason is not None:
            self._purse.withdraw(ask.worst)
            self._settled.set()
            self._leave(ask)
            return kept(ask.last)
        try:
            while True:
                reply, is_stale = await self._send(client, ask)
                if not is_stale or not await self._pledge(ask.worst):
                    return reply
        finally:
            self._leave(ask)

    async def _send(self, client: "GatewayHttp", ask: Ask) -> tuple[Reply, bool]:
        """One HTTP call, booked; and whether its connection had been closed, so that it should simply go out again."""
        ask.attempts += 1
        started = time.perf_counter()
        try:
            outcome = await client.post(ask.payload, ask.request.repeat)
        except BaseException:
            # Cancelled in flight. It may have been answered and charged: the ledger says so.
            ask.seconds = time.perf_counter() - started
            self._book(ask, _ABANDONED, False)
            self._writer.append(ask.entry(_ABANDONED, self._endpoint.api_key, self._name))
            raise
        ask.seconds = time.perf_counter() - started
        reply = self._of_its_own(outcome.reply, str(ask.request.body.get("model")))
        is_stale = outcome.stale and ask.stale < STALE_TRIES
        ask.stale += is_stale
        self.tally.reconnected += is_stale
        self._book(ask, reply, not is_stale)
        if is_congestion(reply):
            self._window.refused(ask.ticket or 0, reply.retry_after)
        elif reply.http_status is not None and reply.http_status < 500:
            self._window.answered(ask.ticket or 0)
        # At once, not when the worker comes round: nothing may be handed out in between.
        if reply.action in (Action.NO_CREDIT, Action.REFUSED):
            self.halt(states.ERROR, stops.refusal(reply, self._endpoint, ask))
        elif outcome.hopeless:
            self.halt(states.ERROR, stops.no_connection(reply, self._endpoint, ask.attempts))
        return reply, is_stale and self.reason is None

    def _of_its_own(self, reply: Reply, model: str) -> Reply:
        """A model that answers these very parameters refuses one text, not the run: that request fails alone, unless
        one after the other does."""
        if reply.status == "answered":
            self._proven.add(model)
            self._refused[model] = 0
        elif reply.action is Action.REFUSED and reply.http_status in _ABOUT_ONE and model in self._proven:
            self._refused[model] += 1
            if self._refused[model] < _REFUSED_IN_A_ROW:
                return replace(reply, action=Action.KEEP)
        return reply

    def _book(self, ask: Ask, reply: Reply, counts: bool) -> None:
        self._purse.settle(ask.worst, reply.cost, reply.charged)
        self._settled.set()
        self.tally.attempt(reply)
        ask.add(reply, counts)
        if reply.cost is None and reply.charged:
            guess = ask.estimated(reply, self._known_prices().get(str(ask.request.body.get("model"))))
            self.tally.cost_estimate += guess or 0

    def _known_prices(self) -> Mapping[str, Prices]:
        """The caller's or the gateway's own; else the package's list, which is good enough for an estimate."""
        if self._prices is None:
            self._prices = load_price_table().prices
        return self._prices

    def _leave(self, ask: Ask) -> None:
        ask.ticket = None
        self._window.leave()

    async def _again(self, client: "GatewayHttp", ask: Ask, failed: list[Reply]) -> Reply:
        """What tenacity calls: it is given the first failure as it happened, and pays its way only after one."""
        return failed.pop() if failed else await self._attempt(client, ask)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._halted.wait()

    def _gives_up(self, state: RetryCallState) -> bool:
        return self.reason is not None or state.args[1].is_given_up(self._policy, self.tally.replies > 0)

    def _wait(self, state: RetryCallState) -> float:
        ask: Ask = state.args[1]
        return self._policy.wait(ask.last or UNASKED, ask.request.key, state.attempt_number)

    def _finish(self, ask: Ask, reply: Reply) -> None:
        if ask.attempts == 0 or reply.action in (Action.NO_CREDIT, Action.REFUSED):
            return
        is_given_up = ask.is_given_up(self._policy, self.tally.replies > 0)
        cut_short = self.reason is not None and reply.status in FAILURE_STATUSES and not is_given_up
        if cut_short and not ask.charged:
            # It said nothing and cost nothing: simply open.
            return
        if is_unreachable(reply) and self.tally.replies == 0:
            self.halt(states.FAILURES, stops.no_connection(reply, self._endpoint, ask.attempts))
            return
        self._writer.append(ask.entry(reply, self._endpoint.api_key, self._name))
        self.tally.stored(reply.status)
        if self.tally.failed_in_a_row >= max(_DOWN, 2 * self._concurrency):
            self.halt(states.FAILURES, stops.down(reply, self._endpoint, self.tally.failed_in_a_row))

    async def _watch(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        last = time.monotonic()
        try:
            while True:
                await asyncio.sleep(_POLL_SECONDS)
                if stop is not None and stop.is_set():
                    self.halt(states.STOPPED)
                if on_progress is not None and time.monotonic() - last >= PROGRESS_SECONDS:
                    on_progress(self.tally.progress(self._window))
                    last = time.monotonic()
        except Exception as error:
            self.halt(states.STOPPED, error)
