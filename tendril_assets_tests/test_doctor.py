from datetime import UTC, date, datetime

import pytest
from rich.console import Console

from tendril_assets.doctor import show_doctor
from tendril_assets.settings import Settings
from tendril_assets_tests.resources.hostile_gateway import Act, HostileGateway

SECRET = "sk-or-secret-0815"
ELSEWHERE = {"Location": "http://127.0.0.1:9/models"}


def gateway_line(monkeypatch: pytest.MonkeyPatch, tmp_path, base_url: str, key: str = SECRET) -> str:
    """What the check of the gateway prints."""
    for name, value in {"HOME": str(tmp_path), "LLM_BASE_URL": base_url, "LLM_API_KEY": key}.items():
        monkeypatch.setenv(f"TENDRIL_{name}", value)
    console = Console(width=500, record=True, quiet=False, force_terminal=False)
    show_doctor(Settings.from_env(), console)
    (line,) = [line for line in console.export_text().splitlines() if "gateway:" in line]
    assert SECRET not in line
    return line


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (200, "ok      gateway: http"),
        # A server of one's own need not list its models.
        (404, "ok      gateway: http"),
        (401, "refuses the key in TENDRIL_LLM_API_KEY with status 401"),
        (403, "refuses the key in TENDRIL_LLM_API_KEY with status 403"),
        (301, "answers 301: name its final address"),
        (503, "answers 503"),
    ],
)
def test_the_gateway_is_asked_as_a_run_asks_it(monkeypatch, tmp_path, status: int, line: str) -> None:
    headers = ELSEWHERE if status == 301 else {}
    with HostileGateway(lambda key, attempt: Act(status, b"{}", headers)) as gateway:
        found = gateway_line(monkeypatch, tmp_path, gateway.base_url)
        assert line in found
        assert found.startswith("ok") == (status in (200, 404))
        assert [(call.key, call.headers["authorization"]) for call in gateway.books] == [
            ("/api/v1/models", f"Bearer {SECRET}")
        ]


def test_a_gateway_without_a_key_or_without_a_server_is_a_problem(monkeypatch, tmp_path) -> None:
    assert "set TENDRIL_LLM_API_KEY" in gateway_line(monkeypatch, tmp_path, "http://127.0.0.1:9/v1", "")
    assert gateway_line(monkeypatch, tmp_path, "http://127.0.0.1:9/v1").startswith("problem")


def prices_line(tmp_path, **env: str) -> str:
    console = Console(width=500, record=True, force_terminal=False)
    show_doctor(Settings.from_env({"TENDRIL_HOME": str(tmp_path), **env}), console)
    (line,) = [line for line in console.export_text().splitlines() if "prices:" in line]
    return line


def test_the_price_table_is_told_with_its_date_age_and_source(tmp_path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text("date: 2020-01-01\nsource: a list\nusd_per_million_tokens: {}\n", encoding="utf-8")

    def told() -> str:
        days = (datetime.now(UTC).date() - date(2020, 1, 1)).days
        return f"ok      prices: {table} of 2020-01-01, {days:,} days old, 0 models (a list); older than 90 days"

    before, line = told(), prices_line(tmp_path, TENDRIL_PRICES=str(table))
    assert line.startswith((before, told()))  # another one where midnight (UTC) came between
    assert prices_line(tmp_path).startswith("ok      prices: table of the package of 20")
    table.write_text("date: May\n", encoding="utf-8")
    assert prices_line(tmp_path, TENDRIL_PRICES=str(table)).startswith("problem prices: the price table ")
