"""The stand-in gateway as a process of its own: ``python -m tendril_assets.sandbox.gateway``.

``StandInGateway`` starts it as a child that dies with its parent, and waits until it answers.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from tendril_assets.children import die_with_parent
from tendril_assets.errors import GatewayError
from tendril_assets.files import write_atomically
from tendril_assets.sandbox.gateway_app import StandInOptions, create_app

__all__ = ["StandInGateway", "StandInOptions", "create_app", "serve"]

HOST = "127.0.0.1"
# What the sandbox sends as its key: any will do, and this one is no secret.
API_KEY = "stand-in"


class StandInGateway:
    """A running stand-in gateway; use it as a context manager.

    ``port`` 0 takes a free one. ``options`` are the fields of ``StandInOptions``. On Linux the child ends when the
    thread that started it ends: enter it in a thread that lives as long as it is needed.

    Raises GatewayError where the child does not answer in ``start_s`` seconds, with the last lines it wrote.
    """

    def __init__(self, port: int = 0, *, state: Path | None = None, start_s: float = 30.0, **options: Any) -> None:
        self.options = StandInOptions(state=state, **options)
        self._requested_port = port
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None
        self.port: int | None = None

    @property
    def base_url(self) -> str:
        """What a client is given. Raises GatewayError while the gateway is not running."""
        return f"{self._root()}/api/v1"

    @property
    def pid(self) -> int:
        """The process that serves. Raises GatewayError while the gateway is not running."""
        if self._process is None:
            raise GatewayError("the stand-in gateway is not running: use it as a context manager")
        return self._process.pid

    @property
    def api_key(self) -> str:
        return self.options.api_key or API_KEY

    def counters(self) -> dict[str, Any]:
        """``GET /counters``."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self._root()}/counters", timeout=10) as response:
            return json.load(response)

    def start(self) -> "StandInGateway":
        with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
            ready, log = Path(folder) / "ready.json", Path(folder) / "log"
            with log.open("wb") as stream:
                # A session of its own: Ctrl-C in a terminal reaches who started it alone, which asks it to the end.
                self._process = subprocess.Popen(
                    self._command(ready),
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    start_new_session=True,
                )
            try:
                self.port = self._await_port(ready, log)
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        process, self._process, self.port = self._process, None, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> "StandInGateway":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _root(self) -> str:
        if self.port is None:
            raise GatewayError("the stand-in gateway is not running: use it as a context manager")
        return f"http://{HOST}:{self.port}"

    def _command(self, ready: Path) -> list[str]:
        options = self.options
        command = [sys.executable, "-m", "tendril_assets.sandbox.gateway"]
        command += ["--port", str(self._requested_port), "--ready-file", str(ready), "--parent", str(os.getpid())]
        command += [
            "--latency",
            str(options.latency_s),
            "--rate-limit",
            str(options.rate_limit),
            "--seed",
            str(options.seed),
        ]
        command += ["--wordy-share", str(options.wordy_share)]
        for kind, share in options.faults.items():
            command += ["--fault", f"{kind}={share}"]
        for model in options.models:
            command += ["--model", model]
        if options.credits is not None:
            command += ["--credits", str(options.credits)]
        if options.api_key is not None:
            command += ["--api-key", options.api_key]
        if options.state is not None:
            command += ["--state", str(options.state)]
        return command

    def _await_port(self, ready: Path, log: Path) -> int:
        deadline = time.monotonic() + self._start_s
        while time.monotonic() < deadline:
            if ready.exists():
                return int(json.loads(ready.read_text())["port"])
            code = self._process.poll() if self._process is not None else None
            if code is not None:
                raise GatewayError(f"the stand-in gateway ended with code {code} before it answered: {_tail(log)}")
            time.sleep(0.02)
        raise GatewayError(f"the stand-in gateway did not answer within {self._start_s:g} s: {_tail(log)}")


def serve(options: StandInOptions | None = None, port: int = 0, ready_file: Path | None = None) -> None:
    """Serve on 127.0.0.1 until SIGTERM or SIGINT. ``ready_file`` is written, as JSON, once connections are accepted.

    Raises GatewayError where the port is taken.
    """
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Connection(AutoHTTPProtocol):  # ty: ignore[unsupported-base] - which class it is depends on what is installed
        """Leaves the transport in the state of each request's scope: only by it can a connection be reset."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.app_state = {**self.app_state, "transport": transport}

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        raise GatewayError(
            f"port {port} cannot be used: {error.strerror}. Name another, or 0 for a free one."
        ) from error
    config = uvicorn.Config(
        create_app(options),
        http=Connection,
        ws="none",
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
        backlog=2048,
    )
    server = uvicorn.Server(config)
    if ready_file is not None:
        threading.Thread(target=_announce, args=(server, listener, ready_file), daemon=True).start()
    server.run(sockets=[listener])


def _announce(server: Any, listener: socket.socket, ready_file: Path) -> None:
    while not server.started:
        time.sleep(0.01)
    write_atomically(ready_file, json.dumps({"port": listener.getsockname()[1], "pid": os.getpid()}).encode())


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError):
        return log.read_text(errors="replace").strip()[-2000:] or "it wrote nothing"
    return "it wrote nothing"


def _share(text: str) -> tuple[str, float]:
    kind, _, share = text.partition("=")
    return kind, float(share)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tendril_assets.sandbox.gateway", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ready-file", type=Path, help="written as JSON with the port once connections are accepted")
    parser.add_argument("--parent", type=int, help="end when this process ends")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--rate-limit", type=float, default=0.0, help="requests per second, 0 is no limit")
    parser.add_argument("--fault", type=_share, action="append", default=[], metavar="KIND=SHARE")
    parser.add_argument("--seed", type=int, default=42, help="of the faults")
    parser.add_argument("--credits", type=int, help="answers until 402")
    parser.add_argument("--api-key", help="the only key accepted; any by default")
    parser.add_argument("--model", action="append", default=[], help="a model served; any by default")
    parser.add_argument("--wordy-share", type=float, default=0.1, help="share of summaries that come too long at first")
    parser.add_argument("--state", type=Path, help="file that remembers answered requests beyond the process")
    given = parser.parse_args(arguments)
    if given.parent is not None:
        die_with_parent(given.parent)
    try:
        options = StandInOptions(
            latency_s=given.latency,
            rate_limit=given.rate_limit,
            faults=dict(given.fault),
            seed=given.seed,
            credits=given.credits,
            api_key=given.api_key,
            models=tuple(given.model),
            wordy_share=given.wordy_share,
            state=given.state,
        )
        serve(options, given.port, given.ready_file)
    except (GatewayError, ValueError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
