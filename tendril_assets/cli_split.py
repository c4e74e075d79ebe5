"""``tendril split`` and ``tendril tasks``: which acts are held out, and which of them queries are to be written for."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tendril_assets.settings import Settings

_FILE = click.Path(path_type=Path, dir_okay=False)
console = Console(highlight=False, soft_wrap=True)
_COLLECTION = click.option(
    "--collection", required=True, help="Folder name under defs/, of a collection split by a file."
)


@click.command()
@_COLLECTION
@click.option("--dev", type=click.IntRange(min=1), help="Acts to validate by; default: 3 in a hundred of all.")
@click.option(
    "--unseen", type=click.IntRange(min=0), help="Acts held out as unseen ones; default: 9 in a hundred of all."
)
@click.option("--add", is_flag=True, help="Place the acts that split.json lacks; those it has stay where they are.")
def split(collection: str, dev: int | None, unseen: int | None, add: bool) -> None:
    """Write the first split.json of the landing folder, and print what it is made of.

    Acts of live questions and held-out kinds go to their test splits; validation and unseen acts are drawn by name, evenly
    over the kinds of the others; the rest is trained on. A file that is there is never replaced.
    """
    from tendril_assets.splitting import write_split

    if add and (dev is not None or unseen is not None):
        raise click.UsageError("--add draws nothing: leave --dev and --unseen out")
    written = write_split(Settings.from_env(), collection, dev, unseen, add=add)
    table = Table("split", "acts", "characters", "share", "kinds")
    for name, acts, characters, share, kinds in written.rows:
        table.add_row(name, f"{acts:,}", f"{characters:,}", f"{share:.1%}", kinds)
    console.print(table)
    if add:
        shown = ", ".join(written.added[:20]) + (" ..." if len(written.added) > 20 else "")
        console.print(f"{len(written.added)} acts added{': ' if shown else ''}{shown}", markup=False)
    for told in written.told:
        console.print(f"note: {told}", markup=False)
    console.print(f"split: {written.path}", markup=False)


@click.command()
@_COLLECTION
@click.option("--sheet", type=_FILE, help="Write the sheet to this file, as tab-separated values.")
@click.option("--take", type=_FILE, help="Append the queries of this filled sheet to manual.jsonl.")
def tasks(collection: str, sheet: Path | None, take: Path | None) -> None:
    """A sheet of acts to write queries for: of test splits alone, as even over the kinds as the acts allow.

    Fill in column text, then give the sheet back with --take. A sheet with queries in it is never written over.
    """
    from tendril_assets.splitting import take_tasks, write_tasks

    if (sheet is None) == (take is None):
        raise click.UsageError("give either --sheet or --take")
    settings = Settings.from_env()
    if take is not None:
        target, n = take_tasks(settings, collection, take)
        console.print(f"{n} queries added to {target}", markup=False)
    elif sheet is not None:
        drawn = write_tasks(settings, collection, sheet)
        of_kind: dict[str, int] = {}
        for act in drawn:
            of_kind[act.kind] = of_kind.get(act.kind, 0) + 1
        told = ", ".join(f"{kind} {n}" for kind, n in of_kind.items())
        console.print(f"{len(drawn)} acts{f' ({told})' if told else ''}: {sheet}", markup=False)
