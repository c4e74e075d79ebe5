"""Errors in a reply, wherever a gateway puts them, and what is to be done about each.

**Where.** ``error`` at the top, in a choice or in its message, as an object or a plain text; an object that is the
error itself (``object`` or ``type`` "error", ``success`` false, a top-level ``code`` between 400 and 599); and, where
there are no choices, ``detail``, ``message``, ``msg`` or ``errors``. The same inside a list of one, and inside the
events of a stream nobody asked for. An error whose every member is empty is how some gateways say that there is none.

**Which.** The HTTP status, or inside a 200 the number the error names; without a number, its name by the tables below
(OpenRouter's ``error_type``, OpenAI's and Anthropic's ``code`` and ``type``), or what the provider's own error says that
is wrapped in ``metadata.raw``; without any of them it is worth another attempt.

**What.** 402 ends the run for lack of credit; other 4xx end it too, for they would come back for every request. Four
kinds do not follow their number: a budget for requests in flight (402) is free again once some of them have ended, and
is worth another attempt; a spent quota sent as 429 does not pass, and counts as 402; moderation is about one text, and
so is a prompt that is too long: those concern their own request alone.
"""

import enum
import json
import re
from dataclasses import dataclass
from typing import Any

from tendril_assets.resources.reply_usage import name_of

# Besides these, every 5xx (524 is the CDN's timeout).
_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})

_STATUS_OF = {
    **dict.fromkeys(("invalid_request", "invalid_request_error"), 400),
    **dict.fromkeys(("authentication", "authentication_error", "invalid_api_key"), 401),
    **dict.fromkeys(
        (
            "payment_required",
            "insufficient_quota",
            "insufficient_credits",
            "insufficient_balance",
            "billing_error",
            "billing_not_active",
            "billing_hard_limit_reached",
        ),
        402,
    ),
    **dict.fromkeys(("permission_denied", "permission_error"), 403),
    **dict.fromkeys(("not_found", "not_found_error", "model_not_found"), 404),
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "too_many_requests"), 429),
    **dict.fromkeys(("server", "server_error", "internal_server_error", "api_error", "generation"), 500),
    **dict.fromkeys(("provider_overloaded", "provider_unavailable", "overloaded_error", "overloaded"), 503),
    **dict.fromkeys(("timeout", "timeout_error"), 504),
}
_IN_FLIGHT = frozenset({"openrouter_in_flight_budget", "in_flight_budget_exhausted"})
_MODERATION = frozenset(
    {"content_policy_violation", "content_filter", "refusal", "responsibleaipolicyviolation", "data_inspection_failed"}
)
_TOO_LONG = frozenset(
    {
        "context_length_exceeded",
        "string_too_long",
        "string_above_max_length",
        "payload_too_large",
        "request_too_large",
        "invalid_prompt",
    }
)
_SAYS_TOO_LONG = re.compile(r"maximum context length|exceeds the context window|prompt is too long", re.IGNORECASE)
_CUT_OFF = "max_tokens_exceeded"
_TEXTS = ("message", "msg", "detail", "error_msg", "error_message", "errors")
_DEPTH = 4


class Action(enum.Enum):
    """What the client does about a reply."""

    KEEP = "keep"
    RETRY = "retry"
    REFUSED = "refused"
    NO_CREDIT = "no credit"


@dataclass(frozen=True, slots=True)
class Judged:
    """``shown``: the status the reply counts as. ``status``: the ledger's."""

    status: str
    action: Action
    shown: int
    message: str | None
    provider: str | None


def find_error(payload: Any) -> Any:
    """The error a reply holds, as it stands there, or None."""
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    if not isinstance(payload, dict):
        return None
    error = payload.get("error")
    if error is not None and _says_something(error):
        # Servers that give the error as text put its kind beside it.
        kind = payload.get("error_type") or payload.get("code")
        return {"message": error, "code": kind} if isinstance(error, str) and kind else error
    choices = payload.get("choices")
    if isinstance(choices, list):
        for choice in choices[:8]:
            inner = _error_of_choice(choice)
            if inner is not None:
                return inner
    is_error = "error" in (payload.get("object"), payload.get("type"), payload.get("status"))
    if is_error or payload.get("success") is False or _number(payload) is not None:
        return payload
    return payload if not choices and _text(payload, 0) else None


