"""Tokens of a request before it is asked: characters per token, tokens of a reply, what a prompt cache serves.

Each rate is measured on the ledger's own replies of the same model and the same kind of prompt where there are enough of
them; else a stated default with an interval wide enough for the vocabularies and the texts it was taken from.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

# Replies from which on a rate is measured rather than assumed.
ENOUGH = 50
# So many rounds of requests in flight make the cold start of a run a small part of what was measured.
_WARM_ROUNDS = 16
# Open requests hold other texts than answered ones, so a measured rate is never taken for narrower than this.
_LEAST_MARGIN = 0.03
_NORMAL_95 = 1.96
MILLI = 1000


class Span(NamedTuple):
    """A rate in thousandths: its lowest, expected and highest value."""

    low: int
    expected: int
    high: int


# Thousandths of characters per token. German: the CC0 tender requirements of a Swiss and German module library, XQuAD and
# our guidelines give 3.5 to 3.7 (cl100k_base), 3.6 to 3.8 (DeepSeek V4) and 4.2 to 4.6 (o200k_base); price sheets and
# tables in PDF text give less. Russian: acts of the Bank of Russia give 2.2, 3.3 and 3.7 in the same order.
CHARACTERS_PER_TOKEN = {"de": Span(3000, 3700, 4600), "ru": Span(2100, 3200, 3800)}
# Any other language in the Latin or Cyrillic script.
_ANY_LANGUAGE = Span(2000, 3200, 4800)
# What a chat template adds around the messages of a request.
FRAMING_TOKENS = 10

# Thousandths of tokens per reply, hidden reasoning included, by reasoning effort. None leaves the effort to the model, and
# nobody knows what it does: from a bare verdict up to thinking at length. Never above max_tokens.
_COMPLETION = {
    "none": Span(5_000, 20_000, 60_000),
    "minimal": Span(10_000, 100_000, 300_000),
    "low": Span(50_000, 400_000, 1_000_000),
    "medium": Span(300_000, 1_200_000, 3_000_000),
    "high": Span(800_000, 3_000_000, 8_000_000),
}
_ANY_EFFORT = Span(5_000, 200_000, 3_000_000)


class CacheRule(NamedTuple):
    """Which prefixes a provider's prompt cache serves, in tokens: from ``minimum`` on, in steps of ``block``."""

    minimum: int
    block: int

    def served(self, tokens: pl.Expr) -> pl.Expr:
        """Tokens of a known prefix of ``tokens`` that are read from the cache."""
        steps = (tokens - self.minimum) // self.block * self.block
        return pl.when(tokens >= self.minimum).then(steps + self.minimum).otherwise(0)


# By the maker's name in the model id. OpenAI: from 1,024 tokens on in steps of 128
# (https://github.com/openai/openai-cookbook, Prompt Caching 201); Gemini: from 1,024 on (LiteLLM's table of minima,
# https://docs.litellm.ai/docs/completion/prompt_caching); DeepSeek: a known common prefix as a whole, formerly in steps of
# 64 (https://api-docs.deepseek.com/guides/kv_cache); Anthropic: what a request marks, and ours mark nothing.
_CACHE_RULES: dict[str, CacheRule | None] = {
    "openai": CacheRule(1024, 128),
    "google": CacheRule(1024, 1),
    "deepseek": CacheRule(64, 64),
    "anthropic": None,
    # The stand-in gateway: every prefix up to the passage, as a whole.
    "sandbox": CacheRule(1, 1),
    "stand-in": CacheRule(1, 1),
}
# Where nothing is published, the strictest of the rules above is expected ...
_STRICTEST = CacheRule(1024, 128)
# ... and the best case is what an engine of open models does: whole blocks of 16 tokens (vLLM's default block).
GENEROUS = CacheRule(16, 16)


