"""A gateway on 127.0.0.1 that misbehaves as told, byte by byte, and keeps books of its own.

Every call is booked when its request has been read, before anything is sent back, so that the books are the gateway's
side of the story: what was asked, how often, what each reply named as its cost, whether the model had worked for it.
"""

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

NEVER = 3600.0
_REASON = {200: "OK", 204: "No Content", 206: "Partial Content", 307: "Temporary Redirect", 429: "Too Many Requests"}
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Act:
    """What the gateway does about one call.

    ``length``: the Content-Length it declares, None the true one, -1 none at all (the end of the connection ends the
    body). ``chunked``: the body goes in chunks. ``ending``: "keep" the connection, "close" it or "reset" it behind the
    body. ``sent``: bytes of the body that go out. ``delay_s`` before the head, ``drip_s`` after each 20th of the body.
    ``after``: bytes behind the reply, ``late``: bytes 0.05 s after it.

    For the books: ``named`` is the cost the reply names, ``works`` whether the model had worked for it, ``label`` the
    grade it holds and ``what`` the status its request should have if this is its last reply.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    chunked: bool = False
    ending: str = "keep"
    sent: int | None = None
    delay_s: float = 0.0
    drip_s: float = 0.0
    after: bytes = b""
    late: bytes = b""
    named: Decimal | None = None
    works: bool = True
    label: int | None = None
    what: str = "answered"

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {_REASON.get(self.status, 'Some Status')}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif self.length != -1:
            lines.append(f"Content-Length: {len(self.body) if self.length is None else self.length}")
        if self.ending != "keep":
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def parts(self) -> list[bytes]:
        body = self.body if self.sent is None else self.body[: self.sent]
        step = max(1, -(-len(body) // 20)) if self.drip_s or self.chunked else max(1, len(body))
        parts = [body[at : at + step] for at in range(0, len(body), step)]
        if self.chunked:
            parts = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
            parts += [b"0\r\n\r\n"] if self.sent is None else []
        return parts

    @property
    def whole(self) -> bytes:
        """Head and body in one, for a reply behind a reply."""
        return self.head() + b"".join(self.parts())


def completion(content: object = "1", reason: object = "stop", cost: object = "0.0001", **fields: object) -> bytes:
    """A completion's bytes. ``cost`` goes in as it is written, None leaves it out; ``message`` and ``choice`` add to
    those two objects."""
    message = {"role": "assistant", "content": content, **fields.pop("message", {})}
    choice = {"index": 0, "finish_reason": reason, "message": message, **fields.pop("choice", {})}
    usage = {"prompt_tokens": 10, "completion_tokens": 1} | ({} if cost is None else {"cost": "COST"})
    text = json.dumps({"id": "gen-1", "choices": [choice], "usage": usage, **fields})
    return text.replace('"COST"', str(cost)).encode()


def good(label: int = 1, cost: str = "0.0001", **options: Any) -> Act:
    """A final answer that names its cost."""
    return Act(**{"body": completion(str(label), cost=cost), "named": Decimal(cost), "label": label, **options})


def bad(what: str, body: bytes, cost: str | None = "0.0001", **options: Any) -> Act:
    """A reply that is no final answer and still names its cost (``cost`` None: it does not)."""
    return Act(body=body, what=what, named=None if cost is None else Decimal(cost), **options)


def error(status: int, body: object = b"", **options: Any) -> Act:
    """An error status, for which nothing is charged."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Act(status, data, what="error", works=False, **options)


@dataclass(frozen=True)
class Booked:
    """One call in the books. ``attempt``: of its key, from 1."""

    key: str
    attempt: int
    act: Act
    headers: Mapping[str, str]


class HostileGateway:
    """Answers by ``script(key, attempt)``; a key is the text of a request's last message, or the path where it has none.

    ``late_sent`` is set once bytes that come late have gone out.
    """

    def __init__(self, script: Callable[[str, int], Act]) -> None:
        self.books: list[Booked] = []
        self.by_key: dict[str, list[Booked]] = defaultdict(list)
        self.most_open = 0
        self.late_sent = threading.Event()
        self._script = script
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = 0

    def __enter__(self) -> "HostileGateway":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512), self._loop
        ).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    @property
    def named(self) -> Decimal:
        return sum((call.act.named for call in self.books if call.act.named is not None), Decimal(0))

    @property
    def unnamed(self) -> int:
        """Calls for which the model worked and no cost was named."""
        return sum(call.act.works and call.act.named is None for call in self.books)

    def kinds(self) -> Counter[str]:
        return Counter(call.act.what for call in self.books)

    async def _shut(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        try:
            # A client that gives up is no trouble of the gateway's.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head.split("\r\n")[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        act = self._book(json.loads(body)["messages"][-1]["content"] if body else head.split(" ")[1], headers)
        await asyncio.sleep(act.delay_s)
        if act.drip_s:
            writer.write(act.head())
            for part in act.parts():
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(act.drip_s)
        else:
            # In one piece: what comes behind a reply is there when the client has read it.
            writer.write(act.whole + act.after)
        await writer.drain()
        if act.late:
            await asyncio.sleep(0.05)
            writer.write(act.late)
            await writer.drain()
            self.late_sent.set()
        if act.ending == "reset":
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            writer.transport.abort()
        return act.ending == "keep"

    def _book(self, key: str, headers: Mapping[str, str]) -> Act:
        attempt = len(self.by_key[key]) + 1
        call = Booked(key, attempt, self._script(key, attempt), headers)
        self.books.append(call)
        self.by_key[key].append(call)
        return call.act
