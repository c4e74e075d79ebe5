"""The stand-in gateway's web application: OpenRouter's chat-completions protocol, as far as a batch client sees it.

``POST /api/v1/chat/completions``, ``GET /api/v1/models`` and ``GET /counters``. It answers by the stand-in judge,
charges for tokens, keeps a prompt cache, limits the rate, runs out of credit and breaks in the ways gateways do, each
by its share and by a hash of the request, so that a run can be repeated. It counts what it was asked: ``asked_twice``
is the number of requests that had been answered and whose answer had arrived (``gateway_memory`` says how it knows).
With a state file that count outlives the process.

It is a plain ASGI application: a batch client on the same machine shares the processor with it.
"""

import asyncio
import json
import math
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tendril_assets.sandbox.gateway_faults import ANSWERS, FAULTS, KEEP_ALIVE, WITHOUT_ANSWER, Draw, Outgoing, choice
from tendril_assets.sandbox.gateway_memory import Asked, Memory
from tendril_assets.sandbox.gateway_money import PRICES, Till, effort_of, pricing
from tendril_assets.sandbox.stand_in_judge import reply_to

__all__ = ["FAULTS", "StandIn", "StandInOptions", "create_app"]

# Listed where no others are named: what the specifications ask for, and what the sandbox's profile puts in its place.
MODELS = (
    "z-ai/glm-5.3-flash",
    "deepseek/deepseek-v4-flash",
    "stand-in/judge",
    "sandbox/writer",
    "sandbox/judge",
    "sandbox/asker-a",
    "sandbox/asker-b",
    *PRICES,
)
_CHAT, _MODELS, _COUNTERS = "/api/v1/chat/completions", "/api/v1/models", "/counters"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class StandInOptions:
    """How the gateway behaves.

    ``latency_s``: delay of each answer. ``rate_limit``: requests per second, 0 is no limit. ``faults``: share of
    requests by kind, see ``gateway_faults``. ``credits``: answers until 402. ``api_key``: the only accepted key; None
    accepts any. ``models``: those served, empty is any; others get 404. ``wordy_share``: see
    ``stand_in_judge.reply_to``. ``state``: file in which answered requests are remembered beyond the process.
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
        Draw(self.faults, self.seed)


class StandIn:
    """The gateway's state and its ASGI application."""

    def __init__(self, options: StandInOptions) -> None:
        self.options = options
        self.memory, self.till = Memory(options.state), Till()
        self.draw = Draw(options.faults, options.seed)
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self._tokens, self._refilled = max(1.0, options.rate_limit), time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path == _CHAT and method == "POST":
            self.counts["requests"] += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                await self._chat(scope, receive, send)
            finally:
                self.in_flight -= 1
        elif path == _MODELS and method == "GET":
            data = [{"id": model, "pricing": pricing(model)} for model in self.options.models or MODELS]
            await _send(send, Outgoing(200, json.dumps({"data": data}).encode()))
        elif path == _COUNTERS and method == "GET":
            await _send(send, Outgoing(200, json.dumps(self.counters()).encode()))
        else:
            status = 405 if path in (_CHAT, _MODELS, _COUNTERS) else 404
            await _send(send, _error(status, f"there is no {method} {path}"))

    def counters(self) -> dict[str, Any]:
        """What happened so far. Of the requests that are no longer in flight each is counted once: in ``good`` (a reply
        without a fault), ``faults``, ``refused``, ``rate_limited`` or ``abandoned``. ``untold_nano_usd`` is the part of
        ``nano_usd`` that no whole reply named: of connections that were cut or reset. ``cpu_s`` is the process's own."""
        return {
            "requests": self.counts["requests"],
            "answered": self.memory.answered,
            "asked_twice": self.memory.asked_twice,
            "lost_on_the_way": self.memory.lost,
            "abandoned": self.counts["abandoned"],
            "rate_limited": self.counts["rate_limited"],
            "refused": self.counts["refused"],
            "good": self.counts["good"],
            "faults": dict(self.draw.drawn),
            "kinds": dict(self.kinds),
            "cost_usd": self.till.nano / 1e9,
            "nano_usd": self.till.nano,
            "untold_nano_usd": self.till.untold,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "cpu_s": time.process_time(),
        }

    async def _chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = await _body(receive)
        headers = dict(scope["headers"])
        body = self._admitted(headers.get(b"authorization", b"").decode("latin-1"), raw)
        if isinstance(body, Outgoing):
            await _send(send, body)
            return
        repeat = headers.get(b"x-repeat", b"")
        connection = scope["client"]
        asked = self.memory.note_request(raw, repeat, connection)
        prompt = "\n".join(str(message.get("content", "")) for message in body["messages"])
        cached = self.till.cached(body["model"], prompt)
        # A client that was killed meanwhile never got an answer: it may ask again.
        if self.options.latency_s and await _leaves_within(self.options.latency_s, receive):
            self.counts["abandoned"] += 1
            return
        fault = self.draw.fault(asked)
        if fault is not None and fault in WITHOUT_ANSWER:
            await _send(send, WITHOUT_ANSWER[fault])
            return
        data, nano = self._completion(body, prompt, cached, asked, fault, repeat.decode("latin-1") or None)
        if fault in ("cut", "reset"):
            self.till.untold += nano
            await (_cut(send, data) if fault == "cut" else _reset(scope, receive))
            return
        self.counts["good"] += fault is None
        if fault in ANSWERS:
            self.memory.note_answer(asked.key, connection)
        await _send(send, Outgoing(200, data))

    def _admitted(self, authorization: str, raw: bytes) -> dict[str, Any] | Outgoing:
        """The body of a request that is let in, or how it is turned away."""
        if not self._within_rate():
            self.counts["rate_limited"] += 1
            wait = max(1, math.ceil((1 - self._tokens) / self.options.rate_limit))
            return _error(429, "Rate limit exceeded", ((b"retry-after", b"%d" % wait),))
        options = self.options
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key:
            refused = _error(401, "No auth credentials found")
        elif options.api_key is not None and key != options.api_key:
            refused = _error(401, "Invalid API key")
        else:
            body = _read(raw)
            if isinstance(body, str):
                refused = _error(400, body)
            elif options.models and body["model"] not in options.models:
                refused = _error(404, f"No endpoints found for {body['model']}.")
            elif options.credits is not None and self.memory.answered >= options.credits:
                refused = _error(402, "Insufficient credits. Add more credits and try again.")
            else:
                return body
        self.counts["refused"] += 1
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

    def _completion(
        self, body: dict[str, Any], prompt: str, cached: int, asked: Asked, fault: str | None, repeat: str | None
    ) -> tuple[bytes, int]:
        """A reply's bytes, and what is charged for it in nano-USD."""
        answer = reply_to(prompt, self.options.wordy_share, model=body["model"], effort=effort_of(body), repeat=repeat)
        self.kinds[answer.kind] += 1
        made, paid = choice(answer.text, fault)
        charge = self.till.charge(body, prompt, paid, cached)
        reply = {
            "id": f"gen-{asked.key.hex()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "provider": "stand-in",
            "choices": [made],
            "usage": charge.usage,
        }
        data = _encode(reply).encode()
        return (KEEP_ALIVE + data if fault == "keep_alive" else data), charge.nano


