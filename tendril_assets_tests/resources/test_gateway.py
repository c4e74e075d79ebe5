from pathlib import Path

import dagster as dg
import pytest

from tendril_assets.errors import SettingsError
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.gateway_run import GatewayRequest
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings
from tendril_assets_tests.resources.http_stub import StubGateway, reply

SECRET = "sk-or-secret-0815"


def request(key: str) -> GatewayRequest:
    body = {"model": "toy/model", "max_tokens": 10, "messages": [{"role": "user", "content": key}]}
    return GatewayRequest(key, "judge", body)


def test_an_asset_asks_through_the_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENDRIL_LLM_API_KEY", SECRET)

    @dg.asset
    def replies(gateway: Gateway) -> dg.MaterializeResult:
        asked = (request(f"k{i}") for i in range(5))
        summary = gateway.answer(asked, Ledger(tmp_path), total=5)
        return dg.MaterializeResult(metadata={"state": summary.state})

    with StubGateway(lambda call: reply()) as stub:
        settings = Settings.from_env(
            {"TENDRIL_LLM_BASE_URL": stub.base_url, "TENDRIL_LLM_API_KEY": SECRET, "TENDRIL_MAX_CALLS": "3"}
        )
        result = dg.materialize([replies], resources={"gateway": Gateway.from_settings(settings)})
        assert stub.calls[0].headers["Authorization"] == f"Bearer {SECRET}"
        assert len(stub.calls) == 3
    (event,) = result.get_asset_materialization_events()
    assert event.materialization.metadata["state"].value == "incomplete: budget"


def test_the_key_is_not_shown() -> None:
    gateway = Gateway(base_url="https://host/api/v1", api_key=SECRET)
    assert SECRET not in repr(gateway)
    assert SECRET not in str(gateway)


def test_without_a_key_only_asking_fails(tmp_path: Path) -> None:
    gateway = Gateway.from_settings(Settings.from_env({"TENDRIL_LLM_BASE_URL": "https://host/api/v1"}))
    with pytest.raises(SettingsError, match="TENDRIL_LLM_API_KEY"):
        gateway.answer([request("k")], Ledger(tmp_path))


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "viel", "Infinity"])
def test_a_cap_that_is_no_amount_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="should be an amount in USD"):
        Gateway(base_url="https://host/api/v1", api_key="k", max_usd=amount)
