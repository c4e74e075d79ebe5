"""Request bodies of the chat-completions protocol, and the keys their answers are kept under.

A key is the SHA-256 of the body as canonical JSON. The body holds all that determines an answer (model, provider pin,
messages, sampling, reasoning) and nothing else; timeouts, concurrency and credentials are the client's business.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from tendril_assets.judging.prompts import Guideline, Message, render
from tendril_assets.spec import LLMSpec

# Two private-use characters stand for the texts while the canonical form is taken apart; no prompt may contain them.
_QUERY_MARK, _PASSAGE_MARK = "\ue000", "\ue001"


def canonical(body: dict[str, Any]) -> str:
    """JSON with sorted keys, no blanks and no ASCII escapes: one text per value."""
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def parameters(body: dict[str, Any]) -> str:
    """All of a body but its messages, in canonical form: equal for requests to one model with the same settings."""
    return canonical({name: value for name, value in body.items() if name != "messages"})


class RequestFactory:
    """Bodies and keys for one model. ``max_tokens`` is always sent: a router reserves the maximum without it.

    ``stack``: what serves the model, in words, where that is declared. It is part of every key, so that another stack is
    asked anew, and never sent: no gateway would know what to do with it.
    """

    def __init__(self, llm: LLMSpec, stack: str | None = None) -> None:
        self.llm = llm
        self._stack = b"" if stack is None else b"\nstack " + stack.encode()
        self._frame: dict[str, Any] = {
            "model": llm.model,
            "temperature": llm.temperature,
            "max_tokens": llm.max_tokens,
        }
        if llm.reasoning_effort is not None:
            self._frame["reasoning"] = {"effort": llm.reasoning_effort}
        route: dict[str, Any] = {}
        if llm.providers:
            # A fallback to a provider that was not named would change who answers: refused instead.
            route |= {"order": list(llm.providers), "allow_fallbacks": False}
        if llm.quantizations:
            route["quantizations"] = list(llm.quantizations)
        if llm.require_parameters:
            # Else a router may send a request to a provider that ignores, say, the reasoning effort.
            route["require_parameters"] = True
        if route:
            self._frame["provider"] = route

    @property
    def pinned(self) -> bool:
        """Whether the route is fixed to named providers, so that a later call meets the same inference stack."""
        return bool(self.llm.providers)

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The JSON body of a ``POST /chat/completions``."""
        return {**self._frame, "messages": list(messages)}

    def key(self, messages: Sequence[Message], repeat: str | None = None) -> str:
        """64 hex digits: SHA-256 of the canonical body, and of the stack and the label of a ``repeat`` behind it."""
        return hashlib.sha256(canonical(self.body(messages)).encode() + self._stack + _suffix(repeat)).hexdigest()

    def pair_keys(
        self,
        guideline: Guideline,
        queries: Sequence[str],
        passages: Sequence[str],
        pairs: Iterable[tuple[int, int]],
        repeat: str | None = None,
    ) -> list[str]:
        """``key(render(guideline, queries[q], passages[p]), repeat)`` for each (q, p), at about a microsecond each.

        The canonical body is hashed up to the query once, up to the passage once per query; JSON escapes character by
        character, so the escaped pieces joined are the escape of the whole. Pairs should come grouped by query.
        """
        start, middle, end = self._pieces(guideline)
        prefix = hashlib.sha256(start)
        tails = [_escaped(text) + end + self._stack + _suffix(repeat) for text in passages]
        keys: list[str] = []
        current, state = -1, prefix
        for q, p in pairs:
            if q != current:
                state = prefix.copy()
                state.update(_escaped(queries[q]) + middle)
                current = q
            digest = state.copy()
            digest.update(tails[p])
            keys.append(digest.hexdigest())
        return keys

    def _pieces(self, guideline: Guideline) -> tuple[bytes, bytes, bytes]:
        """The canonical body around the query and around the passage."""
        text = canonical(self.body(render(guideline, _QUERY_MARK, _PASSAGE_MARK)))
        start, rest = text.split(_QUERY_MARK)
        middle, end = rest.split(_PASSAGE_MARK)
        return start.encode(), middle.encode(), end.encode()


def _suffix(repeat: str | None) -> bytes:
    """A newline cannot occur in canonical JSON, so no body ends like this."""
    return b"" if repeat is None else b"\nrepeat " + repeat.encode()


def _escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()
