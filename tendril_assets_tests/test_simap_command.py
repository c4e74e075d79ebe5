"""``tendril simap`` as a user runs it, with the shipped specification, against the replay server."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tendril_assets.cli import main
from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets_tests.resources.test_simap_mirror import GERMAN
from tendril_assets_tests.simap_answers import entry, tender, texts, uid
from tendril_assets_tests.simap_server import Given, Platform, SimapServer


@pytest.fixture
def platform() -> Platform:
    made, title = Platform(), texts("Schulhaus Dorf")
    made.publish(
        entry("100", "100-01", "tender", "2026-08-10", title), tender("100", "100-01", "2026-08-10", title, GERMAN)
    )
    return made


def simap(monkeypatch: pytest.MonkeyPatch, root: Path, server: SimapServer, **env: str) -> Result:
    settings = {
        "TENDRIL_HOME": str(root / "home"),
        "TENDRIL_LANDING": str(root / "landing"),
        "TENDRIL_SIMAP_BASE_URL": server.base_url,
        "TENDRIL_PROFILE": "none",
    }
    for name, value in (settings | env).items():
        monkeypatch.setenv(name, value)
    return CliRunner().invoke(main, ["simap"])


def test_the_shipped_specification_is_asked_and_the_counts_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: Platform
) -> None:
    with SimapServer(platform) as server:
        done = simap(monkeypatch, tmp_path, server)
        assert done.exit_code == 0, done.output
        assert server.asked[0].parameters["projectSubTypes"] == ["construction", "service", "supply"]
        # No faster than the specification says.
        gaps = [b.at - a.at for a, b in zip(server.asked, server.asked[1:], strict=False)]
        assert min(gaps) > 0.95
    for line in (
        f"mirroring {server.base_url} into {tmp_path}/landing/{DEFAULT_COLLECTION}",
        "1 projects found, 1 here or to come, 1 to be asked for",
        "1 projects done, 0 open",
        "texts here: 1",
        "publications fetched: 1",
        "failed: 0",
        f"next: tendril run {DEFAULT_COLLECTION}_corpus",
    ):
        assert line in done.output
    text = (tmp_path / "landing" / DEFAULT_COLLECTION / "simap/100/100-01.txt").read_text("utf-8")
    assert text.startswith("Schulhaus Dorf\n")


def test_failures_are_named_and_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: Platform
) -> None:
    title = texts("Gone")
    platform.publish(entry("200", "200-01", "tender", "2026-08-11", title))
    with SimapServer(platform, page_size=50) as server:
        done = simap(monkeypatch, tmp_path, server)
    assert done.exit_code == 0, done.output
    assert "failed, and tried again next time 200-01:" in done.output
    assert f"publication-details/{uid('200-01')}: answered 404" in done.output


def test_what_ends_a_run_is_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: Platform
) -> None:
    with SimapServer(platform, lambda asked: Given(403, b'{"message": "blocked"}')) as server:
        done = simap(monkeypatch, tmp_path, server)
    assert done.exit_code == 1
    assert "SimapError: " in done.output
    assert "answered 403 (blocked)" in done.output
    with SimapServer(platform) as server:
        done = simap(monkeypatch, tmp_path, server, TENDRIL_PROFILE="sandbox")
        assert not server.asked
    assert done.exit_code == 1
    assert f"{DEFAULT_COLLECTION} reads nothing from SIMAP by profile sandbox" in done.output
