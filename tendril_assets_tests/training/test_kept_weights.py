"""Kept weights are those that were measured, and nothing that could run code is written beside them or loaded."""

import contextlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.evaluation.models import weights_name
from tendril_assets.training import evaluating
from tendril_assets.training import fit as fit_module
from tendril_assets.training.checkpoints import RunFolder
from tendril_assets.training.events import CheckpointSaved, Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets.training.record import library_versions, reproduction
from tendril_assets_tests.training.toy import said, toy_job

PICKLED = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".npz", ".npy"}


class CutOff(Exception):
    pass


def cut_off_after(step: int, job: TrainingJob) -> RunFolder:
    def report(event: Event) -> None:
        if isinstance(event, CheckpointSaved) and event.step == step:
            raise CutOff

    with pytest.raises(CutOff):
        fit(job, report)
    return RunFolder(job.folder, job.config_hash, data_hash(read_exchange(job.exchange)), library_versions(), 4)


class RunsCode:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return Path.touch, (self.trace,)


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path, encoder: Path) -> None:
    """Sealed anew after the change, as somebody could do who writes to the folder: hashes are no signature."""
    run = cut_off_after(4, job := toy_job(tmp_path, encoder, evaluate_every=4))
    checkpoint = run.checkpoint(4)
    files = {path.name for path in run.path.rglob("*") if path.suffix in PICKLED}
    assert files == {"optimizer.pt", "scheduler.pt", "rng_state.pth"}
    assert not [path for path in run.best(4).rglob("*") if path.suffix in PICKLED]
    point = run.resume_point(said([]))
    assert point is not None
    assert point[0] == checkpoint
    trace = tmp_path / "ran"
    (checkpoint / "scheduler.pt").write_bytes(pickle.dumps(RunsCode(trace)))
    run.mark(checkpoint, point[1])
    lines: list[str] = []
    with pytest.raises(CheckpointMismatch) as caught:
        fit(job, said(lines))
    # what wrote it comes first, for it is the likelier reason; torch says what it met
    told = str(caught.value)
    assert f"torch does not load {checkpoint} (Unsupported " in told
    for part in (
        f"numpy {np.__version__} (now {np.__version__})",
        "objects that training does not write",
        str(run.path),
    ):
        assert part in told
    assert told.index("numpy") < told.index("somebody changed it")
    assert any("from the checkpoint of step 4" in line for line in lines)
    assert not trace.exists()
    pickle.loads((checkpoint / "scheduler.pt").read_bytes())
    assert trace.exists()


def test_bf16_training_and_its_reloaded_weights_are_measured_alike(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bf16 on the CPU, which a recipe never chooses here."""
    from tendril_assets.training import devices

    monkeypatch.setattr(devices, "supports_bf16", lambda: True)
    monkeypatch.setattr(devices, "process_group", lambda: contextlib.nullcontext(devices.Group(device="cpu")))
    result = fit(toy_job(tmp_path, encoder, evaluate_every=3, max_epochs=1), said([]))
    assert result["precision"] == "bf16"
    assert result["best_measured_on"].startswith("bf16 on CPU")
    assert result["reproduced_value"] == result["best_value"]


def test_a_finished_training_is_kept_where_its_best_value_does_not_come_again(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that moves to another machine after its last step, where ranks come out otherwise: it is installed and told.

    The base goes from the hub's cache meanwhile; what was loaded is on record.
    """
    place, reproduced = fit_module._place, evaluating.BalancedEvaluator.reproduced
    monkeypatch.setattr(fit_module, "_place", lambda *_args, **_kwargs: "fp32 on another device")
    job = toy_job(tmp_path, encoder, evaluate_every=6, max_epochs=2)
    run = cut_off_after(12, job)
    monkeypatch.setattr(fit_module, "_place", place)
    monkeypatch.setattr(evaluating.BalancedEvaluator, "reproduced", lambda *args: reproduced(*args) - 0.25)
    reserved: list[object] = []
    monkeypatch.setattr(RunFolder, "reserve", lambda *args: reserved.append(args))
    lines: list[str] = []
    result = fit(job, said(lines))
    (told,) = [line for line in lines if "when loaded again" in line]
    assert "2.5e-01 apart" in told
    assert "Measured then: fp32 on another device, at most 2048 tokens a batch. Now: fp32 on CPU" in told
    assert result["best_value"] - result["reproduced_value"] == pytest.approx(0.25)
    assert result["best_measured_on"] == "fp32 on another device, at most 2048 tokens a batch"
    assert not reproduction(result, result["validation"]).holds
    assert (job.folder / "result.json").exists()
    assert not run.path.exists()
    assert reserved == []  # nothing is written any more, so no room is asked for


def test_a_base_that_is_not_the_same_once_saved_is_refused_before_the_first_step(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a library does not save a module: what is loaded again has other weights."""
    job = toy_job(tmp_path, encoder, evaluate_every=6, max_epochs=1)
    load = evaluating.load_model

    def without_a_part(*args: object, **place: object) -> SentenceTransformer:
        model = load(*args, **place)
        for parameter in model.parameters():
            parameter.data[0] += 0.01
        return model

    monkeypatch.setattr(evaluating, "load_model", without_a_part)
    lines: list[str] = []
    with pytest.raises(TrainingError, match=r"the base gives other embeddings of a query .*Nothing was trained"):
        fit(job, said(lines))
    assert not any("loss" in line for line in lines)
    monkeypatch.undo()
    assert fit(job, said(lines))["steps"] == 6


def test_the_base_is_named_as_it_was_loaded(tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = toy_job(tmp_path, encoder, evaluate_every=6, max_epochs=1)
    expected = weights_name(job.spec)

    def gone(event: Event) -> None:
        if isinstance(event, CheckpointSaved):
            monkeypatch.setattr(fit_module, "find_base", None)
            monkeypatch.setattr(fit_module, "weights_name", None)

    result = fit(job, gone)
    assert (result["base_weights"], result["revision"]) == (expected, None)
