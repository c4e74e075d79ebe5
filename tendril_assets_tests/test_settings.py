from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import MissingHashKey, SettingsError
from tendril_assets.settings import SANDBOX_HASH_KEY, Settings


def test_defaults_are_the_sandbox_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.from_env({})
    assert settings.home == tmp_path / ".tendril"
    assert settings.landing == tmp_path / ".tendril" / "sandbox"
    assert settings.profile == "sandbox"
    assert settings.hash_key == SANDBOX_HASH_KEY
    assert settings.is_sandbox


def test_an_own_landing_folder_needs_an_own_secret(tmp_path: Path) -> None:
    env = {"TENDRIL_HOME": str(tmp_path), "TENDRIL_LANDING": str(tmp_path / "landing")}
    settings = Settings.from_env(env)
    assert settings.profile is None
    with pytest.raises(MissingHashKey, match="TENDRIL_HASH_KEY is not set"):
        _ = settings.hash_key
    with pytest.raises(MissingHashKey, match="has 9 bytes"):
        _ = Settings.from_env({**env, "TENDRIL_HASH_KEY": "too-short"}).hash_key
    own = Settings.from_env({**env, "TENDRIL_HASH_KEY": "k" * 32})
    assert own.hash_key == b"k" * 32
    assert not own.is_sandbox


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TENDRIL_HOME", "relative/folder"),
        ("TENDRIL_LANDING", "./landing"),
        ("TENDRIL_WORKERS", "0"),
        ("TENDRIL_CONCURRENCY", "many"),
        ("TENDRIL_MAX_CALLS", "-3"),
        ("TENDRIL_MAX_USD", "ten"),
        ("TENDRIL_MAX_USD", "0"),
        ("TENDRIL_MAX_USD", "NaN"),
        ("TENDRIL_MAX_USD", "Infinity"),
    ],
)
def test_each_mistake_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env({name: value})


def test_a_price_table_is_an_absolute_file_that_exists(tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    with pytest.raises(SettingsError, match=r"TENDRIL_PRICES.* is no file"):
        Settings.from_env({"TENDRIL_PRICES": str(table)})
    with pytest.raises(SettingsError, match=r"TENDRIL_PRICES.* is relative"):
        Settings.from_env({"TENDRIL_PRICES": "prices.yaml"})
    table.touch()
    assert Settings.from_env({"TENDRIL_PRICES": str(table)}).price_table == table
    assert Settings.from_env({}).price_table is None


def test_secrets_are_not_shown() -> None:
    settings = Settings.from_env({"TENDRIL_LLM_API_KEY": "sk-secret", "TENDRIL_HASH_KEY": "h" * 40})
    assert "sk-secret" not in repr(settings)
    assert "h" * 40 not in repr(settings)


def test_caps_are_exact_decimals() -> None:
    assert Settings.from_env({"TENDRIL_MAX_USD": "0.1"}).max_usd == Decimal("0.1")
