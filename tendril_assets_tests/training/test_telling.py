"""The progress file of a training, what is said of it in each state, and messages between processes."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tendril_assets.progress_file import Author
from tendril_assets.training import telling
from tendril_assets.training.display import told, training_bar
from tendril_assets.training.events import (
    Began,
    CheckpointSaved,
    Evaluated,
    Event,
    Note,
    Reused,
    StepDone,
    from_message,
    to_message,
)
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.standing import (
    BASE,
    CHECKING,
    EVALUATING,
    FAILED,
    FINISHED,
    LOADING,
    SAVING,
    STOPPED,
    TRAINING,
    Standing,
    Stop,
    read_standing,
    read_standings,
    write_standing,
)
from tendril_assets.training.telling import Teller
from tendril_assets_tests.training.toy import toy_job

STEPS = 80
VALUES = {"balanced_ndcg@10": 0.4, "ndcg@10:area": 0.5, "ndcg@10:criterion": 0.3}


@pytest.fixture
def job(tmp_path: Path) -> TrainingJob:
    """Evaluated every 20 steps."""
    base = tmp_path / "base"
    base.mkdir()
    (base / "model.safetensors").write_bytes(b"weights")
    (base / "tokenizer.json").write_text("{}")
    return toy_job(tmp_path, base, evaluate_every=20)


def done(step: int) -> StepDone:
    return StepDone(step, STEPS, 0.25, 1e-5, 12.0, 3456.7, memory=3 * 2**30)


def evaluated(step: int, value: float, best: tuple[int, float]) -> Evaluated:
    return Evaluated(step, STEPS, "balanced_ndcg@10", value, VALUES | {"balanced_ndcg@10": value}, *best)


COURSE: tuple[tuple[float, Event, str], ...] = (
    (0, Note("loading"), LOADING),
    (5, Began(STEPS, "NVIDIA H100", "bf16", 2), BASE),
    (15, evaluated(0, 0.4, (0, 0.4)), TRAINING),
    (19, done(1), TRAINING),
    (38, done(20), EVALUATING),
    (48, evaluated(20, 0.45, (20, 0.45)), SAVING),
    (50, CheckpointSaved(20, STEPS, 4_500_000_000), TRAINING),
    (60, done(30), TRAINING),
)


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def heard(job: TrainingJob, course: tuple[tuple[float, Event, str], ...] = COURSE) -> tuple[Teller, list[Event]]:
    passed: list[Event] = []
    clock = Time()
    teller = Teller(job, passed.append, "run-1", clock)
    for clock.now, event, doing in course:
        teller(event)
        assert teller.standing.doing == doing
    return teller, passed


def as_of_another(standing: Standing) -> Standing:
    """The same, as a process that has ended wrote it."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        gone = Author(process.pid, "1", standing.author.host, standing.author.boot)
    return replace(standing, author=gone)


def test_the_figures_of_every_event_are_in_it(job: TrainingJob) -> None:
    teller, passed = heard(job)
    at = teller.standing
    assert (at.step, at.steps, at.loss, at.tokens_per_s, at.memory) == (30, STEPS, 0.25, 3456.7, 3 * 2**30)
    assert (at.value, at.base_value, at.best_step, at.best_value) == (0.45, 0.4, 20, 0.45)
    assert (at.checkpoint_step, at.device, at.precision, at.processes) == (20, "NVIDIA H100", "bf16", 2)
    # 50 steps of 1 s; evaluations of 10 s at 40, 60, 80 and of the kept weights; checkpoints of 2 s at 40, 60 and 80.
    assert at.eta_s == pytest.approx(50 + 4 * 10 + 3 * 2)
    assert [type(event) for event in passed] == [type(event) for _, event, _ in COURSE]
    assert passed[-1] == replace(done(30), eta_s=at.eta_s)


