"""What a reply says it used and cost. Anything unreadable is unknown, never zero.

Cost, in this order, the first that is there and not null; a later one is not tried because an earlier one is odd:

1. ``usage.cost``: what the gateway charged, in USD (OpenRouter's credits are USD). An object names its ``total_cost``.
2. ``usage.total_cost``.
3. the header ``x-litellm-response-cost``, which LiteLLM sends instead of a field; a decimal text.

With ``usage.is_byok`` true the gateway charged its fee alone and the provider bills the rest to the caller's own
provider key: the cost is then fee plus ``cost_details.upstream_inference_cost``, and unknown where that is missing, for
a cap in money must hold for the whole bill. Without that mark the upstream cost is part of ``usage.cost`` or repeats it.
Estimates (``usage.estimated_cost``) are no cost.
"""

from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

_MAX_COST = Decimal(10**9)
# More decimals than any price per token times a count has; sums of such costs stay exact in 80 digits.
_MAX_DECIMALS = 60
# No model reads or writes a billion tokens in one call.
_MAX_COUNT = 10**9
_NAME_CHARACTERS = 200
_HEADER_CHARACTERS = 64


def read_cost(value: Any) -> tuple[Decimal | None, str | None]:
    """A cost field as exact USD, and what was wrong with it.

    0 is a price. None is unknown without complaint; text, NaN, infinite, negative or absurd figures and those
    with more than 60 decimals are unknown with one.
    """
    if value is None:
        return None, None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None, f"cost is {type(value).__name__}, not a number"
    try:
        cost = Decimal(value)
        if not cost.is_finite():
            return None, "cost is not finite"
        if cost < 0:
            return None, "cost is negative"
        if cost >= _MAX_COST:
            return None, "cost is beyond a billion USD"
        if cost and int(cost.as_tuple().exponent) < -_MAX_DECIMALS:
            return None, "cost has more decimals than money has"
    except ArithmeticError:
        return None, "cost is not a usable number"
    return (cost if cost else Decimal(0)), None


def read_usage(payload: Mapping[str, Any], named_cost: str | None = None) -> dict[str, Any]:
    """The fields of a ``Reply`` about model, route, tokens, cost and the reply's own name.

    ``named_cost``: the cost header. Token counts are read by OpenAI's names, and where those are absent by the names
    that other servers use.
    """
    usage = payload.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    read = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    written = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    cost, warning = _cost(usage, named_cost)
    return {
        "answered_model": name_of(payload.get("model")),
        "provider": name_of(payload.get("provider")),
        "prompt_tokens": _count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        "completion_tokens": _count(usage.get("completion_tokens", usage.get("output_tokens"))),
        "cached_tokens": _count(_of(read, "cached_tokens", usage, "prompt_cache_hit_tokens", "cached_tokens")),
        "reasoning_tokens": _count(_of(written, "reasoning_tokens", usage, "reasoning_tokens")),
        "reply_id": name_of(payload.get("id")),
        "cost": cost,
        "warning": warning,
    }


def name_of(value: Any) -> str | None:
    """A name from outside, cut to a sane length; None for anything but text."""
    return value[:_NAME_CHARACTERS] if isinstance(value, str) else None


def _cost(usage: dict[str, Any], named: str | None) -> tuple[Decimal | None, str | None]:
    field = usage.get("cost")
    if isinstance(field, dict):
        field = field.get("total_cost")
    if field is None:
        field = usage.get("total_cost")
    if field is None and named is not None:
        return _header(named)
    cost, warning = read_cost(field)
    if cost is None or usage.get("is_byok") is not True:
        return cost, warning
    details = usage.get("cost_details")
    upstream, odd = read_cost(details.get("upstream_inference_cost") if isinstance(details, dict) else None)
    if upstream is None:
        return None, odd or "cost is the gateway's fee alone: the provider bills the rest to a key of its own"
    with localcontext(prec=80):
        return cost + upstream, warning


def _header(text: str) -> tuple[Decimal | None, str | None]:
    text = text.strip()
    if text.lower() in ("", "none", "null"):
        return None, None
    try:
        return read_cost(Decimal(text[:_HEADER_CHARACTERS]))
    except ArithmeticError:
        return None, "cost header is not a number"


def _of(details: Any, name: str, usage: dict[str, Any], *others: str) -> Any:
    """``details[name]``, or what a server without such details calls it in ``usage``."""
    if isinstance(details, dict) and details.get(name) is not None:
        return details[name]
    return next((usage[other] for other in others if usage.get(other) is not None), None)


def _count(value: Any) -> int | None:
    # Some servers write every number with a point: 10.0 is a count, 1.5 is none.
    if isinstance(value, Decimal) and value.is_finite() and 0 <= value <= _MAX_COUNT and value == int(value):
        return int(value)
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None
