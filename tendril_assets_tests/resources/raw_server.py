"""A TCP server on 127.0.0.1 for what happens below HTTP: connections that close, break, hang or talk nonsense."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable

from tendril_assets_tests.resources.http_stub import reply


def answer(content: str = "1") -> bytes:
    """A whole completion as bytes on the wire; the connection stays open."""
    body = reply(content).body
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def read_request(connection: socket.socket) -> bytes:
    """One request with its body; empty once the client has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields[b"content-length"]):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reset(connection: socket.socket) -> None:
    """Close with a reset instead of in order."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class RawServer:
    """Gives each connection to ``serve(connection, number)``, numbered from 1, and closes it after that."""

    def __init__(self, serve: Callable[[socket.socket, int], None], tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self._serve, self._tls = serve, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def base_url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}/api/v1"

    def stop_listening(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # stopped
            self.connections += 1
            threading.Thread(target=self._run, args=(connection, self.connections), daemon=True).start()

    def _run(self, connection: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._serve(connection, number)
        except OSError:
            connection.close()  # a client that gave up, or would not go on

    def __enter__(self) -> "RawServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._listener.fileno() >= 0:
            self.stop_listening()
