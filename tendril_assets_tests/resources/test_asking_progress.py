"""The progress file: written whole, read by others, and what it says of a writer that is gone."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.children import process_started
from tendril_assets.progress_file import Author
from tendril_assets.resources.asking_progress import (
    Standing,
    read_standings,
    standing_of,
    write_standing,
)
from tendril_assets.resources.gateway_run import Progress

PROGRESS = Progress(
    done=40,
    open=55,
    failed=5,
    calls_per_s=12.5,
    cost=Decimal("0.0123"),
    eta_s=250.4,
    by_status={"error": 4, "empty": 1},
    calls=61,
    in_flight=8,
    limit=16,
    rate_limited=3,
    cost_unknown=2,
    cost_forecast=Decimal("0.03075"),
    cached_share=0.4321,
)


def beginning(**changes: object) -> Standing:
    given_ = {
        "step": ("toy", "judge_replies"),
        "purpose": "judge",
        "run": "run-1",
        "requests": 120,
        "answered_before": 20,
    }
    return Standing.beginning(**{**given_, **changes})


def test_the_counts_add_up_to_the_requests() -> None:
    at = beginning().at(PROGRESS)
    # 120 requests: 20 answered before, 40 now, 5 given up on, so 55 to come.
    assert (at.done, at.open, at.failed, at.left) == (60, 55, 5, 60)
    assert at.done + at.open + at.failed == at.requests


def test_the_line_says_all_of_it() -> None:
    assert str(beginning().at(PROGRESS)) == (
        "120 requests, 60 done, 55 open, 5 failed (1 empty, 4 error), 12.5 calls/s, 8 of 16 in flight, "
        "3 times told to wait, 0.0123 USD so far, about 0.0308 USD in all, 2 of unknown cost, "
        "43% of the prompt from cache, 0:04:10 left"
    )


def test_what_is_not_known_is_left_out() -> None:
    assert str(beginning()) == "120 requests, 20 done, 100 open, 0 failed, 0.0 calls/s, 0.0000 USD so far"


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    at = beginning().at(PROGRESS)
    write_standing(tmp_path / "progress", at)
    assert read_standings(tmp_path / "progress") == [at]
    assert [path.name for path in (tmp_path / "progress").iterdir()] == ["toy.judge_replies.json"]
    stored = json.loads((tmp_path / "progress" / "toy.judge_replies.json").read_text("utf-8"))
    assert (stored["cost"], stored["cost_forecast"]) == ("0.0123", "0.03075"), "money is never a float"
    assert replace(at, cost=Decimal("1E-7"), cost_forecast=None).to_json()["cost"] == "0.0000001"


def test_the_latest_step_comes_first_and_rubbish_is_passed_over(tmp_path: Path) -> None:
    early = beginning(step=("toy", "calibration_replies"))
    write_standing(tmp_path, replace(early, updated=early.updated - timedelta(hours=1)))
    write_standing(tmp_path, beginning())
    (tmp_path / "toy.empty.json").write_text("")
    (tmp_path / "toy.other.json").write_text('{"v": 99}')
    (tmp_path / "toy.list.json").write_text("[1]")
    assert [s.step for s in read_standings(tmp_path)] == ["judge_replies", "calibration_replies"]
    assert read_standings(tmp_path / "none") == []


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["v", "author", "cost", "began", "x"]), inner),
    )
)
def test_nothing_but_a_standing_is_taken_for_one(value: object) -> None:
    with pytest.raises(ValueError, match=r"progress of an asking step|version"):
        Standing.from_json(value)


def test_a_running_step_goes_on_as_long_as_its_process() -> None:
    at = beginning().at(PROGRESS)
    assert at.goes_on()
    assert not at.was_cut_off()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        other = replace(at, author=replace(at.author, pid=process.pid, started=process_started(process.pid)))
        assert other.goes_on()
        reused = replace(at, author=replace(other.author, started="1"))
        assert reused.was_cut_off(), "another process has got the id"
        process.kill()
    assert other.was_cut_off()
    assert replace(at, author=replace(at.author, boot="before the power cut")).was_cut_off()


def test_an_ended_step_neither_goes_on_nor_was_cut_off() -> None:
    ended = beginning().at(PROGRESS).ended("incomplete: budget")
    assert not ended.goes_on()
    assert not ended.was_cut_off()
    assert (ended.in_flight, ended.eta_s, ended.left) == (0, None, 60)


def test_a_step_on_another_machine_is_judged_by_its_age() -> None:
    far = replace(beginning(), author=Author(os.getpid(), "1", "another-host", None))
    now = datetime.now(UTC)
    assert far.goes_on(now + timedelta(seconds=30))
    assert not far.goes_on(now + timedelta(minutes=2))
    nameless = replace(beginning(), author=replace(Author.me(), started=None))
    assert nameless.goes_on(now + timedelta(seconds=30)), "a system without /proc"


def test_the_step_of_a_run_is_found_while_it_goes_on(tmp_path: Path) -> None:
    write_standing(tmp_path, beginning())
    assert standing_of(tmp_path, "run-1") is not None
    assert standing_of(tmp_path, "run-2") is None
    write_standing(tmp_path, beginning().ended("complete"))
    assert standing_of(tmp_path, "run-1") is None
