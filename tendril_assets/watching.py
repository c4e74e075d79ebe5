"""What ``tendril status`` prints: asking steps, trainings, requests, ledger and tables of a collection; reads only.

It looks from another process while a run is going on. Asking steps and trainings come from their progress files, the rest
from the ledger and the warehouse; what cannot be read is said, and the rest shown.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from tendril_assets.asking_display import asking_bar, told
from tendril_assets.defs import collection_spec
from tendril_assets.errors import TendrilError
from tendril_assets.judging.purposes import AREA_SUMMARY, HAND_OVERS
from tendril_assets.progress_file import Every
from tendril_assets.removal_state import RemovalState, removal_state
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.asking_progress import Standing, progress_folder, read_standings
from tendril_assets.resources.ledger import FINAL_STATUSES, Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets.training import display
from tendril_assets.training.standing import Standing as Training
from tendril_assets.training.standing import read_standings as read_trainings
from tendril_assets.training.standing import unread_standings as unread_trainings

# Longest wait for the warehouse: what is asked for is a look, not a place in the queue.
WAIT_S = 3.0
POLL_S = 0.5
LINE_SECONDS = 5.0
T = TypeVar("T")
Step = Standing | Training


@dataclass(frozen=True)
class Asked:
    """What the ledger holds of one purpose: distinct requests ``answered`` and, by status, those that only failed."""

    purpose: str
    answered: int
    failed: dict[str, int]
    cost: Decimal
    cost_unknown: int


@dataclass(frozen=True)
class Status:
    """``tables``: rows by table. ``requests``: by purpose, how many the collection has and how many are open.

    ``unread``: what could not be read, with the reason; ``asked`` or ``tables`` is then None, as ``tables`` is where there
    is no warehouse yet; ``removal`` (what a removal leaves to be done by hand) is None where ``tables`` is.
    """

    collection: str
    home: str
    asking: tuple[Standing, ...]
    training: tuple[Training, ...] = ()
    asked: tuple[Asked, ...] | None = ()
    requests: dict[str, tuple[int, int]] = field(default_factory=dict)
    tables: dict[str, int] | None = None
    unread: tuple[str, ...] = ()
    removal: RemovalState | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; money as decimal text."""
        asked = None
        if self.asked is not None:
            asked = [asdict(row) | {"cost": format(row.cost, "f")} for row in self.asked]
        requests = {name: {"requests": n, "open": n_open} for name, (n, n_open) in self.requests.items()}
        steps = {"asking": [_as_json(s) for s in self.asking], "training": [_as_json(s) for s in self.training]}
        return {**asdict(self), **steps, "asked": asked, "requests": requests}


def read_status(settings: Settings, collection: str) -> Status:
    """Look at everything once. Raises SettingsError for an unknown collection, and nothing for what cannot be read."""
    collection_spec(collection, settings.profile)
    unread: list[str] = []
    entries = _of(lambda: _entries(settings), unread)
    asked = (
        None if entries is None else tuple(_asked(name, rows) for (name,), rows in sorted(entries.group_by("purpose")))
    )
    requests = {} if entries is None else _requests(settings, collection, entries, unread)
    tables = _of(lambda: _tables(settings, collection), unread)
    removal = None if tables is None else _of(lambda: removal_state(_warehouse(settings), collection), unread)
    unread += unread_trainings(_models(settings, collection))
    return Status(
        collection,
        str(settings.home),
        tuple(_standings(settings, collection)),
        tuple(_trainings(settings, collection)),
        asked,
        requests,
        tables,
        tuple(unread),
        removal,
    )


def _of(read: Callable[[], T], unread: list[str]) -> T | None:
    try:
        return read()
    except (TendrilError, OSError) as error:
        unread.append(str(error))
        return None


def _standings(settings: Settings, collection: str) -> list[Standing]:
    """Of the collection, those that go on first."""
    found = [s for s in read_standings(progress_folder(settings.ledger)) if s.collection == collection]
    return sorted(found, key=lambda standing: not standing.goes_on())


def _trainings(settings: Settings, collection: str) -> list[Training]:
    return read_trainings(_models(settings, collection))


def _models(settings: Settings, collection: str) -> Path:
    return Artifacts(root=str(settings.artifacts)).folder(collection, "models")


def _tables(settings: Settings, collection: str) -> dict[str, int] | None:
    if not settings.warehouse.exists():
        return None
    warehouse = _warehouse(settings)
    statement = "SELECT table_name, estimated_size AS rows FROM duckdb_tables() WHERE schema_name = $s"
    return dict(warehouse.frame(collection, statement, "status", s=collection).iter_rows())


def _warehouse(settings: Settings) -> Warehouse:
    return Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=WAIT_S)


def _entries(settings: Settings) -> pl.DataFrame:
    ledger = Ledger(settings.ledger, read_only=True)
    return ledger.frame(columns=("request_key", "purpose", "status", "cost", "sequence"))


