"""How training looks in a terminal: the same figures in a run's display, in ``status`` and for a process run by hand."""

from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tendril_assets.training.events import clock
from tendril_assets.training.standing import FINISHED, TRAINING, Standing


def training_bar(standing: Standing) -> RenderableType:
    """Two lines: the bar with the step and the time left; below it loss, best value, pace and last checkpoint."""
    grid = Table.grid(padding=(0, 1))
    share = standing.step / standing.steps if standing.steps else 0.0
    grid.add_row(
        Text(f"  {standing.model}"),
        ProgressBar(total=max(1, standing.steps), completed=standing.step, width=24),
        Text(f"step {standing.step:,}/{standing.steps:,} ({share:.1%})" if standing.steps else "loading"),
        Text(standing.doing if standing.steps and standing.doing != TRAINING else "", style="yellow"),
        Text("" if standing.eta_s is None else f"{clock(standing.eta_s)} left", style="cyan"),
    )
    return Group(grid, Text("  " + "; ".join(_figures(standing) or [standing.doing]), style="dim"))


def told(standing: Standing, collection: str) -> str:
    """What ``status`` says of a model, in one line of plain text."""
    name = f"{collection}/models/{standing.model}"
    at = _at(standing)
    since = f"{standing.updated:%Y-%m-%d %H:%M:%S} UTC"
    figures = ", ".join(_figures(standing))
    if standing.goes_on():
        left = "" if standing.eta_s is None else f", {clock(standing.eta_s)} left"
        where = f" {at}" if standing.steps else ""
        return (
            f"{name} is {standing.doing}{where} (process {standing.author.pid}, since {standing.began:%H:%M:%S} UTC)"
            f"{f': {figures}' if figures else ''}{left}"
        )
    if standing.was_cut_off():
        return (
            f"{name} was cut off {at} (process {standing.author.pid} is gone; last sign of it {since})"
            f"{f': {figures}' if figures else ''}. Run again: it {_resumes(standing)}"
        )
    if standing.state == FINISHED:
        return (
            f"{name} is trained ({since}, {clock(standing.seconds)} in its last process): {', '.join(_end(standing))}"
        )
    return f"{name} {ending(standing, f' ({since})')}"


def ending(standing: Standing, when: str = "") -> str:
    """How a training that gave no result ended, and where the next start goes on."""
    reason = "" if standing.stopped_by is None else f": {standing.stopped_by}"
    return f"{standing.state} {_at(standing)}{when}{reason.rstrip('.')}. Run again: it {_resumes(standing)}"


def _at(standing: Standing) -> str:
    return f"at step {standing.step:,} of {standing.steps:,}" if standing.steps else "while loading"


def _resumes(standing: Standing) -> str:
    if standing.checkpoint_step is None:
        return "begins anew, no checkpoint was written yet"
    return f"resumes from step {standing.checkpoint_step:,}"


def _figures(standing: Standing) -> list[str]:
    """What is known; nothing stands for what is not."""
    parts = []
    if standing.loss is not None:
        parts.append(f"loss {standing.loss:.4f}")
    parts += _best(standing)
    if standing.tokens_per_s is not None:
        parts.append(f"{standing.tokens_per_s:,.0f} tokens/s")
    if standing.memory is not None:
        parts.append(f"{standing.memory / 2**30:.1f} GiB")
    if standing.checkpoint_step is not None:
        age = "" if standing.checkpoint_at is None else f", {clock(_age(standing.checkpoint_at))} ago"
        parts.append(f"last checkpoint step {standing.checkpoint_step:,}{age}")
    return parts + _where(standing)


def _end(standing: Standing) -> list[str]:
    return [f"{standing.step:,} of {standing.steps:,} steps", *_best(standing), *_where(standing)]


def _best(standing: Standing) -> list[str]:
    if standing.best_value is None or standing.best_step is None:
        return []
    base = "" if standing.base_value is None else f", {standing.best_value - standing.base_value:+.4f} to the base"
    return [f"best {standing.measure} {standing.best_value:.4f} (step {standing.best_step:,}{base})"]


def _where(standing: Standing) -> list[str]:
    if standing.device is None:
        return []
    processes = f", {standing.processes} processes" if standing.processes > 1 else ""
    return [f"{standing.device} in {standing.precision}{processes}"]


def _age(moment: datetime) -> float:
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())