def judge_error(http_status: int, error: Any) -> Judged:
    """What an error means, with ``http_status`` 200 for one inside a 200. ``error`` may be anything, None included."""
    own, names, message, provider = _read(error, 0)
    status = http_status
    if 200 <= http_status < 300:
        status = own or next((_STATUS_OF[name] for name in names if name in _STATUS_OF), http_status)
    said = frozenset(names)
    if status == 402 and said & _IN_FLIGHT:
        return Judged("error", Action.RETRY, status, message, provider)
    if status == 429 and any(_STATUS_OF.get(name) == 402 for name in names):
        status = 402
    concerns_one = status < 500 and status not in (401, 402, 404, 408, 429)
    if concerns_one and (said & _MODERATION or _is_moderation(error)):
        return Judged("filtered", Action.KEEP, status, message, provider)
    if concerns_one and _CUT_OFF in said:
        return Judged("truncated", Action.KEEP, status, message, provider)
    if concerns_one and (status == 413 or said & _TOO_LONG or _SAYS_TOO_LONG.search(message or "")):
        return Judged("error", Action.KEEP, status, message, provider)
    return Judged("error", _action(status), status, message, provider)


def _action(status: int) -> Action:
    if status == 402:
        return Action.NO_CREDIT
    if status in _RETRYABLE_STATUSES or status >= 500 or 200 <= status < 300:
        return Action.RETRY
    return Action.REFUSED


def _error_of_choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return None
    message = choice.get("message")
    for holder in (choice, message if isinstance(message, dict) else {}):
        error = holder.get("error")
        if error is not None and _says_something(error):
            return error
    return None


def _says_something(value: Any, depth: int = 0) -> bool:
    """Whether anything is in it: an object with empty members alone is what some gateways send for no error."""
    if isinstance(value, dict) and depth < _DEPTH:
        return any(_says_something(inner, depth + 1) for inner in value.values())
    return bool(value)


def _read(error: Any, depth: int) -> tuple[int | None, list[str], str | None, str | None]:
    """Number, names in small letters by weight, text for people, and provider; the wrapped error speaks where the outer
    does not."""
    if isinstance(error, str):
        names = [error.lower()] if re.fullmatch(r"[A-Za-z_]{3,60}", error) else []
        return None, names, name_of(error.strip()) or None, None
    if not isinstance(error, dict) or depth >= _DEPTH:
        return None, [], None, None
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    inner = error.get("innererror")
    sources = [error.get(name) for name in ("code", "type", "error_type")]
    sources += [metadata.get(name) for name in ("error_type", "limit_source", "reason")]
    sources.append(inner.get("code") if isinstance(inner, dict) else None)
    names = [source.lower() for source in sources if isinstance(source, str)]
    number, message = _number(error), _text(error, 0)
    if not message and isinstance(error.get("error"), dict):
        nested = _read(error["error"], depth + 1)
        number, names, message = number or nested[0], names + nested[1], nested[2]
    raw = metadata.get("raw")
    if raw is not None:
        wrapped = _read(_unwrapped(raw), depth + 1)
        if number is None and not any(name in _STATUS_OF for name in names):
            number = wrapped[0]
        # A provider's lack of quota is the gateway's trouble with it, not our account's.
        if number is None or number in (400, 403, 413, 422):
            names += wrapped[1]
        message = ": ".join(text for text in (message, wrapped[2]) if text) or None
    return number, names, name_of(message), name_of(metadata.get("provider_name"))


def _unwrapped(raw: Any) -> Any:
    """A provider's error as it was wrapped: an object, its JSON, or a text."""
    if not isinstance(raw, str):
        return raw
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    found = find_error(value)
    return found if found is not None else raw


def _number(error: dict[str, Any]) -> int | None:
    """The HTTP status an error names, as a number or as digits."""
    for name in ("code", "status", "status_code"):
        code = error.get(name)
        if isinstance(code, str) and re.fullmatch(r"[45][0-9][0-9]", code):
            code = int(code)
        if type(code) is int and 400 <= code < 600:
            return code
    return None


def _text(error: Any, depth: int) -> str | None:
    if isinstance(error, str):
        return error.strip() or None
    if depth >= _DEPTH:
        return None
    if isinstance(error, list):
        return _text(error[0], depth + 1) if error else None
    if isinstance(error, dict):
        return next((text for name in _TEXTS if (text := _text(error.get(name), depth + 1))), None)
    return None


def _is_moderation(error: Any) -> bool:
    metadata = error.get("metadata") if isinstance(error, dict) else None
    return isinstance(metadata, dict) and ("reasons" in metadata or "flagged_input" in metadata)