def test_it_is_in_the_file_at_every_turn_and_steps_twice_a_second_at_most(
    job: TrainingJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("tendril_assets.progress_file.time.monotonic", lambda: now[0])
    teller = Teller(job, lambda _event: None)
    assert read_standing(job.folder) is None, "nothing is begun"
    teller(Began(STEPS, "cpu", "fp32", 1))
    teller(done(1))
    assert read_standing(job.folder).step == 1
    teller(done(2))
    now[0] += 0.4
    teller(done(3))
    assert read_standing(job.folder).step == 1
    now[0] += 0.2
    teller(done(4))
    assert read_standing(job.folder).step == 4
    teller(done(20))
    assert (read_standing(job.folder).step, read_standing(job.folder).doing) == (20, EVALUATING)


def test_an_evaluation_says_loss_and_learning_rate_of_its_step(job: TrainingJob) -> None:
    _, passed = heard(job)
    base, at_20 = [event for event in passed if isinstance(event, Evaluated)]
    assert (base.loss, base.learning_rate) == (None, None)
    assert str(base).startswith("step 0/80  balanced_ndcg@10 0.4000")
    assert (at_20.loss, at_20.learning_rate) == (0.25, 1e-5)
    assert str(at_20).startswith("step 20/80  loss 0.2500  lr 1.00e-05  balanced_ndcg@10 0.4500")


def test_the_last_step_says_what_is_still_to_come() -> None:
    assert str(replace(done(STEPS), eta_s=71.0)).endswith(
        "01:11 left to evaluate, to save and to check the kept weights"
    )
    assert str(replace(done(STEPS - 1), eta_s=71.0)).endswith("01:11 left")


def test_a_file_is_read_as_it_was_written_and_rubbish_is_none(job: TrainingJob) -> None:
    teller, _ = heard(job)
    teller.end(FAILED, Stop("NonFiniteLoss", "nan", None, 1))
    assert read_standing(job.folder) == teller.standing
    assert read_standings(job.folder.parent) == [teller.standing]
    (job.folder / "progress.json").write_text('{"v": 99}')
    assert read_standing(job.folder) is None
    assert read_standings(job.folder.parent) == []


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["v", "author", "paces", "began", "x"]), inner),
    )
)
def test_nothing_but_a_standing_is_taken_for_one(value: object) -> None:
    with pytest.raises(ValueError, match=r"progress of a training|version"):
        Standing.from_json(value)


def test_a_file_that_cannot_be_written_ends_no_training(job: TrainingJob) -> None:
    job.folder.parent.mkdir(parents=True)
    job.folder.write_text("a file where the folder should be")
    _, passed = heard(job)
    told_of = [event for event in passed if isinstance(event, Note) and "cannot be written" in event.text]
    assert len(told_of) == 1


def test_what_is_said_of_one_that_trains(job: TrainingJob) -> None:
    teller, _ = heard(job)
    assert told(teller.standing, "toy") == (
        f"toy/models/tiny is training at step 30 of 80 (process {os.getpid()}, since "
        f"{teller.standing.began:%H:%M:%S} UTC): loss 0.2500, best balanced_ndcg@10 0.4500 (step 20, +0.0500 to the "
        "base), 3,457 tokens/s, 3.0 GiB, last checkpoint step 20, 00:00 ago, NVIDIA H100 in bf16, 2 processes, 01:36 left"
    )
    assert "is evaluating at step 20 of 80" in told(replace(teller.standing, doing=EVALUATING, step=20), "toy")
    fresh = Standing.beginning(job, None, None)
    assert told(fresh, "toy").startswith("toy/models/tiny is loading (process ")


def test_what_is_said_of_one_that_ended(job: TrainingJob) -> None:
    teller, _ = heard(job)
    cut_off = told(as_of_another(teller.standing), "toy")
    assert "toy/models/tiny was cut off at step 30 of 80 (process" in cut_off
    assert cut_off.endswith("Run again: it resumes from step 20")
    before = as_of_another(Standing.beginning(job, None, None))
    assert told(before, "toy").endswith("Run again: it begins anew, no checkpoint was written yet")

    failed = told(teller.standing.ended(FAILED, Stop("NonFiniteLoss", "the loss is nan.", None, 1)), "toy")
    assert "toy/models/tiny failed at step 30 of 80 (" in failed
    assert "NonFiniteLoss: the loss is nan. (in training process 1). Run again: it resumes from step 20" in failed
    assert "toy/models/tiny stopped at step 30" in told(teller.standing.ended(STOPPED), "toy")
    finished = replace(teller.standing, step=80).ended(FINISHED)
    finished = replace(finished, updated=finished.began + timedelta(minutes=61))
    assert "1:01:00 in its last process): 80 of 80 steps, best balanced_ndcg@10 0.4500 (step 20" in told(
        finished, "toy"
    )


