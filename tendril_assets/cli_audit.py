"""``tendril audit``: what is left of an id or a text in the data folder, where it stands, and what takes it out."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.errors import AuditError, TendrilError
from tendril_assets.progress_file import Every
from tendril_assets.release.wording import plural
from tendril_assets.settings import Settings
from tendril_assets.wide import print_whole

if TYPE_CHECKING:
    from tendril_assets.audit.by_id import IdAudit
    from tendril_assets.audit.known import Known
    from tendril_assets.audit.searching import Finding, OnProgress, Result, Unread

console = Console(highlight=False, soft_wrap=True)
LINE_SECONDS = 5.0
SHOWN, ROWS_SHOWN = 40, 3
# Letters of a row's key from which on it is cut.
_KEY_SHOWN = 24
NOTHING, FOUND, NOT_LOOKED = 0, 1, 2
_VERDICTS = {
    NOTHING: "[green]Nothing is left[/] of it.",
    FOUND: "[red]Found[/] in {places}. What takes it out:",
    NOT_LOOKED: "[yellow]Not everything could be looked at[/]. Nothing was found in the rest.",
}
_PROVES_NOTHING = "[yellow]Nothing was found, and that proves nothing[/]:"
_IDS_ALONE = "ids alone[/], which stay and are no text"
_HOW = {
    "exact": "byte for byte",
    "alike": "same letters and digits",
    "pieces": "most of it, in pieces",
    "parts": "a few parts",
    "id": "id",
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

    An ID is a published id, a project (or what the collection calls one, such as the key of an act), project/document, the
    place of a passage (project/document/page/position), a request key or a query. Texts are looked for in every file,
    table, reply, page and packed part, byte for byte and by their letters alone. The landing folder is searched too, and
    told apart: it is yours.

    Where an id alone stands to say what is removed, that is told apart and is no trace.

    Exit code 0: nothing is left. 1: something is. 2: not everything could be looked at; what could not is named. Also 2: an
    id that nobody knows, and an entry of the removal list that hit nothing, for then finding nothing proves nothing.
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
        _Shown(found, parts=parts).show(code)
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
    if ids and parts:
        raise AuditError("--parts is for texts: an id has no parts")
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
    errors = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("searching"),
        BarColumn(12),
        DownloadColumn(),
        TimeElapsedColumn(),
        # Cut, not wrapped: what takes two lines cannot be drawn again in its place.
        TextColumn("[dim]{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )
    with Progress(*columns, console=errors, transient=True, expand=True, disable=not errors.is_terminal) as progress:
        task, due = progress.add_task("", total=None), Every(LINE_SECONDS)

        def on_progress(path: Path, done: int, total: int) -> None:
            if errors.is_terminal:
                progress.update(task, completed=done, total=total, description=escape(path.name))
            elif due():
                click.echo(f"searched {done / 2**20:,.0f} of {total / 2**20:,.0f} MiB, at {path.name}", err=True)

        yield on_progress


class _Shown:
    """A result in words: the verdict and what to do, what is known, where it is, what was searched."""

    def __init__(self, found: "IdAudit | Result", *, parts: bool) -> None:
        from tendril_assets.audit.by_id import IdAudit
        from tendril_assets.audit.places import SOURCE, Folders
        from tendril_assets.audit.searching import RECORD

        self.folders = Folders.of(Settings.from_env())
        self.subjects, self.result = (found.subjects, found.result) if isinstance(found, IdAudit) else ([], found)
        self.left = self.result.left(parts=parts)
        self.records = [f for f in self.result.findings if f.how == RECORD]
        self.source = [
            f for f in self.result.findings if f.place == SOURCE and f.how != RECORD and (parts or f.how != "parts")
        ]
        self.few = [f for f in self.result.findings if f.how == "parts" and not parts]
        self.unread = [u for u in self.result.unread if u.place != SOURCE]
        self.unread_source = [u for u in self.result.unread if u.place == SOURCE]
        self.remedy = _remedies(self.subjects)

    def show(self, code: int) -> None:
        from tendril_assets.audit.by_id import IDS, OTHER_PROJECTS
        from tendril_assets.audit.known import LOOK_OUT

        of_ids_alone = code == NOT_LOOKED and all(one.place == IDS for one in self.unread)
        verdict = _PROVES_NOTHING if of_ids_alone else _VERDICTS[code]
        console.print(verdict.format(places=plural(len(self.left), "place")))
        for what, found in _grouped(self.left, self.remedy).items():
            places = ", ".join(dict.fromkeys(f.place for f in found))
            _print(f"  {places}, {plural(len(found), 'place')}: {what}")
        self._show_unread(self.unread)
        for subject in self.subjects:
            for fact in subject.facts:
                if fact.topic == LOOK_OUT:
                    _print(f"  {subject.id}: {fact.text}")
        if self.source:
            _print(f"  The landing folder, which is yours, holds it too, in {plural(len(self.source), 'place')}.")
        for subject in self.subjects:
            console.print(f"{subject.id}: {subject.kind} of {subject.collection}", markup=False, style="bold")
            for fact in subject.facts:
                _print(f"  {fact.topic:<13} {fact.text}")
        self._show_findings()
        self._show_records()
        self._show_rest()
        self._show_searched()
        if self.subjects:
            _print(OTHER_PROJECTS)

    def _show_unread(self, unread: "list[Unread]") -> None:
        from tendril_assets.audit.by_id import IDS

        for one in unread:
            if one.place == IDS:
                _print(f"  {one.file}: {one.reason}")
                continue
            _print(f"  not looked at ({one.place}): {self._name(one.file)}: {one.reason}")

    def _show_findings(self) -> None:
        for place, found in _grouped([*self.left, *self.source], lambda finding: finding.place).items():
            console.print(f"[bold]{place}[/], {plural(len(found), 'place')}")
            by_remedy = _grouped(found, self.remedy)
            for what, some in by_remedy.items():
                for finding in some[:SHOWN]:
                    keys = [key if len(key) <= _KEY_SHOWN else f"{key[:12]}…" for key in finding.rows[:ROWS_SHOWN]]
                    rows = f", such as {', '.join(keys)}" if keys else ""
                    how = _HOW[finding.how]
                    _print(f"  {self._name(finding.file)}: {finding.where}, {finding.n:,} ({how}){rows}")
                if len(some) > SHOWN:
                    _print(f"  and {len(some) - SHOWN:,} more; --json lists all")
                if len(by_remedy) > 1 or place == "source":
                    _print(f"    {what}")

    def _show_records(self) -> None:
        from tendril_assets.audit.places import LISTING, table_of

        def listing(finding: "Finding") -> str:
            is_landed = table_of(finding.place, finding.where.partition(" (")[0]) in LISTING
            return "rows of what the landing folder holds[/], which is yours" if is_landed else _IDS_ALONE

        for title, some in _grouped(self.records, listing).items():
            console.print(f"[bold]{title}")
            for file, found in _grouped(some, lambda finding: finding.file).items():
                places = dict.fromkeys(finding.where.partition(" (")[0] for finding in found)
                _print(f"  {self._name(file)}: {', '.join(places)}")

    def _show_rest(self) -> None:
        if self.few:
            files = Counter(place for place, _ in {(f.place, f.file) for f in self.few})
            told = ", ".join(f"{place} {n:,}" for place, n in sorted(files.items()))
            _print(
                f"A few parts of the text stand in other files ({told}): another text with the same words, or a rest of "
                "this one. --parts lists and counts them."
            )
        for note in self.result.notes:
            _print(self._name(note))
        if self.unread_source:
            _print(f"The landing folder was not searched in {plural(len(self.unread_source), 'place')}:")
            self._show_unread(self.unread_source)

    def _show_searched(self) -> None:
        tallies = self.result.searched
        if not tallies:
            return
        table = Table(title="searched", title_justify="left")
        for name in ("place", "files", "bytes", "values"):
            table.add_column(name, justify="left" if name == "place" else "right")
        for row in tallies:
            table.add_row(row.place, *(f"{n:,}" if n else "–" for n in row[1:]))
        table.add_section()
        table.add_row("all", *(f"{sum(row[i] for row in tallies):,}" for i in (1, 2, 3)))
        print_whole(console, table)
        _print("bytes: of files searched byte by byte; values: texts of columns, members and pages")
        _print(f"TENDRIL_HOME: {self.folders.home}")
        _print(f"DAGSTER_HOME: {self.folders.dagster}")
        _print(f"landing folder (source): {self.folders.landing}")

    def _name(self, file: str) -> str:
        return file.removeprefix(f"{self.folders.home}/")


def _print(line: str) -> None:
    console.print(line, markup=False)


def _grouped(findings: "Iterable[Finding]", by: "Callable[[Finding], str]") -> "dict[str, list[Finding]]":
    """In the order in which the groups come first."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(by(finding), []).append(finding)
    return groups


