"""How many requests may be in flight, learned from the gateway's refusals.

A refusal (429, 503 or 529 with Retry-After, a spending budget in use) cuts the limit; every window of answers without
one raises it again. One cut per congestion event: refusals of requests sent before the cut belong to the same event and
only correct its size. The place of the last refusal is remembered: growth is fast up to just below it, waits there, and
tries one more only now and then, so that a gateway which allows N requests in flight is kept at N with hardly a
refusal. A try that goes well forgets that place, and growth doubles until the configured number is reached.

A refusal now and then among many answers is no sign of load: gateways pass on those of pools they share with others.
Up to ``TOLERATED`` of the latest replies only the request itself waits, and the others go on.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from math import inf

# What is left of the requests in flight after a congestion event.
DECREASE = 0.7
# Windows of answers without a refusal before one request more than last time is tried; doubled by each refused try.
FIRST_PATIENCE = 8
MOST_PATIENCE = 64
# A window of answers lasts at least this long: a limit per second or minute, with some saved up, bears any number in
# flight for a moment.
WINDOW_SECONDS = 0.5
TOLERATED = 0.03
# Replies after which half of what is remembered of their kinds is forgotten.
MEMORY = 256


class Window:
    """Slots for requests in flight: ``enter`` before sending, ``leave`` after the reply, whatever it was.

    ``limit`` is the number of slots now, from 1 to ``most``; ``lowest`` the least it ever was; ``events`` counts
    congestion events; ``tolerated`` is the share of the latest replies that may refuse without being one. For one event
    loop.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic, *, tolerated: float = TOLERATED) -> None:
        self.most = self.limit = self.lowest = most
        self.in_flight = self.events = 0
        self._clock, self._tolerated = clock, tolerated
        self._ceiling, self._step, self._patience = inf, 1, FIRST_PATIENCE
        self._answers = self._quiet = 0
        self._grow_at = 0.0
        self._event_size = self._event_refusals = 0
        self._latest_answers = self._latest_refusals = 0.0
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._closed = False
        # Retry-After holds everything back until _held_until; then slots are handed out one per _gap.
        self._held_until = self._paced_until = self._next_at = self._gap = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    async def enter(self) -> int | None:
        """Wait for a slot; returns its ticket, or None once the window is closed."""
        if self._closed:
            return None
        if not self._waiting and self.in_flight < self.limit and not self._paced_until:
            self.in_flight += 1
            return self.events
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            return self.events if await turn else None
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()
            raise

    def leave(self) -> None:
        """Give a slot back."""
        self.in_flight -= 1
        if self._waiting:
            self._admit()

    def close(self) -> None:
        """Hand out nothing more; who waits is turned away."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(False)

    def answered(self, ticket: int) -> None:
        """Note an answer to the request with this ticket; call it before ``leave``."""
        self._latest_answers += 1
        if self.limit >= self.most or ticket != self.events:
            return
        self._answers += 1
        if self._answers >= self.limit and (now := self._clock()) >= self._grow_at:
            self._answers, self._grow_at = 0, now + WINDOW_SECONDS
            self._grow()
            self._admit()

    def refused(self, ticket: int, hold_s: float | None = None) -> None:
        """Note a refusal; ``hold_s``: seconds for which nothing more may be sent. Call it before ``leave``."""
        self._latest_refusals += 1
        if not self._is_load():
            return
        if ticket == self.events:
            self.events += 1
            self._event_size, self._event_refusals = self.in_flight, 0
            was_a_try = self.in_flight >= self._ceiling
            self._patience = min(MOST_PATIENCE, 2 * self._patience) if was_a_try else FIRST_PATIENCE
            self._set_limit(int(DECREASE * self._event_size))
        if hold_s:
            self._hold(hold_s)
        self._event_refusals += 1
        held = self._event_size - self._event_refusals
        self._ceiling = max(2, held + 1)
        self._step, self._answers, self._quiet = 1, 0, 0
        self._grow_at = max(self._held_until, self._clock()) + WINDOW_SECONDS
        self._set_limit(min(self.limit, held))

    def _is_load(self) -> bool:
        latest = self._latest_answers + self._latest_refusals
        is_load = self._latest_refusals > self._tolerated * latest
        if latest > MEMORY:
            self._latest_answers /= 2
            self._latest_refusals /= 2
        return is_load

    def _set_limit(self, limit: int) -> None:
        self.limit = max(1, min(self.most, limit))
        self.lowest = min(self.lowest, self.limit)

    def _grow(self) -> None:
        """After a whole window of answers without a refusal."""
        if self.limit >= self._ceiling:
            self._ceiling, self._patience = inf, FIRST_PATIENCE
        if self.limit + 1 < self._ceiling:
            self._set_limit(int(min(self.limit + self._step, self._ceiling - 1)))
            self._step *= 2
            return
        self._quiet += 1
        if self._quiet >= self._patience:
            self._quiet, self._step = 0, 1
            self._set_limit(self.limit + 1)

    def _hold(self, seconds: float) -> None:
        until = self._clock() + seconds
        if until > self._held_until:
            spread = min(1.0, 0.1 + 0.1 * seconds)
            self._held_until = self._next_at = until
            self._paced_until, self._gap = until + spread, spread / self.limit

    def _admit(self) -> None:
        """Hand out what slots there are to those who wait, in their order."""
        while self._waiting and self.in_flight < self.limit:
            if self._paced_until:
                now = self._clock()
                if now < self._next_at:
                    self._wake_at(self._next_at)
                    return
                self._next_at = now + self._gap
                if now >= self._paced_until:
                    self._paced_until = 0.0
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(True)

    def _wake_at(self, when: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(max(0.0, when - self._clock()), self._admit)
