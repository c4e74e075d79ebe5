"""Whose price holds, and that the answer says so: the gateway's list over real HTTP, the table, or nobody's."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prices import Prices, load_price_table
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.price_list import PriceList, read_price_list
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources.asking import SECRET, requests
from tendril_assets_tests.resources.http_stub import StubGateway, reply

TODAY = date(2026, 8, 2)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(
        "date: 2026-05-04\nsource: what was agreed\n"
        "usd_per_million_tokens:\n  toy/model: {prompt: 7, completion: 9}\n  toy/other: {prompt: 1, completion: 2}\n",
        encoding="utf-8",
    )
    return path


def test_the_gateways_list_wins_and_the_table_fills_its_gaps(table: Path) -> None:
    with StandInGateway(models=("toy/model",)) as gateway:
        found = read_price_list(gateway.base_url, SECRET, table, TODAY)
        assert found.of("toy/model") == Prices(Decimal("1e-7"), Decimal("4e-7"), cached=Decimal("1e-8"))
        assert found.source("toy/model") == f"price list of {gateway.base_url}, read on 2026-08-02"
        assert found.of("toy/other") == Prices(Decimal("1e-6"), Decimal("2e-6"))
        assert found.source("toy/other") == (
            f"price table of 2026-05-04 (what was agreed), since {gateway.base_url} does not list it"
        )
        assert found.of("toy/third") is None
        assert found.source("toy/third").startswith("unknown: ")
        assert set(found.prices) == {"toy/model", "toy/other"}


def test_without_a_list_the_table_holds_and_an_old_one_says_so(table: Path) -> None:
    with StubGateway(lambda call: reply()) as gateway:
        found = read_price_list(gateway.base_url, SECRET, table, date(2026, 8, 3))
    assert found.of("toy/model") == Prices(Decimal("7e-6"), Decimal("9e-6"))
    assert "price table of 2026-05-04, older than 90 days (what was agreed), since" in found.source("toy/model")
    assert "answered 501" in found.source("toy/model")
    assert SECRET not in found.source("toy/model") + repr(found)


def test_a_gateway_without_a_key_is_no_error_but_a_reason(table: Path) -> None:
    found = read_price_list("https://gateway.invalid/api/v1", "", table, TODAY)
    assert "key is empty" in found.source("toy/model")
    assert found.of("toy/model") is not None


def test_a_listed_price_of_zero_is_a_price(table: Path) -> None:
    found = read_price_list("https://gateway.invalid/api/v1", "", table, TODAY)
    free = type(found)(found.table, TODAY, found.base_url, {"toy/model": Prices()})
    assert free.of("toy/model") == Prices()


@pytest.mark.parametrize("base_url", ["gateway.invalid/api/v1", "https://host:99999/api"])
def test_a_malformed_address_is_an_error_and_not_a_gateway_without_a_list(table: Path, base_url: str) -> None:
    with pytest.raises(SettingsError, match="should look like"):
        read_price_list(base_url, SECRET, table, TODAY)


def test_a_malformed_table_is_an_error_whatever_the_gateway_lists(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("prices: []", encoding="utf-8")
    with pytest.raises(SettingsError, match="must have the fields"):
        read_price_list("https://gateway.invalid/api/v1", "", tmp_path / "prices.yaml", TODAY)


def test_a_cap_in_money_is_kept_by_the_table_where_the_gateway_lists_nothing(
    table: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with table.open("a", encoding="utf-8") as stream:
        stream.write("usd_per_request: {toy/model: 0.0001}\n")
    with StubGateway(lambda call: reply(cost=0.0003)) as gateway:
        asking = Gateway(
            base_url=gateway.base_url, api_key=SECRET, concurrency=1, max_usd="0.0015", price_table=str(table)
        )
        # Worst case of a call: 0.0001, 10 tokens at 9e-6 and 66 at 7e-6, which is 0.000652; each costs 0.0003. A call goes
        # out while no more than 0.000848 is spent: after 0, 1 and 2 calls.
        summary = asking.answer(requests(10), Ledger(tmp_path / "ledger"))
        assert (summary.calls, summary.n_open) == (3, 7)
    (warning,) = [record.getMessage() for record in caplog.records if record.name.endswith("resources.gateway")]
    for part in ("cap of 0.0015 USD", "price table of 2026-05-04", "answered 501", "TENDRIL_PRICES"):
        assert part in warning


def test_prices_are_in_doubt_where_they_are_not_the_gateways_or_old(table: Path) -> None:
    def doubt(today: date, trouble: str | None = None, *listed: str) -> str | None:
        return PriceList(
            load_price_table(table), today, "https://host", dict.fromkeys(listed, Prices()), trouble
        ).doubt()

    old = date(2026, 8, 3)
    assert doubt(TODAY) is None
    assert doubt(old, None, "toy/model", "toy/other") is None
    assert "does not list are from the price table of 2026-05-04, older than 90 days" in str(
        doubt(old, None, "toy/model")
    )
    assert "since it is down" in str(doubt(TODAY, "it is down"))


def test_a_cap_in_money_without_any_price_refuses_to_start(table: Path, tmp_path: Path) -> None:
    table.write_text("date: 2026-05-04\nsource: nobody\nusd_per_million_tokens: {}\n", encoding="utf-8")
    with StubGateway(lambda call: reply()) as gateway:
        asking = Gateway(base_url=gateway.base_url, api_key=SECRET, max_usd="1", price_table=str(table))
        with pytest.raises(SettingsError, match=r"unknown: .* answered 501.*TENDRIL_PRICES"):
            asking.answer(requests(10), Ledger(tmp_path / "ledger"))
        assert gateway.calls == []
