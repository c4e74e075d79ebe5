"""The search through all folders: every file as bytes, and its rows, members or pages too."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from tendril_assets.audit import opening, values
from tendril_assets.audit.matching import PARTS, PIECES, Hits, Matcher
from tendril_assets.audit.places import SOURCE, Folders, Found, files_below
from tendril_assets.corpus.extract import WITH_TEXT, read_documents
from tendril_assets.errors import WarehouseError
from tendril_assets.spec_corpus import ExtractionSpec

# A file that changed while it was searched is searched again so many times.
ROUNDS = 3
# Rows named of each finding.
SHOWN = 5
_WITH_ROWS = ("parquet", "sqlite", "duckdb")
# How an id is found where it stands on purpose: it is a keyed hash, and says that what it named is removed.
RECORD = "record"
OnProgress = Callable[[Path, int, int], None]


class Finding(NamedTuple):
    """``where``: table and column, member or offset; ``n``: rows, or occurrences in bytes; ``how``: see ``matching``;
    ``rows``: keys of a few of the rows."""

    place: str
    file: str
    where: str
    how: str
    n: int
    rows: tuple[str, ...] = ()


class Unread(NamedTuple):
    place: str
    file: str
    reason: str


class Tally(NamedTuple):
    """What was searched in one place; ``values`` are texts of columns, members and pages."""

    place: str
    files: int
    bytes: int
    values: int


@dataclass
class _File:
    """What the search of one file gave; ``kind`` where its pages are still to be read."""

    findings: list[Finding] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kind: opening.Kind | None = None
    bytes: int = 0
    values: int = 0


@dataclass(frozen=True)
class Result:
    """``notes``: what else is to be known of a file, such as free blocks."""

    findings: list[Finding]
    unread: list[Unread]
    searched: list[Tally]
    notes: list[str]

    def exit_code(self, *, parts: bool = False) -> int:
        """0 nothing is left, 1 something is, 2 not everything could be looked at. The landing folder does not count, nor
        records of ids, nor, unless ``parts``, what has only a few parts of the text."""
        if self.left(parts=parts):
            return 1
        return 2 if any(u.place != SOURCE for u in self.unread) else 0

    def left(self, *, parts: bool = False) -> list[Finding]:
        """The findings that count."""
        without = {RECORD} if parts else {RECORD, PARTS}
        return [f for f in self.findings if f.place != SOURCE and f.how not in without]


class Search:
    """One search.

    ``wait_s``: longest wait for a database in use; ``workers``: processes that read documents; ``for_text``: whether the
    bytes of databases and Parquet files and the pages of documents count besides rows and members. Of ids they do not: an id
    may stay where it is, and nobody writes one into a document.
    """

    def __init__(
        self,
        folders: Folders,
        matcher: Matcher,
        *,
        wait_s: float,
        workers: int,
        for_text: bool = True,
        on_progress: OnProgress = lambda path, done, total: None,
    ) -> None:
        self._folders, self._matcher = folders, matcher
        self._wait_s, self._workers, self._on_progress = wait_s, workers, on_progress
        self._for_text = for_text
        self._done = self._total = 0

    def run(self) -> Result:
        searched: dict[Path, tuple[Found, _File]] = {}
        lost: list[tuple[Path, str]] = []
        for _ in range(ROUNDS):
            lost = []
            present = {found.path: found for found in files_below(self._folders, lost)}
            searched = {path: old for path, old in searched.items() if path in present}
            waiting = [f for f in present.values() if f.path not in searched or searched[f.path][0].stamp != f.stamp]
            if not waiting:
                break
            self._done, self._total = 0, sum(found.stamp.size for found in waiting)
            searched |= {found.path: (found, self._file(found)) for found in waiting}
            self._documents([searched[found.path] for found in waiting if searched[found.path][1].kind])
        else:
            for found in files_below(self._folders, []):
                if found.path not in searched:
                    lost.append((found.path, "it came while others were searched; search again"))
                elif searched[found.path][0].stamp != found.stamp:
                    searched[found.path][1].unread.append(
                        "it was written to again and again; search when no run goes on"
                    )
        return self._result(searched.values(), lost)

    def _result(self, searched: Iterable[tuple[Found, _File]], lost: list[tuple[Path, str]]) -> Result:
        files, sizes, texts = Counter[str](), Counter[str](), Counter[str]()
        findings: list[Finding] = []
        unread = [Unread(self._folders.place_of(path), str(path), reason) for path, reason in lost]
        notes: list[str] = []
        for found, file in searched:
            files[found.place] += 1
            sizes[found.place] += file.bytes
            texts[found.place] += file.values
            findings += file.findings
            unread += [Unread(found.place, str(found.path), reason) for reason in file.unread]
            notes += file.notes
        tallies = [Tally(place, n, sizes[place], texts[place]) for place, n in sorted(files.items())]
        return Result(sorted(findings), sorted(unread), tallies, notes)

    def _file(self, found: Found) -> _File:
        file = _File()
        before = self._done
        try:
            head = opening.head_of(found.path)
            kind = opening.kind_of(head, found.path.name)
            self._note(found, file, "its name", self._matcher.in_bytes([os.fsencode(found.path)], is_text=False))
            if self._for_text or kind.name not in _WITH_ROWS:
                with found.path.open("rb") as stream:
                    hits = self._matcher.in_bytes(self._counted(stream, found.path, file), is_text=kind.has_text)
                self._note(found, file, f"byte {hits.first:,}" if hits.first is not None else "text", hits)
            self._inside(found, kind, file)
            if self._for_text and kind.name == "document":
                file.kind = kind
                self._total += found.stamp.size
        except FileNotFoundError:
            pass  # gone since it was listed: the next round sees what took its place
        except (*opening.DAMAGED, sqlite3.Error, WarehouseError) as error:
            file.unread.append(f"{type(error).__name__}: {error}".partition("\n")[0])
        self._done = before + found.stamp.size
        return file

    def _counted(self, stream: IO[bytes], path: Path, file: _File) -> Iterator[bytes]:
        def on_read(n: int) -> None:
            file.bytes += n
            self._done += n
            self._on_progress(path, min(self._done, self._total), self._total)

        return opening.chunks(stream, on_read)

    def _inside(self, found: Found, kind: opening.Kind, file: _File) -> None:
        path = found.path
        if kind.name == "parquet":
            self._columns(found, file, values.parquet_columns(str(path)))
        elif kind.name == "sqlite":
            self._columns(found, file, values.sqlite_columns(path))
        elif kind.name == "duckdb":
            self._database(found, file)
        elif kind.name in ("packed", "archive", "document") and not kind.has_text:
            with path.open("rb") as stream:
                for member in opening.members(stream, path.name, file.unread):
                    self._member(found, file, member)
        elif kind.name == "closed":
            file.unread.append("a packed archive of a kind that cannot be opened here; its bytes were searched")

    def _database(self, found: Found, file: _File) -> None:
        path = found.path
        # The pipeline opens its warehouse under this lock; its other databases are written once and only read.
        lock = path.with_name(f"{path.name}.lock")
        lock = lock if lock.exists() and os.access(lock, os.W_OK) else None
        if self._for_text:
            hits = self._matcher.in_bytes(values.duckdb_blocks(path), is_text=False)
            self._note(found, file, "compressed in its blocks", hits)
        try:
            self._columns(found, file, values.duckdb_columns(path, self._matcher.least, lock=lock, wait_s=self._wait_s))
            free, is_decoded = values.free_blocks(path, lock=lock, wait_s=self._wait_s)
        except WarehouseError as error:
            file.unread.append(f"its rows were not searched: {error}")
            return
        if not free or not self._for_text:
            return
        blocks = f"{free:,} free {'block keeps' if free == 1 else 'blocks keep'} bytes of former rows"
        if is_decoded:
            file.notes.append(f"{path}: {blocks}; they were searched and decoded")
        else:
            file.unread.append(f"{blocks}, in a newer form that cannot be decoded here: write the database anew")

    def _columns(self, found: Found, file: _File, columns: Iterable[values.Column]) -> None:
        by_name: dict[str, Hits] = {}
        for name, texts, keys in columns:
            file.values += len(texts)
            hits, all_of = self._matcher.in_values(texts, keys), by_name.setdefault(name, Hits())
            all_of.counts.update(hits.counts)
            all_of.rows += hits.rows
            all_of.most_parts = max(all_of.most_parts, hits.most_parts)
        for name, hits in by_name.items():
            self._note(found, file, name, hits)

    def _member(self, found: Found, file: _File, member: opening.Member) -> None:
        if member.kind.name == "parquet":
            self._columns(found, file, values.parquet_columns(member.stream))
            return
        hits = self._matcher.in_bytes(opening.chunks(member.stream), is_text=member.kind.has_text)
        file.values += 1
        self._note(found, file, member.name.partition("!")[2], hits)

    def _documents(self, files: Iterable[tuple[Found, _File]]) -> None:
        """Pages of PDF, Word and HTML documents, read in child processes that keep limits of time and memory."""
        jobs = {str(n): one for n, one in enumerate(files)}
        if not jobs:
            return
        limits = ExtractionSpec(timeout_s=120, memory_mb=2048)
        reading = read_documents([(job, found.path) for job, (found, _) in jobs.items()], limits, self._workers)
        for job, extraction, _ in reading:
            found, file = jobs[job]
            self._done += found.stamp.size
            self._on_progress(found.path, min(self._done, self._total), self._total)
            if extraction.outcome not in WITH_TEXT:
                if file.kind and not file.kind.has_text:
                    file.unread.append(f"no text could be read from it: {extraction.outcome}, {extraction.message}")
                continue
            text = "\n".join(page.text for page in extraction.pages).encode()
            file.values += len(extraction.pages)
            self._note(found, file, "its pages", self._matcher.in_bytes([text], is_text=True))

    def _note(self, found: Found, file: _File, where: str, hits: Hits) -> None:
        if hits.how is None:
            return
        if hits.how in (PIECES, PARTS):
            where += f", {hits.most_parts} of {len(self._matcher.needle.parts)} parts"
        file.findings.append(Finding(found.place, str(found.path), where, hits.how, hits.n, tuple(hits.rows[:SHOWN])))
