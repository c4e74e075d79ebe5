"""One request on its way to the gateway: the sum over its attempts, and its line in the ledger."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from tendril_assets.judging.prices import Prices
from tendril_assets.resources.gateway_run import GatewayRequest
from tendril_assets.resources.ledger_entry import LedgerEntry
from tendril_assets.resources.replies import Action, Reply
from tendril_assets.resources.retry import RetryPolicy, is_congestion, is_unreachable

# A closed connection costs a request nothing the first times; a server that always closes is a failure like another.
STALE_TRIES = 3
UNASKED = Reply("error", Action.KEEP)


class Ask:
    """One request on its way. ``worst``: the most one call can cost in USD, 0 where no cap in money is kept.
    ``ticket``: its slot in the window, while it has one."""

    __slots__ = (
        "_kinds",
        "attempts",
        "charged",
        "cost",
        "estimate",
        "last",
        "payload",
        "request",
        "seconds",
        "stale",
        "ticket",
        "worst",
    )

    def __init__(self, request: GatewayRequest, payload: bytes, worst: Decimal, ticket: int) -> None:
        self.request, self.payload, self.worst = request, payload, worst
        self.ticket: int | None = ticket
        self.attempts = self.stale = 0
        self.seconds = 0.0
        self.cost: Decimal | None = None
        self.estimate: Decimal | None = None
        self.charged = False
        self._kinds: Counter[tuple[str, bool, bool]] = Counter()
        self.last: Reply | None = None

    def add(self, reply: Reply, counts: bool = True) -> None:
        """Take note of an attempt; without ``counts`` it uses up no patience.

        ``cost`` is the sum over the attempts that named one.
        """
        if reply.cost is not None:
            self.cost = reply.cost if self.cost is None else self.cost + reply.cost
        self.charged |= reply.charged
        self._kinds[_kind(reply)] += counts
        self.last = reply

    def add_estimate(self, reply: Reply, prices: Prices | None) -> Decimal:
        """Add what an attempt cost by token prices where the gateway did not say, and return it; the worst case where it
        named no tokens either. 0, and nothing added, where the price is unknown or nothing is to be estimated."""
        if prices is None or reply.cost is not None or not reply.charged:
            return Decimal(0)
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            guess = prices.worst(self.request.body)
        else:
            guess = prices.cost_of(reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens or 0)
        self.estimate = guess if self.estimate is None else self.estimate + guess
        return guess

    @property
    def is_paid(self) -> bool:
        """Whether any attempt cost something, or may have."""
        return self.charged or bool(self.cost)

    def is_given_up(self, policy: RetryPolicy, is_connected: bool = True) -> bool:
        """Whether the last attempt used up what the policy allows for failures of its kind.

        While nothing has ever been reached (``is_connected``), having no connection is no passing trouble.
        """
        reply = self.last
        if reply is None:
            return False
        limit = policy.limit(reply)
        if is_unreachable(reply) and not is_connected:
            limit = min(limit, policy.attempts)
        return self._kinds[_kind(reply)] >= limit

    def entry(self, reply: Reply, secret: str, run: str | None) -> LedgerEntry:
        """The ledger's line. ``secret`` is blotted out of what a gateway may have quoted."""
        return LedgerEntry(
            request_key=self.request.key,
            purpose=self.request.purpose,
            model=str(self.request.body.get("model")),
            status=reply.status,
            attempts=self.attempts,
            seconds=self.seconds,
            called_at=datetime.now(UTC),
            answered_model=reply.answered_model,
            provider=reply.provider,
            http_status=reply.http_status,
            finish_reason=reply.finish_reason,
            content=reply.content,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cached_tokens=reply.cached_tokens,
            cost=self.cost,
            detail=None if reply.detail is None else reply.detail.replace(secret, "***"),
            reasoning_tokens=reply.reasoning_tokens,
            cost_estimate=self.estimate,
            reply_id=reply.reply_id,
            repeat=self.request.repeat,
            run=run,
        )


def kept(reply: Reply | None) -> Reply:
    """What a request has so far, as its end."""
    return replace(reply or UNASKED, action=Action.KEEP)


def _kind(reply: Reply) -> tuple[str, bool, bool]:
    return reply.status, is_congestion(reply), is_unreachable(reply)
