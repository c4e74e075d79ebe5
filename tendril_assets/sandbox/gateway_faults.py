"""The ways in which the stand-in gateway breaks, each as real gateways, proxies and providers do."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from tendril_assets.sandbox.gateway_memory import Asked

FAULTS = (
    "html_502",  # a proxy's error page
    "status_524",  # the CDN's timeout
    "rate_limited",  # 429 with Retry-After: 0, from the provider behind the gateway
    "keep_alive",  # blanks and comment lines before a good reply
    "blank_body",  # nothing but keep-alive blanks
    "truncated",  # finish reason length
    "filtered",  # finish reason content_filter
    "empty",  # no content, and charged
    "reasoning_only",  # no content either: what there is stands in the reasoning field, and is charged
    "error_in_200",  # an error object behind status 200
    "error_in_choice",  # status 200, and an error inside the choice, behind the half of an answer that is charged
    "cut",  # the connection ends in the middle of the body
    "reset",  # the connection is reset in place of an answer
)
# Replies that a client must take as final; after any other fault it is right to ask again.
ANSWERS = frozenset({None, "keep_alive", "truncated"})
KEEP_ALIVE = b": OPENROUTER PROCESSING\n\n\n"


class Outgoing(NamedTuple):
    """A reply on its way out."""

    status: int
    data: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


_UPSTREAM = b'{"error":{"code":429,"message":"Provider returned error","metadata":{"provider_name":"stand-in"}}}'
# The model has not worked for these: they cost nothing.
WITHOUT_ANSWER: Mapping[str, Outgoing] = {
    "html_502": Outgoing(502, b"<html><h1>502 Bad Gateway</h1></html>", b"text/html"),
    "status_524": Outgoing(524, b"<html>timeout</html>", b"text/html"),
    "rate_limited": Outgoing(429, _UPSTREAM, headers=((b"retry-after", b"0"),)),
    "blank_body": Outgoing(200, b"\n\n   \n"),
    "error_in_200": Outgoing(200, b'{"error":{"code":502,"message":"Provider returned error"}}'),
}


class Draw:
    """Draws the fault of a request, by seed, request and how often it was asked: another attempt has another fate."""

    def __init__(self, shares: Mapping[str, float], seed: int) -> None:
        """Raises ValueError for an unknown fault, and for shares below 0 or above 1 in all."""
        unknown = set(shares) - set(FAULTS)
        if unknown:
            raise ValueError(f"unknown faults {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
        if any(share < 0 for share in shares.values()) or sum(shares.values()) > 1:
            raise ValueError("the shares of all faults together must lie between 0 and 1")
        self.drawn: Counter[str] = Counter()
        self._seed = seed
        self._bounds = tuple(zip(shares, accumulate(shares.values()), strict=True))

    def fault(self, asked: Asked) -> str | None:
        if not self._bounds:
            return None
        text = f"{self._seed}:{asked.times}".encode()
        digest = hashlib.blake2b(asked.key + text, digest_size=6, person=b"fault").digest()
        draw = int.from_bytes(digest, "big") / 2**48
        for kind, bound in self._bounds:
            if draw < bound:
                self.drawn[kind] += 1
                return kind
        return None


def choice(text: str, fault: str | None) -> tuple[dict[str, Any], str]:
    """The one choice of a reply, as ``fault`` leaves it, and the text the model is paid for."""
    reason, content, more, paid = "stop", text, {}, text
    if fault == "truncated":
        reason, content = "length", text[: len(text) // 2]
        paid = content
    elif fault == "filtered":
        reason, content, paid = "content_filter", None, ""
    elif fault == "empty":
        content = paid = ""
    elif fault == "reasoning_only":
        paid = f"Die Antwort wäre {text}"
        content, more = "", {"reasoning": paid}
    elif fault == "error_in_choice":
        reason, content = "error", text[: len(text) // 2]
        paid = content
    message = {"role": "assistant", "content": content, "refusal": None, **more}
    made: dict[str, Any] = {"index": 0, "finish_reason": reason, "native_finish_reason": reason, "message": message}
    if fault == "error_in_choice":
        made["error"] = {"code": 502, "message": "Provider disconnected"}
    return made, paid
