"""Short ways to ask a gateway of the tests."""

from decimal import Decimal
from pathlib import Path

from tendril_assets.resources.gateway_client import Endpoint, GatewayRequest, Prices, RetryPolicy, RunSummary, answer
from tendril_assets.resources.ledger import Ledger, LedgerEntry
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.http_stub import StubGateway

SECRET = "sk-or-secret-0815"
FAST = RetryPolicy(first_wait=0.01, max_wait=0.02, retry_after_cap=0.3)
PRICES = {"toy/model": Prices(request=Decimal("0.0003"))}


def request(key: str) -> GatewayRequest:
    messages = [{"role": "user", "content": key}]
    return GatewayRequest(
        key, "judge", {"model": "toy/model", "max_tokens": 10, "temperature": 0, "messages": messages}
    )


def requests(n: int) -> list[GatewayRequest]:
    return [request(f"k{i}") for i in range(n)]


def ask(gateway: StubGateway | StandInGateway, folder: Path, asked: object, **options: object) -> RunSummary:
    options = {"concurrency": 4, "retry": FAST, "timeout_s": 30.0, **options}
    return answer(asked, Ledger(folder), endpoint=Endpoint(gateway.base_url, SECRET), **options)


def stored(folder: Path) -> dict[str, LedgerEntry]:
    return {entry.request_key: entry for entry in Ledger(folder).entries()}


def open_of(folder: Path, asked: list[GatewayRequest]) -> list[GatewayRequest]:
    answered = Ledger(folder).answered_keys()
    return [one for one in asked if one.key not in answered]
