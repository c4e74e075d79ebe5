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
from typing import TYPE_CHECKING, Any

from tendril_assets.errors import GatewayError
from tendril_assets.judging.prices import Prices, load_price_table, output_limit
from tendril_assets.judging.request import parameters
from tendril_assets.resources import gateway_run as states
from tendril_assets.resources import gateway_stops as stops
from tendril_assets.resources.caps import Caps, Purse, Spent
from tendril_assets.resources.gateway_ask import STALE_TRIES, Ask, kept
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
        *,
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
        # A cap in calls holds over the steps of a named run: what each made is counted by its entries.
        self._counts_calls = caps.max_calls is not None and run is not None
        self._proven, self._refused = set(proven), Counter[str]()
        self._parameters: tuple[dict[str, Any], str] = ({}, "")
        self._purse, self.tally, self._window = Purse(caps, spent), Tally(total), Window(self._concurrency)
        self._seen: set[str] = set()
        self._exhausted = False
        self.failure: BaseException | None = None
        self.reason: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halted, self._settled = asyncio.Event(), asyncio.Event()
        self._first_signal: float | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._is_mute = False

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
        self._report(on_progress)

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
        try:
            while (ask := await self._take()) is not None:
                self._finish(ask, await self._ask(client, ask))
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

    async def _ask(self, client: "GatewayHttp", ask: Ask) -> Reply:
        """Attempt after attempt, until a reply is the request's end, its patience is used up or the run is ending."""
        attempt = 0
        while True:
            attempt += 1
            reply = await self._attempt(client, ask)
            if reply.action is not Action.RETRY or self.reason is not None or self._is_given_up(ask):
                return reply
            await self._sleep(self._policy.wait(reply, ask.request.key, attempt))

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
        reply = self._of_its_own(outcome.reply, ask.request.body)
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
            self.halt(states.ERROR, self._no_connection(reply, ask))
        return reply, is_stale and self.reason is None

    def _of_its_own(self, reply: Reply, body: dict[str, Any]) -> Reply:
        """A model that answers with these very parameters refuses one text, not the run: that request fails alone,
        unless one after the other does."""
        if reply.status == "answered":
            system = self._system(body)
            self._proven.add(system)
            self._refused[system] = 0
        elif reply.action is Action.REFUSED and reply.http_status in _ABOUT_ONE:
            system = self._system(body)
            self._refused[system] += 1
            if system in self._proven and self._refused[system] < _REFUSED_IN_A_ROW:
                return replace(reply, action=Action.KEEP)
        return reply

    def _system(self, body: dict[str, Any]) -> str:
        """``parameters`` of a body. Neighbours mostly have the same, and comparing is cheaper than encoding."""
        given = {name: value for name, value in body.items() if name != "messages"}
        if given != self._parameters[0]:
            self._parameters = (given, parameters(body))
        return self._parameters[1]

    def _book(self, ask: Ask, reply: Reply, counts: bool) -> None:
        self._purse.settle(ask.worst, reply.cost, reply.charged)
        self._settled.set()
        self.tally.attempt(reply)
        ask.add(reply, counts)
        self.tally.cost_estimate += ask.add_estimate(
            reply, self._known_prices().get(str(ask.request.body.get("model")))
        )

    def _known_prices(self) -> Mapping[str, Prices]:
        """The caller's or the gateway's own; else the package's list, which is good enough for an estimate."""
        if self._prices is None:
            self._prices = load_price_table().prices
        return self._prices

    def _leave(self, ask: Ask) -> None:
        ask.ticket = None
        self._window.leave()

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._halted.wait()

    def _is_given_up(self, ask: Ask) -> bool:
        return ask.is_given_up(self._policy, self.tally.replies > 0)

    def _no_connection(self, reply: Reply, ask: Ask) -> GatewayError:
        is_first = self.tally.replies == 0 and self.tally.cost_unknown == 0
        return stops.no_connection(reply, self._endpoint, ask, is_first)

    def _finish(self, ask: Ask, reply: Reply) -> None:
        """The request's line in the ledger. What ended with the run, said nothing and cost nothing is simply open."""
        is_refused = reply.action in (Action.NO_CREDIT, Action.REFUSED)
        is_cut_short = self.reason is not None and reply.status in FAILURE_STATUSES and not self._is_given_up(ask)
        is_unreached = is_unreachable(reply) and self.tally.replies == 0
        if is_unreached and not is_cut_short and ask.attempts:
            self.halt(states.FAILURES, self._no_connection(reply, ask))
        needs_no_line = is_refused or is_cut_short or is_unreached
        if ask.attempts == 0 or (needs_no_line and not ask.is_paid and not self._counts_calls):
            return
        self._writer.append(ask.entry(reply, self._endpoint.api_key, self._name))
        self.tally.stored(reply.status)
        if self.tally.failed_in_a_row >= max(_DOWN, 2 * self._concurrency):
            self.halt(states.FAILURES, stops.down(reply, self._endpoint, self.tally.failed_in_a_row))

    async def _watch(self, on_progress: Callable[[Progress], None] | None, stop: threading.Event | None) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            if stop is not None and stop.is_set():
                self.halt(states.STOPPED)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                self._report(on_progress)
                last = time.monotonic()

    def _report(self, on_progress: Callable[[Progress], None] | None) -> None:
        """Tell where the run stands, however it ends. A callback that fails once ends the run and is not called again."""
        if on_progress is None or self._is_mute:
            return
        try:
            on_progress(self.tally.progress(self._window))
        except Exception as error:
            self._is_mute = True
            self.halt(states.STOPPED, error)
