"""Kept weights reproduce the best value, and nothing that could run code is written beside them or loaded."""

import contextlib
import pickle
from pathlib import Path

import pytest

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.training import fit as fit_module
from tendril_assets.training.checkpoints import RunFolder
from tendril_assets.training.events import CheckpointSaved, Event
from tendril_assets.training.fit import fit, library_versions
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
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
    return RunFolder(job.folder, job.config_hash, data_hash(read_exchange(job.exchange)), library_versions())


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
    with pytest.raises(CheckpointMismatch, match="objects that training does not write"):
        fit(job, said(lines))
    assert "resuming from checkpoint-4" in lines
    assert not trace.exists()
    pickle.loads((checkpoint / "scheduler.pt").read_bytes())
    assert trace.exists()


def test_bf16_training_and_its_reloaded_weights_are_measured_alike(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bf16 on the CPU, which a recipe never chooses here: the check holds to the same 1e-6 as in fp32."""
    from tendril_assets.training import devices

    monkeypatch.setattr(devices, "supports_bf16", lambda: True)
    monkeypatch.setattr(devices, "process_group", lambda: contextlib.nullcontext(devices.Group(device="cpu")))
    monkeypatch.setattr(fit_module, "_TOLERANCE_ELSEWHERE", -1.0)  # would refuse anything
    result = fit(toy_job(tmp_path, encoder, evaluate_every=3, max_epochs=1), said([]))
    assert result["precision"] == "bf16"
    assert result["best_measured_on"].startswith("bf16 on CPU")


def test_the_check_is_wider_where_the_best_value_was_measured_elsewhere(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that moves to another machine: another value in the last digits must not cost a day's training."""
    place = fit_module._place
    monkeypatch.setattr(fit_module, "_place", lambda *_args, **_kwargs: "fp32 on another device")
    job = toy_job(tmp_path, encoder, evaluate_every=6, max_epochs=2)
    cut_off_after(12, job)
    monkeypatch.setattr(fit_module, "_place", place)
    lines: list[str] = []
    result = fit(job, said(lines))
    (told,) = [line for line in lines if "was measured elsewhere" in line]
    assert "the best value was measured elsewhere (fp32 on another device; now fp32 on CPU" in told
    assert result["best_measured_on"] == "fp32 on another device"


def test_weights_that_give_another_value_are_refused_and_training_is_not_lost(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = toy_job(tmp_path, encoder, evaluate_every=6, max_epochs=1)
    load = fit_module.load_model
    monkeypatch.setattr(fit_module, "load_model", lambda spec, _weights=None, device=None: load(spec, device=device))
    with pytest.raises(TrainingError, match=r"when loaded again.*Nothing was installed; start again"):
        fit(job, said([]))
    monkeypatch.undo()
    lines: list[str] = []
    assert fit(job, said(lines))["steps"] == 6
    assert "resuming from checkpoint-6" in lines
