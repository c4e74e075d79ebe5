"""Connections that are used again only while nothing has come in on them.

A proxy that has given up on a request may answer it late, behind its first answer: a second reply on a connection that is
idle by then. HTTP/1.1 knows replies by their order alone, so whatever is sent on that connection next would be answered
by it: a verdict about another passage. aiohttp closes a connection that has bytes left over when its reply has been read;
here the same is done for bytes that came later, whether the event loop has seen them yet or not.
"""

import select
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from asyncio import BaseTransport

    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


class QuietConnector(aiohttp.TCPConnector):
    """A TCP connector that closes an idle connection on which something has come in."""

    async def _get(self, key: "ConnectionKey", traces: list["Trace"]) -> "Connection | None":
        # aiohttp looks only whether it is still connected. Those closed here it passes over.
        for protocol, _ in self._conns.get(key, ()):
            if not (protocol.should_close or _has_input(protocol.transport)):
                break
            protocol.close()
        return await super()._get(key, traces)


def _has_input(transport: "BaseTransport | None") -> bool:
    """Whether bytes, or the end of the connection, wait to be read."""
    sock = None if transport is None else transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(0))
