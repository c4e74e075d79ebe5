"""When a request is tried again, and how long is waited before it.

Retried are 408, 409, 425, 429, every 5xx, cut connections and bodies that are no reply; the number of attempts depends
on what went wrong, for some failures are paid for. Waiting is Retry-After where the gateway sent a readable one,
otherwise exponential. The jitter is drawn by the request's key, so two requests never wait in step and a run can be
repeated.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from tendril_assets.resources.replies import Reply

_SECONDS = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")


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


@dataclass(frozen=True)
class RetryPolicy:
    """Attempts and waits, in seconds.

    ``attempts``: transport errors and error statuses. ``rate_limited``: 429, which says wait, not give up.
    ``paid``: empty contents and bodies that are no reply, which may be charged each time. ``filtered``: at most one
    retry.
    """

    attempts: int = 6
    rate_limited: int = 30
    paid: int = 3
    filtered: int = 2
    first_wait: float = 0.5
    max_wait: float = 30.0
    retry_after_cap: float = 120.0

    def limit(self, reply: Reply) -> int:
        """Attempts that may end like this one before the request is given up."""
        if reply.http_status == 429:
            return self.rate_limited
        if reply.status == "filtered":
            return self.filtered
        return self.attempts if reply.status == "error" else self.paid

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