def test_how_it_is_drawn(job: TrainingJob) -> None:
    teller, _ = heard(job)
    screen = io.StringIO()
    Console(file=screen, width=200, force_terminal=True, color_system=None).print(training_bar(teller.standing))
    first, second = screen.getvalue().splitlines()
    assert "step 30/80 (37.5%)" in first
    assert "01:36 left" in first
    assert "loss 0.2500; best balanced_ndcg@10 0.4500" in second


def test_a_resumed_run_carries_on_what_the_former_one_knew(job: TrainingJob) -> None:
    former, _ = heard(job)
    write_standing(job.folder, as_of_another(former.standing))
    course = ((0.0, Note("loading"), LOADING), (1.0, Began(STEPS, "cpu", "fp32", 1, resumed_from=20), TRAINING))
    teller, _ = heard(job, course)
    at = teller.standing
    assert (at.step, at.best_value, at.base_value, at.checkpoint_step) == (20, 0.45, 0.4, 20)
    assert at.checkpoint_at == former.standing.checkpoint_at
    assert at.paces == former.standing.paces
    other = replace(job, seed=43)
    assert Standing.beginning(other, None, former.standing).best_value is None


def test_a_result_found_in_place_corrects_a_file_that_was_cut_off_after_it(job: TrainingJob) -> None:
    former, _ = heard(job)
    at_end = replace(as_of_another(former.standing), step=STEPS, doing=CHECKING)
    write_standing(job.folder, at_end)
    teller, passed = heard(job, ((0.0, Reused("tiny", 20), LOADING),))
    teller.end(FINISHED)
    assert (read_standing(job.folder).state, read_standing(job.folder).step) == (FINISHED, STEPS)
    assert passed == [Reused("tiny", 20)]


@pytest.mark.parametrize(
    "event", [event for _, event, _ in COURSE] + [Reused("tiny", 4)], ids=lambda e: type(e).__name__
)
def test_an_event_passes_between_processes_as_it_is(event: Event) -> None:
    assert from_message(json.loads(json.dumps(to_message(event)))) == event
    assert str(event)


@pytest.mark.parametrize(
    "message", [{}, {"event": "Note"}, {"event": "Exploded"}, {"event": "Note", "text": "x", "y": 1}]
)
def test_what_is_no_event_is_refused(message: dict) -> None:
    with pytest.raises(ValueError, match="no event of training"):
        from_message(message)


def lines_on(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, tell: Callable[..., None]) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with telling.to_terminal() as (pass_on, show):
        tell(pass_on, show)
    return stream.getvalue()


def test_in_a_pipe_steps_are_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(pass_on: Callable[[Event], None], _show: Callable[[Standing], None]) -> None:
        for event in (Note("loading"), done(1), done(2), evaluated(2, 0.5, (2, 0.5)), done(3)):
            pass_on(event)

    lines = lines_on(monkeypatch, io.StringIO(), tell).splitlines()
    assert [line[9:25] for line in lines] == ["loading", "step 1/80  loss ", "step 2/80  balan"]


def test_on_a_terminal_there_is_a_bar_and_no_line_per_step(monkeypatch: pytest.MonkeyPatch, job: TrainingJob) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    teller, _ = heard(job)

    def tell(pass_on: Callable[[Event], None], show: Callable[[Standing], None]) -> None:
        for event in (Note("loading"), done(1), evaluated(20, 0.5, (20, 0.5))):
            pass_on(event)
        show(teller.standing)

    monkeypatch.setenv("TERM", "xterm")
    text = lines_on(monkeypatch, Terminal(), tell)
    assert "loading" in text
    assert "step 20/80" in text
    assert "step 1/80" not in text
    assert "37.5%" in text
