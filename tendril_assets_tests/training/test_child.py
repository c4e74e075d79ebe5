"""The training process: killed and resumed, found done without torch, and never left alone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tendril_assets.training.checkpoints import RunFolder
from tendril_assets.training.child import main
from tendril_assets.training.events import Event
from tendril_assets.training.fit import fit
from tendril_assets.training.job import JOB_FILE, TrainingJob, data_hash, read_exchange
from tendril_assets_tests.training.toy import said, toy_job

CHILD = [sys.executable, "-m", "tendril_assets.training.child"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def quiet(_event: Event) -> None:
    """Only the result is looked at."""


def wait_until(condition: Callable[[], bool], seconds: float, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the process ended before it could be looked at"
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def long_job(folder: Path, encoder: Path) -> TrainingJob:
    """44 examples in steps of 8 over 12 epochs: 72 steps, evaluated every 12."""
    return toy_job(folder, encoder, max_epochs=12, evaluate_every=12, learning_rate=1e-3)


@pytest.mark.usefixtures("one_thread")
def test_killed_moved_and_resumed_gives_the_unbroken_curve(tmp_path: Path, encoder: Path) -> None:
    job = long_job(tmp_path / "killed", encoder)
    process = subprocess.Popen([*CHILD, str(job.write(tmp_path / JOB_FILE))], env=ENVIRONMENT, stderr=subprocess.PIPE)
    run = RunFolder(job.folder, job.config_hash, data_hash(read_exchange(job.exchange)))
    try:
        wait_until(lambda: (run.checkpoint(24) / "complete.json").is_file(), 120, process)
    finally:
        process.kill()  # SIGKILL
        process.communicate()
    assert not (job.folder / "result.json").exists()
    run.checkpoint(71).mkdir()  # as if it had been killed while it wrote

    moved = tmp_path / "moved"
    shutil.move(job.folder, moved)
    lines: list[str] = []
    resumed = fit(replace(job, folder=moved), said(lines))
    assert any(line.startswith("resuming from checkpoint-") for line in lines)

    unbroken = fit(replace(job, folder=tmp_path / "unbroken"), quiet)
    assert [tuple(point) for point in resumed["curve"]] == [tuple(point) for point in unbroken["curve"]]
    assert resumed["best_step"] == unbroken["best_step"]
    assert resumed["weights_sha256"] == unbroken["weights_sha256"]
    assert resumed["steps"] == 72


def test_done_is_found_without_torch(tmp_path: Path, encoder: Path) -> None:
    job = toy_job(tmp_path, encoder, max_epochs=1, evaluate_every=6)
    fit(job, quiet)
    program = (
        "import sys\n"
        "from tendril_assets.training.child import main\n"
        "status = main([sys.argv[1]])\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(job.write(tmp_path / JOB_FILE))],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stderr


def test_other_data_starts_afresh_and_sweeps_the_former_run(tmp_path: Path, encoder: Path) -> None:
    job = toy_job(tmp_path, encoder, max_epochs=1, evaluate_every=6)
    former = RunFolder(job.folder, job.config_hash, "0" * 64)
    former.checkpoint(6).mkdir(parents=True)
    fit(job, quiet)
    assert not former.path.exists()


def test_errors_are_one_line_and_status_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / JOB_FILE
    path.write_text(json.dumps({}))
    assert main([str(path)]) == 1
    assert "TrainingError" in capfd.readouterr().err
    assert main([]) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's parent-death signal is Linux only")
def test_dies_with_its_parent(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    child = (
        "import pathlib, time; from tendril_assets.training.child import die_with_parent; die_with_parent(); "
        f"pathlib.Path({str(ready)!r}).write_text('yes'); time.sleep(120)"
    )
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {child!r}]); "
            "print(p.pid, flush=True); time.sleep(120)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(parent.stdout.readline())
    try:
        wait_until(ready.is_file, 60, parent)
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 10
        while running(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not running(pid)
    finally:
        parent.kill()
        parent.stdout.close()
        if running(pid):
            os.kill(pid, signal.SIGKILL)


def running(pid: int) -> bool:
    """False too for a process that has ended and waits to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
