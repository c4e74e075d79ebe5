"""The append-only reply ledger: every reply that was paid for, kept apart from the warehouse.

A folder of JSONL segments, one per writer, and of Parquet files into which sealed segments are compacted (their names
and locks: ``ledger_files``; the line: ``ledger_entry``; its columns: ``ledger_parquet``). Entries are never changed; a
request answered later gets another line with a higher ``sequence``. A request counts as answered, and is not asked
again, once it has an entry with a final status: ``answered``, ``truncated`` or ``filtered``. Those were paid for and
would come back the same at temperature 0. Entries with ``empty``, ``error`` or ``bad_body`` record failures that were
given up on; their requests are open again in the next run. The one way to take entries out is ``Ledger.remove``; each
removal is a line in ``removals.jsonl``.
"""

import contextlib
import io
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from tendril_assets.errors import LedgerError
from tendril_assets.resources.caps import Spent
from tendril_assets.resources.ledger_entry import FINAL_STATUSES, READABLE_VERSIONS, SCHEMA_VERSION, LedgerEntry
from tendril_assets.resources.ledger_files import Compacted, Listing, Segment, is_live, reading, whole_bytes
from tendril_assets.resources.ledger_parquet import CALLED_AT, COSTS, entries_of, exact_sum, read_groups
from tendril_assets.resources.ledger_repair import repair, tidy
from tendril_assets.resources.ledger_upkeep import LEAST_BYTES, LEAST_SEGMENTS, Compaction, Removal, compact, remove
from tendril_assets.resources.ledger_verify import LedgerReport, verify
from tendril_assets.resources.ledger_writer import LedgerWriter
from tendril_assets.tables import TABLES

__all__ = ["FINAL_STATUSES", "Compaction", "Ledger", "LedgerEntry", "LedgerReport", "LedgerWriter", "Removal"]

_COLUMNS = TABLES["judge_calls"].schema
_FINAL = pl.col("status").is_in(FINAL_STATUSES)


