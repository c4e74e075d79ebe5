"""Driving ``tendril demo`` as a user does: as a process, killed without warning where the test says so."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tendril_assets.resources.asking_progress import progress_folder, read_standings

LIMIT_S = 900


@dataclass(frozen=True)
class DemoRun:
    output: str
    code: int

    @property
    def requests(self) -> int:
        """Requests the stand-in gateway saw in this run."""
        return int(self._figure(r"requests sent to the gateway: ([\d,]+) in this run"))

    @property
    def asked_twice(self) -> int:
        """Answered requests asked again, over all runs on the same home."""
        return int(self._figure(r"answered ones asked twice: ([\d,]+)"))

    @property
    def seconds(self) -> int:
        return int(self._figure(r"finished \d+ steps in (\d+) s"))

    def _figure(self, pattern: str) -> str:
        found = re.search(pattern, self.output)
        assert found, self.output[-3000:]
        return found.group(1).replace(",", "")


def environment(home: Path) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("TENDRIL_", "DAGSTER_", "GHEIM_"))}
    return {**keep, "TENDRIL_HOME": str(home), "COLUMNS": "200"}


def tendril(
    home: Path,
    *arguments: str,
    timeout: float = LIMIT_S,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> DemoRun:
    """Run one command to its end, with further environment ``variables``."""
    done = subprocess.run(
        [sys.executable, "-m", "tendril_assets.cli", *arguments],
        env=environment(home) | dict(variables or {}),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    return DemoRun(done.stdout, done.returncode)


def demo_killed_at(home: Path, moment: str | Callable[[Path], bool], *arguments: str) -> str:
    """Start the demo and ``kill -9`` it at a moment; returns its output until then.

    ``moment``: a pattern that its output matches (of a line that comes at any speed: progress lines are held back), or what
    says of the data folder that it has come. Fails where the demo ends before.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tendril_assets.cli", "demo", *arguments],
            env=environment(home),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        with process:
            while process.poll() is None:
                told = _told(output)
                if re.search(moment, told) if isinstance(moment, str) else moment(home):
                    os.kill(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.05)
            else:
                raise AssertionError(f"the moment {moment!r} did not come:\n{_told(output)[-3000:]}")
            process.wait(timeout=60)
        return _told(output)


def is_judging(home: Path) -> bool:
    """Whether some of the judge's requests are answered and some are open; the step tells it twice a second."""
    standings = read_standings(progress_folder(home / "ledger"))
    return any(
        s.step == "judge_replies" and s.goes_on() and s.done > s.answered_before and s.open > 0 for s in standings
    )


def _told(output: IO[bytes]) -> str:
    # Not by the position that the process writes at.
    return os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0).decode(errors="replace")


def left_over(home: Path, limit_s: float = 30.0) -> list[str]:
    """Command lines of what does not end by itself; what was just told to end is given its time."""
    deadline = time.monotonic() + limit_s
    while (found := processes_using(home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def processes_using(home: Path) -> list[str]:
    """Command lines of living processes that were started for this home."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or folder.name == str(os.getpid()):
            continue
        try:
            environ = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if f"TENDRIL_HOME={home}".encode() in environ.split(b"\0") and command:
            found.append(command)
    return found
