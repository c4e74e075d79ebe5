"""``tendril audit``: what is left of an id or a text in the data folder, where it stands, and what takes it out."""

import json
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.errors import AuditError, TendrilError
from tendril_assets.progress_file import Every
from tendril_assets.settings import Settings
from tendril_assets.wide import print_whole

if TYPE_CHECKING:
    from tendril_assets.audit.by_id import IdAudit
    from tendril_assets.audit.searching import Finding, OnProgress, Result

console = Console(highlight=False, soft_wrap=True)
LINE_SECONDS = 5.0
SHOWN = 40
NOT_LOOKED = 2
_VERDICTS = {
    0: "[green]nothing is left[/] below TENDRIL_HOME and DAGSTER_HOME",
    1: "[red]found[/] below TENDRIL_HOME or DAGSTER_HOME",
    2: "[yellow]not everything could be looked at[/]: nothing was found in the rest",
}
_HOW = {
    "exact": "byte for byte",
    "alike": "same letters and digits",
    "pieces": "most of it, in pieces",
    "parts": "a few parts",
    "id": "id",
    "record": "names it, and has no text of it",
}


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--text", help="Look for this text instead.")
@click.option(
    "--text-file", type=click.File("rb"), help="Look for the text in this file (UTF-8), - for standard input."
)
@click.option("--parts", is_flag=True, help="Let a few parts of the text count as found, and list each place.")
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Whose tables know the ids.")
@click.option("--wait", default=30.0, show_default=True, help="Longest wait for a database in use, in seconds.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of words.")
def audit(
    ids: tuple[str, ...],
    text: str | None,
    text_file: IO[bytes] | None,
    parts: bool,
    collection: str,
    wait: float,
    as_json: bool,
) -> None:
    """What is left of each ID, or of a text, in everything below TENDRIL_HOME and DAGSTER_HOME; reads only.

    An ID is a published id, a project, project/document, the place of a passage (project/document/page/position), a
    request key or a query. Texts are looked for in every file, table, reply, page and packed part, byte for byte and by
    their letters alone. The landing folder is searched too, and told apart: it is yours.

    Exit code 0: nothing is left. 1: something is. 2: not everything could be looked at; what could not is named.
    """
    try:
        found, code = _audited(ids, text, text_file, collection, wait, parts=parts)
    except TendrilError as error:
        # Not 1, which says that something is left.
        click.echo(f"{type(error).__name__}: {error}", err=True)
        raise SystemExit(NOT_LOOKED) from error
    if as_json:
        sys.stdout.write(json.dumps(_as_json(found, code), ensure_ascii=False, default=str) + "\n")
    else:
        _show(found, code, parts=parts)
    raise SystemExit(code)


def _audited(
    ids: tuple[str, ...],
    text: str | None,
    text_file: IO[bytes] | None,
    collection: str,
    wait: float,
    *,
    parts: bool,
) -> "tuple[IdAudit | Result, int]":
    given = [bool(ids), text is not None, text_file is not None]
    if sum(given) != 1:
        raise AuditError(
            "name either ids, or --text TEXT, or --text-file FILE; tendril audit --help says what an id is"
        )
    from tendril_assets.audit.by_id import audit_ids
    from tendril_assets.audit.matching import Matcher
    from tendril_assets.audit.needles import Needle
    from tendril_assets.audit.places import Folders
    from tendril_assets.audit.searching import Search

    settings = Settings.from_env()
    if not settings.home.is_dir():
        raise AuditError(f"there is no data folder {settings.home} (TENDRIL_HOME): nothing can be looked for")
    with _progress() as on_progress:
        if ids:
            found = audit_ids(list(ids), settings, collection, wait_s=wait, on_progress=on_progress)
            code = found.exit_code
        else:
            matcher = Matcher(Needle.of_text(text if text is not None else _text_of(text_file)))
            search = Search(
                Folders.of(settings), matcher, wait_s=wait, workers=settings.workers, on_progress=on_progress
            )
            found = search.run()
            code = found.exit_code(parts=parts)
    return found, code


def _text_of(file: IO[bytes] | None) -> str:
    assert file is not None
    data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AuditError(f"{file.name}: byte {error.start:,} is not UTF-8: save the text as UTF-8") from error