class Ledger:
    """A ledger folder; one that does not exist yet is an empty ledger.

    Opening repairs lines cut short at the ends of segments nobody writes (``torn_lines`` counts those dropped), and
    erases files that were replaced. In a folder that cannot be written, and with ``read_only``, both are passed over.
    What was read of sealed files is kept for ``answered``. Raises LedgerError where ``folder`` is no folder.
    """

    def __init__(self, folder: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.folder = Path(folder)
        self.torn_lines = 0
        self._finals: dict[tuple[str, int, int], pl.DataFrame] = {}
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise LedgerError(f"{self.folder} is a file: the ledger needs a folder")
        if not read_only and os.access(self.folder, os.W_OK):
            try:
                self.torn_lines = repair(self.folder)
                tidy(self.folder)
            except OSError as error:
                raise LedgerError(f"the ledger in {self.folder} could not be repaired: {error}") from error

    def writer(self) -> LedgerWriter:
        """A writer with a segment of its own; any number may write at once. Raises LedgerError."""
        return LedgerWriter(self.folder)

    def answered(self, purpose: str | None = None) -> pl.Series:
        """Distinct keys of all requests with a final entry, of one purpose or of all, in no order.

        Raises LedgerError for a damaged line or file.
        """
        finals: dict[tuple[str, int, int], pl.DataFrame] = {}
        found = [pl.DataFrame(schema={"request_key": pl.String(), "purpose": pl.String()})]
        with self._reading() as listing:
            for part in listing.parts:
                state = part.path.stat()
                name = (part.path.name, state.st_size, state.st_mtime_ns)
                sealed = isinstance(part, Compacted) or not is_live(part.path)
                rows = self._finals.get(name) if sealed else None
                if rows is None:
                    rows = _read(part, ["request_key", "purpose", "status"], _FINAL).drop("status")
                if sealed:
                    finals[name] = rows
                found.append(rows)
        self._finals = finals
        answered = pl.concat(found)
        if purpose is not None:
            answered = answered.filter(pl.col("purpose") == purpose)
        return answered["request_key"].unique()

    def answered_keys(self, purpose: str | None = None) -> set[str]:
        """``answered`` as a set, for small uses."""
        return set(self.answered(purpose))

    def frame(
        self, keys: pl.Series | None = None, purpose: str | None = None, columns: Sequence[str] = tuple(_COLUMNS)
    ) -> pl.DataFrame:
        """All entries with exactly the columns of table ``judge_calls``, or some of them, by sequence; only those of the
        given request keys and purpose where they are given.

        Costs are rounded to the column's nine decimals; the ledger itself keeps them as charged. Raises LedgerError for
        a damaged line or file.
        """
        wanted = None if purpose is None else pl.col("purpose") == purpose
        # Besides the columns asked for, those that order and choose the rows.
        read = list(dict.fromkeys((*columns, "request_key", "purpose", "sequence")))
        frames = [TABLES["judge_calls"].empty().select(read)]
        with self._reading() as listing:
            frames += [_read(part, read, wanted, keys) for part in listing.parts]
        frame = pl.concat(frames)
        # The files come by sequence already unless two ledgers were put into one folder.
        return (frame if frame["sequence"].is_sorted() else frame.sort("sequence")).select(columns)

    def spent(self, run: str) -> Spent:
        """Known costs and estimates, and HTTP attempts, of all entries of a run, to the last decimal."""
        with self._reading() as listing:
            columns = ["run", "attempts", *COSTS]
            rows = [_read(part, columns, pl.col("run") == run, as_charged=True) for part in listing.parts]
        if not rows:
            return Spent()
        ours = pl.concat(rows)
        return Spent(exact_sum(pl.concat([ours[name] for name in COSTS])), int(ours["attempts"].sum()))

    def entries(self, keys: Iterable[str] | None = None) -> Iterator[LedgerEntry]:
        """All entries, or those of the given request keys, by sequence, one at a time. Raises LedgerError for a damaged
        line or file."""
        wanted = None if keys is None else frozenset(keys)
        with self._reading() as listing:
            for part in listing.parts:
                for entry in _entries(part, wanted):
                    if wanted is None or entry.request_key in wanted:
                        yield entry

    def verify(self) -> LedgerReport:
        """Read every line and row, and compare checksums, sequences, counts and sums; damage is reported, not raised.
        Works while others write."""
        return verify(self.folder)

    def compact(self, *, everything: bool = False) -> Compaction:
        """Turn sealed segments into Parquet once they hold 16 MiB or are 64, or in any case with ``everything``.

        Segments that are being written stay as they are, and readers keep what they have open.

        Raises:
            LedgerError: a line is damaged, or there is no space; nothing was changed.
            DatabaseLocked: another process compacts or removes, for longer than two minutes.
        """
        if not self.folder.exists():
            return Compaction()
        return compact(self.folder, 0 if everything else LEAST_BYTES, LEAST_SEGMENTS)

    def remove(self, keys: Iterable[str]) -> Removal:
        """Take every entry of these request keys out of all files, for good: the files are written anew without them,
        the old ones overwritten and removed. The sequences of all other entries stay. Safe to repeat.

        The requests are open again afterwards: whoever removes a text takes its pairs out of the candidates too.

        Raises:
            LedgerError: a live writer holds a segment with such an entry, a line is damaged, or there is no space
                (nothing was changed); or readers kept the old files for longer than a minute (run it again).
            DatabaseLocked: another process compacts or removes, for longer than two minutes.
        """
        if not self.folder.exists():
            return Removal(len(set(keys)), 0, 0, False)
        self._finals = {}
        return remove(self.folder, keys)

    @contextlib.contextmanager
    def _reading(self) -> Generator[Listing]:
        """``reading``, and a Parquet file that tells nothing is an error before anything is read."""
        with reading(self.folder) as listing:
            listing.require_readable()
            yield listing


def _entries(part: Segment | Compacted, keys: frozenset[str] | None) -> Iterator[LedgerEntry]:
    if isinstance(part, Compacted):
        for rows in read_groups(part.path):
            yield from entries_of(rows if keys is None else rows.filter(pl.col("request_key").is_in(keys)))
        return
    for number, line in _lines(part.path):
        try:
            yield LedgerEntry.from_line(line)
        except ValueError as error:
            raise _damage(part.path, number, str(error)) from error


def _read(
    part: Segment | Compacted,
    columns: list[str],
    wanted: pl.Expr | None = None,
    keys: pl.Series | None = None,
    *,
    as_charged: bool = False,
) -> pl.DataFrame:
    """The named columns of a file; costs as their column in ``judge_calls`` unless they are wanted ``as_charged``."""
    rows = _scan(part, columns)
    if wanted is not None:
        # A line of another schema is to be found, whatever it says in the fields that are asked for.
        rows = rows.filter(wanted | ~pl.col("v").is_in(READABLE_VERSIONS).fill_null(False))
    if keys is not None and isinstance(part, Compacted):
        rows = _of(rows, keys)
    if not as_charged:
        rows = rows.with_columns(pl.col(name).cast(_COLUMNS[name]) for name in COSTS if name in columns)
    problem: pl.exceptions.PolarsError | None = None
    try:
        collected = rows.collect()
        if collected["v"].is_in(READABLE_VERSIONS).all() and not collected["v"].has_nulls():
            collected = collected.select(columns)
            return collected if keys is None else _of(collected.lazy(), keys).collect()
    except pl.exceptions.PolarsError as error:
        problem = error
    if isinstance(part, Segment):
        for number, line in _lines(part.path):
            try:
                LedgerEntry.from_line(line)
            except ValueError as reason:
                raise _damage(part.path, number, str(reason)) from problem
    raise LedgerError(
        f"{part.path} could not be read: {problem or 'a version this program does not know'}"
    ) from problem


def _of(rows: pl.LazyFrame, keys: pl.Series) -> pl.LazyFrame:
    wanted = pl.LazyFrame({"request_key": keys}, schema={"request_key": pl.String})
    return rows.join(wanted, on="request_key", how="semi", maintain_order="left")


def _scan(part: Segment | Compacted, columns: list[str]) -> pl.LazyFrame:
    """``v`` and the named columns, costs as text; of a segment without a line cut short at its end."""
    if isinstance(part, Compacted):
        return pl.scan_parquet(part.path).select(["v", *columns])
    text = (*COSTS, "called_at")
    kinds = {name: pl.String() if name in text else _COLUMNS[name] for name in columns}
    schema = {"v": pl.Int64(), **kinds}
    # Liveness first: a segment that was sealed before its length was taken cannot grow any more.
    live, whole = is_live(part.path), whole_bytes(part.path)
    if whole == 0:
        rows = pl.LazyFrame(schema=schema)
    elif not live and whole == part.path.stat().st_size:
        rows = pl.scan_ndjson(part.path, schema=schema)
    else:
        with part.path.open("rb") as stream:
            rows = pl.scan_ndjson(io.BytesIO(stream.read(whole)), schema=schema)
    if "called_at" in columns:
        rows = rows.with_columns(pl.col("called_at").str.to_datetime(CALLED_AT, time_unit="us"))
    return rows


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that end in a newline."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.endswith(b"\n"):
                yield number, line


def _damage(path: Path, number: int, reason: str) -> LedgerError:
    return LedgerError(
        f"{path}, line {number} is damaged ({reason}). Restore the file from a copy, or take that line out: its "
        f"request is then asked again. This program reads schema versions up to {SCHEMA_VERSION}."
    )
