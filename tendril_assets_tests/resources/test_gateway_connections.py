"""Whatever may become of a connection: who is asked again, what it may have cost, and what the ledger says."""

import base64
import shutil
import socket
import ssl
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayError, GatewayRefused, SettingsError
from tendril_assets.resources import gateway_http
from tendril_assets.resources.gateway_client import Caps, Endpoint, Prices, RetryPolicy, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.resources.asking import FAST, PRICES, SECRET, ask, requests, stored
from tendril_assets_tests.resources.http_stub import Call, Scripted, StubGateway, reply
from tendril_assets_tests.resources.raw_server import RawServer, read_request, reset
from tendril_assets_tests.resources.raw_server import answer as whole_answer

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask_at(base_url: str, folder: Path, n: int, **options: object) -> object:
    return answer(requests(n), Ledger(folder), endpoint=Endpoint(base_url, SECRET), retry=FAST, **options)


# No connection: nothing was sent, nothing can have been charged


def test_nothing_listening_ends_the_run_with_nothing_asked(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        pass
    with pytest.raises(
        GatewayError, match=r"after 6 attempts: the connection was refused. Nothing was asked"
    ) as caught:
        ask(gateway, tmp_path, requests(300))
    assert (caught.value.n_open, stored(tmp_path)) == (300, {})


def test_a_name_that_cannot_be_resolved_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def resolve(host: object, *rest: object, **named: object) -> object:
        if host in ("gateway.test", b"gateway.test"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(GatewayError, match="the host name cannot be resolved"):
        ask_at("http://gateway.test/api/v1", tmp_path, 10)
    assert stored(tmp_path) == {}


def test_a_gateway_that_vanishes_leaves_rows_that_cost_nothing(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        server.stop_listening()
        connection.sendall(whole_answer().replace(b"\r\n", b"\r\nConnection: close\r\n", 1))

    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 3, concurrency=1)
    assert (summary.answered, summary.failed, summary.n_open, summary.cost_unknown) == (1, 2, 2, 0)
    rows = [entry for entry in stored(tmp_path).values() if entry.status == "error"]
    # It may come back, and trying costs nothing: more patience than with a failure that may be charged.
    assert {(row.detail, row.attempts, row.cost) for row in rows} == {("the connection was refused", 12, None)}


def test_a_server_without_tls_is_told_apart(tmp_path: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        with pytest.raises(GatewayError, match="the TLS handshake failed"):
            ask_at(gateway.base_url.replace("http:", "https:"), tmp_path, 3)
        assert gateway.calls == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("a certificate is made with openssl, which is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {folder}/key.pem -out {folder}/cert.pem"
    subprocess.run(command.split(), check=True, capture_output=True, timeout=60)
    return folder


def tls_server(certificate: Path, seen: list[bytes]) -> RawServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    def serve(connection: socket.socket, number: int) -> None:
        while request := read_request(connection):
            seen.append(request)
            connection.sendall(whole_answer())

    return RawServer(serve, context)


def test_a_certificate_nobody_vouches_for_ends_the_run_before_the_key_is_sent(
    tmp_path: Path, certificate: Path
) -> None:
    seen: list[bytes] = []
    with (
        tls_server(certificate, seen) as server,
        pytest.raises(GatewayError, match="after 1 attempt: the certificate cannot be verified") as caught,
    ):
        ask_at(server.base_url, tmp_path, 20)
    assert (caught.value.n_open, seen, stored(tmp_path)) == (20, [], {})


def test_a_certificate_of_ones_own_authority_is_trusted_where_it_is_named(
    tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    seen: list[bytes] = []
    with tls_server(certificate, seen) as server:
        assert ask_at(server.base_url, tmp_path, 20, concurrency=4).answered == 20
        assert server.connections <= 4
    assert len(seen) == 20


# A connection that breaks


def test_a_reset_in_the_middle_is_asked_again_and_may_have_been_charged(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        if number > 2:
            connection.sendall(whole_answer())
            return
        if number == 2:
            connection.sendall(whole_answer()[:-20])
            time.sleep(0.1)
        reset(connection)

    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 1, concurrency=1, caps=Caps(prices=PRICES))
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.attempts, entry.cost) == ("answered", 3, Decimal("0.0001"))
    # Twice at most 0.0003 each, apart from what is known.
    assert entry.cost_estimate == summary.cost_estimate == Decimal("0.0006")
    assert (summary.cost_known, summary.cost_unknown, summary.reconnected) == (1, 2, 0)


@pytest.mark.parametrize(
    ("bytes_sent", "reason"),
    [
        (b"", "the connection was lost before a reply"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "the reply is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "the connection was lost before a reply"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", "the reply was cut short"),
        (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a"', "the reply was cut short"),
    ],
)
def test_what_is_no_reply_is_an_error_with_its_reason(tmp_path: Path, bytes_sent: bytes, reason: str) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(bytes_sent)

    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 1, concurrency=1)
        assert server.connections == FAST.attempts
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.detail, entry.attempts, entry.http_status) == ("error", reason, 6, None)
    assert (summary.cost_unknown, summary.reconnected) == (6, 0)


def test_a_server_that_never_answers_is_bounded_and_may_have_charged(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.recv(1)  # until the client gives up

    caps = Caps(max_usd=Decimal("0.0012"), prices=PRICES)
    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 1, concurrency=1, timeout_s=1.0, caps=caps)
        assert server.connections == 4
    # The worst case of each stays reserved: 4 x 0.0003 is all there is.
    assert (summary.state, summary.cost, summary.cost_estimate) == ("incomplete: budget", 0, Decimal("0.0012"))
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.detail, entry.cost) == ("error", "no whole reply in time", None)


def test_noise_that_drips_past_the_time_does_not_keep_an_attempt_alive(tmp_path: Path) -> None:
    noise = Scripted(200, b": OPENROUTER PROCESSING\n\n" * 20, drip_s=0.5)
    with StubGateway(lambda call: noise if call.attempt == 1 else reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(1), timeout_s=3.0)  # the noise lasts 20 x 0.5 s
    entry = stored(tmp_path)["k0"]
    assert (entry.status, entry.attempts, summary.cost_unknown) == ("answered", 2, 1)


def test_a_body_without_end_is_not_read_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_http, "MAX_BODY_BYTES", 100_000)
    with StubGateway(lambda call: Scripted(200, b"x" * 5_000_000) if call.attempt == 1 else reply()) as gateway:
        ask(gateway, tmp_path, requests(1))
    assert (stored(tmp_path)["k0"].status, stored(tmp_path)["k0"].attempts) == ("answered", 2)


def test_a_status_means_what_it_says_whatever_the_size_of_its_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_http, "MAX_BODY_BYTES", 100_000)
    limited = Scripted(429, b"x" * 1_000_000, {"Retry-After": "0.3"})
    with StubGateway(lambda call: limited if call.attempt == 1 else reply()) as gateway:
        summary = ask(gateway, tmp_path, requests(1))
        assert gateway.calls[1].at - gateway.calls[0].at >= 0.29
    assert (summary.answered, summary.rate_limited, summary.cost_unknown) == (1, 1, 0)
    with StubGateway(lambda call: Scripted(401, b"x" * 1_000_000)) as gateway, pytest.raises(GatewayRefused):
        ask(gateway, tmp_path / "refused", requests(1))
    assert stored(tmp_path / "refused") == {}


