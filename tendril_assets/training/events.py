"""What training tells while it runs, as values: the child process passes them on, a terminal prints them as lines."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Note:
    """A sentence for people: what is loaded, cut, resumed, not supported here, kept."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Reused:
    """Nothing to do: the result in place was made by this configuration and data."""

    model: str
    best_step: int

    def __str__(self) -> str:
        return (
            f"{self.model}: nothing to do, trained with this configuration and data, and its weights are unharmed "
            f"(best step {self.best_step})"
        )


@dataclass(frozen=True)
class Began:
    """The model and the data are loaded. ``steps`` of the whole recipe, ``precision`` as ``bf16`` or ``fp32``,
    ``resumed_from`` the step of the checkpoint it goes on from, or None."""

    steps: int
    device: str
    precision: str
    processes: int
    resumed_from: int | None = None

    def __str__(self) -> str:
        processes = "" if self.processes == 1 else f" on each of {self.processes} processes"
        start = "from the base" if self.resumed_from is None else f"from the checkpoint of step {self.resumed_from}"
        return f"{self.steps} steps {start}, {self.device} in {self.precision}{processes}"


@dataclass(frozen=True)
class StepDone:
    """An optimiser step. ``loss`` is its mean over the rows; rates are of this process group's training since it began,
    without evaluations and checkpoints; ``memory`` the most bytes the device has held so far, where it tells. ``eta_s``,
    the seconds left, is filled in by who watches (``training.pace``). Not every step is told, but the one before an
    evaluation always is."""

    step: int
    steps: int
    loss: float
    learning_rate: float
    examples_per_s: float
    tokens_per_s: float
    eta_s: float | None = None
    memory: int | None = None

    def __str__(self) -> str:
        left = "" if self.eta_s is None else f"  {clock(self.eta_s)} left"
        if left and self.step == self.steps:
            left += " to evaluate, to save and to check the kept weights"
        memory = "" if self.memory is None else f"  {self.memory / 2**30:.1f} GiB"
        return (
            f"step {self.step}/{self.steps}  loss {self.loss:.4f}  lr {self.learning_rate:.2e}  "
            f"{self.examples_per_s:.1f} examples/s  {self.tokens_per_s:,.0f} tokens/s{memory}{left}"
        )


@dataclass(frozen=True)
class Evaluated:
    """An evaluation: ``values`` as ``learning_curves`` names them, ``value`` the one the best step is chosen by. ``loss``
    and ``learning_rate`` are of the evaluated step, filled in by who watches (``training.telling``); None for the base."""

    step: int
    steps: int
    measure: str
    value: float
    values: Mapping[str, float]
    best_step: int
    best_value: float
    loss: float | None = None
    learning_rate: float | None = None

    def __str__(self) -> str:
        trained = "" if self.loss is None else f"  loss {self.loss:.4f}"
        trained += "" if self.learning_rate is None else f"  lr {self.learning_rate:.2e}"
        levels = "".join(f"  {name} {value:.4f}" for name, value in self.values.items() if name != self.measure)
        return (
            f"step {self.step}/{self.steps}{trained}  {self.measure} {self.value:.4f}{levels}  "
            f"best {self.best_value:.4f} at step {self.best_step}"
        )


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint is whole: a run that is cut off now resumes from ``step``."""

    step: int
    steps: int
    size: int

    def __str__(self) -> str:
        return f"step {self.step}/{self.steps}  checkpoint written ({self.size / 1e6:,.0f} MB)"


Event = Note | Reused | Began | StepDone | Evaluated | CheckpointSaved
Report = Callable[[Event], None]
_KINDS = {kind.__name__: kind for kind in (Note, Reused, Began, StepDone, Evaluated, CheckpointSaved)}


def to_message(event: Event) -> dict[str, Any]:
    """An event as plain values, for another process."""
    return {"event": type(event).__name__, **asdict(event)}


def from_message(message: Mapping[str, Any]) -> Event:
    """Raises ValueError for what ``to_message`` did not make."""
    fields = dict(message)
    kind = _KINDS.get(fields.pop("event", None))
    if kind is None:
        raise ValueError(f"no event of training: {message.get('event')!r}")
    try:
        return kind(**fields)
    except TypeError as error:
        raise ValueError(f"no event of training: {error}") from error


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
