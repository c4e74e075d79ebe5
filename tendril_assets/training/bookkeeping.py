"""The curve, the best weights, the checkpoints and the progress of a training run. Importing it loads torch."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

from tendril_assets.errors import TrainingError
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.events import CheckpointSaved, Evaluated, Report, StepDone
from tendril_assets.training.validation import BALANCED

EVALUATION_PREFIX = "eval_"  # of the measures among the trainer's metrics
_REPORT_EVERY_S = 2.0


class Bookkeeper(TrainerCallback):
    """Keeps the curve and the best weights, finishes checkpoints, and reports progress.

    ``progress`` may come from a checkpoint; it goes on from there.
    """

    def __init__(
        self, run: RunFolder, progress: Progress, examples_per_step: int, tokens: Callable[[], int], report: Report
    ) -> None:
        self._run = run
        self._progress = progress
        self._examples_per_step = examples_per_step
        self._tokens = tokens
        self._report = report
        self._started = time.monotonic()
        self._mark = self._started  # when the training of the step began that is next to be told
        self._trained = 0.0  # seconds of training alone, without evaluations and checkpoints
        self._seconds_before = progress.seconds
        self._step_before = progress.step
        self._reported = 0.0

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        if not logs or "loss" not in logs:
            return
        step = state.global_step
        for measure in ("loss", "learning_rate"):
            self._progress.curve.append((step, measure, float(logs[measure])))
        now = time.monotonic()
        self._trained += now - self._mark
        self._mark = now
        # What lies between the step before an evaluation and its end is the evaluation: who watches needs both moments.
        if now - self._reported >= _REPORT_EVERY_S or control.should_evaluate or step == state.max_steps:
            self._reported = now
            steps_per_s = (step - self._step_before) / self._trained
            self._report(
                StepDone(
                    step=step,
                    steps=state.max_steps,
                    loss=float(logs["loss"]),
                    learning_rate=float(logs["learning_rate"]),
                    examples_per_s=steps_per_s * self._examples_per_step,
                    tokens_per_s=self._tokens() / self._trained,
                    memory=torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
                )
            )

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # The room for what is written now. The last checkpoint and its best weights stay until the next one is whole.
        self._run.sweep(self._progress)
        measured: dict[str, float] = kwargs["metrics"]
        values = {key.removeprefix(EVALUATION_PREFIX): value for key, value in measured.items() if "ndcg" in key}
        record_evaluation(self._run, self._progress, state.global_step, values, kwargs["model"])
        self._report(evaluated(self._progress, state.global_step, state.max_steps, values))
        self._mark = time.monotonic()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        seconds = self._seconds_before + time.monotonic() - self._started
        reached = replace(self._progress, step=state.global_step, seconds=seconds)
        with self._run.saving_checkpoint(state.global_step, self._progress.step, begun=True):
            size = self._run.mark(self._run.checkpoint(state.global_step), reached)
        self._progress.step, self._progress.seconds = reached.step, reached.seconds
        self._report(CheckpointSaved(state.global_step, state.max_steps, size))
        self._mark = time.monotonic()


def evaluated(progress: Progress, step: int, steps: int, values: dict[str, float]) -> Evaluated:
    """The event of an evaluation that ``progress`` already holds."""
    return Evaluated(step, steps, BALANCED, values[BALANCED], values, progress.best_step, progress.best_value)


def record_evaluation(
    run: RunFolder, progress: Progress, step: int, values: dict[str, float], model: SentenceTransformer
) -> None:
    """Add an evaluation to the curve; keep the weights if they are the best so far (of equals, the earliest step).

    Raises:
        TrainingError: a value is no number. It would be no better and no worse than any other.
        DiskFull: no room for the weights.
    """
    if not all(math.isfinite(value) for value in values.values()):
        raise TrainingError(
            f"the evaluation of step {step} gives {values}: the weights or the validation set are damaged"
        )
    progress.curve.extend((step, measure, value) for measure, value in values.items())
    if step == 0:
        progress.base_value = values[BALANCED]
    if values[BALANCED] > progress.best_value:
        progress.best_step, progress.best_value, progress.best_measured_on = step, values[BALANCED], run.place()
        run.keep_best(progress, lambda folder: model.save_pretrained(folder, create_model_card=False))
