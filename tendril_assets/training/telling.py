"""Who hears what training tells: the progress file always, and Dagster or a terminal."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.live import Live

from tendril_assets.errors import FolderInUse
from tendril_assets.progress_file import Every
from tendril_assets.training.display import training_bar
from tendril_assets.training.events import Evaluated, Event, Note, Report, Reused, StepDone
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.pace import Pace
from tendril_assets.training.standing import FINISHED, Standing, Stop, read_standing, settle, write_standing

WRITE_SECONDS = 0.5
LINE_SECONDS = 5.0


class Teller:
    """Keeps the progress file of one training and hands each event on: a step with the time left filled in, an evaluation
    with loss and learning rate of its step.

    The file is first written when there is work to do: a result that is found in place leaves it as it was.
    """

    def __init__(
        self, job: TrainingJob, pass_on: Report, run: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._every, self._pass_on, self._clock = job.folder, job.recipe.evaluate_every, pass_on, clock
        self.standing = Standing.beginning(job, run, read_standing(job.folder))
        self._pace = Pace(self._every, self.standing.paces)
        self._due = Every(WRITE_SECONDS, at_once=True)
        self._cannot_write = False

    def __call__(self, event: Event) -> None:
        self._pace.see(event, self._clock())
        if isinstance(event, StepDone):
            event = replace(event, eta_s=self._pace.left())
        elif isinstance(event, Evaluated) and event.step and event.step == self.standing.step:
            # The step before an evaluation is always told: the figures are its own.
            event = replace(event, loss=self.standing.loss, learning_rate=self.standing.learning_rate)
        if isinstance(event, Reused):
            self._try(lambda: settle(self._folder))
        else:
            before = self.standing.doing
            self.standing = self.standing.at(event, self._every, self._pace.paces())
            # What comes after the beginning of an evaluation may be long in coming.
            if self._due() or not isinstance(event, StepDone | Note) or self.standing.doing != before:
                self._write(self.standing)
        self._pass_on(event)

    def end(self, state: str, stopped_by: Stop | None = None) -> None:
        """Leave the last figures in the file, with how it ended. Nothing where nothing was begun, or where another
        process trains in the folder: the file is its own."""
        if state == FINISHED and not self.standing.steps:
            return
        self.standing = self.standing.ended(state, stopped_by)
        if stopped_by is None or stopped_by.kind != FolderInUse.__name__:
            self._write(self.standing)

    def _write(self, standing: Standing) -> None:
        self._try(lambda: write_standing(self._folder, standing))

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            # A display must not end a training; what it costs is told once.
            if not self._cannot_write:
                self._pass_on(Note(f"the progress file in {self._folder} cannot be written: {error.strerror}"))
            self._cannot_write = True


@contextmanager
def to_terminal() -> Generator[tuple[Report, Callable[[Standing], None]], None, None]:
    """What a process started by hand says on standard error: a bar where that is a terminal, and lines.

    Gives where events go and where the standing after each of them goes. Steps are told as lines every few seconds, or by
    the bar alone.
    """
    if not sys.stderr.isatty():
        due = Every(LINE_SECONDS, at_once=True)

        def line(event: Event) -> None:
            if not isinstance(event, StepDone) or due():
                write_line(str(event))

        yield line, lambda _standing: None
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Live(console=console, refresh_per_second=2, transient=True) as live:

        def above(event: Event) -> None:
            if not isinstance(event, StepDone):
                console.print(
                    f"{time.strftime('%H:%M:%S')} {event}",
                    markup=False,
                    style="bold" if isinstance(event, Evaluated) else "",
                )

        yield above, lambda standing: live.update(training_bar(standing))


def write_line(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()
