"""One training at a time in a model's folder."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.errors import FolderInUse, TrainingError
from tendril_assets.training.alone import LOCK_FILE, alone
from tendril_assets.training.child import main
from tendril_assets.training.job import JOB_FILE
from tendril_assets_tests.training.toy import toy_job

HOLD = """
import sys
from pathlib import Path
from tendril_assets.training.alone import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "models" / "tiny")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_is_refused_and_told_who_trains(tmp_path: Path, holder: subprocess.Popen) -> None:
    folder = tmp_path / "models" / "tiny"
    refused = rf"tiny is in use: process {holder.pid} on {socket.gethostname()} trains in it since 20\d\d-"
    with pytest.raises(FolderInUse, match=refused), alone(folder, wait_s=0.2):
        raise AssertionError("it is held")


def test_a_training_by_hand_is_refused_too_and_leaves_the_others_progress(
    tmp_path: Path,
    encoder: Path,
    holder: subprocess.Popen,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tendril_assets.training.alone._WAIT_S", 0.2)
    job = toy_job(tmp_path, encoder)
    before = sorted(path.name for path in job.folder.iterdir())
    assert main([str(job.write(tmp_path / JOB_FILE))]) == 1
    assert f"FolderInUse: {job.folder} is in use: process {holder.pid}" in capfd.readouterr().err
    assert sorted(path.name for path in job.folder.iterdir()) == before


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path, holder: subprocess.Popen) -> None:
    holder.kill()
    with alone(tmp_path / "models" / "tiny"):
        assert str(os.getpid()) in (tmp_path / "models" / "tiny" / LOCK_FILE).read_text()


def test_one_after_the_other(tmp_path: Path) -> None:
    for _ in range(2):
        with alone(tmp_path, wait_s=0.0):
            pass
    with pytest.raises(KeyboardInterrupt), alone(tmp_path):
        raise KeyboardInterrupt
    with alone(tmp_path, wait_s=0.0):
        pass


def test_a_lock_without_a_name_is_still_a_lock(tmp_path: Path) -> None:
    with alone(tmp_path):
        (tmp_path / LOCK_FILE).write_text("")
        with pytest.raises(FolderInUse, match="another process trains in it"), alone(tmp_path, wait_s=0.0):
            raise AssertionError("it is held")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(TrainingError, match=rf"without locks \({os.strerror(number)}\).*TENDRIL_HOME"), alone(tmp_path):
        raise AssertionError("nothing holds it")
