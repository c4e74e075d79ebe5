"""Several training processes: the curve of one, errors that end all, resuming."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tendril_assets.errors import TrainingError
from tendril_assets.training import devices
from tendril_assets.training import fit as fit_module
from tendril_assets.training.events import Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import JOB_FILE, TrainingJob
from tendril_assets_tests.training.toy import toy_exchange, toy_job

_SECONDS = 300
_TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def quiet(_event: Event) -> None:
    """The results are looked at."""


def shared_job(folder: Path, encoder: Path, examples: int = 41, **changes: object) -> TrainingJob:
    """Steps of 8 rows as 2 processes x 2 micro-batches of 2. 41 rows: the sixth step of an epoch has a single one."""
    settings = {"learning_rate": 1e-3, "evaluate_every": 5} | changes
    job = toy_job(folder, encoder, toy_exchange(examples), **settings)
    return replace(job, spec=job.spec.model_copy(update={"batch": 2, "processes": 2}))


def points(result: dict) -> list[tuple[int, str, float]]:
    return [tuple(point) for point in result["curve"]]


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.usefixtures("one_thread")
def test_torchrun_gives_the_curve_of_one_process(tmp_path: Path, encoder_without_dropout: Path) -> None:
    """Two epochs with an uneven last step, for which the second process has no row. Sums of another order and other
    padding leave about 1e-6 in float32."""
    job = shared_job(tmp_path / "two", encoder_without_dropout)
    done = run([*_TORCHRUN, "-m", "tendril_assets.training.child", str(job.write(tmp_path / JOB_FILE))])
    assert "2 processes, batch 2 x 2 on cpu" in done.stderr
    two = fit(job, quiet)  # found done: another number of processes is no other configuration
    alone = replace(job, spec=job.spec.model_copy(update={"processes": 1}), folder=tmp_path / "one")
    one = fit(alone, quiet)
    assert (two["config_hash"], two["processes"], one["processes"]) == (one["config_hash"], 2, 1)
    assert (two["steps"], two["best_step"]) == (12, one["best_step"])
    assert [point[:2] for point in points(two)] == [point[:2] for point in points(one)]
    for (step, measure, value), (_, _, expected) in zip(points(two), points(one), strict=True):
        assert value == pytest.approx(expected, rel=1e-5), f"{measure} of step {step}"


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> dict[str, list[dict]]:
    """What became of the two processes of each training; see ``together``."""
    if not sys.platform.startswith("linux"):
        pytest.skip("training processes are forked here")
    folder = tmp_path_factory.mktemp("trainings")
    unbroken = shared_job(folder / "unbroken", encoder)
    broken = replace(unbroken, folder=folder / "broken")
    stop = {"learning_rate": 1e-12, "evaluate_every": 2, "early_stop": {"patience": 2, "min_gain": 0.01}}
    jobs = {
        "unbroken": (unbroken, "none"),
        "killed": (broken, "killed"),
        "resumed": (broken, "none"),
        "stopped": (shared_job(folder / "stopped", encoder, **stop), "none"),
        "nan": (replace(unbroken, folder=folder / "nan"), "nan"),
        "memory": (replace(unbroken, folder=folder / "memory"), "memory"),
    }
    plan = [{"job": str(job.write(folder / f"{name}.json")), "fault": fault} for name, (job, fault) in jobs.items()]
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    done = run([sys.executable, "-m", "tendril_assets_tests.training.together", str(folder / "plan.json")])
    return dict(zip(jobs, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_all_processes_get_the_result(trainings: dict[str, list[dict]]) -> None:
    first, second = trainings["unbroken"]
    assert first == second
    assert first["result"]["processes"] == 2


def test_killed_and_resumed_processes_give_their_unbroken_curve(trainings: dict[str, list[dict]]) -> None:
    """With dropout: each process draws masks of its own, and finds its random states again. Killed in the midst of an
    epoch; the second process ends with the first."""
    first, second = trainings["killed"]
    assert first == {"exit": -signal.SIGKILL}
    assert second["error"] == "OtherProcessFailed"
    resumed, unbroken = trainings["resumed"][0]["result"], trainings["unbroken"][0]["result"]
    assert points(resumed) == points(unbroken)
    assert resumed["weights_sha256"] == unbroken["weights_sha256"]


def test_early_stop_ends_all_processes_at_the_same_step(trainings: dict[str, list[dict]]) -> None:
    first, second = trainings["stopped"]
    assert first == second
    assert (first["result"]["steps"], first["result"]["stop_reason"]) == (4, "early_stop")


def test_non_finite_loss_of_one_process_is_named_by_all(trainings: dict[str, list[dict]]) -> None:
    """The second process's third micro-batch belongs to step 2."""
    first, second = trainings["nan"]
    assert first == second
    assert first["error"] == "NonFiniteLoss"
    assert "step 2" in first["text"]
    assert len(first["pairs"]) == 2


def test_an_error_of_one_process_ends_the_others_with_its_name(trainings: dict[str, list[dict]]) -> None:
    first, second = trainings["memory"]
    assert second["error"] == "MemoryError"
    assert first["error"] == "OtherProcessFailed"
    assert "process 1 failed: MemoryError: no room for this" in first["text"]


def announce(monkeypatch: pytest.MonkeyPatch, rank: int, size: int) -> None:
    told = {"TORCHELASTIC_RUN_ID": "none", "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))


def test_on_gpus_each_process_has_its_own_and_objects_stay_off_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[object] = []
    monkeypatch.setattr(devices.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(devices.torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices.torch.cuda, "set_device", chosen.append)
    store = devices.dist.HashStore()
    monkeypatch.setattr(devices.dist, "rendezvous", lambda *_, **__: iter([(store, 1, 2)]))
    monkeypatch.setattr(devices.dist, "init_process_group", lambda backend, **_: chosen.append(backend))
    monkeypatch.setattr(devices.dist, "destroy_process_group", lambda: chosen.append("destroyed"))
    announce(monkeypatch, 1, 2)
    with devices.process_group() as group:
        assert group == devices.Group(1, 2, "cuda:1")
    assert chosen == [1, "cpu:gloo,cuda:nccl", "destroyed"]
    announce(monkeypatch, 2, 3)
    with pytest.raises(TrainingError, match="process 3 of this machine finds 2 GPUs"), devices.process_group():
        pass


def test_objects_of_a_group_with_both_backends_go_over_the_processors() -> None:
    """torch's own choice, for the backends that ``process_group`` names; NCCL itself needs a GPU."""
    from torch.distributed import distributed_c10d

    group = SimpleNamespace(_device_types=[torch.device("cuda"), torch.device("cpu")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed_c10d, "ProcessGroup", SimpleNamespace)
        assert distributed_c10d._get_object_coll_device(group) == "cpu"


def test_processes_that_do_not_divide_are_refused_before_torch_is_needed(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(monkeypatch, 0, 3)
    monkeypatch.setattr(fit_module, "_train", quiet)
    with pytest.raises(TrainingError, match="batch 2 on 3 processes does not divide the effective batch 8"):
        fit(shared_job(tmp_path, encoder), quiet)