@dataclass(frozen=True)
class Rates:
    """How requests of one model turn into tokens.

    ``characters``: per token. ``completion``: tokens per reply. ``framing``: tokens added per request. ``served``: share
    of the prefix tokens that caches served, in thousandths; None where that is not measured. ``attempts``: HTTP calls per
    request, in thousandths. The last three are the numbers of replies behind a measured rate, 0 for an assumed one.
    """

    characters: Span
    completion: Span
    framing: int = FRAMING_TOKENS
    served: int | None = None
    attempts: int = MILLI
    prompt_replies: int = 0
    completion_replies: int = 0
    cache_replies: int = 0


OBSERVED = ("prompt_characters", "prefix_characters", "prompt_tokens", "completion_tokens", "cached_tokens", "attempts")


def cache_rule(model: str) -> CacheRule | None:
    """The rule expected of the providers of a model; None where they serve nothing that was not marked."""
    return _CACHE_RULES.get(model.partition("/")[0], _STRICTEST)


def rates(
    language: str,
    effort: str | None,
    same_model: pl.DataFrame,
    same_effort: pl.DataFrame,
    same_step: pl.DataFrame,
    in_flight: int = 1,
) -> Rates:
    """Measured where there are ``ENOUGH`` replies, assumed elsewhere.

    Args:
        language: of the prompts, as a two-letter code.
        effort: the reasoning effort that is sent.
        same_model: ``OBSERVED`` of the answered requests of the same model with the same kind of prompt.
        same_effort: those of them with the same effort.
        same_step: those of them that this step asked.
        in_flight: requests at once: of a run that has only begun most have met a cold cache.
    """
    characters = CHARACTERS_PER_TOKEN.get(language, _ANY_LANGUAGE)
    assumed = _ANY_EFFORT if effort is None else _COMPLETION.get(effort, _ANY_EFFORT)
    prompts = same_model.filter(pl.col("prompt_tokens") > 0, pl.col("prompt_characters") > 0)
    replies = same_effort.filter(pl.col("completion_tokens") >= 0)["completion_tokens"]
    cached = same_step.filter(pl.col("cached_tokens").is_not_null(), pl.col("prompt_tokens") > 0)
    measured_prompt, measured_reply = prompts.height >= ENOUGH, replies.len() >= ENOUGH
    measured_cache = cached.height >= max(ENOUGH, _WARM_ROUNDS * in_flight) and measured_prompt
    if measured_prompt:
        characters = _ratio(prompts["prompt_characters"], prompts["prompt_tokens"])
    served = None
    if measured_cache:
        prefixes = int(cached["prefix_characters"].sum()) * MILLI // characters.expected
        served = min(MILLI, int(cached["cached_tokens"].sum()) * MILLI // prefixes) if prefixes else 0
    return Rates(
        characters,
        _mean(replies) if measured_reply else assumed,
        framing=0 if measured_prompt else FRAMING_TOKENS,
        served=served,
        attempts=max(MILLI, _mean(same_step["attempts"]).expected) if same_step.height >= ENOUGH else MILLI,
        prompt_replies=prompts.height if measured_prompt else 0,
        completion_replies=replies.len() if measured_reply else 0,
        cache_replies=cached.height if measured_cache else 0,
    )


def _ratio(characters: pl.Series, tokens: pl.Series) -> Span:
    """Characters per token over all replies together, with a 95 % interval of the ratio estimator (delta method)."""
    n, total = characters.len(), int(tokens.sum())
    ratio = int(characters.sum()) / total
    residuals = characters - ratio * tokens
    error = math.sqrt(float((residuals**2).sum()) / (n * (n - 1))) / (total / n)
    return _span(ratio, error)


def _mean(values: pl.Series) -> Span:
    n = values.len()
    spread = float(np.std(values.to_numpy(), ddof=1))
    return _span(int(values.sum()) / n, spread / math.sqrt(n))


def _span(value: float, error: float) -> Span:
    margin = max(_NORMAL_95 * error, _LEAST_MARGIN * value)
    # A rate of zero characters per token would divide by nothing.
    return Span(*(max(1, round(MILLI * v)) for v in (value - margin, value, value + margin)))
