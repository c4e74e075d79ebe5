"""A scripted gateway on 127.0.0.1 for replies that a well-behaved one would not give."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tendril_assets_tests.loopback import Scripted, ScriptedHandler, loopback_server


def reply(content: object = "1", *, reason: object = "stop", cost: object = 0.0001, **fields: object) -> Scripted:
    """A completion; ``cost`` "absent" leaves the field out."""
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    if cost != "absent":
        usage["cost"] = cost
    choices = [{"finish_reason": reason, "message": {"content": content}}]
    return Scripted(body=json.dumps({"choices": choices, "usage": usage, **fields}).encode())


@dataclass
class Call:
    number: int  # from 1, over all calls
    attempt: int  # from 1, over calls with this body
    body: dict[str, Any]
    headers: dict[str, str]
    at: float


class StubGateway:
    """Answers every POST by ``script(call)``; ``calls`` holds what came in."""

    def __init__(self, script: Callable[[Call], Scripted]) -> None:
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._script = script
        self._lock = threading.Lock()
        self._attempts: dict[bytes, int] = {}
        self._now = 0
        stub = self

        class Handler(ScriptedHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                answer = stub._take(raw, dict(self.headers))
                time.sleep(answer.delay_s)
                # Before the answer goes out: whoever has read it may ask again at once, and is not counted twice.
                with stub._lock:
                    stub._now -= 1
                self.give(replace(answer, delay_s=0.0))

        self._server, self._thread = loopback_server(Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/api/v1"

    @property
    def in_flight(self) -> int:
        """Calls not yet answered, the one that is being scripted among them."""
        return self._now

    def keys(self) -> list[str]:
        """The last message of each call, in order: what the tests tell requests by."""
        return [call.body["messages"][-1]["content"] for call in self.calls]

    def _take(self, raw: bytes, headers: dict[str, str]) -> Scripted:
        with self._lock:
            self._attempts[raw] = self._attempts.get(raw, 0) + 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            call = Call(len(self.calls) + 1, self._attempts[raw], json.loads(raw), headers, time.monotonic())
            self.calls.append(call)
            return self._script(call)

    def __enter__(self) -> "StubGateway":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
