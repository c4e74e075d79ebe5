"""``tendril ledger``: check, compact and look into the replies that were paid for, and remove some for good."""

from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from tendril_assets.errors import LedgerError
from tendril_assets.settings import Settings
from tendril_assets.wide import print_whole

if TYPE_CHECKING:
    from tendril_assets.resources.ledger import Ledger, LedgerEntry, LedgerReport

console = Console(highlight=False, soft_wrap=True)


@click.group()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Another ledger folder, such as a copy; default: the ledger below TENDRIL_HOME.",
)
@click.pass_context
def ledger(context: click.Context, folder: Path | None) -> None:
    """Check, compact and look into the replies that were paid for."""
    context.obj = folder or Settings.from_env().ledger


@ledger.command()
@click.pass_obj
def verify(folder: Path) -> None:
    """Read every reply and print what is there. Exit code 1, and every place, where something is damaged.

    Works while a run is going on, and changes nothing. A last line that a kill cut short is damage too until the next
    run takes it off: its request is then open.
    """
    report = _open(folder, read_only=True).verify()
    _print_groups(report)
    live = f" ({report.live} being written)" if report.live else ""
    console.print(
        f"{report.segments} segments{live} and {report.compacted} compacted files, {report.bytes:,} bytes in {folder}",
        markup=False,
    )
    if report.removals:
        console.print(f"removals on record: {report.removals:,}")
    if report.left_over:
        console.print(f"replaced files that are still read and will be erased at a later start: {report.left_over:,}")
    if report.answered_twice:
        console.print(f"[yellow]answered more than once[/] {report.answered_twice:,} times; the latest answer counts:")
        for place in report.twice:
            console.print(f"  {place.file}, {place.place}", markup=False)
    for problem in report.problems:
        console.print("[red]damaged[/] ", end="")
        console.print(str(problem), markup=False)
    if not report.is_sound:
        console.print(
            "Restore the files named above from a copy. Until then nothing that needs them runs; the others are intact."
        )
        raise SystemExit(1)
    console.print("[green]sound[/]")


@ledger.command()
@click.pass_obj
def compact(folder: Path) -> None:
    """Turn all segments that nobody writes into Parquet. A run does so by itself once there is enough to compact."""
    done = _open(folder).compact(everything=True)
    if not done.files:
        console.print("nothing to compact")
        return
    console.print(
        f"{done.segments:,} segments with {done.entries:,} replies are {done.files:,} Parquet files now: "
        f"{done.bytes_before:,} bytes became {done.bytes_after:,}"
    )
    if not done.erased:
        console.print("The segments are still being read; the next start of any command removes them.")


@ledger.command()
@click.option(
    "--keys",
    "keys_file",
    required=True,
    type=click.File(encoding="utf-8"),
    help="File with one request key a line, - for standard input.",
)
@click.pass_obj
def remove(folder: Path, keys_file: IO[str]) -> None:
    """Remove every reply to the given requests for good: files are written anew, the old ones overwritten.

    The requests are open again afterwards: take their texts out of the collection first (removals.csv).
    """
    keys = {line.strip() for line in keys_file} - {""}
    if not keys:
        raise LedgerError(f"{keys_file.name} names no request key: write one a line")
    done = _open(folder).remove(keys)
    if not done.entries:
        console.print(f"none of the {len(keys):,} keys has a reply: nothing was removed")
        raise SystemExit(1)
    console.print(
        f"{done.entries:,} replies are removed, by {done.keys:,} keys (not every key need have had one); {done.files:,} "
        "files were written anew"
    )
    if done.linked_elsewhere:
        console.print(
            "[yellow]look out[/] an old file has another hard link, perhaps in a backup: the replies are still there"
        )


@ledger.command()
@click.argument("key")
@click.pass_obj
def show(folder: Path, key: str) -> None:
    """Print every reply to the request KEY, the latest last."""
    found = list(_open(folder, read_only=True).entries([key]))
    if not found:
        console.print("no reply to this request")
        raise SystemExit(1)
    for entry in found:
        _print_entry(entry)


def _open(folder: Path, *, read_only: bool = False) -> "Ledger":
    # polars and the readers take a while to load: only once they are needed.
    from tendril_assets.resources.ledger import Ledger

    if not folder.is_dir():
        raise LedgerError(f"there is no ledger in {folder} yet: a run that asks the gateway begins one")
    return Ledger(folder, read_only=read_only)


def _print_groups(report: "LedgerReport") -> None:
    table = Table(title="replies")
    for name in ("status", "model", "replies", "USD known", "cost unknown", "USD estimated"):
        table.add_column(name, justify="left" if name in ("status", "model") else "right")
    for group in report.groups:
        table.add_row(
            group.status,
            group.model,
            f"{group.entries:,}",
            f"{group.known_cost:f}",
            f"{group.unknown_costs:,}",
            f"{group.estimates:f}",
        )
    table.add_section()
    table.add_row(
        "all", "", f"{report.entries:,}", f"{report.known_cost:f}", f"{report.unknown_costs:,}", f"{report.estimates:f}"
    )
    print_whole(console, table)


def _print_entry(entry: "LedgerEntry") -> None:
    for field in fields(entry):
        value = getattr(entry, field.name)
        if value is not None:
            text = f"{value:f}" if isinstance(value, Decimal) else str(value)
            console.print(f"{field.name:<18}{text}", markup=False)
    console.print()
