"""How a step that asks the gateway looks in a terminal: the same figures in a run's own display and in ``status``."""

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tendril_assets.resources.asking_progress import Standing, clock


def asking_bar(standing: Standing) -> RenderableType:
    """Two lines: the bar with counts and the time left; below it pace, money and what went wrong."""
    grid = Table.grid(padding=(0, 1))
    share = standing.done / standing.requests if standing.requests else 1.0
    left = "" if standing.eta_s is None else f"{clock(standing.eta_s)} left"
    grid.add_row(
        Text(f"  {standing.purpose}"),
        ProgressBar(total=max(1, standing.requests), completed=standing.done, width=24),
        Text(f"{standing.done:,}/{standing.requests:,} ({share:.1%}), {standing.open:,} open, {standing.failures()}"),
        Text(left, style="cyan"),
    )
    pace = f"{standing.calls_per_s:,.1f} calls/s"
    if standing.limit:
        pace += f", {standing.in_flight}/{standing.limit} in flight"
    if standing.rate_limited:
        pace += f", {standing.rate_limited:,} times told to wait"
    cached = "" if standing.cached_share is None else f"; {standing.cached_share:.0%} of the prompt from cache"
    lines = [Text(f"  {pace}; {standing.money()}{cached}", style="dim")]
    if standing.trouble:
        lines.append(Text(f"  no reply at present ({standing.trouble}), trying again", style="yellow"))
    return Group(grid, *lines)


def told(standing: Standing) -> str:
    """What ``status`` says of a step, in one line of plain text."""
    name = f"{standing.collection}/{standing.step}"
    since = f"{standing.updated:%Y-%m-%d %H:%M:%S} UTC"
    if standing.goes_on():
        return f"{name} is asking (process {standing.author.pid}, since {standing.began:%H:%M:%S} UTC): {standing}"
    if standing.was_cut_off():
        return (
            f"{name} was cut off (process {standing.author.pid} is gone; last sign of it {since}): {_so_far(standing)}. "
            "What was answered is in the ledger: run again, and only what is open is asked"
        )
    end = "is complete" if not standing.left else f"ended with {standing.left:,} requests open"
    return f"{name} {end} ({standing.state}, {since}): {_so_far(standing)}"


def _so_far(standing: Standing) -> str:
    unknown = f", {standing.cost_unknown:,} of unknown cost" if standing.cost_unknown else ""
    return (
        f"{standing.done:,} of {standing.requests:,} requests done, {standing.answered_before:,} of them before; "
        f"{standing.failures()}; in {clock(standing.seconds)} {standing.calls:,} calls for {standing.cost:.4f} USD{unknown}"
    )
