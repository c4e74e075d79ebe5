"""The training process: killed and resumed, found done without torch, and never left alone."""

import json
import os
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
from tendril_assets.training.job import JOB_FILE
from tendril_assets.training.standing import FAILED, read_standing
from tendril_assets_tests.training.scripted_fit import install
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


def test_other_data_starts_afresh_and_leaves_the_former_run_alone(tmp_path: Path, encoder: Path) -> None:
    job = toy_job(tmp_path, encoder, max_epochs=1, evaluate_every=6)
    former = RunFolder(job.folder, job.config_hash, "0" * 64)
    former.checkpoint(6).mkdir(parents=True)
    lines: list[str] = []
    fit(job, said(lines))
    assert former.checkpoint(6).exists()
    assert [path.name for path in (job.folder / "runs").iterdir()] == [former.path.name]
    told = [line for line in lines if line.endswith(f"rm -r {former.path}")]
    assert len(told) == 2  # before it trains and once it has


def test_errors_are_one_line_and_status_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / JOB_FILE
    path.write_text(json.dumps({}))
    assert main([str(path)]) == 1
    assert "TrainingError" in capfd.readouterr().err
    assert main([]) == 2


@pytest.mark.parametrize("processes", [1, 2])
def test_a_base_that_is_not_there_is_one_line_and_a_file_that_says_so(tmp_path: Path, processes: int) -> None:
    job = toy_job(tmp_path, tmp_path / "nowhere")
    job = replace(job, spec=job.spec.model_copy(update={"processes": processes}))
    done = subprocess.run(
        [*CHILD, str(job.write(tmp_path / JOB_FILE))],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line]
    assert f"TendrilError: base: there is no folder {tmp_path / 'nowhere'}" in line
    left = read_standing(job.folder)
    assert left is not None
    assert left.stopped_by is not None
    assert (left.state, left.stopped_by.kind) == (FAILED, "TendrilError")


@pytest.mark.parametrize(("group", "code", "waits"), [("none", 1, False), ("none", 0, True), ("", 1, True)])
def test_one_of_several_leaves_at_once_after_an_error(group: str, code: int, waits: bool) -> None:
    """A thread that does not end stands for a library that waits for the others at Python's end."""
    program = (
        "import threading, time\n"
        "from tendril_assets.training.child import _leave\n"
        f"threading.Thread(target=lambda: (time.sleep({1 if waits else 30}), print('waited', flush=True))).start()\n"
        f"_leave({code})"
    )
    told = {"TORCHELASTIC_RUN_ID": group, "RANK": "1"} if group else {}
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT | told, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (code, "waited" if waits else "")


def test_stopped_by_hand_it_says_where_it_will_go_on(tmp_path: Path) -> None:
    """Foreign variables of a group neither make it wait for others nor let it train without the lock."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text("{}")
    (tmp_path / "base" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "base" / "tokenizer.json").write_text("{}")
    job = toy_job(tmp_path, tmp_path / "base")
    foreign = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    environment = ENVIRONMENT | foreign | {"PYTHONPATH": install(tmp_path / "scripted"), "TOY_SCRIPT": "wait"}
    command = [*CHILD, str(job.write(tmp_path / JOB_FILE))]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    note = job.folder / "pid.0"
    try:
        wait_until(lambda: note.is_file() and note.read_text() != "", 60, process)
        process.terminate()
        _, lines = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGTERM
    assert lines.splitlines()[-1][9:] == "stopped at step 7 of 100. Run again: it resumes from step 4"


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
