"""What training tells while it runs, as values: the child process passes them on, a terminal prints them as lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A sentence for people: what is loaded, cut, resumed, not supported here, kept."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class StepDone:
    """An optimiser step. ``loss`` is its mean over the rows; rates are of this process group since it began; ``eta_s`` is
    the time left for the steps, evaluations included as far as they were seen. Not every step is told."""

    step: int
    steps: int
    loss: float
    learning_rate: float
    examples_per_s: float
    tokens_per_s: float
    eta_s: float

    def __str__(self) -> str:
        return (
            f"step {self.step}/{self.steps}  loss {self.loss:.4f}  lr {self.learning_rate:.2e}  "
            f"{self.examples_per_s:.1f} examples/s  {self.tokens_per_s:,.0f} tokens/s  ETA {clock(self.eta_s)}"
        )


@dataclass(frozen=True)
class Evaluated:
    """An evaluation: ``values`` as ``learning_curves`` names them, ``value`` the one the best step is chosen by."""

    step: int
    steps: int
    measure: str
    value: float
    values: Mapping[str, float]
    best_step: int
    best_value: float

    def __str__(self) -> str:
        return (
            f"step {self.step}/{self.steps}  {self.measure} {self.value:.4f}  best {self.best_value:.4f} at step "
            f"{self.best_step}"
        )


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint is whole: a run that is cut off now resumes from ``step``."""

    step: int
    steps: int
    size: int

    def __str__(self) -> str:
        return f"step {self.step}/{self.steps}  checkpoint written ({self.size / 1e6:,.0f} MB)"


Event = Note | StepDone | Evaluated | CheckpointSaved
Report = Callable[[Event], None]


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
