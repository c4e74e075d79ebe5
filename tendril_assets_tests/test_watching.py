"""``tendril status`` from another process: what goes on, what was cut off, and what cannot be read."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from tendril_assets import watching
from tendril_assets.asking_display import asking_bar, told
from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.errors import LedgerError
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.asking_progress import Standing, progress_folder, write_standing
from tendril_assets.resources.ledger import Ledger, LedgerEntry
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.test_removal_state import add_removal

ANSWERS = {
    "k1": ("judge", ["answered"]),
    "k2": ("judge", ["error", "answered"]),
    "k3": ("judge", ["error", "empty"]),
    "k4": ("judge", ["error"]),
    "s1": ("area_summary", ["truncated"]),
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A data folder with a ledger, hand-over files and one table."""
    found = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    with Ledger(found.ledger).writer() as writer:
        for key, (purpose, statuses) in ANSWERS.items():
            for status in statuses:
                cost = Decimal("0.0001") if status != "error" else None
                now = datetime.now(UTC)
                writer.append(LedgerEntry(key, purpose, "toy/judge", status, 1, 0.1, now, cost=cost))
    artifacts = Artifacts(root=str(found.artifacts))
    artifacts.write_frame(
        DEFAULT_COLLECTION, "judge_requests", pl.DataFrame({"request_key": ["k1", "k2", "k3", "k4", "k5"]})
    )
    summaries = pl.DataFrame({"request_key": ["s1", "s2"], "attempt": [1, 2]})
    artifacts.write_frame(DEFAULT_COLLECTION, "summary_requests", summaries)
    rows = TABLES["sampled_projects"].frame([("p1", "g-1", 1)])
    warehouse(found).replace(DEFAULT_COLLECTION, {"sampled_projects": rows}, "test")
    return found


def warehouse(settings: Settings) -> Warehouse:
    return Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=10)


def shown(settings: Settings) -> str:
    screen = io.StringIO()
    watching.show_status(settings, DEFAULT_COLLECTION, Console(file=screen, width=400))
    return screen.getvalue()


def a_step(settings: Settings, **changes: object) -> Standing:
    standing = replace(
        Standing.beginning((DEFAULT_COLLECTION, "judge_replies"), "judge", "run-1", 5, 2), done=3, open=2, **changes
    )
    write_standing(progress_folder(settings.ledger), standing)
    return standing


def test_requests_are_counted_by_purpose_and_status(settings: Settings) -> None:
    status = watching.read_status(settings, DEFAULT_COLLECTION)
    judge = next(a for a in status.asked if a.purpose == "judge")
    # k3 failed twice, last with an empty reply; k2 failed first and was answered then.
    assert (judge.answered, judge.failed) == (2, {"empty": 1, "error": 1})
    assert (str(judge.cost), judge.cost_unknown) == ("0.000300000", 3)
    # k3, k4 and k5 are open; the second summary is asked for only where the first is too long.
    assert status.requests == {"judge": (5, 3), "area_summary": (1, 0)}
    assert status.tables == {"sampled_projects": 1}
    assert status.unread == ()


def test_it_says_so_in_words(settings: Settings) -> None:
    text = shown(settings)
    assert "ledger, judge: 2 requests answered, 2 failed (1 empty, 1 error), 0.000300000 USD named, 3 replies" in text
    assert "judge requests: 5, of which open: 3" in text
    assert "not shown" not in text


def test_a_running_step_is_shown_with_its_figures(settings: Settings) -> None:
    a_step(settings, calls_per_s=7.5, in_flight=3, limit=8, cost=Decimal("0.01"))
    text = shown(settings)
    assert f"{DEFAULT_COLLECTION}/judge_replies is asking (process {os.getpid()}" in text
    assert "3 done, 2 open, 0 failed, 7.5 calls/s, 3 of 8 in flight, 0.0100 USD so far" in text