def _requests(
    settings: Settings, collection: str, entries: pl.DataFrame, unread: list[str]
) -> dict[str, tuple[int, int]]:
    """By purpose, how many requests were handed over and how many of them are open."""
    artifacts = Artifacts(root=str(settings.artifacts))
    answered = entries.filter(pl.col("status").is_in(FINAL_STATUSES)).select("request_key").unique()
    requests = {}
    for purpose, handed in HAND_OVERS.items():
        if not artifacts.exchange(collection, handed.file).exists():
            continue
        # A summary is asked a second time only where the first came too long.
        columns = ["request_key", "attempt"] if purpose == AREA_SUMMARY else ["request_key"]
        wanted = _of(partial(artifacts.read_frame, collection, handed.file, columns), unread)
        if wanted is not None:
            wanted = wanted.filter(pl.col("attempt") == 1) if "attempt" in columns else wanted
            wanted = wanted.select("request_key").unique()
            requests[purpose] = wanted.height, wanted.join(answered, on="request_key", how="anti").height
    return requests


def _asked(purpose: str, entries: pl.DataFrame) -> Asked:
    is_final = pl.col("status").is_in(FINAL_STATUSES)
    latest = entries.sort(is_final, "sequence").unique("request_key", keep="last")
    failed = latest.filter(~is_final)["status"].value_counts()
    known = entries["cost"].drop_nulls()
    return Asked(
        purpose,
        latest.filter(is_final).height,
        dict(sorted(failed.iter_rows())),
        Decimal(known.sum() or 0),
        entries.height - known.len(),
    )


def show_status(settings: Settings, collection: str, console: Console) -> None:
    """The whole state in words: what is asking and training, requests, ledger, tables."""
    status = read_status(settings, collection)
    for standing in (*status.asking, *status.training):
        console.print(_told(standing, collection), markup=False)
    if not settings.warehouse.exists():
        console.print(f"no warehouse at {settings.warehouse} yet: run tendril demo, or tendril run", markup=False)
    elif status.tables is not None:
        console.print(_table_of(status, settings))
    for asked in status.asked or ():
        failed = ", ".join(f"{n:,} {name}" for name, n in asked.failed.items())
        unknown = f", {asked.cost_unknown:,} replies of unknown cost" if asked.cost_unknown else ""
        console.print(
            f"ledger, {asked.purpose}: {asked.answered:,} requests answered, {sum(asked.failed.values()):,} failed"
            f"{f' ({failed})' if failed else ''}, {asked.cost:f} USD named{unknown}",
            markup=False,
        )
    if status.asked == ():
        console.print("ledger: none yet")
    for purpose, (n, n_open) in status.requests.items():
        console.print(f"{purpose} requests: {n:,}, of which open: {n_open:,}")
    if status.removal is not None:
        for line in status.removal.lines(collection_spec(collection, settings.profile)):
            console.print("[yellow]after a removal[/] ", end="")
            console.print(line, markup=False)
    for reason in status.unread:
        console.print("[yellow]not shown[/]: ", end="")
        console.print(reason, markup=False)


def _table_of(status: Status, settings: Settings) -> Table:
    table = Table(title=f"{status.collection} in {settings.warehouse}")
    table.add_column("stage")
    table.add_column("table")
    table.add_column("rows", justify="right")
    sizes = status.tables or {}
    for name, declared in TABLES.items():
        table.add_row(declared.stage, name, f"{sizes[name]:,}" if name in sizes else "[dim]not yet[/]")
    return table


def print_status(settings: Settings, collection: str) -> None:
    """The whole state as one JSON object on standard output."""
    _write_json(read_status(settings, collection).to_json())


def watch_steps(settings: Settings, collection: str, console: Console, *, as_json: bool = False) -> None:
    """Show what asks or trains until it ends: redrawn in a terminal, else a line (or JSON object) now and then."""

    def found() -> list[Step]:
        return [*_standings(settings, collection), *_trainings(settings, collection)]

    steps, due = found(), Every(LINE_SECONDS, at_once=True)
    is_drawn = console.is_terminal and not as_json
    drawing = Live(console=console, refresh_per_second=1 / POLL_S, transient=True) if is_drawn else nullcontext()
    with drawing as live:
        while going := [step for step in steps if step.goes_on()]:
            if live is not None:
                live.update(Group(*map(_bar, going)))
            elif due():
                for step in going:
                    _tell(step, collection, console, as_json=as_json)
            time.sleep(POLL_S)
            steps = found()
    if steps:
        _tell(max(steps, key=lambda step: step.updated), collection, console, as_json=as_json)
    elif as_json:
        _write_json(None)
    else:
        console.print(f"{collection}: no step has asked the gateway and no model has been trained yet")


def _bar(step: Step) -> RenderableType:
    return asking_bar(step) if isinstance(step, Standing) else display.training_bar(step)


def _told(step: Step, collection: str) -> str:
    return told(step) if isinstance(step, Standing) else display.told(step, collection)


def _as_json(step: Step) -> dict[str, Any]:
    kind = "asking" if isinstance(step, Standing) else "training"
    return step.to_json() | {"kind": kind, "goes_on": step.goes_on(), "was_cut_off": step.was_cut_off()}


def _tell(step: Step, collection: str, console: Console, *, as_json: bool) -> None:
    if as_json:
        _write_json(_as_json(step))
    else:
        console.print(_told(step, collection), markup=False)


def _write_json(value: dict[str, Any] | None) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()