def _remedies(subjects: "list[Known]") -> "Callable[[Finding], str]":
    """What takes a finding out; of ids, as the removal list names them already or not."""
    from tendril_assets.audit.places import LIST_IT, remedy

    erase = LIST_IT
    if subjects and all(subject.is_listed and not subject.missed for subject in subjects):
        erase = "it is on the removal list: the next tendril run erases it"
    elif any(subject.kind == "query" for subject in subjects):
        erase = "a query comes from the landing folder: take it out there, and the next tendril run lands it anew"
    return lambda finding: remedy(finding.place, finding.file, finding.where, erase)


def _as_json(found: "IdAudit | Result", code: int) -> dict[str, Any]:
    from tendril_assets.audit.by_id import IdAudit

    result = found.result if isinstance(found, IdAudit) else found
    subjects = found.subjects if isinstance(found, IdAudit) else []
    remedy = _remedies(subjects)
    return {
        "exit_code": code,
        "subjects": [
            {
                "id": s.id,
                "kind": s.kind,
                "collection": s.collection,
                "is_listed": s.is_listed,
                "published_ids": sorted(s.ids),
                "request_keys": sorted(s.keys),
                "shared_request_keys": sorted(s.shared),
                "facts": [fact._asdict() for fact in s.facts],
            }
            for s in subjects
        ],
        "findings": [f._asdict() | {"remedy": remedy(f)} for f in result.findings],
        "not_looked_at": [u._asdict() for u in result.unread],
        "searched": [t._asdict() for t in result.searched],
        "notes": result.notes,
    }
