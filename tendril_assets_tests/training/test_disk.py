"""Room for checkpoints is counted before training, and a disk that is full is said once and costs nothing."""

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tendril_assets.errors import DiskFull
from tendril_assets.training import disk
from tendril_assets.training.disk import DiskNeed, free_space, saving
from tendril_assets_tests.training.toy import toy_job

_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def with_free(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    """The free space that is found, look by look; the last stays."""
    found = list(free)
    monkeypatch.setattr(
        disk.shutil, "disk_usage", lambda _path: Usage(0, 0, found.pop(0) if len(found) > 1 else found[0])
    )


def test_need_of_a_model_with_1_1_billion_parameters() -> None:
    """fp32 weights 4.4 GB, AdamW's two values each 8.8: a checkpoint is 13.2, two with two best weights 35.2."""
    need = DiskNeed(weights=4_400_000_000, optimiser=8_800_000_000)
    assert need.checkpoint == 13_200_000_000
    assert need.most == 35_200_000_000


def test_need_is_told_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 50_000_000_000)
    need = DiskNeed(4_400_000_000, 8_800_000_000)
    assert need.told(tmp_path / "runs", present=0) == (
        f"a checkpoint takes about 13.2 GB and best weights 4.4 GB; two of each are kept at most: 35.2 GB in "
        f"{tmp_path / 'runs'}, where 50.0 GB are free"
    )


def test_a_run_that_cannot_fit_is_refused_before_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 20_000_000_000)
    need = DiskNeed(4_400_000_000, 8_800_000_000)
    with pytest.raises(DiskFull, match=r"20\.0 GB are free, and 5\.0 GB of it are there already\. Free 10\.2 GB more"):
        need.told(tmp_path, present=5_000_000_000)
    assert need.told(tmp_path, present=15_200_000_000)  # a run that resumes has most of it
    with pytest.raises(DiskFull, match=r"This run does not need runs/a, runs/b\. Nothing more was trained"):
        need.told(tmp_path, present=0, removable=["runs/a", "runs/b"])


def test_without_hard_links_the_result_takes_room_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 50_000_000_000)
    need = DiskNeed(4_400_000_000, 8_800_000_000, installed=4_400_000_000)
    assert need.most == 39_600_000_000
    assert "and without hard links here a copy of the best weights as the result: 39.6 GB in" in need.told(tmp_path, 0)


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert free_space(tmp_path / "a" / "b") > 0


def test_no_room_is_found_before_a_byte_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 100)
    entered = []
    with (
        pytest.raises(DiskFull, match=r"no room for checkpoint-112 in .*: it needs about 13\.2 GB"),
        saving(tmp_path / "checkpoint-112", 13_200_000_000, "The checkpoint of step 56 is whole."),
    ):
        entered.append(1)
    assert entered == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        # as safetensors' own error says it
        RuntimeError('I/O error: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })'),
    ],
)
def test_a_disk_that_fills_up_while_it_is_written(tmp_path: Path, error: Exception) -> None:
    folder = tmp_path / "checkpoint-112"
    folder.mkdir()
    with (
        pytest.raises(DiskFull, match=r"The checkpoint of step 56 is whole\. Free some room") as caught,
        saving(folder, 1, "The checkpoint of step 56 is whole."),
    ):
        raise error
    assert caught.value.__cause__ is error
    assert not folder.exists()


def test_torch_does_not_say_that_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 1_000_000_000, 4096)
    with pytest.raises(DiskFull), saving(tmp_path / "checkpoint-112", 1, ""):
        raise RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0")


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-112"
    folder.mkdir()
    with pytest.raises(PermissionError), saving(folder, 1, ""):
        raise PermissionError(errno.EACCES, "Permission denied")
    assert folder.exists()


FULL_DISK = """
import json, sys
from pathlib import Path
from tendril_assets.errors import TendrilError
from tendril_assets.training.events import Evaluated
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob
import torch
torch.set_num_threads(1)
job = TrainingJob.read(Path(sys.argv[2]))
ballast = Path(sys.argv[1]) / "ballast"
lines, told = [], []

def fill(room):
    with ballast.open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            pass
    with ballast.open("r+b") as stream:
        stream.truncate(ballast.stat().st_size - room)

def train(step, room):
    def report(event):
        lines.append(str(event))
        if isinstance(event, Evaluated) and event.step == step:
            fill(room)
    return fit(job, report)

weights = (Path(job.spec.base) / "model.safetensors").stat().st_size
for step, room in ((8, 8192), (12, 3 * weights)):
    try:
        train(step, room)
    except TendrilError as error:
        left = sorted(path.name for path in job.folder.glob("runs/*/*"))
        told.append([type(error).__name__, str(error), repr(error.__cause__), left])
    ballast.unlink()
lines.clear()
print(json.dumps({"told": told, "result": train(None, 0), "lines": lines}))
"""


def test_full_disk_keeps_the_former_checkpoint_and_the_next_start_resumes(tmp_path: Path, encoder: Path) -> None:
    """A file system of 2 MB is filled before the checkpoint of step 8, but for two pages.

    Before that of step 12 three times the weights stay free: about what was announced, and less than all files take, so
    that the writing begins and breaks off.
    """
    if (
        shutil.which("unshare") is None
        or subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no user namespaces here, so no small file system can be mounted")
    small = tmp_path / "small"
    small.mkdir()
    job = replace(toy_job(tmp_path, encoder, evaluate_every=4), folder=small / "tiny")
    path = job.write(tmp_path / "job.json")
    script = 'mount -t tmpfs -o size=2m tmpfs "$1" && exec "$2" -c "$3" "$1" "$4"'
    command = [*_NAMESPACE, "sh", "-c", script, "sh", str(small), sys.executable, FULL_DISK, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    (kind, message, cause, left), (kind_2, message_2, cause_2, left_2) = answer["told"]
    assert (kind, kind_2) == ("DiskFull", "DiskFull")
    assert f"no room for checkpoint-8 in {small}/tiny/runs/" in message
    assert "it needs about 0.1 MB, 0.0 MB are free" in message
    assert "The checkpoint of step 4 is whole: the next start resumes from it." in message
    assert cause == "None"  # nothing was begun
    assert [name for name in left if name.startswith("checkpoint")] == ["checkpoint-4"]
    assert "no room for checkpoint-12" in message_2
    assert "The checkpoint of step 8 is whole: the next start resumes from it." in message_2
    assert cause_2 != "None"  # cut off in the middle
    assert [name for name in left_2 if name.startswith("checkpoint")] == ["checkpoint-8"]
    assert any("from the checkpoint of step 8" in line for line in answer["lines"])
    assert answer["result"]["steps"] == 12
