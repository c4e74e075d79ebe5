"""Where the training of one model stands, in ``models/<model>/progress.json``, for other processes to read.

Written by the process that trains (the first of several) at most twice a second, and at every evaluation, checkpoint and
end. It holds numbers, the device and the process that writes it, never a text. It stays when training ends, with how it
ended; one that still says ``running`` while its process is gone was cut off, and the next start resumes from its last
checkpoint.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tendril_assets.errors import TendrilError
from tendril_assets.progress_file import RUNNING, Author, Watched, replace_file
from tendril_assets.training.events import Began, CheckpointSaved, Evaluated, Event, StepDone
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.pace import Paces

FILE = "progress.json"
FINISHED, FAILED, STOPPED = "finished", "failed", "stopped"
LOADING, BASE, TRAINING, EVALUATING, SAVING, CHECKING = (
    "loading",
    "measuring the base",
    "training",
    "evaluating",
    "saving",
    "checking the kept weights",
)


@dataclass(frozen=True)
class Stop:
    """Why training ended without a result: the kind of error, and the sentence that says what to do.

    ``stack`` is there for an error nobody foresaw. ``rank``: the process it came up in, where several train together.
    ``signal``: the number of the signal that ended the process, where one did.
    """

    kind: str
    message: str
    stack: str | None = None
    rank: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + ("" if self.rank is None else f" (in training process {self.rank})")


@dataclass(frozen=True)
class Standing(Watched):
    """``steps`` are 0 until the data is loaded. ``value`` and ``values`` are of the last evaluation, ``base_value`` of step 0.

    ``config_hash`` is "" where the base could not be read. ``checkpoint_step`` is what a run that is cut off now resumes
    from; None where it would begin anew. ``paces`` are seconds per step, evaluation and checkpoint as seen so far. ``run``
    is Dagster's run id, None where training was started by hand.
    """

    STALE_AFTER = timedelta(minutes=30)  # an evaluation between two signs of it may be long
    VERSION = 1
    WHAT = "a training"

    model: str
    run: str | None
    config_hash: str
    author: Author
    began: datetime
    updated: datetime
    state: str = RUNNING
    doing: str = LOADING
    step: int = 0
    steps: int = 0
    loss: float | None = None
    learning_rate: float | None = None
    examples_per_s: float | None = None
    tokens_per_s: float | None = None
    eta_s: float | None = None
    memory: int | None = None
    measure: str | None = None
    value: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    base_value: float | None = None
    best_step: int | None = None
    best_value: float | None = None
    checkpoint_step: int | None = None
    checkpoint_at: datetime | None = None
    resumed_from: int | None = None
    device: str | None = None
    precision: str | None = None
    processes: int = 1
    paces: Paces = field(default_factory=Paces)
    stopped_by: Stop | None = None

    @classmethod
    def beginning(cls, job: TrainingJob, run: str | None, former: "Standing | None") -> "Standing":
        """Nothing is loaded yet. What a run of the same configuration left behind is carried on."""
        now = datetime.now(UTC)
        try:
            config_hash = job.config_hash
        except (TendrilError, OSError):
            # The base is not here or damaged: training meets the same, where errors are told.
            config_hash = ""
        started = cls(job.model, run, config_hash, Author.me(), now, now)
        if former is None or former.config_hash != config_hash:
            return started
        return replace(
            started,
            measure=former.measure,
            value=former.value,
            values=former.values,
            base_value=former.base_value,
            best_step=former.best_step,
            best_value=former.best_value,
            checkpoint_step=former.checkpoint_step,
            checkpoint_at=former.checkpoint_at,
            paces=former.paces,
        )

    def at(self, event: Event, every: int, paces: Paces) -> "Standing":
        """The same after ``event``; ``every``: steps from one evaluation to the next."""
        known = replace(self, updated=datetime.now(UTC), paces=paces)
        match event:
            case Began():
                known = replace(
                    known,
                    step=event.resumed_from or 0,
                    steps=event.steps,
                    device=event.device,
                    precision=event.precision,
                    processes=event.processes,
                    resumed_from=event.resumed_from,
                    checkpoint_step=event.resumed_from,
                    checkpoint_at=self.checkpoint_at if event.resumed_from == self.checkpoint_step else None,
                    doing=BASE if event.resumed_from is None else TRAINING,
                )
                if event.resumed_from is None:
                    known = replace(known, value=None, values={}, base_value=None, best_step=None, best_value=None)
                return known
            case StepDone():
                is_due = event.step % every == 0 or event.step == event.steps
                return replace(
                    known,
                    step=event.step,
                    steps=event.steps,
                    loss=event.loss,
                    learning_rate=event.learning_rate,
                    examples_per_s=event.examples_per_s,
                    tokens_per_s=event.tokens_per_s,
                    eta_s=event.eta_s,
                    memory=event.memory,
                    doing=EVALUATING if is_due else TRAINING,
                )
            case Evaluated():
                return replace(
                    known,
                    step=event.step,
                    measure=event.measure,
                    value=event.value,
                    values=dict(event.values),
                    base_value=event.value if event.step == 0 else self.base_value,
                    best_step=event.best_step,
                    best_value=event.best_value,
                    doing=SAVING if event.step else TRAINING,
                )
            case CheckpointSaved():
                at_end = event.step == event.steps
                return replace(
                    known,
                    checkpoint_step=event.step,
                    checkpoint_at=known.updated,
                    doing=CHECKING if at_end else TRAINING,
                )
            case _:
                return known

    def ended(self, state: str, stopped_by: Stop | None = None) -> "Standing":
        return replace(
            self, author=Author.me(), state=state, updated=datetime.now(UTC), eta_s=None, stopped_by=stopped_by
        )


def write_standing(model_folder: Path, standing: Standing) -> None:
    """Put ``standing`` in the place of the model's file. Raises OSError."""
    replace_file(model_folder / FILE, standing.to_json())


def read_standing(model_folder: Path) -> Standing | None:
    """None where there is no file, or one that cannot be read: half-written at a power cut, or of another version."""
    try:
        return _read(model_folder / FILE)
    except (OSError, ValueError):
        return None


def _read(path: Path) -> Standing:
    return Standing.from_json(json.loads(path.read_text(encoding="utf-8")))


def settle(model_folder: Path) -> None:
    """The result is in place: a file that tells of a run which was cut off just after that is corrected. Raises OSError."""
    left = read_standing(model_folder)
    if left is not None and left.state != FINISHED and not left.goes_on():
        write_standing(model_folder, left.ended(FINISHED))


def read_standings(models: Path) -> list[Standing]:
    """Of all models in folders below ``models`` that left a file: those that go on first, then the latest first."""
    found = [standing for path in models.glob(f"*/{FILE}") if (standing := read_standing(path.parent)) is not None]
    return sorted(found, key=lambda s: (s.goes_on(), s.updated), reverse=True)


def unread_standings(models: Path) -> list[str]:
    """A sentence for each file below ``models`` that ``read_standings`` leaves out because it cannot be read."""
    told = []
    for path in sorted(models.glob(f"*/{FILE}")):
        try:
            _read(path)
        except FileNotFoundError:  # removed meanwhile
            continue
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            told.append(f"{path} cannot be read ({reason}): how the training of {path.parent.name} stands is not known")
    return told
