"""Ctrl-C as a terminal sends it: SIGINT to every process of the foreground group at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tendril_assets_tests.demo import environment, processes_using
from tendril_assets_tests.sleeping_location import ASLEEP

LIMIT_S = 120
STOPPED = 130

Start = Callable[[str], subprocess.Popen]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Generator[Start, None, None]:
    """Starts a command in a process group of its own, as a shell does."""
    started: list[subprocess.Popen] = []
    # An own landing folder: the sample need not be written.
    variables = {"TENDRIL_LANDING": str(home / "landing"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def begin(command: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "tendril_assets_tests.sleeping_location", command],
            env=environment(home) | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def output_until(process: subprocess.Popen, text: str) -> str:
    read = ""
    while text not in read:
        assert process.stdout
        line = process.stdout.readline()
        assert line, f"ended without {text!r}: {read}"
        read += line
    return read


def interrupt(process: subprocess.Popen) -> str:
    """What comes after Ctrl-C, until the end."""
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=LIMIT_S)[0]


def ends_with_all(home: Path) -> bool:
    deadline = time.monotonic() + LIMIT_S
    while processes_using(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes_using(home)


@pytest.mark.parametrize("command", ["demo", "run"])
def test_the_terminal_s_interrupt_stops_in_order(start: Start, home: Path, command: str) -> None:
    process = start(command)
    output_until(process, ASLEEP)
    # Case: the helpers of Dagster that mirror the step's output, and the gateway, are in the middle of their work.
    mirrors = [found for found in processes_using(home) if "watch_orphans" in found]
    gateways = [found for found in processes_using(home) if "sandbox.gateway" in found]
    assert (len(mirrors), len(gateways)) == (2, command == "demo")
    rest = interrupt(process)
    assert process.returncode == STOPPED, rest
    assert "Traceback" not in rest
    assert "KeyboardInterrupt" not in rest
    assert rest.count("stopped as asked") == 1
    assert ("requests sent to the gateway: 0 in this run" in rest) == (command == "demo")
    assert "before its counters" not in rest
    assert ends_with_all(home), processes_using(home)


def test_a_command_that_waits_says_so_at_once_and_can_be_interrupted(start: Start) -> None:
    """Before the graph is loaded. That it says so once is in test_running."""
    first = start("run")
    output_until(first, ASLEEP)
    second = start("run")
    told = output_until(second, "waiting for its end")
    assert f"process {first.pid} (tendril tenders) works in" in told
    rest = interrupt(second)
    assert second.returncode == STOPPED, rest
    # An interrupt inside the print itself may print the line again.
    assert rest.splitlines()[-1] == "stopped as asked. Run the same command again to go on."
    assert "Traceback" not in rest
    interrupt(first)
    assert first.returncode == STOPPED
