"""What the stand-in gateway charges: tokens by characters, prices by model, a prompt cache that makes a prefix cheap.

All amounts are whole nano-USD (USD 1e-9), so that the sum over any number of replies is exact.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

_CHARACTERS_PER_TOKEN = 4
# Tokens of a prefix that was seen before cost a tenth.
_CACHED_SHARE = 10


class Price(NamedTuple):
    """Nano-USD per token in and per token out."""

    prompt: int
    completion: int


DEFAULT_PRICE = Price(100, 400)
# Models that cost something else, so that a choice among judges has prices to weigh.
PRICES: Mapping[str, Price] = {
    "sandbox/judge-small": Price(30, 120),
    "sandbox/judge-large": Price(600, 2_400),
}
# Tokens of hidden reasoning by the effort asked for; they count as tokens out.
REASONING_TOKENS: Mapping[str, int] = {"minimal": 20, "low": 60, "medium": 180, "high": 420}


class Charge(NamedTuple):
    """Of one reply: ``usage`` as it goes out, ``nano`` as it is charged."""

    usage: dict[str, Any]
    nano: int


class Till:
    """Charges replies. ``nano`` is the sum of all, ``untold`` the part of it that went out in no whole reply."""

    def __init__(self) -> None:
        self.nano = self.untold = 0
        self._prefixes: set[bytes] = set()

    def cached(self, model: str, prompt: str) -> int:
        """Tokens of the prompt that the cache holds when the request comes in: a reply that was sent before put them
        there. The prompt up to the passage is what a provider caches."""
        end = prompt.rfind("<passage>")
        return tokens(prompt[:end]) if end > 0 and _mark(model, prompt[:end]) in self._prefixes else 0

    def charge(self, body: Mapping[str, Any], prompt: str, text: str, cached: int) -> Charge:
        """Charge for a reply with ``text``, and keep its prefix in the cache; ``cached``: as the request found it."""
        price = PRICES.get(body["model"], DEFAULT_PRICE)
        end = prompt.rfind("<passage>")
        if end > 0:
            self._prefixes.add(_mark(body["model"], prompt[:end]))
        prompt_tokens, answer_tokens = tokens(prompt), tokens(text)
        reasoning = _reasoning_tokens(body, answer_tokens)
        completion_tokens = answer_tokens + reasoning
        nano = (prompt_tokens - cached) * price.prompt + cached * price.prompt // _CACHED_SHARE
        nano += completion_tokens * price.completion
        self.nano += nano
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "cost": nano / 1e9,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
        return Charge(usage, nano)


def _mark(model: str, prefix: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{prefix}".encode("utf-8", "replace"), digest_size=8).digest()


def tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def effort_of(body: Mapping[str, Any]) -> str | None:
    """The reasoning effort a request names, where it is a text."""
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return effort if isinstance(effort, str) else None


def pricing(model: str) -> dict[str, str]:
    """A model's entry in the price list, in USD per token as decimal texts."""
    price = PRICES.get(model, DEFAULT_PRICE)
    return {
        "prompt": f"{price.prompt / 1e9:.10f}",
        "completion": f"{price.completion / 1e9:.10f}",
        "request": "0",
        "input_cache_read": f"{price.prompt / _CACHED_SHARE / 1e9:.10f}",
    }


def _reasoning_tokens(body: Mapping[str, Any], answer_tokens: int) -> int:
    """Of the effort asked for, within what ``max_tokens`` leaves."""
    wanted = REASONING_TOKENS.get(effort_of(body) or "", 0)
    limit = body.get("max_tokens")
    return max(0, min(wanted, limit - answer_tokens)) if wanted and isinstance(limit, int) else wanted
