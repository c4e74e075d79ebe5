"""Several training processes: enough GPUs, the command, and the failure that is told of many."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tendril_assets.errors import OtherProcessFailed, TrainingError
from tendril_assets.training import launcher
from tendril_assets.training.job import TrainingJob
from tendril_assets_tests.training.toy import toy_job


@pytest.fixture
def job(tmp_path: Path) -> TrainingJob:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "base" / "tokenizer.json").write_text("{}")
    job = toy_job(tmp_path, tmp_path / "base")
    return replace(job, spec=job.spec.model_copy(update={"processes": 4}))


@pytest.mark.parametrize(("gpus", "enough"), [(0, True), (1, False), (3, False), (4, True), (8, True)])
def test_more_processes_than_gpus_are_refused_before_anything_starts(
    job: TrainingJob, monkeypatch: pytest.MonkeyPatch, gpus: int, enough: bool
) -> None:
    monkeypatch.setattr(launcher.torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(launcher.torch.cuda, "device_count", lambda: gpus)
    if enough:
        launcher.require_devices(job)
    else:
        with pytest.raises(TrainingError, match=rf"models.tiny.processes is 4, and this machine has {gpus} GPU"):
            launcher.require_devices(job)


def test_the_agent_understands_its_arguments(job: TrainingJob, tmp_path: Path) -> None:
    read = launcher.torchrun.parse_args(launcher.agent_arguments(tmp_path / "job.json", job, tmp_path / "logs"))
    assert (read.standalone, read.nproc_per_node, read.module, read.max_restarts) == (True, "4", True, 0)
    assert read.training_script == "tendril_assets.training.child"
    assert read.training_script_args == [str(tmp_path / "job.json"), str(os.getpid())]
    assert read.shutdown_timeout == launcher.SHUTDOWN_SECONDS


def ended(exitcode: int, timestamp: int, kind: str | None = None, message: str = "") -> SimpleNamespace:
    stop = {"kind": kind, "message": message, "stack": None, "rank": None}
    data = {"message": {"extraInfo": {"stop": stop}}} if kind else {"message": "<NONE>"}
    return SimpleNamespace(exitcode=exitcode, timestamp=timestamp, error_file_data=data)


def test_the_failure_nearest_to_the_cause_is_told() -> None:
    """The first process noticed first, for it lost the third, which the kernel killed; the second was ended then."""
    lost = OtherProcessFailed.__name__
    stop = launcher.cause_of({0: ended(1, 10, lost, "peer lost"), 1: ended(-15, 10), 2: ended(-9, 11)}, "tiny")
    assert (stop.kind, stop.rank) == ("TrainingCrashed", 2)
    assert "SIGKILL" in stop.message
    short = ended(1, 12, "TrainingOutOfMemory", "CUDA out of memory")
    assert launcher.cause_of({0: ended(-6, 10), 1: short}, "tiny").message == "CUDA out of memory"
    twice = {0: ended(1, 12, "NonFiniteLoss", "late"), 1: ended(1, 11, "NonFiniteLoss", "early")}
    assert (launcher.cause_of(twice, "tiny").message, launcher.cause_of(twice, "tiny").rank) == ("early", 1)
    assert "ended with status 3 and did not say why" in launcher.cause_of({0: ended(3, 1)}, "tiny").message
