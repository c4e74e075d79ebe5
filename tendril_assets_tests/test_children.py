"""A child ends with its parent: when the parent is killed, when it was gone before, and without the kernel's help."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
CHILD = """
import os, pathlib, sys, time
from tendril_assets import children
{before}
children.die_with_parent({parent})
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(120)
"""
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", *sys.argv[1:]])
time.sleep(120)
"""


def await_true(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def is_running(pid: int) -> bool:
    """False too for a process that has ended and waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_it_dies_with_its_parent(code: str, argument: str, note: Path) -> None:
    """``code`` runs with ``argument`` and ``note``, and has its child's process id written to ``note``."""
    parent = subprocess.Popen([sys.executable, "-c", code, argument, str(note)], env=ENVIRONMENT)
    pid = None
    try:
        assert await_true(lambda: note.is_file() and note.read_text() != "", 30)
        pid = int(note.read_text())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert await_true(lambda: not is_running(pid), 10)
    finally:
        parent.kill()
        parent.wait()
        if pid is not None and is_running(pid):
            os.kill(pid, signal.SIGKILL)


@on_linux
@pytest.mark.parametrize("before", ["", "children._kernel_watches = lambda: False"], ids=["kernel", "watcher"])
def test_a_child_dies_with_its_killed_parent(tmp_path: Path, before: str) -> None:
    note = tmp_path / "pid"
    child = CHILD.format(before=before, parent="os.getppid()")
    assert_it_dies_with_its_parent(PARENT, child, note)


def test_a_child_lives_as_long_as_its_parent(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = subprocess.Popen([sys.executable, "-c", CHILD.format(before="", parent=""), str(note)], env=ENVIRONMENT)
    try:
        assert await_true(note.is_file, 30)
        time.sleep(0.2)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def _ended() -> int:
    """The id of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import sys; from tendril_assets.children import die_with_parent; die_with_parent(int(sys.argv[1]))"],
        ["-m", "tendril_assets.child_pool"],
        ["-m", "tendril_assets.corpus.extract_worker"],
        ["-m", "tendril_assets.release.verify", "no-folder"],
        ["-m", "tendril_assets.sandbox.gateway", "--parent"],
    ],
    ids=lambda arguments: arguments[1].split(".")[-1] if arguments[0] == "-m" else "function",
)
def test_a_parent_that_ended_before_the_call_is_noticed(arguments: list[str]) -> None:
    limits = ["[1, 1, 1, 1, 1]"] if "tendril_assets.corpus.extract_worker" in arguments else []
    done = subprocess.run(
        [sys.executable, *arguments, str(_ended()), *limits],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip() == "the process that started this one has ended"


def test_the_module_is_light() -> None:
    code = "import sys; before = set(sys.modules); import tendril_assets.children; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=True
    )
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    assert roots <= sys.stdlib_module_names | {"tendril_assets"}
