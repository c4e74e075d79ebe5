"""When a request is tried again, and how long is waited before it.

Retried are 408, 409, 425, 429, every 5xx, cut connections and bodies that are no reply; the number of attempts depends
on what went wrong, for some failures are paid for. Waiting is what the gateway asked for where that can be read
(Retry-After before retry-after-ms before X-RateLimit-Reset), otherwise exponential. The jitter is drawn by the
request's key, so two requests never wait in step and a run can be repeated.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from tendril_assets.resources.replies import Action, Reply

_SECONDS = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")
# X-RateLimit-Reset is in use with three meanings; the sizes do not overlap. OpenRouter sends epoch milliseconds.
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11


def retry_after_seconds(value: str | None, now: datetime, cap: float) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110, 10.2.3): seconds, or an HTTP date; clamped to [0, cap].

    None where there is none or it cannot be read, so that the caller's own back-off applies. A date with the zone -0000
    is UTC. Never raises on any text.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
        return min(max(seconds, 0.0), cap) if isfinite(seconds) else None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - now).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), cap)


def wait_seconds(headers: Mapping[str, str], now: datetime, cap: float) -> float | None:
    """Seconds the gateway asks to wait, clamped to [0, cap]; None where it does not say, or not readably.

    ``headers`` are looked up in lower case and in the usual spelling. A reset that has passed says nothing.
    """
    wait = retry_after_seconds(_header(headers, "Retry-After"), now, cap)
    if wait is not None:
        return wait
    milliseconds = retry_after_seconds(_header(headers, "Retry-After-Ms"), now, 1000 * cap)
    if milliseconds is not None:
        return milliseconds / 1000
    reset = _header(headers, "X-RateLimit-Reset")
    if reset is None or not _SECONDS.fullmatch(reset.strip()):
        return None
    moment = float(reset)
    if moment >= _EPOCH_SECONDS:
        moment = (moment / 1000 if moment >= _EPOCH_MILLISECONDS else moment) - now.timestamp()
    return min(moment, cap) if isfinite(moment) and moment > 0 else None


def body_wait_seconds(body: bytes, now: datetime, cap: float) -> float | None:
    """The same, from an error body: OpenRouter puts a limit's headers into ``error.metadata.headers`` as well."""
    try:
        headers = json.loads(body)["error"]["metadata"]["headers"]
        return wait_seconds({str(name).lower(): str(value) for name, value in headers.items()}, now, cap)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return headers.get(name) or headers.get(name.lower())


def is_congestion(reply: Reply) -> bool:
    """Whether the gateway says: not so many at once. 429; a 402 that is tried again, which is a budget for requests in
    flight; 503 and 529 with a time to wait."""
    if reply.action is not Action.RETRY:
        return False
    return reply.http_status in (402, 429) or (reply.http_status in (503, 529) and reply.retry_after is not None)


def is_unreachable(reply: Reply) -> bool:
    """Whether the request never left: no connection."""
    return reply.http_status is None and reply.status == "error" and not reply.charged


@dataclass(frozen=True)
class RetryPolicy:
    """Attempts and waits, in seconds.

    ``attempts``: transport errors and error statuses. ``unreachable``: no connection, which costs nothing and may last
    some minutes. ``rate_limited``: congestion, which says wait, not give up. ``paid``: empty contents and bodies that
    are no reply, which may be charged each time. ``filtered``: at most one retry.
    """

    attempts: int = 6
    unreachable: int = 12
    rate_limited: int = 30
    paid: int = 3
    filtered: int = 2
    first_wait: float = 0.5
    max_wait: float = 30.0
    retry_after_cap: float = 120.0

    def limit(self, reply: Reply) -> int:
        """Attempts that may end like this one before the request is given up."""
        if is_congestion(reply):
            return self.rate_limited
        if is_unreachable(reply):
            return self.unreachable
        if reply.status == "filtered":
            return self.filtered
        # An error reply that tells of work done for it (text broken off, tokens, a cost) is paid for like a whole one.
        is_paid = reply.status != "error" or (reply.charged and reply.http_status is not None)
        return self.paid if is_paid else self.attempts

    def wait(self, reply: Reply, key: str, attempt: int) -> float:
        """Seconds before attempt ``attempt + 1``. Retry-After is never cut short by the jitter."""
        share = jitter(key, attempt)
        if reply.retry_after is not None:
            return reply.retry_after + share * min(1.0, 0.1 + 0.1 * reply.retry_after)
        return backoff_seconds(self.first_wait, self.max_wait, attempt, share)


def backoff_seconds(first: float, most: float, attempt: int, share: float) -> float:
    """Twice as long with each attempt from ``first`` up to ``most`` seconds; of that, half and ``share`` of the other."""
    return min(most, first * 2 ** min(attempt - 1, 20)) * (0.5 + 0.5 * share)


def jitter(key: str, attempt: int) -> float:
    """A number in [0, 1) that depends on the request and the attempt alone."""
    digest = hashlib.blake2b(
        f"{key}:{attempt}".encode("utf-8", "surrogatepass"), digest_size=4, person=b"retry"
    ).digest()
    return int.from_bytes(digest, "big") / 2**32
