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


def wait_for_others(instance: dg.DagsterInstance, console: Console, poll_s: float = 2.0) -> None:
    """Wait until no other run is going on; says which one it waits for. Ctrl-C ends the wait."""
    told: set[str] = set()
    while living := _end_dead(instance)[1]:
        for run, pid in living:
            if run.run_id not in told:
                told.add(run.run_id)
                console.print(f"run {run.run_id[:8]} ({run.job_name}, process {pid}) is going on; waiting for its end")
        time.sleep(poll_s)


@contextlib.contextmanager
def alone(home: Path, job: str, console: Console) -> Generator[None, None, None]:
    """Hold the data folder's run lock: commands started at once run one after the other. Ctrl-C ends the wait."""
    path, told = home / "run.lock", False
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(exclusive(path, f"tendril {job}", 2.0))
                break
            except DatabaseLocked as busy:
                if not told:
                    purpose = holder_of(path).get("purpose", "another command")
                    console.print(f"process {busy.pid} ({purpose}) works in {home}; waiting for its end", markup=False)
                    told = True
        yield
