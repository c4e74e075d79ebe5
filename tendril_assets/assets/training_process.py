"""Runs the training process of a model through Dagster Pipes, live, and turns its end into one clear failure.

What Dagster's own subprocess client does not do: hand on less than its whole environment, give custom messages before the
end, keep what the process wrote on standard error, and make sure that nothing stays behind whatever ends the step.
"""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import PipesTempFileContextInjector, PipesTempFileMessageReader, open_pipes_session
from dagster_pipes import PipesMessage, PipesParams

from tendril_assets.errors import TrainingCrashed
from tendril_assets.training.environment import child_environment
from tendril_assets.training.events import Event, from_message
from tendril_assets.training.failures import silent
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.standing import FAILED, Stop, read_standing
from tendril_assets.training.telling import write_line

CHILD = "tendril_assets.training.child"
STOP_SECONDS = 10.0
_POLL_SECONDS = 0.2
_TAIL_LINES, _TAIL_LINE = 40, 300
# The line of ``training.telling.write_line`` that names the error a process ended with.
_LAST_WORD = re.compile(r"^\d\d:\d\d:\d\d (\w+): (.+)$")


def train(context: dg.AssetExecutionContext, job: TrainingJob, path: Path, hear: Callable[[Event], None]) -> None:
    """Train ``job``, which lies at ``path``, in a process of its own; ``hear`` gets its events in this thread, live.

    Raises:
        dagster.Failure: the process ended without a result. Its description says why and what to do; no retry follows
            an error that would come again.
    """
    messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    hear = _whatever_happens(hear)
    with _tail() as (stderr, lines):
        with open_pipes_session(context, PipesTempFileContextInjector(), _LiveReader(messages.put)) as session:
            environment = child_environment(os.environ, job.spec.processes) | dict(session.get_bootstrap_env_vars())
            command = [sys.executable, "-m", CHILD, str(path), str(os.getpid())]
            # A group of its own: Ctrl-C in a terminal reaches this process alone, which then ends the other in order.
            process = subprocess.Popen(
                command, env=_importable(environment), stderr=stderr, stdin=subprocess.DEVNULL, start_new_session=True
            )
            try:
                while process.poll() is None:
                    _pass_on(messages, hear, _POLL_SECONDS)
            except BaseException:
                context.log.info(f"ending the training process {process.pid}; its last checkpoint stays")
                raise
            finally:
                _end(process)
        # Only now has the reader come to the end of what the process wrote.
        _pass_on(messages, hear, 0.0)
    if process.returncode:
        stop = stop_of_process(job, process.pid, process.returncode, list(lines))
        if stop.stack:
            context.log.error(stop.stack)
        raise failure(job, stop, list(lines)) from None


def stop_of_process(job: TrainingJob, pid: int, code: int, lines: list[str]) -> Stop:
    """Why process ``pid`` ended with ``code``: what it said of it itself, the signal, or its last lines."""
    # After a stop in good order the status is 128 + signal (``training.child.main``).
    number = -code if code < 0 else max(0, code - 128)
    standing = read_standing(job.folder)
    if standing is not None and standing.state == FAILED and standing.author.pid == pid and standing.stopped_by:
        return standing.stopped_by
    if not number and lines and (word := _LAST_WORD.match(lines[-1])):
        return Stop(word[1], word[2])
    error = silent(-number or code, lines, job.model)
    is_crash = isinstance(error, TrainingCrashed)
    return Stop(type(error).__name__, str(error), signal=number if number and is_crash else None)