# Keep-alive


def test_a_connection_closed_between_two_requests_is_no_failure(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(whole_answer())
        read_request(connection)  # crosses with the close

    with RawServer(serve) as server:
        patience = RetryPolicy(attempts=1, first_wait=60)
        endpoint = Endpoint(server.base_url, SECRET)
        summary = answer(
            requests(3),
            Ledger(tmp_path),
            endpoint=endpoint,
            retry=patience,
            concurrency=1,
            caps=Caps(prices=PRICES),
        )
    assert (summary.answered, summary.failed, summary.reconnected, summary.calls) == (3, 0, 2, 5)
    assert "2 calls met a connection just closed" in str(summary)
    # It may have been read before the close: unknown, not zero.
    assert (summary.cost, summary.cost_unknown, summary.cost_estimate) == (Decimal("0.0003"), 2, Decimal("0.0006"))
    assert [stored(tmp_path)[key].attempts for key in ("k0", "k1", "k2")] == [1, 2, 2]


def test_calls_on_closed_connections_count_against_the_caps(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(whole_answer())
        read_request(connection)

    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 3, concurrency=1, caps=Caps(max_calls=2))
    assert (summary.state, summary.answered, summary.calls, summary.n_open) == ("incomplete: budget", 1, 2, 2)


def test_a_server_that_closes_every_connection_in_the_face_fails(tmp_path: Path) -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        if number == 1:
            connection.sendall(whole_answer())
            read_request(connection)

    with RawServer(serve) as server:
        summary = ask_at(server.base_url, tmp_path, 2, concurrency=1)
    assert (summary.answered, summary.failed, summary.reconnected) == (1, 1, 1)
    assert stored(tmp_path)["k1"].attempts == 1 + FAST.attempts


def test_a_connection_closed_while_idle_costs_no_call(tmp_path: Path) -> None:
    def script(call: Call) -> Scripted:
        return Scripted(200, reply().body, {"Connection": "close"})

    with StubGateway(script) as gateway:
        summary = ask(gateway, tmp_path, requests(30))
        assert len(gateway.calls) == 30
    assert (summary.calls, summary.reconnected, summary.cost_unknown) == (30, 0, 0)


# Proxies


def test_a_proxy_of_the_environment_is_used_with_its_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StubGateway(lambda call: reply()) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.replace("http://", "http://user:pass@"))
        assert ask_at("http://gateway.test/api/v1", tmp_path, 3).answered == 3
        headers = proxy.calls[0].headers
    assert headers["Host"] == "gateway.test"
    assert headers["Proxy-Authorization"] == "Basic " + base64.b64encode(b"user:pass").decode()


def test_a_gateway_on_this_machine_or_exempt_is_asked_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    with StubGateway(lambda call: reply()) as gateway:
        assert ask(gateway, tmp_path, requests(2)).answered == 2
    assert gateway_http._proxy("http://gateway.test/api/v1") == "http://127.0.0.1:9/"
    monkeypatch.setenv("no_proxy", "gateway.test")
    assert gateway_http._proxy("http://gateway.test/api/v1") is None


def test_a_proxy_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(SettingsError, match="no HTTP proxy"):
        ask_at("https://gateway.test/api/v1", tmp_path, 1)


def test_estimates_need_a_price(tmp_path: Path) -> None:
    prices = {"other/model": Prices(request=Decimal(1))}
    with StubGateway(lambda call: reply(cost=None)) as gateway:
        summary = ask(gateway, tmp_path, requests(2), caps=Caps(prices=prices))
    assert (summary.cost_unknown, summary.cost_estimate, stored(tmp_path)["k0"].cost_estimate) == (2, 0, None)