@contextmanager
def _progress() -> Generator["OnProgress"]:
    """A bar on standard error, or a line now and then where that is no terminal; standard output is the result's."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("searching"),
        BarColumn(24),
        DownloadColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.description}"),
    )
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task, due = progress.add_task("", total=None), Every(LINE_SECONDS)

        def on_progress(path: Path, done: int, total: int) -> None:
            if errors.is_terminal:
                progress.update(task, completed=done, total=total, description=path.name[:40])
            elif due():
                errors.print(f"searched {done / 2**20:,.0f} of {total / 2**20:,.0f} MiB, at {path}", markup=False)

        yield on_progress


def _show(found: "IdAudit | Result", code: int, *, parts: bool) -> None:
    from tendril_assets.audit.by_id import IdAudit

    result = found.result if isinstance(found, IdAudit) else found
    if isinstance(found, IdAudit):
        for subject in found.subjects:
            console.print(f"{subject.id}: {subject.kind} of {subject.collection}", markup=False, style="bold")
            for fact in subject.facts:
                console.print(f"  {fact.topic:<14} {fact.text}", markup=False)
    _show_searched(result)
    few = [] if parts else [f for f in result.findings if f.how == "parts"]
    _show_findings([f for f in result.findings if f not in few])
    if few:
        files = Counter({place: len({f.file for f in few if f.place == place}) for place in {f.place for f in few}})
        told = ", ".join(f"{place} {n:,}" for place, n in sorted(files.items()))
        console.print(
            f"A few parts of the text stand in other files ({told}): another text with the same words, or a rest of this "
            "one. --parts lists and counts them."
        )
    for note in result.notes:
        console.print(note, markup=False)
    for unread in result.unread:
        console.print(f"[yellow]not looked at[/] ({unread.place}) ", end="")
        console.print(f"{unread.file}: {unread.reason}", markup=False)
    console.print(_VERDICTS[code])


def _show_searched(result: "Result") -> None:
    if not result.searched:
        return
    table = Table(title="searched")
    for name in ("place", "files", "bytes", "values"):
        table.add_column(name, justify="left" if name == "place" else "right")
    for row in result.searched:
        table.add_row(row.place, f"{row.files:,}", f"{row.bytes:,}", f"{row.values:,}")
    table.add_section()
    sums = (
        sum(t.files for t in result.searched),
        sum(t.bytes for t in result.searched),
        sum(t.values for t in result.searched),
    )
    table.add_row("all", *(f"{n:,}" for n in sums))
    print_whole(console, table)


def _show_findings(findings: list["Finding"]) -> None:
    from tendril_assets.audit.places import remedy

    by_place: dict[str, list[Finding]] = {}
    for finding in findings:
        by_place.setdefault(finding.place, []).append(finding)
    for place, found in by_place.items():
        console.print(f"[bold]{place}[/]: {len(found):,} places")
        for finding in found[:SHOWN]:
            rows = f", such as {', '.join(finding.rows)}" if finding.rows else ""
            console.print(f"  {finding.file}: {finding.where}, {finding.n:,} ({_HOW[finding.how]}){rows}", markup=False)
        if len(found) > SHOWN:
            console.print(f"  and {len(found) - SHOWN:,} more; --json lists all")
        remedies = dict.fromkeys(remedy(f.place, f.file, f.where) for f in found if f.how != "record")
        for what in remedies:
            console.print(f"  what takes it out: {what}", markup=False)


def _as_json(found: "IdAudit | Result", code: int) -> dict[str, Any]:
    from tendril_assets.audit.by_id import IdAudit
    from tendril_assets.audit.places import remedy

    result = found.result if isinstance(found, IdAudit) else found
    subjects = found.subjects if isinstance(found, IdAudit) else []
    return {
        "exit_code": code,
        "subjects": [
            {
                "id": s.id,
                "kind": s.kind,
                "collection": s.collection,
                "published_ids": sorted(s.ids),
                "request_keys": sorted(s.keys),
                "shared_request_keys": sorted(s.shared),
                "facts": [fact._asdict() for fact in s.facts],
            }
            for s in subjects
        ],
        "findings": [f._asdict() | {"remedy": remedy(f.place, f.file, f.where)} for f in result.findings],
        "not_looked_at": [u._asdict() for u in result.unread],
        "searched": [t._asdict() for t in result.searched],
        "notes": result.notes,
    }
