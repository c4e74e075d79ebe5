"""What a call costs by its tokens: prices of a model, the most a call can cost, and the dated table of list prices.

A price that is not known is absent, never zero. All amounts are ``Decimal``.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tendril_assets.errors import SettingsError
from tendril_assets.strict_yaml import load_text_keys

PRICE_TABLE = Path(__file__).parent / "prices.yaml"
# Makers and routers change prices every few months; an older table is still used, and says so.
OLD_AFTER_DAYS = 90
# What chat templates add around a message, generously.
TOKENS_PER_MESSAGE = 64
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Prices:
    """USD per prompt token, per completion token and per request.

    ``cached``: USD per prompt token read from the provider's prompt cache; None where it is not known, so that no
    discount is reckoned with.
    """

    prompt: Decimal = Decimal(0)
    completion: Decimal = Decimal(0)
    request: Decimal = Decimal(0)
    cached: Decimal | None = None

    def worst(self, body: Mapping[str, Any]) -> Decimal:
        """The most one call with this body can cost.

        A byte-level tokeniser makes at most one token of each UTF-8 byte, and ``max_tokens`` bounds the answer.
        """
        messages = body.get("messages", ())
        prompt = sum(len(str(m.get("content", "")).encode("utf-8", "replace")) + TOKENS_PER_MESSAGE for m in messages)
        return self.request + self.prompt * prompt + self.completion * output_limit(body)

    def cost_of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0, requests: int = 1) -> Decimal:
        """USD for tokens in, of which ``cached_tokens`` were read from the provider's cache, and tokens out; exact.

        More cached tokens than prompt tokens count as all of them. Raises ValueError for a negative number.
        """
        if min(prompt_tokens, completion_tokens, cached_tokens, requests) < 0:
            raise ValueError("numbers of tokens and requests cannot be negative")
        cached = min(cached_tokens, prompt_tokens)
        fresh = self.prompt * (prompt_tokens - cached) + self.cached_rate * cached
        return self.request * requests + fresh + self.completion * completion_tokens

    @property
    def cached_rate(self) -> Decimal:
        """USD per prompt token from the cache: the full price where no other is known."""
        return self.prompt if self.cached is None else self.cached


@dataclass(frozen=True)
class PriceTable:
    """List prices by model id; ``date``: the day of its oldest source."""

    date: date
    source: str
    prices: Mapping[str, Prices] = field(repr=False)

    def is_old(self, today: date) -> bool:
        return (today - self.date).days > OLD_AFTER_DAYS


def load_price_table(path: Path | None = None) -> PriceTable:
    """The package's price table, or another file of the same form.

    The form: ``date`` (a day), ``source`` (a text), ``usd_per_million_tokens`` (by model id: ``prompt`` and
    ``completion``, and ``cached`` where it is known) and, where a model has one, ``usd_per_request`` (by model id).

    Raises:
        SettingsError: no such file, or one of another form; names the model and the field.
    """
    path = path or PRICE_TABLE
    try:
        content = load_text_keys(path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"the price table {path} cannot be read: {error}") from error
    where = f"the price table {path}"
    required, optional = {"date", "source", "usd_per_million_tokens"}, {"usd_per_request"}
    if not isinstance(content, dict) or not required <= set(content) <= required | optional:
        raise SettingsError(f"{where} must have the fields {', '.join(sorted(required))}, and may have usd_per_request")
    if type(content["date"]) is not date:
        raise SettingsError(f"{where}: date must be a day such as 2026-09-08, found {content['date']!r}")
    if not isinstance(content["source"], str) or not content["source"].strip():
        raise SettingsError(f"{where}: source must say in a few words where the prices come from")
    tokens, per_request = content["usd_per_million_tokens"], content.get("usd_per_request", {})
    if not isinstance(tokens, dict) or not isinstance(per_request, dict) or not set(per_request) <= set(tokens):
        raise SettingsError(
            f"{where}: prices are listed by model id, and usd_per_request only for models listed above it"
        )
    prices = {}
    for model, row in tokens.items():
        if not isinstance(row, dict) or not {"prompt", "completion"} <= set(row) <= {"prompt", "completion", "cached"}:
            raise SettingsError(f"{where}: {model} must have prompt and completion, and may have cached")
        amounts = {name: _amount(value, f"{where}: {model}.{name}") / _MILLION for name, value in row.items()}
        if amounts.get("cached", Decimal(0)) > amounts["prompt"]:
            raise SettingsError(f"{where}: {model}.cached is above {model}.prompt: a cached token is never dearer")
        amounts["request"] = _amount(per_request.get(model, 0), f"{where}: usd_per_request of {model}")
        prices[str(model)] = Prices(**amounts)
    return PriceTable(content["date"], " ".join(content["source"].split()), prices)


def output_limit(body: Mapping[str, Any]) -> int:
    """The body's limit on output tokens. Raises SettingsError where there is none: the cost would have no bound."""
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if type(limit) is not int or limit < 1:
        raise SettingsError("a request body has no max_tokens: without it a router reserves the model's maximum")
    return limit


def _amount(value: Any, where: str) -> Decimal:
    """USD, exact: a YAML number's shortest text is what was written."""
    amount = Decimal("NaN")
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(InvalidOperation):
            amount = Decimal(str(value))
    if not amount.is_finite() or amount < 0:
        raise SettingsError(f"{where} must be an amount in USD of at least 0, found {value!r}")
    return amount
