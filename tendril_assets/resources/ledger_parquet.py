"""Ledger entries as Parquet: every field of every line, equal to the last digit.

The columns of ``ROWS`` are the fields of a line with ``v``, the schema version it was written with. Costs stay decimal
text, as charged: a column of fixed scale would round some of them. Pages are zstd with checksums. The footer has one
JSON value under ``tendril_ledger``: ``format``, ``rows``, and ``replaces``, the names of the files this one replaced.
"""

import decimal
import functools
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_entry import LINE_FIELDS, READABLE_VERSIONS, STATUSES, LedgerEntry
from tendril_assets.tables import TABLES

FORMAT = 1
# About 60,000 lines, read at a time and written as one row group.
BLOCK_BYTES = 32 * 2**20
CALLED_AT = "%Y-%m-%dT%H:%M:%S%.6f"
UNSOUND = "a required field is empty, or its version, status or a cost is none that an entry can have"
# Digits of a sum: more than any sum of decimal texts needs; one that needed more would be an error, not rounded.
EXACT = decimal.Context(prec=2000, traps=[decimal.Inexact, decimal.InvalidOperation])
COSTS = ("cost", "cost_estimate")
_KEY = "tendril_ledger"
ROWS: dict[str, pl.DataType] = {
    "v": pl.Int64(),
    **{name: pl.String() if name in COSTS else kind for name, kind in TABLES["judge_calls"].schema.items()},
    "detail": pl.String(),
}
REQUIRED = ("v", *(column.name for column in TABLES["judge_calls"].columns if not column.nullable))
_LINE = {name: pl.String() if name in (*COSTS, "called_at") else ROWS[name] for name in LINE_FIELDS}
_FIELDS = tuple(name for name in ROWS if name != "v")
_values = attrgetter(*_FIELDS)
# Columns in which values recur; the others are nearly all different, and a dictionary would only be in the way.
_RECURRING = [
    name for name in ROWS if name not in ("sequence", "request_key", "content", "detail", "reply_id", "seconds")
]


@dataclass(frozen=True)
class Footer:
    """``rows``: entries in the file. ``replaces``: names of the files whose entries these are."""

    rows: int
    replaces: tuple[str, ...]


def read_footer(path: Path) -> Footer:
    """Raises LedgerError for a file that is no ledger Parquet, or of a newer format; FileNotFoundError."""
    found = path.stat()
    return _read_footer(path, found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=4096)
def _read_footer(path: Path, _size: int, _changed: int, _inode: int) -> Footer:
    """A compacted file never changes, so each is looked at once."""
    try:
        note = json.loads(pl.read_parquet_metadata(path)[_KEY])
        form, footer = note["format"], Footer(note["rows"], tuple(note["replaces"]))
    except (pl.exceptions.PolarsError, ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"its Parquet footer is damaged: {error}") from error
    if form != FORMAT:
        raise LedgerError(f"format {form}; this program reads format {FORMAT}")
    return footer


def frame_of(entries: Sequence[tuple[int, LedgerEntry]]) -> pl.DataFrame:
    """Versions and entries as rows. Raises ValueError where a value has not the type of its column."""
    columns = list(zip(*(_values(entry) for _, entry in entries), strict=True)) or [()] * len(_FIELDS)
    data: dict[str, Sequence[Any]] = {
        "v": [version for version, _ in entries],
        **dict(zip(_FIELDS, columns, strict=True)),
    }
    for name in COSTS:
        data[name] = [None if cost is None else format(cost, "f") for cost in data[name]]
    data["called_at"] = [moment.replace(tzinfo=None) for moment in data["called_at"]]
    try:
        return pl.DataFrame(data, schema=ROWS, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0].partition("; found value")[0]
        raise ValueError(f"a field has another type: {reason}") from error


def entries_of(frame: pl.DataFrame) -> Iterator[LedgerEntry]:
    """Rows as entries again."""
    for row in frame.select(_FIELDS).iter_rows(named=True):
        for name in COSTS:
            row[name] = None if row[name] is None else Decimal(row[name])
        row["called_at"] = row["called_at"].replace(tzinfo=UTC)
        yield LedgerEntry(**row)


def read_lines(path: Path, on_damage: Callable[[int, str], None]) -> Iterator[pl.DataFrame]:
    """The whole lines of a segment as ``ROWS`` and ``place``, the line's number; a tail without newline is passed over.

    ``on_damage`` is told number and reason of each line that is no entry; what it raises ends the reading.
    """
    before, rest = 0, b""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if not newline:
                continue
            lines = whole + newline
            frame = _at_once(lines)
            n = lines.count(b"\n") if frame is None else frame.height
            if frame is None:
                yield _one_by_one(lines, before, on_damage)
            else:
                yield frame.with_columns(place=pl.int_range(before + 1, before + n + 1, dtype=pl.Int64))
            before += n


