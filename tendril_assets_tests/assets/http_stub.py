"""A small real HTTP server that answers chat completions by rule, for asset tests. Counts what it was asked."""

import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# (query, passage), ("", area text) or ("", passage to be asked about) -> (HTTP status, answer text, finish reason)
Rule = Callable[[str, str], tuple[int, str, str]]


@dataclass
class Stub:
    """``asked`` counts request bodies; ``base_url`` goes to the gateway resource.

    ``again`` answers what carries the label of a repeat, where it is set; ``repeats`` counts those labels. A model named in
    ``by_model`` answers by its own rule: it is found per request, because requests of several models are served at once.
    """

    base_url: str
    rule: Rule
    cost: float | None = 0.0001
    delay_s: float = 0.0
    again: Rule | None = None
    by_model: dict[str, Rule] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    repeats: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def calls(self) -> int:
        return sum(self.asked.values())

    def reply(self, body: dict[str, Any], repeat: str | None = None) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.asked[json.dumps([body, repeat], sort_keys=True)] += 1
            if repeat is not None:
                self.repeats[repeat] += 1
        time.sleep(self.delay_s)
        first = self.by_model.get(body["model"], self.rule)
        rule = first if repeat is None or self.again is None else self.again
        user = body["messages"][-1]["content"]
        pair = re.search(r"<query>(.*)</query>\s*<passage>(.*)</passage>\Z", user, re.DOTALL)
        area = re.search(r"<area>(.*)</area>(.*)", user, re.DOTALL)
        alone = re.fullmatch(r"<passage>(.*)</passage>\s*", user, re.DOTALL)
        assert pair or area or alone, f"the prompt holds neither a pair nor an area nor a passage: {user!r}"
        given = pair.groups() if pair else ("", alone[1] if alone else user[area.start() :])
        status, text, reason = rule(*given)
        if status != 200:
            return status, {"error": {"code": status, "message": text}}
        usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 1}
        if self.cost is not None:
            usage["cost"] = self.cost
        choice = {"finish_reason": reason, "message": {"role": "assistant", "content": text}}
        return 200, {"model": body["model"], "provider": "stub", "choices": [choice], "usage": usage}


@contextlib.contextmanager
def serving(rule: Rule, cost: float | None = 0.0001, delay_s: float = 0.0) -> Iterator[Stub]:
    """A stub on a free loopback port, stopped at the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, payload = stub.reply(body, self.headers.get("X-Repeat"))
            self._send(status, payload)

        def do_GET(self) -> None:
            pricing = {"prompt": "0.0000001", "completion": "0.0000001", "request": "0"}
            models = [{"id": model, "pricing": pricing} for model in ("toy/judge", "toy/writer")]
            self._send(200, {"data": models})

        def _send(self, status: int, payload: dict[str, Any]) -> None:
            data = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """The test's output stays readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub = Stub(f"http://127.0.0.1:{server.server_address[1]}/api/v1", rule, cost, delay_s)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
