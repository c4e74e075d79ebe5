"""Killed at any moment and moved, a training ends with the curve and the weights of one that was never interrupted."""

import contextlib
import json
import logging
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tendril_assets.training.events import CheckpointSaved, Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import JOB_FILE
from tendril_assets_tests.training.toy import toy_job

BALANCED = "balanced_ndcg@10"
COMPARED = ("curve", "best_step", "best_value", "base_value", "weights_sha256", "files", "steps")
KILLS = 4
FLIPPED = {"saved": 16, "flip": "checkpoint-16/optimizer.pt"}


def random_moments(seed: int) -> list[dict]:
    """File operations, as shares of those of an unbroken run: the same moments on any machine, within saving too."""
    draw = random.Random(seed)
    return [{"operation": draw.uniform(0.1, 0.4)} for _ in range(KILLS)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> dict:
    """Both trainings in one process: loading torch takes longer than they do.

    44 examples in steps of 8 are 6 steps an epoch; 28 epochs are 168 steps, 8 epochs 48.
    """
    folder = tmp_path_factory.mktemp("lives")
    plans = {
        "once": ({"max_epochs": 28, "evaluate_every": 56}, [{"saved": 112}]),
        "often": ({"max_epochs": 8, "evaluate_every": 8, "learning_rate": 1e-3}, [FLIPPED, *random_moments(20)]),
    }
    written = {}
    for name, (recipe, moments) in plans.items():
        job = toy_job(folder / name, encoder, **recipe)
        written[name] = {"job": str(job.write(folder / name / JOB_FILE)), "moments": moments}
    (folder / "plans.json").write_text(json.dumps(written))
    done = subprocess.run(
        [sys.executable, "-m", "tendril_assets_tests.training.lives", str(folder / "plans.json")],
        capture_output=True, text=True, timeout=600, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    for name in plans:
        assert answer[name]["unbroken"]["status"] == 0, done.stderr
        assert answer[name]["lives"][-1]["status"] == 0, done.stderr
    return answer


def assert_same(told: dict) -> dict:
    unbroken, resumed = told["unbroken"]["result"], told["lives"][-1]["result"]
    for name in COMPARED:
        assert resumed[name] == unbroken[name], name
    return resumed


def test_killed_after_step_112_moved_and_resumed_to_168(told: dict) -> None:
    killed, resumed = told["once"]["lives"]
    assert killed["killed"]
    assert killed["left"] == ["best-56", "checkpoint-112", "checkpoint-56"]
    assert [line for line in resumed["lines"] if line.startswith("168 steps from the checkpoint of step 112")]
    result = assert_same(told["once"])
    values = {step: value for step, measure, value in result["curve"] if measure == BALANCED}
    assert list(values) == [0, 56, 112, 168]
    assert result["best_step"] == max(values, key=values.get) == 56
    assert [step for step, measure, _ in result["curve"] if measure == "loss"] == list(range(1, 169))


def test_killed_at_moments_drawn_at_random_until_it_ends_by_itself(told: dict) -> None:
    lives = told["often"]["lives"]
    assert sum(life["killed"] for life in lives) >= 3, [life["moment"] for life in lives]
    assert_same(told["often"])


def test_killed_and_a_bit_turned_goes_on_from_the_former_checkpoint(told: dict) -> None:
    """The first life of the second plan, and what the next one says."""
    killed, resumed = told["often"]["lives"][:2]
    assert killed["left"] == ["best-16", "best-8", "checkpoint-16", "checkpoint-8"]
    (fault,) = [line for line in resumed["lines"] if "is not whole" in line]
    assert fault.startswith(
        "checkpoint-16 is not whole and is not used: optimizer.pt has other bytes than were written"
    )
    assert [line for line in resumed["lines"] if line.startswith("48 steps from the checkpoint of step 8")]


def test_another_batch_goes_on_from_the_checkpoint(
    tmp_path: Path,
    encoder_without_dropout: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cure for a GPU that is too small costs no step: 8 rows as 4 x 2, then as 2 x 4, then as 8 x 1.

    Without dropout the curve is that of the unbroken run but for padding's rounding.
    """
    job = toy_job(tmp_path, encoder_without_dropout, evaluate_every=4, learning_rate=1e-3)
    unbroken = fit(replace(job, folder=tmp_path / "unbroken"), lambda _event: None)
    lines: list[str] = []
    library = logging.getLogger("transformers.trainer_utils")
    monkeypatch.setattr(library, "handlers", [caplog.handler])
    for batch, stop in ((4, 4), (2, 8), (8, None)):
        spec = job.spec.model_copy(update={"batch": batch})

        def report(event: Event, stop: int | None = stop) -> None:
            lines.append(str(event))
            if isinstance(event, CheckpointSaved) and event.step == stop:
                raise InterruptedError

        part = replace(job, spec=spec)
        assert part.config_hash == job.config_hash
        with pytest.raises(InterruptedError) if stop else contextlib.nullcontext():
            resumed = fit(part, report)
    told = [line for line in lines if "this run has" in line]
    assert [line.split(":")[0] for line in told] == [
        "checkpoint-4 was written with batch 4, this run has 2",
        "checkpoint-8 was written with batch 2, this run has 8",
    ]
    assert "trainer_state.json" not in caplog.text  # the library's words for the same
    assert resumed["steps"] == unbroken["steps"] == 12
    assert [point[:2] for point in resumed["curve"]] == [point[:2] for point in unbroken["curve"]]
    for measure in ("loss", "learning_rate"):
        ours, theirs = ([v for _, name, v in one["curve"] if name == measure] for one in (resumed, unbroken))
        assert ours == pytest.approx(theirs, rel=1e-4)
