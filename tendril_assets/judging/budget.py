"""What a set of open requests will cost, before anything is sent.

Tokens are estimated from characters: German tender text gives about ``CHARACTERS_PER_TOKEN`` characters a token in the
vocabularies of current models, rounded down so that the estimate errs upward. Completions are estimated per reasoning
effort and are never above the request's ``max_tokens``; ``usd_cap`` prices every reply at ``max_tokens``.
Discounts for cached prompts are left out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import polars as pl

from tendril_assets.spec import LLMSpec

CHARACTERS_PER_TOKEN = 3.0
# Tokens of chat framing around the messages of one request.
FRAMING_TOKENS = 10
# Reply plus reasoning. None: a reply without reasoning of about a summary's length or less.
COMPLETION_TOKENS = {None: 200, "none": 20, "minimal": 100, "low": 400, "medium": 1200, "high": 3000}


class TokenPrice(Protocol):
    """USD per prompt token, per completion token and per request; what a router's price list gives."""

    @property
    def prompt(self) -> Decimal: ...
    @property
    def completion(self) -> Decimal: ...
    @property
    def request(self) -> Decimal: ...


@dataclass(frozen=True)
class Estimate:
    """``usd_cap``: ``usd`` with every reply at ``max_tokens``. Both are None where the price is unknown."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: Decimal | None
    usd_cap: Decimal | None = None


def estimate(requests: pl.DataFrame, llm: LLMSpec, prices: Mapping[str, TokenPrice]) -> Estimate:
    """Estimate of asking each row of ``requests`` once.

    Args:
        requests: at least ``prompt_characters``, characters of the rendered messages.
        prices: by model id; an absent model has an unknown price, which is not a price of zero.
    """
    calls = requests.height
    characters = int(requests["prompt_characters"].sum())
    prompt = math.ceil(characters / CHARACTERS_PER_TOKEN) + FRAMING_TOKENS * calls
    completion = calls * min(COMPLETION_TOKENS[llm.reasoning_effort], llm.max_tokens)
    price = prices.get(llm.model)
    if price is None:
        return Estimate(calls, prompt, completion, None)
    fixed = calls * price.request + prompt * price.prompt
    return Estimate(
        calls,
        prompt,
        completion,
        fixed + completion * price.completion,
        fixed + calls * llm.max_tokens * price.completion,
    )
