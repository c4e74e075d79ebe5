"""The stand-in gateway's web application: OpenRouter's chat-completions protocol, as far as a batch client sees it.

``POST /api/v1/chat/completions``, ``GET /api/v1/models`` and ``GET /counters``. It answers by the stand-in judge,
charges for tokens, keeps a prompt cache, limits the rate, runs out of credit and breaks in the ways gateways do, each
by its share and by a hash of the request, so that a run can be repeated. It counts what it was asked: ``asked_twice``
is the number of requests whose very body had been answered and whose answer had arrived (``gateway_memory`` says how it
knows). With a state file that count outlives the process.
"""

import asyncio
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tendril_assets.sandbox.gateway_memory import Memory
from tendril_assets.sandbox.stand_in_judge import reply_to

FAULTS = (
    "html_502",  # a proxy's error page
    "status_524",  # the CDN's timeout
    "keep_alive",  # blanks and comment lines before a good reply
    "blank_body",  # nothing but keep-alive blanks
    "truncated",  # finish reason length
    "filtered",  # finish reason content_filter
    "empty",  # no content, and charged
    "error_in_200",  # an error object behind status 200
    "cut",  # the connection ends in the middle of the body
)
# USD 1e-9 per token; the tokens of a prefix seen before cost a tenth.
PROMPT_NANO_USD = 100
COMPLETION_NANO_USD = 400
MODELS = ("z-ai/glm-5.3-flash", "deepseek/deepseek-v4-flash", "stand-in/judge")
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class StandInOptions:
    """How the gateway behaves.

    ``latency_s``: delay of each answer. ``rate_limit``: requests per second, 0 is no limit. ``faults``: share of
    requests by kind, see ``FAULTS``. ``credits``: answers until 402. ``api_key``: the only accepted key; None accepts
    any. ``models``: those served, empty is any; others get 404. ``wordy_share``: see ``stand_in_judge.reply_to``.
    ``state``: file in which answered requests are remembered beyond the process.
    """

    latency_s: float = 0.0
    rate_limit: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    seed: int = 42
    credits: int | None = None
    api_key: str | None = None
    models: tuple[str, ...] = ()
    wordy_share: float = 0.1
    state: Path | None = None

    def __post_init__(self) -> None:
        unknown = set(self.faults) - set(FAULTS)
        if unknown:
            raise ValueError(f"unknown faults {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
        if any(share < 0 for share in self.faults.values()) or sum(self.faults.values()) > 1:
            raise ValueError("the shares of all faults together must lie between 0 and 1")


class StandIn:
    """The gateway's state and its one ASGI endpoint."""

    def __init__(self, options: StandInOptions) -> None:
        self.options = options
        self.memory = Memory(options.state)
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.nano_usd = self.in_flight = self.most_in_flight = 0
        self._times_asked: Counter[bytes] = Counter()
        self._prefixes: set[bytes] = set()
        self._tokens, self._refilled = max(1.0, options.rate_limit), time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.counts["requests"] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._serve(Request(scope, receive), send)
        finally:
            self.in_flight -= 1

    def counters(self) -> dict[str, Any]:
        return {
            "requests": self.counts["requests"],
            "answered": len(self.memory.answered),
            "asked_twice": self.memory.asked_twice,
            "lost_on_the_way": self.memory.lost,
            "abandoned": self.counts["abandoned"],
            "rate_limited": self.counts["rate_limited"],
            "refused": self.counts["refused"],
            "faults": dict(self.faults),
            "kinds": dict(self.kinds),
            "cost_usd": self.nano_usd / 1e9,
            "most_in_flight": self.most_in_flight,
        }

    async def _serve(self, request: Request, send: Send) -> None:
        raw = await request.body()
        refusal = self._refusal(request, raw)
        if refusal is not None:
            await refusal(request.scope, request.receive, send)
            return
        key = self.memory.note_request(raw, request.client)
        body = json.loads(raw)
        if self.options.latency_s:
            await asyncio.sleep(self.options.latency_s)
            # A client that was killed meanwhile never got an answer: it may ask again.
            if await request.is_disconnected():
                self.counts["abandoned"] += 1
                return
        await self._reply(body, key, self._fault(key), request, send)

    def _refusal(self, request: Request, raw: bytes) -> Response | None:
        options = self.options
        if not self._within_rate():
            self.counts["rate_limited"] += 1
            wait = max(1, math.ceil((1 - self._tokens) / options.rate_limit))
            return _error(429, "Rate limit exceeded", {"Retry-After": str(wait)})
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        wrong = scheme.lower() != "bearer" or not key or (options.api_key is not None and key != options.api_key)
        model = None
        if not wrong:
            problem, model = _problem(raw)
            if problem is not None:
                self.counts["refused"] += 1
                return _error(400, problem)
        refused: Response | None = None
        if wrong:
            refused = _error(401, "No auth credentials found" if not key else "Invalid API key")
        elif options.models and model not in options.models:
            refused = _error(404, f"No endpoints found for {model}.")
        elif options.credits is not None and len(self.memory.answered) >= options.credits:
            refused = _error(402, "Insufficient credits. Add more credits and try again.")
        self.counts["refused"] += refused is not None
        return refused

    def _within_rate(self) -> bool:
        rate = self.options.rate_limit
        if not rate:
            return True
        now = time.monotonic()
        self._tokens = min(max(1.0, rate), self._tokens + (now - self._refilled) * rate)
        self._refilled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _fault(self, key: bytes) -> str | None:
        """By seed, body and how often it was asked, so that another attempt has another fate."""
        if not self.options.faults:
            return None
        self._times_asked[key] += 1
        text = f"{self.options.seed}:{self._times_asked[key]}".encode()
        digest = hashlib.blake2b(key + text, digest_size=6, person=b"fault").digest()
        draw = int.from_bytes(digest, "big") / 2**48
        for kind, share in self.options.faults.items():
            if draw < share:
                self.faults[kind] += 1
                return kind
            draw -= share
        return None

    async def _reply(self, body: dict[str, Any], key: bytes, fault: str | None, request: Request, send: Send) -> None:
        headers: dict[str, str] = {"Content-Type": "application/json"}
        status = 200
        if fault == "html_502":
            status, headers, data = 502, {"Content-Type": "text/html"}, b"<html><h1>502 Bad Gateway</h1></html>"
        elif fault == "status_524":
            status, headers, data = 524, {"Content-Type": "text/html"}, b"<html>timeout</html>"
        elif fault == "blank_body":
            data = b"\n\n   \n"
        elif fault == "error_in_200":
            data = b'{"error":{"code":502,"message":"Provider returned error"}}'
        else:
            data = self._completion(body, key, fault)
        if fault == "cut":
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(data))]}
            )
            await send({"type": "http.response.body", "body": data[: len(data) // 2], "more_body": True})
            return  # an application that ends here makes the server close the connection
        if fault in (None, "keep_alive", "truncated"):
            self.memory.note_answer(key, request.client)
        await Response(data, status, headers)(request.scope, request.receive, send)

    def _completion(self, body: dict[str, Any], key: bytes, fault: str | None) -> bytes:
        prompt = "\n".join(str(message.get("content", "")) for message in body["messages"])
        answer = reply_to(prompt, self.options.wordy_share)
        self.kinds[answer.kind] += 1
        text: str | None = answer.text
        reason = "stop"
        if fault == "truncated":
            text, reason = answer.text[: len(answer.text) // 2], "length"
        elif fault == "filtered":
            text, reason = None, "content_filter"
        elif fault == "empty":
            text = ""
        usage = self._usage(prompt, text or "")
        reply = {
            "id": f"gen-{key.hex()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "provider": "stand-in",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "native_finish_reason": reason,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                }
            ],
            "usage": usage,
        }
        data = json.dumps(reply, ensure_ascii=False).encode()
        return b": OPENROUTER PROCESSING\n\n\n" + data if fault == "keep_alive" else data

    def _usage(self, prompt: str, text: str) -> dict[str, Any]:
        prompt_tokens = _tokens(prompt)
        completion_tokens = _tokens(text)
        prefix = prompt[: prompt.rfind("<passage>")] if "<passage>" in prompt else ""
        mark = hashlib.blake2b(prefix.encode("utf-8", "replace"), digest_size=8).digest()
        cached = _tokens(prefix) if prefix and mark in self._prefixes else 0
        self._prefixes.add(mark)
        nano = (prompt_tokens - cached) * PROMPT_NANO_USD + cached * PROMPT_NANO_USD // 10
        nano += completion_tokens * COMPLETION_NANO_USD
        self.nano_usd += nano
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "cost": nano / 1e9,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }


def create_app(options: StandInOptions | None = None) -> Starlette:
    """The application; its ``StandIn`` is ``app.state.stand_in``."""
    stand_in = StandIn(options or StandInOptions())
    pricing = {
        "prompt": f"{PROMPT_NANO_USD / 1e9:.10f}",
        "completion": f"{COMPLETION_NANO_USD / 1e9:.10f}",
        "request": "0",
    }

    async def counters(_request: Request) -> JSONResponse:
        return JSONResponse(stand_in.counters())

    async def models(_request: Request) -> JSONResponse:
        return JSONResponse({"data": [{"id": m, "pricing": pricing} for m in stand_in.options.models or MODELS]})

    routes = [
        # The class instance is an ASGI application of its own: no wrapping per request.
        Route("/api/v1/chat/completions", stand_in, methods=["POST"]),
        Route("/api/v1/models", models),
        Route("/counters", counters),
    ]
    app = Starlette(routes=routes)
    app.state.stand_in = stand_in
    return app


def _problem(raw: bytes) -> tuple[str | None, str | None]:
    """What is wrong with a request body, and the model it names."""
    try:
        body = json.loads(raw)
    except ValueError:
        return "the body is no JSON", None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return "model is missing", None
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return "messages must be a list of messages", None
    return None, body["model"]


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"code": status, "message": message}}, status, headers)
