"""What the HTTP servers of the tests share: they listen on 127.0.0.1, say nothing, and bear clients that give up."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Quiet."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True  # a client that gave up


def loopback_server(handler: type[QuietHandler]) -> tuple[ThreadingHTTPServer, threading.Thread]:
    """A server on a free port, and the thread that will serve it; not started."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    return server, threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
