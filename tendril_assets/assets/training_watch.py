"""What a model's asset tells while it trains, and of a finished training: log lines, plotted numbers, metadata."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.progress_file import Every
from tendril_assets.release.images import markdown_image
from tendril_assets.release.results_pictures import learning_curve, loss_curve
from tendril_assets.training.events import Evaluated, Event, StepDone
from tendril_assets.training.installing import KEPT
from tendril_assets.training.validation import BALANCED

LOG_SECONDS = 15.0
OBSERVE_SECONDS = 30.0
# Steps whose loss is drawn: of a longer run every second one, every third one; the event log keeps the picture.
_POINTS = 2000


class TrainingWatch:
    """Hears the events of one training: every evaluation and checkpoint is a log line and an observation, steps now and
    then. An observation logged through the context is in the event log at once."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        self._context = context
        self._logs, self._observes = Every(LOG_SECONDS, at_once=True), Every(OBSERVE_SECONDS, at_once=True)

    def __call__(self, event: Event) -> None:
        if not isinstance(event, StepDone) or self._logs():
            self._context.log.info(str(event))
        if isinstance(event, Evaluated) or (isinstance(event, StepDone) and self._observes()):
            self._context.log_event(dg.AssetObservation(self._context.asset_key, metadata=numbers(event)))


def numbers(event: StepDone | Evaluated) -> Mapping[str, int | float]:
    """An event as numbers, which the UI plots over time."""
    if isinstance(event, Evaluated):
        return {"step": event.step, "best_step": event.best_step, "best_value": event.best_value, **event.values}
    known = {
        "step": event.step,
        "loss": event.loss,
        "learning_rate": event.learning_rate,
        "examples_per_s": round(event.examples_per_s, 2),
        "tokens_per_s": round(event.tokens_per_s, 1),
        "minutes_left": None if event.eta_s is None else round(event.eta_s / 60, 1),
        "device_memory_gib": None if event.memory is None else round(event.memory / 2**30, 2),
    }
    return {name: value for name, value in known.items() if value is not None}


def result_metadata(model: str, result: Mapping[str, Any], folder: Path, *, reused: bool) -> dict[str, Any]:
    """``result.json`` as the metadata of the asset's materialisation."""
    curves = pl.DataFrame(
        result["curve"], schema={"step": pl.Int64, "measure": pl.String, "value": pl.Float64}, orient="row"
    )
    told = {name: result[name] for name in _TOLD if name in result}
    return {
        **told,
        "gain": result["best_value"] - result["base_value"],
        "minutes": round(result["seconds"] / 60, 2),
        "reused": reused,
        "path": dg.MetadataValue.path(str(folder / KEPT)),
        "evaluations": dg.MetadataValue.md(evaluations_table(curves, result["best_step"])),
        "curve": dg.MetadataValue.md(pictures(model, curves, result)),
    }


_TOLD = (
    "best_step",
    "best_value",
    "base_value",
    "steps",
    "stop_reason",
    "examples",
    "inputs",
    "truncated_inputs",
    "truncated_queries",
    "truncated_documents",
    "max_length",
    "parameters",
    "device",
    "precision",
    "processes",
    "config_hash",
    "data_hash",
    "weights_sha256",
)


def evaluations_table(curves: pl.DataFrame, best_step: int) -> str:
    """Markdown: a row per evaluated step, with the loss of that step; the kept one is bold."""
    measures = [BALANCED, *sorted(set(curves["measure"].unique()) - {BALANCED, "loss", "learning_rate"})]
    points = {(step, measure): value for step, measure, value in curves.iter_rows()}
    rows = [f"| step | {' | '.join(measures)} | loss |", "|---:|" + "---:|" * (len(measures) + 1)]
    for step in sorted({step for step, measure in points if measure == BALANCED}):
        figures = [f"{points[step, measure]:.4f}" for measure in measures]
        loss = f"{points[step, 'loss']:.4f}" if (step, "loss") in points else "-"
        mark = "**" if step == best_step else ""
        rows.append(f"| {mark}{step}{mark} | {' | '.join(figures)} | {loss} |")
    return "\n".join(rows)


def pictures(model: str, curves: pl.DataFrame, result: Mapping[str, Any]) -> str:
    """Markdown: the curves of the measures and of the loss as pictures that carry their own style."""
    loss = curves.filter(pl.col("measure") == "loss")
    thinned = pl.concat(
        [curves.filter(pl.col("measure") != "loss"), loss.gather_every(max(1, math.ceil(loss.height / _POINTS)))]
    )
    drawn = (
        learning_curve(model, thinned, result["best_step"], result["best_value"]),
        loss_curve(model, thinned, result["best_step"]),
    )
    return "\n\n".join(markdown_image(picture) for picture in drawn if picture is not None)