def _at_once(lines: bytes) -> pl.DataFrame | None:
    """Lines read by polars, eight times as fast; None unless writing them again gives the very same bytes.

    A reader of JSON may take much for an entry that is none, and drop what it does not know: the comparison shows that
    every field came through, and the rest is for ``_one_by_one`` to judge.
    """
    again = io.BytesIO()
    try:
        read = pl.read_ndjson(io.BytesIO(lines), schema=_LINE)
        read.write_ndjson(again)
        if again.getbuffer() != lines:
            return None
        rows = read.select(
            pl.col(name).str.to_datetime(CALLED_AT, time_unit="us") if name == "called_at" else pl.col(name)
            for name in ROWS
        )
    except pl.exceptions.PolarsError:
        return None
    return rows if unsound(rows).is_empty() else None


def _one_by_one(lines: bytes, before: int, on_damage: Callable[[int, str], None]) -> pl.DataFrame:
    found: list[tuple[int, tuple[int, LedgerEntry]]] = []
    for number, line in enumerate(lines.split(b"\n")[:-1], start=before + 1):
        try:
            fields = json.loads(line)
            entry = LedgerEntry.from_fields(fields)
            found.append((number, (fields["v"], entry)))
        except ValueError as error:
            on_damage(number, str(error))
    return _typed(found, on_damage)


def _typed(lines: list[tuple[int, tuple[int, LedgerEntry]]], on_damage: Callable[[int, str], None]) -> pl.DataFrame:
    try:
        frame = frame_of([entry for _, entry in lines])
    except ValueError:
        good = []
        for number, entry in lines:
            try:
                frame_of([entry])
            except ValueError as error:
                on_damage(number, str(error))
            else:
                good.append((number, entry))
        lines, frame = good, frame_of([entry for _, entry in good])
    frame = frame.with_columns(place=pl.Series([number for number, _ in lines], dtype=pl.Int64))
    bad = unsound(frame)
    for number in bad["place"]:
        on_damage(number, UNSOUND)
    return frame.join(bad, on="place", how="anti", maintain_order="left")


def key_rows(path: Path) -> pl.LazyFrame:
    """The request keys of a Parquet file, without looking at anything else in it."""
    return pl.scan_parquet(path).select("request_key")


def read_groups(path: Path) -> Iterator[pl.DataFrame]:
    """The row groups of a Parquet file, checksums compared. Raises LedgerError at the first that cannot be read."""
    import pyarrow.parquet as parquet

    group = 0
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                table: Any = pl.from_arrow(file.read_row_group(group, columns=list(ROWS)))
                yield table.select(pl.col(name).cast(kind) for name, kind in ROWS.items())
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError) as error:
        raise LedgerError(f"{path}, row group {group + 1} cannot be read: {error}") from error


def write(path: Path, frames: Iterable[pl.DataFrame], replaces: Iterable[str]) -> int:
    """Write a file of the given rows, fsync it, read it back and compare; returns the number of rows.

    Raises LedgerError where what comes back differs, OSError where the file cannot be written.
    """
    import pyarrow.parquet as parquet

    schema = pl.DataFrame(schema=ROWS).to_arrow().schema
    rows, written = 0, []
    with parquet.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=6,
        use_dictionary=_RECURRING,
        write_statistics=["sequence", "run", "purpose"],
        write_page_checksum=True,
        store_schema=False,
    ) as file:
        for frame in frames:
            frame = frame.select(list(ROWS))
            if frame.is_empty():
                continue
            file.write_table(frame.to_arrow().cast(schema), row_group_size=frame.height)
            rows += frame.height
            written.append(_digest(frame))
        file.add_key_value_metadata({_KEY: json.dumps({"format": FORMAT, "rows": rows, "replaces": sorted(replaces)})})
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
    if [_digest(frame) for frame in read_groups(path)] != written:
        raise LedgerError(f"{path} does not read back as it was written: the disk or its driver is at fault")
    return rows


def _digest(frame: pl.DataFrame) -> bytes:
    return hashlib.sha256(frame.hash_rows().to_numpy().tobytes()).digest()


def unsound(frame: pl.DataFrame) -> pl.DataFrame:
    """Those rows that no line could have been: another version or status, an empty field, a cost that is no amount."""
    bad = ~pl.col("v").is_in(READABLE_VERSIONS) | ~pl.col("status").is_in(STATUSES) | (pl.col("request_key") == "")
    bad |= pl.any_horizontal(pl.col(name).is_null() for name in REQUIRED)
    for name in COSTS:
        bad |= ~pl.col(name).str.contains(r"^[0-9]+(\.[0-9]+)?$").fill_null(True)
    # An empty required field makes the first comparisons unknown, and the row as a whole bad.
    return frame.filter(bad.fill_null(True))


def exact_sum(amounts: pl.Series) -> Decimal:
    """Sum of decimal texts without any rounding; the empty ones are left out.

    Raises LedgerError where no sum of money is that long.
    """
    total = Decimal(0)
    with decimal.localcontext(EXACT):
        for amount, n in amounts.drop_nulls().value_counts().iter_rows():
            try:
                total += Decimal(amount) * n
            except decimal.Inexact:
                raise LedgerError(
                    f"the ledger's costs cannot be added up: one of them is {amount[:20]}... with {len(amount):,} "
                    "characters, which is no amount of money"
                ) from None
    return total
