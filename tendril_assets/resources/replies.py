"""Reading a gateway's reply: from HTTP status and body to what happened. No input makes these functions raise.

The answer itself is not interpreted here; that is the parser's business, and a better parser must not cost new calls.
But only a final answer is passed on as one. In this order:

1. **Status.** Only 200 is a reply. Another 2xx says that there is no body (204, 205), part of one (206) or none yet
   (202). A redirect is a refusal: it is never followed, for the key would go along.
2. **Body.** Keep-alive noise (blanks, a byte-order mark, comment lines) is skipped, then the rest must be one JSON object
   in UTF-8: nothing after it, no member named twice that decides (``choices``, ``message``, ``content`` ...).
3. **Error** at any level, even beside a valid choice: see ``reply_errors``.
4. **One choice.** One answer was asked for, so of several none is known to be it. A chunk of a stream (``delta``, or
   ``object`` "chat.completion.chunk"), the ``text`` of the legacy form and a message of another role are none.
5. **Finish.** Refusal or filter: ``filtered``, and the text before it is no answer. A length limit: ``truncated``, whatever
   the text looks like. Anything but a known natural end (absent, unknown, a tool call) is not known to be whole. The
   provider's own ``native_finish_reason`` can take a natural end back, never give one.
6. **Content.** A text, or a list of text parts with reasoning parts among them, which are left out. Text in ``reasoning``,
   ``reasoning_content``, ``reasoning_details``, ``tool_calls`` or ``refusal`` is never read; without content beside it
   the reply is ``empty``.

``bad_body`` and ``empty`` may be charged each time and may come out otherwise next time: a few attempts. A server that
always answers so ends the run after some requests instead of being paid for all of them.

A reply that names another model than was asked is recorded (``answered_model``) and stays an answer: gateways report dated
and local names of the very model. Which models answered is for the check of the stored calls to judge.
"""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tendril_assets.resources.ledger_entry import DETAIL_CHARACTERS
from tendril_assets.resources.reply_errors import Action, find_error, judge_error
from tendril_assets.resources.reply_usage import name_of, read_cost, read_usage

__all__ = ["Action", "Reply", "read_cost", "read_reply"]

_NOISE = re.compile(rb"(?:[ \t\r\n\xef\xbb\xbf]+|:[^\r\n]*(?:\r\n|\r|\n|$))*")
_DECIDING = frozenset({"choices", "message", "content", "finish_reason", "error"})

# What servers call the end of an answer, in small letters, by the protocol's own four words. Only documented names: a
# name that is not here is not known to mean a natural end. We send no stop sequences, so one that struck is the model's.
_FINISH = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(
        (
            "content_filter",
            "content_filtered",
            "guardrail_intervened",
            "refusal",
            "sensitive",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "error_toxic",
        ),
        "content_filter",
    ),
    **dict.fromkeys(("error", "abort", "network_error", "insufficient_system_resource", "malformed_response"), "error"),
}
_REASONING_PARTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
_MOST_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP attempt. ``status`` is the ledger's; ``cost`` is None where the gateway did not say.

    ``http_status``: the HTTP status, or the one that an error inside the reply counts as. ``finish_reason``: the
    protocol's word (stop, length, content_filter, error); a provider's own name for it is then in ``detail``.
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
    reasoning_tokens: int | None = None
    reply_id: str | None = None


class _Twice(ValueError):
    """A deciding member occurs twice in one object."""


def read_reply(http_status: int, body: bytes, retry_after: float | None = None, named_cost: str | None = None) -> Reply:
    """Classify one reply. ``retry_after``: seconds from the header. ``named_cost``: the header LiteLLM names the cost in."""
    payload = _payload(body)
    if not 200 <= http_status < 300:
        return _failed(http_status, find_error(payload), payload, body, retry_after, named_cost, charged=False)
    found = _events(body) if payload is None else payload
    error = find_error(found)
    if error is not None:
        return _failed(http_status, error, found, body, retry_after, named_cost)
    usage = read_usage(found if isinstance(found, dict) else {}, named_cost)
    choice = _only_choice(payload) if http_status == 200 else None
    if choice is None:
        return Reply(
            "bad_body", Action.RETRY, http_status, detail=_excerpt(body), retry_after=retry_after, charged=True, **usage
        )
    own, word = _finish(choice)
    status, content = _outcome(choice["message"], word)
    is_final = status in ("answered", "truncated")
    return Reply(
        status,
        Action.KEEP if is_final else Action.RETRY,
        http_status,
        finish_reason=word or own,
        content=content,
        detail=_excerpt(body) if not is_final else None if own == word else f"finish_reason {own!r}",
        charged=True,
        **usage,
    )


