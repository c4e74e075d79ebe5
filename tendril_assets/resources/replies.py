"""Reading a gateway's reply: from HTTP status and body to what happened. No input makes these functions raise.

The status is judged first, then the body: keep-alive noise before the JSON is skipped, an error object inside a 200
counts as the status it names, and a reply that was filtered, cut off or empty is told apart from an answer. The answer
itself is not interpreted here; that is the parser's business, and a better parser must not cost new calls.
"""

import enum
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tendril_assets.resources.ledger_entry import DETAIL_CHARACTERS

# Besides these, every 5xx (524 is the CDN's timeout).
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
MAX_COST = Decimal(10**9)
_MAX_COUNT = 2**63 - 1
_NAME_CHARACTERS = 200
_NOISE = re.compile(rb"(?:[ \t\r\n\xef\xbb\xbf]+|:[^\r\n]*(?:\r\n|\r|\n|$))*")


class Action(enum.Enum):
    """What the client does about a reply."""

    KEEP = "keep"
    RETRY = "retry"
    REFUSED = "refused"
    NO_CREDIT = "no credit"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP attempt. ``status`` is the ledger's; ``cost`` is None where the gateway did not say.

    ``message``: the gateway's own error text, for people. ``warning``: what was odd about the cost field.
    ``charged``: whether the model may have worked for it, so that an unknown cost is not the same as none.
    """

    status: str
    action: Action
    http_status: int | None = None
    answered_model: str | None = None
    provider: str | None = None
    finish_reason: str | None = None
    content: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost: Decimal | None = None
    detail: str | None = None
    message: str | None = None
    warning: str | None = None
    retry_after: float | None = None
    charged: bool = False


def read_reply(http_status: int, body: bytes, retry_after: float | None = None) -> Reply:
    """Classify one reply."""
    payload = _payload(body)
    if not 200 <= http_status < 300:
        return _refusal(http_status, payload, body, retry_after)
    if not isinstance(payload, dict):
        return Reply(
            "bad_body", Action.RETRY, http_status, detail=_excerpt(body), retry_after=retry_after, charged=True
        )
    error = payload.get("error")
    if error:
        return _error_inside(http_status, error, payload, body, retry_after)
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply("bad_body", Action.RETRY, http_status, detail=_excerpt(body), charged=True, **_usage(payload))
    if choice.get("error") or choice.get("finish_reason") == "error":
        return _error_inside(http_status, choice.get("error") or {}, payload, body, retry_after)
    return _answer(http_status, choice, message, payload, body)


def read_cost(value: Any) -> tuple[Decimal | None, str | None]:
    """A cost field as exact USD, and what was wrong with it.

    0 is a price. None is unknown without complaint; text, NaN, infinite, negative or absurd figures are unknown with
    one.
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
        if cost >= MAX_COST:
            return None, "cost is beyond a billion USD"
    except ArithmeticError:
        return None, "cost is not a usable number"
    return (cost if cost else Decimal(0)), None


def _answer(
    http_status: int, choice: dict[str, Any], message: dict[str, Any], payload: dict[str, Any], body: bytes
) -> Reply:
    reason = _name(choice.get("finish_reason"))
    content = _text(message.get("content"))
    usage = _usage(payload)

    def reply(status: str, action: Action, text: str | None, detail: str | None = None) -> Reply:
        return Reply(
            status, action, http_status, finish_reason=reason, content=text, detail=detail, charged=True, **usage
        )

    refusal = message.get("refusal")
    if reason == "content_filter" or (isinstance(refusal, str) and refusal.strip()):
        # The text before the filter struck is no answer and is not kept as one.
        return reply("filtered", Action.RETRY, None, _excerpt(body))
    if reason == "length":
        return reply("truncated", Action.KEEP, content)
    if content is None and message.get("content") is not None:
        return reply("bad_body", Action.RETRY, None, _excerpt(body))
    if content is None or not content.strip():
        return reply("empty", Action.RETRY, content)
    return reply("answered", Action.KEEP, content)


def _refusal(http_status: int, payload: Any, body: bytes, retry_after: float | None) -> Reply:
    error = payload.get("error") if isinstance(payload, dict) else None
    message = _message(error)
    if http_status == 403 and _is_moderation(error):
        # The input of this one request was flagged: no reason to stop the others.
        return Reply("filtered", Action.KEEP, http_status, detail=_excerpt(body), message=message)
    action = _action(http_status)
    return Reply("error", action, http_status, detail=_excerpt(body), message=message, retry_after=retry_after)


def _error_inside(
    http_status: int, error: Any, payload: dict[str, Any], body: bytes, retry_after: float | None
) -> Reply:
    """An error object inside a 200. Its code counts as the status; without a usable one it is worth another attempt."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and re.fullmatch(r"[1-5][0-9][0-9]", code):
        code = int(code)
    named = code if type(code) is int and 400 <= code < 600 else None
    usage = _usage(payload)
    message, detail = _message(error), _excerpt(body)
    if named == 403 and _is_moderation(error):
        return Reply("filtered", Action.KEEP, http_status, detail=detail, message=message, **usage)
    action = Action.RETRY if named is None else _action(named)
    charged = usage["cost"] is not None
    shown = http_status if named is None else named
    return Reply(
        "error", action, shown, detail=detail, message=message, retry_after=retry_after, charged=charged, **usage
    )


def _action(status: int) -> Action:
    if status == 402:
        return Action.NO_CREDIT
    if status in RETRYABLE_STATUSES or status >= 500:
        return Action.RETRY
    return Action.REFUSED


def _payload(body: bytes) -> Any:
    """The JSON behind leading blanks and comment lines; None where there is none. Non-integers are read as Decimal."""
    noise = _NOISE.match(body)
    try:
        return json.loads(body[noise.end() if noise else 0 :].decode("utf-8"), parse_float=_decimal)
    except (ValueError, RecursionError):
        return None


def _decimal(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


def _usage(payload: dict[str, Any]) -> dict[str, Any]:
    usage = payload.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cost, warning = read_cost(usage.get("cost"))
    return {
        "answered_model": _name(payload.get("model")),
        "provider": _name(payload.get("provider")),
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "completion_tokens": _count(usage.get("completion_tokens")),
        "cached_tokens": _count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        "cost": cost,
        "warning": warning,
    }


def _text(content: Any) -> str | None:
    """Content as text: a string, or the text parts of a list; None for anything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    return None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None


def _name(value: Any) -> str | None:
    return value[:_NAME_CHARACTERS] if isinstance(value, str) else None


def _message(error: Any) -> str | None:
    text = error.get("message") if isinstance(error, dict) else error
    return text.strip()[:_NAME_CHARACTERS] or None if isinstance(text, str) else None


def _is_moderation(error: Any) -> bool:
    metadata = error.get("metadata") if isinstance(error, dict) else None
    return isinstance(metadata, dict) and ("reasons" in metadata or "flagged_input" in metadata)


def _excerpt(body: bytes) -> str:
    # Four bytes per character at most, and the rest of a large page is not decoded.
    return body[: 4 * DETAIL_CHARACTERS].decode("utf-8", "replace")[:DETAIL_CHARACTERS]
