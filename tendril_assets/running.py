"""Running a collection's job in this process, with live progress, on the same instance the UI reads.

Steps run one after the other here: each multiprocess step would cost about 2 CPU seconds of start-up. Ctrl-C and SIGTERM
end the run in order: Dagster raises them inside the step, and a step that asks the gateway first lets what is in flight
finish and be stored.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tendril_assets import errors
from tendril_assets.asking_display import asking_bar
from tendril_assets.children import process_started
from tendril_assets.errors import SettingsError
from tendril_assets.model_needs import require_models
from tendril_assets.other_runs import PID_TAG, START_TAG, Others, end_dead_runs
from tendril_assets.resources.asking_progress import Standing, progress_folder, standing_of
from tendril_assets.resources.lock import exclusive
from tendril_assets.settings import Settings
from tendril_assets.training.display import training_bar
from tendril_assets.training.standing import Standing as Training
from tendril_assets.training.standing import read_standings as read_trainings

# How long making Dagster's tables may take another command.
FIRST_OPENED_S = 60.0


def shipped_file(name: str) -> Path:
    """A top-level file of the project: in the checkout, or the copy inside the installed package."""
    package = Path(__file__).resolve().parent
    return next(p for p in (package / f"_{name}", package.parent / name) if p.is_file())


def ensure_dagster_home(settings: Settings) -> Path:
    """Set and prepare DAGSTER_HOME where it is unset: ``TENDRIL_HOME/dagster`` with the project's instance settings.

    Raises:
        SettingsError: it is set to a relative path or to no folder.
        DatabaseLocked: another command makes the folder, and does not end.
    """
    given = os.environ.get("DAGSTER_HOME")
    if given:
        home = Path(given)
        if not home.is_absolute() or not home.is_dir():
            raise SettingsError(f"DAGSTER_HOME={given!r} should be the absolute path of an existing folder, or unset")
        return home
    home = settings.home / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(home)
    # Dagster makes its tables when it first opens them, and two commands that do so at once would fail each other.
    with exclusive(home / "storage.lock", "tendril", FIRST_OPENED_S):
        if not (home / "dagster.yaml").exists():
            shutil.copyfile(shipped_file("dagster.yaml"), home / "dagster.yaml")
        with dg.DagsterInstance.get():
            pass
    return home


@dataclass
class RunOutcome:
    run_id: str
    success: bool
    seconds: float
    steps: int
    errors: list[str] = field(default_factory=list)
    failed_checks: list[str] = field(default_factory=list)
    stopped: bool = False


SHOWN = 5
REFRESHES_PER_S = 2
_INTERRUPTS = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")
_OWN_ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}


class _FailedCheck(NamedTuple):
    """``told``: its line at the end of the run. ``blocks``: it is more than a warning."""

    collection: str
    check: str
    blocks: bool
    told: str


class _Display(Progress):
    """Steps done of all; below them, while a step asks the gateway or trains, where that stands."""

    asking: Standing | None = None
    training: Training | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.asking is not None:
            yield asking_bar(self.asking)
        if self.training is not None:
            yield training_bar(self.training)


class _Watcher:
    """Follows one run's event log and the progress file of what asks or trains, in a thread, and draws them.

    Where the console is no terminal every line that a step logs is printed instead, progress among them.
    """

    def __init__(
        self, instance: dg.DagsterInstance, run_id: str, total: int, console: Console, settings: Settings
    ) -> None:
        self._instance, self._run_id, self._total, self._console = instance, run_id, total, console
        self._settings = settings
        self._cursor: str | None = None
        self._stop = threading.Event()
        self._started: dict[str, float] = {}
        self._done = 0
        self.errors: list[str] = []
        self._failed_checks: list[_FailedCheck] = []
        self.stopped = False
        self._progress = _Display(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[message]}"),
            console=console,
            refresh_per_second=REFRESHES_PER_S,
            disable=not console.is_terminal,
        )

    @property
    def failed_checks(self) -> list[str]:
        return [check.told for check in self._failed_checks]

    @contextlib.contextmanager
    def following(self) -> Generator[None, None, None]:
        with self._progress:
            self._task = self._progress.add_task("starting", total=self._total, message="")
            thread = threading.Thread(target=self._follow, daemon=True)
            thread.start()
            try:
                yield
            finally:
                self._stop.set()
                thread.join(timeout=10)
                self._drain()
                self._progress.asking = self._progress.training = None

    def _follow(self) -> None:
        while not self._stop.wait(1 / REFRESHES_PER_S):
            self._drain()
            if self._console.is_terminal:
                self._progress.asking = standing_of(progress_folder(self._settings.ledger), self._run_id)
                self._progress.training = self._training()

    def _training(self) -> Training | None:
        """The model that a step of this run trains at present."""
        found = (s for models in self._settings.artifacts.glob("*/models") for s in read_trainings(models))
        return next((s for s in found if s.run == self._run_id and s.goes_on()), None)

    def _drain(self) -> None:
        page = self._instance.get_records_for_run(self._run_id, cursor=self._cursor, limit=500)
        while page.records:
            for record in page.records:
                self._show(record.event_log_entry)
            self._cursor = page.cursor
            page = self._instance.get_records_for_run(self._run_id, cursor=self._cursor, limit=500)

    def _show(self, entry: dg.EventLogEntry) -> None:
        event = entry.dagster_event
        step = entry.step_key or ""
        if event is None:
            # Dagster logs one line per step below a failed one; the failure itself is what a reader needs.
            if step and not entry.user_message.startswith("Dependencies for step"):
                message = " ".join(entry.user_message.split())
                self._progress.update(self._task, message=message[:100])
                if not self._console.is_terminal:
                    self._console.print(f"    {step}: {message}", markup=False, highlight=False)
            return
        kind = event.event_type_value
        if kind == "STEP_START":
            self._started[step] = entry.timestamp
            self._progress.update(self._task, description=step, message="")
        elif kind in ("STEP_SUCCESS", "STEP_FAILURE", "STEP_SKIPPED"):
            self._done += 1
            self._progress.update(self._task, completed=self._done)
            mark = {"STEP_SUCCESS": "[green]done[/]", "STEP_FAILURE": "[red]failed[/]"}.get(kind, "[yellow]skipped[/]")
            interrupted = kind == "STEP_FAILURE" and _was_interrupted(event)
            mark = "[yellow]stopped[/]" if interrupted else mark
            seconds = entry.timestamp - self._started.get(step, entry.timestamp)
            self._console.print(f"[{self._done:>2}/{self._total}] {mark} {step} ({seconds:.1f} s)", highlight=False)
            if kind == "STEP_FAILURE" and not interrupted:
                self.errors.append(f"{step}: {_cause(event)}")
        elif kind == "PIPELINE_FAILURE":
            reason = event.job_failure_data.failure_reason
            self.stopped = reason is not None and reason.value == "UNEXPECTED_TERMINATION"
        elif kind == "ASSET_CHECK_EVALUATION":
            evaluation = event.asset_check_evaluation_data
            collection, check = evaluation.asset_key.path[0], evaluation.check_name
            if evaluation.passed:
                # The same property, looked at again once later steps had made good what was wrong at first.
                self._failed_checks = [
                    failed for failed in self._failed_checks if failed.blocks or failed[:2] != (collection, check)
                ]
            else:
                name = f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name}"
                entries = evaluation.metadata.get("entries")
                named = entries.value[:SHOWN] if entries and isinstance(entries.value, list) else []
                told = f"{name} ({evaluation.severity.value})" + (f": {'; '.join(map(str, named))}" if named else "")
                blocks = evaluation.severity != dg.AssetCheckSeverity.WARN
                self._failed_checks.append(_FailedCheck(collection, check, blocks, told))


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    error = event.step_failure_data.error
    return error is not None and error.cls_name in _INTERRUPTS


def _cause(event: dg.DagsterEvent) -> str:
    """The error that says what to do: the outermost of ours in the chain, or else where the chain began."""
    error = event.step_failure_data.error
    while error is not None and error.cause is not None and error.cls_name not in _OWN_ERRORS:
        error = error.cause
    # Dagster puts the class's module in front; the class and the message say enough. A Failure's message is all of it.
    return (
        re.sub(r"^(?:\w+\.)*Failure: |^(\w+\.)+(?=\w+(:|$))", "", error.message.strip())
        if error is not None
        else (event.message or "unknown error")
    )


@contextlib.contextmanager
def _own_descriptor(console: Console) -> Generator[Console, None, None]:
    """The console's terminal, file or pipe under a descriptor of its own.

    While a step runs Dagster puts a log file in the place of standard output and copies it back line by line: what is
    drawn there would end up in the step's log, and a terminal would be none.
    """
    try:
        descriptor = os.dup(console.file.fileno())
    except (AttributeError, io.UnsupportedOperation):
        # Kept in memory, so nobody puts anything in its place.
        yield console
        return
    with open(descriptor, "w", encoding=console.encoding, errors="replace") as file:
        yield Console(file=file, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _helpers_deaf_to_interrupts(instance: dg.DagsterInstance) -> Generator[None, None, None]:
    """While this lasts, Ctrl-C in a terminal does not reach the helper processes that mirror a step's output.

    Dagster starts them in our process group and ends them with SIGTERM; at an interrupt each would print a traceback of
    its own in the middle of an end in good order. A child inherits the signals that are blocked when it is started. The
    block is this thread's alone: an interrupt that comes meanwhile may be taken by another thread of ours, and Python then
    handles it here while the capture is being started, as it would without the block.
    """
    manager = instance.compute_log_manager
    capture = manager.capture_logs

    @contextlib.contextmanager
    def deaf(log_key: Sequence[str]) -> Generator[Any, None, None]:
        with contextlib.ExitStack() as stack:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                captured = stack.enter_context(capture(log_key))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield captured

    manager.capture_logs = deaf
    try:
        yield
    finally:
        manager.capture_logs = capture


def run_job(definitions: dg.Definitions, job_name: str, console: Console, others: Others | None = None) -> RunOutcome:
    """Execute one job in this process, following it live; failures are in the outcome, not raised.

    ``others``: who has told already of commands and runs beside this one, where somebody has.
    Raises SettingsError as ``require_models`` does, before the first step.
    """
    settings = Settings.from_env()
    require_models(definitions.resolve_job_def(job_name), settings, console)
    others = others or Others(settings.home, console)
    with others.alone(job_name), _own_descriptor(console) as steady:
        return _run_alone(definitions, job_name, steady, settings, others)


def _run_alone(
    definitions: dg.Definitions, job_name: str, console: Console, settings: Settings, others: Others
) -> RunOutcome:
    instance = dg.DagsterInstance.get()
    for run_id in end_dead_runs(instance):
        console.print(f"[yellow]run {run_id[:8]} was cut off earlier; going on where it stood[/]")
    others.wait_for_runs(instance)
    job = definitions.resolve_job_def(job_name)
    run_id = str(uuid.uuid4())
    watcher = _Watcher(instance, run_id, len(job.nodes), console, settings)
    begin = time.monotonic()
    with watcher.following(), _helpers_deaf_to_interrupts(instance):
        result = job.execute_in_process(
            instance=instance,
            run_id=run_id,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            tags={PID_TAG: str(os.getpid()), START_TAG: process_started(os.getpid()) or ""},
        )
    return RunOutcome(
        run_id,
        result.success,
        time.monotonic() - begin,
        len(job.nodes),
        watcher.errors,
        watcher.failed_checks,
        watcher.stopped,
    )