def _only_choice(payload: Any) -> dict[str, Any] | None:
    """The one choice of a completion, with a message of the model's; None where there is no such thing."""
    choices = payload.get("choices") if isinstance(payload, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or payload.get("object") == "chat.completion.chunk":
        return None
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    return choice if isinstance(message, dict) and message.get("role") in (None, "", "assistant") else None


def _outcome(message: dict[str, Any], word: str | None) -> tuple[str, str | None]:
    """The ledger's status of a message that finished with ``word``, and its text."""
    content, is_readable = _text(message.get("content"))
    if word == "content_filter" or _is_refusal(message):
        # The text before the filter struck is no answer and is not kept as one.
        return "filtered", None
    if word == "error":
        return "error", None
    if word == "length":
        return "truncated", content
    if not is_readable:
        return "bad_body", None
    if content is None or not content.strip():
        return "empty", content
    if word != "stop" or message.get("tool_calls") or message.get("function_call"):
        return "bad_body", None
    return "answered", content


def _finish(choice: dict[str, Any]) -> tuple[str | None, str | None]:
    """The finish reason as it was named, and the protocol's word for it or None."""
    own = name_of(choice.get("finish_reason"))
    word = _FINISH.get(own.lower()) if own else None
    native = choice.get("native_finish_reason")
    if word == "stop" and isinstance(native, str):
        word = _FINISH.get(native.lower(), word)
    return own, word


def _is_refusal(message: dict[str, Any]) -> bool:
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(content, list) and any(isinstance(part, dict) and part.get("type") == "refusal" for part in content):
        return True
    return bool(refusal.strip() if isinstance(refusal, str) else refusal)


def _text(content: Any) -> tuple[str | None, bool]:
    """Content as text, and whether it could be read: a string, nothing, or a list of text parts and reasoning."""
    if content is None or isinstance(content, str):
        return content, True
    if not isinstance(content, list):
        return None, False
    texts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in _REASONING_PARTS:
            continue
        text = part.get("text") if kind == "text" else None
        if not isinstance(text, str):
            return None, False
        texts.append(text)
    return "".join(texts), True


def _failed(
    http_status: int,
    error: Any,
    payload: Any,
    body: bytes,
    retry_after: float | None,
    named_cost: str | None,
    charged: bool | None = None,
) -> Reply:
    """``charged``: None where that depends on what the model is known to have done."""
    judged = judge_error(http_status, error)
    usage = read_usage(payload if isinstance(payload, dict) else {}, named_cost)
    if charged is None:
        has_choices = isinstance(payload, dict) and bool(payload.get("choices"))
        charged = has_choices or usage["completion_tokens"] is not None
    usage["provider"] = usage["provider"] or judged.provider
    return Reply(
        judged.status,
        judged.action,
        judged.shown,
        detail=_excerpt(body),
        message=judged.message,
        retry_after=retry_after,
        # LiteLLM names a cost of 0 for a call that failed: known, and no sign of work done.
        charged=charged or bool(usage["cost"]),
        **usage,
    )


def _payload(body: bytes) -> Any:
    """The JSON behind leading blanks and comment lines; None where there is none. Non-integers are read as Decimal."""
    noise = _NOISE.match(body)
    try:
        return _decode(body[noise.end() if noise else 0 :].decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        if any(names.count(name) > 1 for name in _DECIDING):
            raise _Twice
    return members


def _events(body: bytes) -> dict[str, Any]:
    """The members of all events of a stream nobody asked for, later ones over earlier: for its error, usage and route.

    Its text is no answer: whether the stream is whole cannot be told from a body that should not be one.
    """
    if b"data:" not in body[:4096]:
        return {}
    members: dict[str, Any] = {}
    for line in body.splitlines()[:_MOST_EVENTS]:
        if line.startswith(b"data:"):
            event = _payload(line[5:])
            if isinstance(event, dict):
                error = find_error(event)
                members |= {name: value for name, value in event.items() if value is not None}
                if error is not None:
                    members["error"] = error
    return members


def _decimal(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


# One decoder for all: json.loads builds one for each call that has options.
_decode = json.JSONDecoder(parse_float=_decimal, object_pairs_hook=_object).decode


def _excerpt(body: bytes) -> str:
    # Four bytes per character at most, and the rest of a large page is not decoded.
    return body[: 4 * DETAIL_CHARACTERS].decode("utf-8", "replace")[:DETAIL_CHARACTERS]
