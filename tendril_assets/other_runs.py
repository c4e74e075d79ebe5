"""Runs beside this one: those whose process was killed are ended, those that live are waited for.

A pool slot belongs to a run, not to a process: what a killed run held stays taken until somebody frees it, and the
in-process executor waits for a slot in a loop that neither sleeps nor listens to signals. So both are settled here,
before a run of ours starts.
"""

import contextlib
import time
from collections.abc import Generator
from pathlib import Path

import dagster as dg
from rich.console import Console

from tendril_assets.children import process_started
from tendril_assets.errors import DatabaseLocked
from tendril_assets.resources.lock import exclusive, holder_of

PID_TAG = "tendril/pid"
START_TAG = "tendril/process_started"
# How long to try for the lock when only a look is wanted.
_LOOK_S = 0.2
_UNFINISHED = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.CANCELING]


def _pid_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int | None:
    """Process id of a run: from our tag, or as its executor logged it when the UI started it on this machine."""
    if PID_TAG in run.tags:
        return int(run.tags[PID_TAG])
    if not isinstance(instance.run_launcher, dg.DefaultRunLauncher):
        return None  # on another machine, where a process id says nothing here
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        metadata = entry.dagster_event.engine_event_data.metadata if entry.dagster_event else {}
        if "pid" in metadata:
            return int(str(metadata["pid"].value))
    return None


def _unfinished(instance: dg.DagsterInstance) -> list[tuple[dg.DagsterRun, int, bool]]:
    """Unfinished runs whose process is known, with its id and whether it lives."""
    found = []
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=_UNFINISHED)):
        pid = _pid_of(instance, run)
        if pid is None:
            continue
        started = process_started(pid)
        alive = started is not None and started == run.tags.get(START_TAG, started)
        found.append((run, pid, alive))
    return found


def _end_dead(instance: dg.DagsterInstance) -> tuple[list[str], list[tuple[dg.DagsterRun, int]]]:
    """Ends dead runs and frees their pool slots; returns their ids, and the living runs with their process ids."""
    ended, living = [], []
    for run, pid, alive in _unfinished(instance):
        if alive:
            living.append((run, pid))
            continue
        instance.report_run_failed(run, f"process {pid} ended before its run did (killed or out of memory)")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        ended.append(run.run_id)
    return ended, living


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process is gone as failed and free the pool slots they hold; returns their ids."""
    return _end_dead(instance)[0]


class Others:
    """The commands and runs that go on in the data folder ``home`` beside this one. Each is told of once."""

    def __init__(self, home: Path, console: Console) -> None:
        self._home, self._console = home, console
        self._lock = home / "run.lock"
        self._told: set[str] = set()

    def tell(self, instance: dg.DagsterInstance) -> None:
        """Say what there is to wait for, without waiting: for before something that takes long itself."""
        try:
            with exclusive(self._lock, "tendril", _LOOK_S):
                pass
        except DatabaseLocked as busy:
            self._tell_of_command(busy)
        else:  # else the run is that command's
            self._tell_of_runs([(run, pid) for run, pid, alive in _unfinished(instance) if alive])

    def wait_for_runs(self, instance: dg.DagsterInstance, poll_s: float = 2.0) -> None:
        """Wait until no other run is going on; says which one it waits for. Ctrl-C ends the wait."""
        while living := _end_dead(instance)[1]:
            self._tell_of_runs(living)
            time.sleep(poll_s)

    @contextlib.contextmanager
    def alone(self, job: str) -> Generator[None, None, None]:
        """Hold the data folder's run lock: commands started at once run one after the other. Ctrl-C ends the wait."""
        with contextlib.ExitStack() as held:
            while True:
                try:
                    held.enter_context(exclusive(self._lock, f"tendril {job}", 2.0))
                    break
                except DatabaseLocked as busy:
                    self._tell_of_command(busy)
            yield

    def _tell_of_command(self, busy: DatabaseLocked) -> None:
        if self._is_news(f"process {busy.pid}"):
            purpose = holder_of(self._lock).get("purpose", "another command")
            self._console.print(
                f"process {busy.pid} ({purpose}) works in {self._home}; waiting for its end", markup=False
            )

    def _tell_of_runs(self, living: list[tuple[dg.DagsterRun, int]]) -> None:
        for run, pid in living:
            if self._is_news(run.run_id):
                self._console.print(
                    f"run {run.run_id[:8]} ({run.job_name}, process {pid}) is going on; waiting for its end"
                )

    def _is_news(self, what: str) -> bool:
        news = what not in self._told
        self._told.add(what)
        return news
