"""How long training still takes, from the events as they come: steps, evaluations and checkpoints each at their own pace.

The first stretch after a start holds the loading of kernels and the filling of caches; it counts for nothing once others
are seen. After a resume the paces that the former process left serve until there are own ones.
"""

import math
from collections import deque
from dataclasses import dataclass

from tendril_assets.training.events import Began, CheckpointSaved, Evaluated, Event, StepDone

# Stretches between two told steps that the pace is the mean of: it follows a machine that slows down.
_STRETCHES = 50
_FEW = 3


@dataclass(frozen=True)
class Paces:
    """Seconds per optimiser step, evaluation and checkpoint, as last seen; None where none was seen."""

    step: float | None = None
    evaluation: float | None = None
    save: float | None = None


class Pace:
    """``evaluate_every`` steps there is an evaluation and a checkpoint, and one of each at the end; then the kept weights
    are measured once more."""

    def __init__(self, evaluate_every: int, former: Paces | None = None) -> None:
        self._every = evaluate_every
        self._former = former or Paces()
        self._stretches: deque[tuple[int, float]] = deque(maxlen=_STRETCHES)
        self._first: tuple[int, float] | None = None
        self._evaluations: deque[float] = deque(maxlen=_FEW)
        self._saves: deque[float] = deque(maxlen=_FEW)
        self._steps = 0
        self._step = self._evaluated = self._saved = 0
        self._mark: float | None = None

    def see(self, event: Event, now: float) -> None:
        """``now``: seconds on a steady clock at which the event came."""
        if isinstance(event, Began):
            self._steps = event.steps
            self._step = self._evaluated = self._saved = event.resumed_from or 0
            self._mark = now
        elif isinstance(event, StepDone | Evaluated | CheckpointSaved) and self._mark is not None:
            self._steps = event.steps
            seconds, self._mark = now - self._mark, now
            if isinstance(event, StepDone):
                self._stretch(event.step - self._step, seconds)
                self._step = event.step
            elif isinstance(event, Evaluated):
                self._evaluations.append(seconds)
                self._evaluated = event.step
            else:
                self._saves.append(seconds)
                self._saved = event.step

    def _stretch(self, steps: int, seconds: float) -> None:
        if steps <= 0:
            return
        if self._first is None:
            self._first = steps, seconds
        else:
            self._stretches.append((steps, seconds))

    def paces(self) -> Paces:
        steps, seconds = (sum(part) for part in zip(*self._stretches, strict=True)) if self._stretches else (0, 0.0)
        return Paces(
            step=seconds / steps if steps else self._former.step,
            evaluation=_mean(self._evaluations) or self._former.evaluation,
            save=_mean(self._saves) or self._former.save,
        )

    def left(self) -> float | None:
        """Seconds to the end of the recipe, or None as long as no pace is known. Early stopping may end it sooner."""
        paces = self.paces()
        if paces.step is None:
            return None
        evaluations = self._rounds(self._evaluated) + 1
        return (
            (self._steps - self._step) * paces.step
            + evaluations * (paces.evaluation or 0.0)
            + self._rounds(self._saved) * (paces.save or 0.0)
        )

    def _rounds(self, done: int) -> int:
        """Evaluations, or checkpoints, after the one of step ``done``."""
        return math.ceil(self._steps / self._every) - math.ceil(done / self._every)


def _mean(seconds: deque[float]) -> float | None:
    return sum(seconds) / len(seconds) if seconds else None
