"""The append-only reply ledger: every reply that was paid for, kept apart from the warehouse.

A folder of JSONL segments, one per writer, named ``segment-<utc>-<pid>-<number>.jsonl``. Entries are never changed; a
request answered later gets another line with a higher ``sequence``. A request counts as answered, and is not asked
again, once it has an entry with a final status: ``answered``, ``truncated`` or ``filtered``. Those were paid for and
would come back the same at temperature 0. Entries with ``empty``, ``error`` or ``bad_body`` record failures that were
given up on; their requests are open again in the next run.
"""

import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import polars as pl

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_entry import FINAL_STATUSES, READABLE_VERSIONS, SCHEMA_VERSION, LedgerEntry
from tendril_assets.resources.ledger_writer import LedgerWriter, is_live, repair, segments, whole_bytes
from tendril_assets.tables import TABLES

__all__ = ["FINAL_STATUSES", "Ledger", "LedgerEntry", "LedgerReport", "LedgerWriter"]

_COLUMNS = TABLES["judge_calls"].schema
# Money and times travel as text and are converted exactly, never through a float.
_STORED = {
    name: pl.String() if name in ("cost", "cost_estimate", "called_at") else kind for name, kind in _COLUMNS.items()
}


@dataclass(frozen=True)
class LedgerReport:
    """What ``Ledger.verify`` found. ``damaged``: file name and line of each line that is no entry; ``cut_short``:
    segments that end in half a line; ``answered_twice``: requests with more than one final entry."""

    segments: int
    bytes: int
    entries: int
    by_status: dict[str, int]
    known_cost: Decimal
    unknown_costs: int
    answered_twice: int
    cut_short: tuple[str, ...] = ()
    damaged: tuple[tuple[str, int], ...] = field(default=())

    @property
    def is_sound(self) -> bool:
        return not self.damaged and not self.cut_short


class Ledger:
    """A ledger folder; one that does not exist yet is an empty ledger.

    Opening repairs lines cut short at the ends of segments nobody writes; ``torn_lines`` counts those dropped. In a
    folder that cannot be written they stay and are passed over. Raises LedgerError where ``folder`` is no folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.torn_lines = 0
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise LedgerError(f"{self.folder} is a file: the ledger needs a folder")
        if os.access(self.folder, os.W_OK):
            try:
                self.torn_lines = repair(self.folder)
            except OSError as error:
                raise LedgerError(f"the ledger in {self.folder} could not be repaired: {error}") from error

    def writer(self) -> LedgerWriter:
        """A writer with a segment of its own; any number may write at once. Raises LedgerError."""
        return LedgerWriter(self.folder)

    def answered_keys(self, purpose: str | None = None) -> set[str]:
        """Keys of all requests with a final entry, of one purpose or of all. Raises LedgerError for a damaged line."""
        keys: set[str] = set()
        for path in segments(self.folder):
            frame = self._scan(path, {"request_key": pl.String(), "purpose": pl.String(), "status": pl.String()})
            wanted = pl.col("status").is_in(FINAL_STATUSES)
            if purpose is not None:
                wanted &= pl.col("purpose") == purpose
            keys.update(self._collect(path, frame.filter(wanted).select("v", "request_key")).to_series())
        return keys

    def frame(self) -> pl.DataFrame:
        """All entries with exactly the columns of table ``judge_calls``, by sequence. Raises LedgerError for a damaged
        line.

        Costs are rounded to the column's nine decimals; the ledger itself keeps them as charged.
        """
        frames = [
            self._collect(
                path,
                self._scan(path, _STORED).with_columns(
                    pl.col("cost", "cost_estimate").cast(_COLUMNS["cost"]),
                    pl.col("called_at").str.to_datetime("%Y-%m-%dT%H:%M:%S%.6f", time_unit="us"),
                ),
            )
            for path in segments(self.folder)
        ]
        return pl.concat(frames).sort("sequence") if frames else TABLES["judge_calls"].empty()

    def entries(self) -> Iterator[LedgerEntry]:
        """All entries, by sequence, one at a time. Raises LedgerError for a damaged line."""
        for path in segments(self.folder):
            for number, line in _lines(path):
                try:
                    yield LedgerEntry.from_line(line)
                except ValueError as error:
                    raise _damage(path, number, str(error)) from error

    def verify(self) -> LedgerReport:
        """Read every line; damage is reported, not raised."""
        statuses: Counter[str] = Counter()
        finals: Counter[str] = Counter()
        known, unknown, size = Decimal(0), 0, 0
        damaged: list[tuple[str, int]] = []
        cut: list[str] = []
        paths = segments(self.folder)
        for path in paths:
            size += path.stat().st_size
            if whole_bytes(path) < path.stat().st_size:
                cut.append(path.name)
            for number, line in _lines(path):
                try:
                    entry = LedgerEntry.from_line(line)
                except ValueError:
                    damaged.append((path.name, number))
                    continue
                statuses[entry.status] += 1
                finals[entry.request_key] += entry.is_final
                if entry.cost is None:
                    unknown += 1
                else:
                    known += entry.cost
        return LedgerReport(
            segments=len(paths),
            bytes=size,
            entries=statuses.total(),
            by_status=dict(sorted(statuses.items())),
            known_cost=known,
            unknown_costs=unknown,
            answered_twice=sum(n > 1 for n in finals.values()),
            cut_short=tuple(cut),
            damaged=tuple(damaged),
        )

    def _scan(self, path: Path, columns: dict[str, pl.DataType]) -> pl.LazyFrame:
        """The named columns of a segment, without a line cut short at its end."""
        schema = {"v": pl.Int64(), **columns}
        # Liveness first: a segment that was sealed before its length was taken cannot grow any more.
        live, whole = is_live(path), whole_bytes(path)
        if whole == 0:
            return pl.LazyFrame(schema=schema)
        if not live and whole == path.stat().st_size:
            return pl.scan_ndjson(path, schema=schema)
        with path.open("rb") as stream:
            return pl.scan_ndjson(io.BytesIO(stream.read(whole)), schema=schema)

    def _collect(self, path: Path, frame: pl.LazyFrame) -> pl.DataFrame:
        problem: pl.exceptions.PolarsError | None = None
        try:
            collected = frame.collect()
            if collected["v"].is_in(READABLE_VERSIONS).all() and not collected["v"].has_nulls():
                return collected.drop("v")
        except pl.exceptions.PolarsError as error:
            problem = error
        for number, line in _lines(path):
            try:
                LedgerEntry.from_line(line)
            except ValueError as reason:
                raise _damage(path, number, str(reason)) from problem
        raise LedgerError(f"{path} could not be read: {problem}") from problem


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