def failure(job: TrainingJob, stop: Stop, lines: list[str]) -> dg.Failure:
    """``stop`` as the step's failure, with what a reader needs to go on."""
    standing = read_standing(job.folder)
    metadata: dict[str, Any] = {
        "model": job.model,
        "base": job.spec.base,
        "error": stop.kind,
        "folder": str(job.folder),
    }
    if standing is not None and standing.config_hash == job.config_hash:
        metadata |= {"step": standing.step, "steps": standing.steps, "doing": standing.doing}
        if standing.checkpoint_step is not None:
            metadata["resumes_from_step"] = standing.checkpoint_step
        if standing.device is not None:
            metadata["device"] = f"{standing.device} in {standing.precision}"
    if stop.rank is not None:
        metadata["training_process"] = stop.rank
    if lines:
        metadata["stderr"] = dg.MetadataValue.md("```\n" + "\n".join(lines) + "\n```")
    # A signal may have come from outside: a machine that was taken away is worth another try. The rest comes again.
    return dg.Failure(f"{job.model}: {stop}", metadata, allow_retries=stop.signal is not None)


class _LiveReader(PipesTempFileMessageReader):
    """Hands custom messages on as they come; Dagster's own keeps them until the end."""

    def __init__(self, hand_on: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._hand_on = hand_on

    @contextlib.contextmanager
    def read_messages(self, handler: Any) -> Generator[PipesParams, None, None]:
        with super().read_messages(_Sorter(handler, self._hand_on)) as params:  # ty: ignore[invalid-argument-type]
            yield params


class _Sorter:
    """The handler of a session, but for custom messages."""

    def __init__(self, handler: Any, hand_on: Callable[[dict[str, Any]], None]) -> None:
        self._handler, self._hand_on = handler, hand_on

    def handle_message(self, message: PipesMessage) -> None:
        params = message["params"]
        if message["method"] == "report_custom_message" and params is not None:
            self._hand_on(params["payload"])
        else:
            self._handler.handle_message(message)

    def report_pipes_framework_exception(self, origin: str, exc_info: Any) -> None:
        self._handler.report_pipes_framework_exception(origin, exc_info)


def _pass_on(messages: "queue.SimpleQueue[dict[str, Any]]", hear: Callable[[Event], None], wait: float) -> None:
    """Everything that is there, after waiting at most ``wait`` seconds for the first."""
    try:
        hear(from_message(messages.get(timeout=wait) if wait else messages.get_nowait()))
        while True:
            hear(from_message(messages.get_nowait()))
    except queue.Empty:
        return


def _whatever_happens(hear: Callable[[Event], None]) -> Callable[[Event], None]:
    """``hear``, but its errors, such as an event log that is locked for too long, end no training. The first is told,
    on standard error: Dagster's own log is what failed."""
    failed = False

    def guarded(event: Event) -> None:
        nonlocal failed
        try:
            hear(event)
        except Exception as error:
            if not failed:
                write_line(
                    f"what training reports could not be logged ({type(error).__name__}: {error}); training goes on, and "
                    "tendril status shows where it stands"
                )
            failed = True

    return guarded


def _importable(environment: dict[str, str]) -> dict[str, str]:
    """The same, with this package found first where Python was told of it by path alone."""
    package_parent = str(Path(__file__).resolve().parents[2])
    return environment | {"PYTHONPATH": os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), package_parent)))}


def _end(process: subprocess.Popen) -> None:
    """Ask the process to end, then make it; its own children end with it."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _tail() -> Generator[tuple[int, deque[str]], None, None]:
    """A descriptor to write to, whose lines go on to this process's standard error, and the last of them."""
    lines: deque[str] = deque(maxlen=_TAIL_LINES)
    reading, writing = os.pipe()

    def copy() -> None:
        with open(reading, encoding="utf-8", errors="replace", newline="\n") as stream:
            for line in stream:
                # Progress bars of libraries overwrite themselves: their last state is the line.
                lines.append(line.rstrip("\r\n").rpartition("\r")[2][:_TAIL_LINE])
                # A closed terminal must not stop the reading: the process would wait for room in the pipe for ever.
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.write(line)

    thread = threading.Thread(target=copy, name="training-stderr", daemon=True)
    thread.start()
    try:
        yield writing, lines
    finally:
        os.close(writing)
        thread.join(STOP_SECONDS)
