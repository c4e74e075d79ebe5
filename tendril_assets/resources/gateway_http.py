"""The gateway's HTTP side: one POST, and what came of it as a ``Reply``. Nothing here raises for what a network does.

aiohttp carries the requests: of the clients measured it costs least CPU per call (0.2 ms with one session for all
workers, httpx with a client for each 0.85 ms), and its pool does not slow down with the number of connections. It is
imported only when something is asked. The certificates are httpx's, so that all parts of this package trust the same.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from yarl import URL

from tendril_assets.errors import SettingsError
from tendril_assets.resources.gateway_connections import QuietConnector
from tendril_assets.resources.gateway_run import Endpoint
from tendril_assets.resources.replies import Action, Reply, read_reply
from tendril_assets.resources.retry import body_wait_seconds, is_congestion, wait_seconds

MAX_BODY_BYTES = 16 * 2**20
_ENDLESS = "the body has no end"
_CONNECT_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 60.0
# A server that closes a connection it had kept alive does so before it has worked on the request that crosses with it.
_STALE_SECONDS = 2.0

_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
# The more special classes first.
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientConnectorDNSError, "the host name cannot be resolved"),
    (aiohttp.ClientConnectorCertificateError, "the certificate cannot be verified"),
    (aiohttp.ClientConnectorSSLError, "the TLS handshake failed"),
    (aiohttp.ClientProxyConnectionError, "the proxy cannot be reached"),
    (aiohttp.ClientHttpProxyError, "the proxy refused the connection"),
    (aiohttp.ConnectionTimeoutError, "no connection in time"),
    (aiohttp.ClientConnectorError, "the connection was refused"),
    (TimeoutError, "no whole reply in time"),
    (aiohttp.ClientPayloadError, "the reply was cut short"),
    (aiohttp.ClientResponseError, "the reply is no HTTP"),
    (aiohttp.ClientConnectionError, "the connection was lost before a reply"),
)


class Outcome(NamedTuple):
    """``stale``: the server had closed a connection it kept alive, so the request was most likely never read.
    ``hopeless``: no connection, and trying again will not change that."""

    reply: Reply
    stale: bool = False
    hopeless: bool = False


class _Way:
    """What became of one request on its way out."""

    __slots__ = ("reused", "sent", "started")

    def __init__(self) -> None:
        self.reused = self.sent = self.started = False


class GatewayHttp:
    """A session with one gateway; use it as an async context manager. ``timeout_s`` bounds a POST as a whole.

    Raises SettingsError for a proxy in the environment that is no HTTP proxy.
    """

    def __init__(self, endpoint: Endpoint, timeout_s: float, retry_after_cap: float) -> None:
        self._cap = retry_after_cap
        # Parsed once: parsing it for each request takes longer than sending one.
        self._url = URL(endpoint.url("chat/completions"))
        self._proxy = None if endpoint.is_local else _proxy(endpoint.base_url)
        self._tls = httpx.create_ssl_context() if endpoint.base_url.startswith("https") else True
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(_CONNECT_SECONDS, timeout_s))
        self._headers = {
            "Authorization": f"Bearer {endpoint.api_key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "tendril-assets",
        }
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "GatewayHttp":
        # The number of connections is bounded by who calls; a bound here would only make them wait twice.
        connector = QuietConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=self._tls)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy,
            trace_configs=[_tracing()],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, payload: bytes, repeat: str | None = None) -> Outcome:
        """Send one body. A reply that ends too early, too late or never is an ``error`` with the reason as detail."""
        assert self._session is not None
        way, began = _Way(), time.monotonic()
        headers = None if repeat is None else {"X-Repeat": repeat}
        try:
            async with self._session.post(
                self._url, data=payload, headers=headers, allow_redirects=False, trace_request_ctx=way
            ) as response:
                way.started = True
                body = await _body(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _no_reply(error, way, time.monotonic() - began)
        wait = None
        if response.status != 200 or "Retry-After" in response.headers:
            wait = wait_seconds(response.headers, datetime.now(UTC), self._cap)
        if body is None and response.status == 200:
            reply = Reply("bad_body", Action.RETRY, 200, detail=_ENDLESS, retry_after=wait, charged=True)
            return Outcome(reply)
        # What another status means does not hang on its body.
        found = b"" if body is None else body
        reply = read_reply(response.status, found, wait, response.headers.get("x-litellm-response-cost"))
        if body is None:
            reply = replace(reply, detail=_ENDLESS)
        if reply.retry_after is None and is_congestion(reply):
            reply = replace(reply, retry_after=body_wait_seconds(found, datetime.now(UTC), self._cap))
        return Outcome(reply)


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """The whole body; None where it is longer than any reply could be."""
    parts, size = [], 0
    while part := await response.content.readany():
        size += len(part)
        if size > MAX_BODY_BYTES:
            response.close()
            return None
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _no_reply(error: BaseException, way: _Way, seconds: float) -> Outcome:
    # The reason in our words: a message of the library could quote the request.
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), type(error).__name__)
    sent = way.sent and not isinstance(error, _NEVER_SENT)
    stale = way.reused and not way.started and seconds < _STALE_SECONDS and _is_closed(error)
    reply = Reply("error", Action.RETRY, detail=reason, charged=sent)
    return Outcome(reply, stale, isinstance(error, aiohttp.ClientConnectorCertificateError))


def _is_closed(error: BaseException) -> bool:
    """The connection ended without a byte of a reply, neither refused nor timed out."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return isinstance(error.message, str)  # else the beginning of a reply
    closed = isinstance(error, aiohttp.ClientConnectionError) and not isinstance(error, TimeoutError)
    return closed and not isinstance(error, _NEVER_SENT)


def _tracing() -> aiohttp.TraceConfig:
    """Notes in a request's ``_Way`` whether its connection had served before, and whether anything was sent."""

    async def reused(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        context.trace_request_ctx.reused = True

    async def sent(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        context.trace_request_ctx.sent = True

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(reused)
    tracing.on_request_headers_sent.append(sent)
    return tracing


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for this gateway, unless it is exempt.

    Looked up once: the library's own look-up goes to a thread for every request, and reads .netrc besides.
    """
    parts = urlsplit(base_url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise SettingsError("the proxy in the environment is no HTTP proxy: set HTTPS_PROXY to one, or NO_PROXY")
    return proxy