def create_app(options: StandInOptions | None = None) -> StandIn:
    """The ASGI application."""
    return StandIn(options or StandInOptions())


def _read(raw: bytes) -> dict[str, Any] | str:
    """A request body, or what is wrong with it."""
    try:
        body = json.loads(raw)
    except ValueError:
        return "the body is no JSON"
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return "model is missing"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return "messages must be a list of messages"
    return body


async def _body(receive: Receive) -> bytes:
    message = await receive()
    raw = message.get("body", b"")
    while message.get("more_body", False):
        message = await receive()
        raw += message.get("body", b"")
    return raw


async def _leaves_within(seconds: float, receive: Receive) -> bool:
    """Whether the client closes its connection before ``seconds`` are over; the request's body must be read."""
    leaving = asyncio.ensure_future(receive())
    done, _ = await asyncio.wait({leaving}, timeout=seconds)
    leaving.cancel()
    return bool(done)


async def _send(send: Send, reply: Outgoing) -> None:
    headers = [
        (b"content-type", reply.content_type),
        (b"content-length", b"%d" % len(reply.data)),
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.data})


async def _cut(send: Send, data: bytes) -> None:
    """Half a body; an application that ends here makes the server close the connection."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(data))]})
    await send({"type": "http.response.body", "body": data[: len(data) // 2], "more_body": True})


async def _reset(scope: Scope, receive: Receive) -> None:
    """Reset the connection; ``gateway`` leaves its transport in the scope. Returns when the server knows of it."""
    transport: asyncio.Transport = scope["state"]["transport"]
    # Closing without lingering sends a reset in place of an orderly end.
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass


def _error(status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Outgoing:
    return Outgoing(status, _encode({"error": {"code": status, "message": message}}).encode(), headers=headers)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
