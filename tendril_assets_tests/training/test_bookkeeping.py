"""The best step is the first maximum of what was logged; time is counted over all resumes."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import TrainingError
from tendril_assets.training import bookkeeping
from tendril_assets.training.bookkeeping import Bookkeeper, record_evaluation
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.events import Event, StepDone
from tendril_assets.training.whole import read_marker, verify
from tendril_assets_tests.training.test_checkpoints import STATE, write

BALANCED = "balanced_ndcg@10"
EVERY = 56


class Weights:
    """Stands for a model: its weights say which evaluation they belong to."""

    def __init__(self, step: int) -> None:
        self.step = step

    def save_pretrained(self, folder: str, create_model_card: bool) -> None:
        assert not create_model_card
        (Path(folder) / "model.safetensors").write_text(str(self.step))


def quiet(_event: Event) -> None:
    """Only the folder is looked at."""


@pytest.fixture(scope="module")
def without_fsync() -> Iterator[None]:
    """Some hundred folders are written; what a power cut would leave of them is not looked at."""
    with mock.patch("tendril_assets.training.whole.os.fsync", return_value=None):
        yield


# Few different values, so that equal ones are frequent.
curves = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.5 + 2**-53, 0.75, 1.0]), min_size=1, max_size=8)


@pytest.mark.usefixtures("without_fsync")
@settings(max_examples=40, deadline=None)
@given(curve=curves)
def test_best_is_the_first_maximum_base_included(tmp_path_factory: pytest.TempPathFactory, curve: list[float]) -> None:
    """Evaluated, swept and saved as the trainer does; at every moment a whole checkpoint has its best weights."""
    run = RunFolder(tmp_path_factory.mktemp("curve"), "c" * 64, "d" * 64)
    progress = Progress(run.config_hash, run.data_hash)
    keeper = Bookkeeper(run, progress, 32, lambda: 0, quiet)
    record_evaluation(run, progress, 0, {BALANCED: curve[0]}, Weights(0))
    for number, value in enumerate(curve[1:], 1):
        step = number * EVERY
        state = SimpleNamespace(global_step=step, max_steps=len(curve) * EVERY)
        keeper.on_evaluate(None, state, None, metrics={f"eval_{BALANCED}": value}, model=Weights(step))
        if number > 1:  # the room is made, the new checkpoint is not begun: a process that dies here resumes
            content, files = read_marker(run.checkpoint(step - EVERY))
            verify(run.checkpoint(step - EVERY), files)
            named = run.best(content["progress"]["best_step"])
            verify(named, read_marker(named)[1])
        run.checkpoint(step).mkdir()
        write(run.checkpoint(step), STATE)
        keeper.on_save(None, state, None)
        assert len(list(run.path.glob("checkpoint-*"))) <= 2
        assert len(list(run.path.glob("best-*"))) <= 2
    logged = [(step, value) for step, measure, value in progress.curve if measure == BALANCED]
    assert logged == [(number * EVERY, value) for number, value in enumerate(curve)]
    best = EVERY * curve.index(max(curve))
    assert (progress.best_step, progress.best_value) == (best, max(curve))
    assert progress.base_value == curve[0]
    assert (run.best(best) / "model.safetensors").read_text() == str(best)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_measure_that_is_no_number_stops_the_run(tmp_path: Path, value: float) -> None:
    run = RunFolder(tmp_path, "c" * 64, "d" * 64)
    progress = Progress(run.config_hash, run.data_hash)
    with pytest.raises(TrainingError, match="evaluation of step 56"):
        record_evaluation(run, progress, 56, {BALANCED: value}, Weights(56))
    assert progress.curve == []


def test_rates_are_those_of_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of 32 rows and 500 tokens, 10 s each; between them an evaluation of 100 s and a checkpoint of 50 s."""
    now, told = [0.0], []
    monkeypatch.setattr(bookkeeping.time, "monotonic", lambda: now[0])
    run = RunFolder(tmp_path, "c" * 64, "d" * 64)
    progress = Progress(run.config_hash, run.data_hash)
    keeper = Bookkeeper(run, progress, 32, lambda: 500 * state.global_step, told.append)
    control = SimpleNamespace(should_evaluate=True)

    def step(number: int) -> None:
        now[0] += 10
        state.global_step = number
        keeper.on_log(None, state, control, {"loss": 0.5, "learning_rate": 1e-5})

    state = SimpleNamespace(global_step=0, max_steps=2)
    step(1)
    now[0] += 100
    keeper.on_evaluate(None, state, None, metrics={f"eval_{BALANCED}": 0.5}, model=Weights(1))
    now[0] += 50
    run.checkpoint(1).mkdir()
    write(run.checkpoint(1), STATE)
    keeper.on_save(None, state, None)
    step(2)
    rates = [(event.examples_per_s, event.tokens_per_s) for event in told if isinstance(event, StepDone)]
    assert rates == [(pytest.approx(3.2), pytest.approx(50.0))] * 2
    assert progress.seconds == 160.0  # of the run, as far as the checkpoint


def test_time_counts_over_all_resumes_but_not_what_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 s up to a checkpoint; a process goes on from it, saves after 10 s, and is lost after another 7.

    The next one starts with what the checkpoint says, 110 s, and saves after 20 s more.
    """
    now = [0.0]
    monkeypatch.setattr(bookkeeping.time, "monotonic", lambda: now[0])
    run = RunFolder(tmp_path, "c" * 64, "d" * 64)
    progress = Progress(run.config_hash, run.data_hash, seconds=100.0, step=56, best_value=0.5)

    def life(progress: Progress, until_save: float, then: float, step: int) -> Progress:
        record = Progress(**vars(progress))
        run.keep_best(record, lambda folder: Weights(0).save_pretrained(folder, create_model_card=False))
        keeper = Bookkeeper(run, record, 32, lambda: 0, quiet)
        now[0] += until_save
        run.checkpoint(step).mkdir()
        write(run.checkpoint(step), STATE)
        keeper.on_save(None, SimpleNamespace(global_step=step, max_steps=999), None)
        now[0] += then
        resumed = run.resume_point(quiet)
        assert resumed is not None
        return resumed[1]

    after_first = life(progress, 10.0, 7.0, 112)
    assert after_first.seconds == pytest.approx(110.0)
    assert life(after_first, 20.0, 0.0, 168).seconds == pytest.approx(130.0)
