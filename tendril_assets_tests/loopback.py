"""What the HTTP servers of the tests share: they listen on 127.0.0.1, say nothing, and bear clients that give up."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Quiet."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True  # a client that gave up


@dataclass(frozen=True)
class Scripted:
    """An answer. ``cut``: declare the whole length, send half of it and hang up. ``delay_s``: wait before answering.

    ``drip_s``: pause after each 20th part of the body.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    drip_s: float = 0.0


class ScriptedHandler(QuietHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    disable_nagle_algorithm = True

    def give(self, answer: Scripted) -> None:
        time.sleep(answer.delay_s)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        body = answer.body[: len(answer.body) // 2] if answer.cut else answer.body
        step = max(1, len(body) // 20 if answer.drip_s else len(body))
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            self.wfile.flush()
            time.sleep(answer.drip_s)
        self.wfile.flush()
        self.close_connection |= answer.cut


class LoopbackServer(ThreadingHTTPServer):
    """Takes all connections of a test at once: of more than five the kernel drops some, which come a second later."""

    request_queue_size = 128
    daemon_threads = True


def loopback_server(handler: type[QuietHandler]) -> tuple[ThreadingHTTPServer, threading.Thread]:
    """A server on a free port, and the thread that will serve it; not started."""
    server = LoopbackServer(("127.0.0.1", 0), handler)
    return server, threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
