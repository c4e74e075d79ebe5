"""Which warnings of Dagster are left out, and which stay."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.dagster_dev import BETA, is_news, python_warnings

OTHER_SETTINGS = (
    "Found a dagster instance configuration value (dagster.yaml) in the current folder, but your DAGSTER_HOME "
    "environment variable is set to /x."
)


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("dagster", logging.WARNING, "", 0, message, None, None)


def test_settings_left_unread_are_news_where_they_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}")
    assert is_news(record(OTHER_SETTINGS)), "there are none in DAGSTER_HOME"
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}")
    assert not is_news(record(OTHER_SETTINGS))
    assert is_news(record("dagster-daemon process did not terminate cleanly"))
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: true}")
    assert is_news(record(OTHER_SETTINGS))


def test_one_message_is_silenced_and_no_category() -> None:
    code = f"""
import warnings
warnings.warn({BETA + ", and may change."!r}, FutureWarning)
warnings.warn("Parameter `other` of function `f` is currently in beta", FutureWarning)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONWARNINGS": python_warnings("error::ResourceWarning")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Parameter `other`" in done.stderr
    assert "execution_type" not in done.stderr
    assert "Invalid" not in done.stderr