def test_a_step_that_was_killed_is_told_as_cut_off(settings: Settings) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from tendril_assets.resources.asking_progress import Standing, write_standing\n"
        "write_standing(Path(sys.argv[1]), Standing.beginning((sys.argv[2], 'judge_replies'), 'judge', 'run-1', 5, 2))\n"
        "print('ready', flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(progress_folder(settings.ledger)), DEFAULT_COLLECTION]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        assert f"is asking (process {process.pid}" in shown(settings)
        process.send_signal(signal.SIGKILL)
    text = shown(settings)
    assert f"{DEFAULT_COLLECTION}/judge_replies was cut off (process {process.pid} is gone" in text
    assert "What was answered is in the ledger: run again, and only what is open is asked" in text
    assert "judge requests: 5, of which open: 3" in text


def test_a_locked_warehouse_is_waited_for_shortly_and_the_rest_is_shown(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "WAIT_S", 0.3)
    held, release = threading.Event(), threading.Event()

    def write() -> None:
        with warehouse(settings).transaction(DEFAULT_COLLECTION, "load judgments"):
            held.set()
            release.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    held.wait(60)
    try:
        status = watching.read_status(settings, DEFAULT_COLLECTION)
        text = shown(settings)
    finally:
        release.set()
        writer.join()
    assert status.tables is None
    assert f"process {os.getpid()} holds it (load judgments)" in status.unread[0]
    assert "not shown: status: waited" in text
    assert "judge requests: 5, of which open: 3" in text


def test_a_damaged_ledger_hides_no_table(settings: Settings) -> None:
    (segment,) = settings.ledger.glob("segment-*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"v":2', b'"v":"two', 1))
    text = shown(settings)
    assert "not shown" in text
    assert "is damaged" in text
    assert "sampled_projects" in text
    with pytest.raises(LedgerError):
        Ledger(settings.ledger).frame()


def test_before_the_first_run_there_is_nothing_to_show(tmp_path: Path) -> None:
    text = shown(Settings.from_env({"TENDRIL_HOME": str(tmp_path)}))
    assert "no warehouse at" in text
    assert "ledger: none yet" in text
    assert list(tmp_path.iterdir()) == [], "it only looks"


def test_what_a_removal_leaves_to_be_done_is_shown(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert "after a removal" not in shown(settings)
    add_removal(settings, DEFAULT_COLLECTION)
    lines = [line for line in shown(settings).splitlines() if line.startswith("after a removal")]
    assert [line.split(":")[0] for line in lines] == [
        "after a removal version 0.0.1 was withdrawn on 2026-11-30, for it held removed passages",
        "after a removal model most_embed_de was trained on 1 passage removed since 2026-11-30",
    ]
    watching.print_status(settings, DEFAULT_COLLECTION)
    assert json.loads(capsys.readouterr().out)["removal"] == {
        "withdrawn": {"0.0.1": {"day": "2026-11-30", "sandbox": False}},
        "stale_models": {"most_embed_de": "trained on 1 passage removed since 2026-11-30"},
    }


def test_json_holds_the_same(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    a_step(settings, cost=Decimal("0.01"))
    watching.print_status(settings, DEFAULT_COLLECTION)
    found = json.loads(capsys.readouterr().out)
    assert found["requests"] == {"judge": {"requests": 5, "open": 3}, "area_summary": {"requests": 1, "open": 0}}
    (step,) = found["asking"]
    assert (step["goes_on"], step["was_cut_off"], step["cost"], step["done"]) == (True, False, "0.01", 3)
    assert [row["purpose"] for row in found["asked"]] == ["area_summary", "judge"]


def test_watching_goes_on_until_the_step_ends(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(watching, "POLL_S", 0.05)
    standing, screen = a_step(settings), io.StringIO()
    console = Console(file=screen, width=400)
    watcher = threading.Thread(target=watching.watch_steps, args=(settings, DEFAULT_COLLECTION, console))
    watcher.start()
    deadline = time.monotonic() + 60
    while screen.getvalue().count("is asking") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert watcher.is_alive()
    write_standing(progress_folder(settings.ledger), replace(standing, done=5, open=0).ended("complete"))
    watcher.join(60)
    assert not watcher.is_alive()
    assert screen.getvalue().splitlines()[-1].startswith(f"{DEFAULT_COLLECTION}/judge_replies is complete (complete, ")
    assert "\x1b" not in screen.getvalue(), "no control characters where it is no terminal"


def test_the_bar_of_a_terminal_holds_every_figure() -> None:
    standing = replace(
        Standing.beginning(("toy", "judge_replies"), "judge", "run-1", 1000, 100),
        done=400,
        open=590,
        failed=10,
        by_status={"error": 10},
        calls_per_s=50.0,
        in_flight=8,
        limit=16,
        rate_limited=4,
        cost=Decimal("0.5"),
        cost_forecast=Decimal("1.5"),
        cost_unknown=2,
        cached_share=0.5,
        eta_s=12.0,
    )
    screen = io.StringIO()
    Console(file=screen, width=160, force_terminal=True, color_system=None).print(asking_bar(standing))
    text = screen.getvalue()
    for figure in (
        "400/1,000 (40.0%), 590 open, 10 failed (10 error)",
        "0:00:12 left",
        "50.0 calls/s, 8/16 in flight, 4 times told to wait",
        "0.5000 USD so far, about 1.5000 USD in all, 2 of unknown cost",
        "50% of the prompt from cache",
    ):
        assert figure in text
    assert "ended with 600 requests open (incomplete: budget" in told(standing.ended("incomplete: budget"))


def test_a_damaged_hand_over_file_hides_nothing_else(settings: Settings) -> None:
    artifacts = Artifacts(root=str(settings.artifacts))
    artifacts.exchange(DEFAULT_COLLECTION, "judge_requests").write_bytes(b"no Parquet")
    artifacts.write_frame(DEFAULT_COLLECTION, "calibration_requests", pl.DataFrame({"another": ["shape"]}))
    status = watching.read_status(settings, DEFAULT_COLLECTION)
    assert status.requests == {"area_summary": (1, 0)}
    assert len(status.unread) == 2
    text = shown(settings)
    assert text.count("not shown: ") == 2
    assert "judge_requests.parquet is damaged" in text
    assert "ledger, judge: 2 requests answered" in text
    assert "sampled_projects" in text


def test_what_is_not_there_yet_is_said_beside_what_cannot_be_read(tmp_path: Path) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    settings.ledger.write_text("in the way")
    text = shown(settings)
    assert "no warehouse at" in text
    assert "ledger: none yet" not in text
    assert "the ledger needs a folder" in text
    assert watching.read_status(settings, DEFAULT_COLLECTION).to_json()["asked"] is None
    settings.ledger.unlink()
    settings.warehouse.write_bytes(b"no database")
    text = shown(settings)
    assert "ledger: none yet" in text
    assert "no warehouse at" not in text
    assert "not shown" in text


def test_costs_are_never_shown_with_an_exponent(settings: Settings) -> None:
    with Ledger(settings.ledger).writer() as writer:
        now = datetime.now(UTC)
        writer.append(LedgerEntry("d1", "drift", "toy/judge", "answered", 1, 0.1, now, cost=Decimal("1E-7")))
    assert "ledger, drift: 1 requests answered, 0 failed, 0.000000100 USD named" in shown(settings)


@pytest.mark.parametrize("text", ['{"v": 99}', "", "[]", None])
def test_a_training_whose_progress_cannot_be_read_is_named(settings: Settings, text: str | None) -> None:
    path = Artifacts(root=str(settings.artifacts)).folder(DEFAULT_COLLECTION, "models") / "mini" / "progress.json"
    path.parent.mkdir(parents=True)
    path.mkdir() if text is None else path.write_text(text)
    assert f"not shown: {path} cannot be read (" in shown(settings)
    (told,) = watching.read_status(settings, DEFAULT_COLLECTION).to_json()["unread"]
    assert told.endswith("how the training of mini stands is not known")


def test_watching_as_json_where_no_step_has_asked_says_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    watching.watch_steps(settings, DEFAULT_COLLECTION, Console(), as_json=True)
    assert capsys.readouterr().out == "null\n"
