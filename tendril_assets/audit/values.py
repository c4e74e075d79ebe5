"""Columns of texts in Parquet, SQLite and DuckDB files, a piece at a time, and the blocks of a DuckDB file."""

import contextlib
import gzip
import json
import re
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote

import duckdb
import polars as pl

from tendril_assets.audit.fsst import BLOCK, FIRST_BLOCK, decoded
from tendril_assets.errors import DatabaseLocked, WarehouseError
from tendril_assets.resources.lock import exclusive

ROWS = 20_000
_SQLITE_ROWS = 2_000
# One row group of a DuckDB table.
_DUCKDB_ROWS = 122_880
# From this storage version on DuckDB compresses texts in forms that ``fsst`` does not decode.
_OTHER_FORMS = (1, 2)
_POLL_S = 0.1
# A database that others write is let go, and opened again, after so long.
_HOLD_S = 1.0
# What names a row best, of the columns that it may have.
_KEYS = ("passage_id", "id", "positive_id", "query_id", "corpus-id", "request_key", "project")
# No texts can be in these; others are looked at in their written form.
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "REAL", "DECIMAL", "BOOL", "DATE", "TIME", "UUID", "INTERVAL", "BIT", "HUGE")


class Column(NamedTuple):
    """Some values of one column, as texts; ``keys`` name their rows, where another column can."""

    name: str
    texts: pl.Series
    keys: pl.Series | None = None


def parquet_columns(source: str | IO[bytes]) -> Iterator[Column]:
    """Every column that can hold a text, lists and structures too. Raises OSError or ValueError for a damaged file."""
    import pyarrow
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(source) as file:
        names = [field.name for field in file.schema_arrow if not _is_number(str(field.type))]
        if names:
            for batch in file.iter_batches(batch_size=ROWS, columns=names):
                frame: Any = pl.from_arrow(pyarrow.Table.from_batches([batch]))
                key = next((frame[name] for name in _KEYS if name in names), None)
                yield from (Column(name, as_texts(frame[name]), key) for name in names)


def sqlite_columns(path: Path) -> Iterator[Column]:
    """Every value of every table; packed ones are unpacked. Raises sqlite3.Error for a damaged or locked file."""
    with contextlib.closing(sqlite3.connect(_sqlite_address(path), uri=True, timeout=10)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (table,) in tables:
            quoted = table.replace('"', '""')
            rows = connection.execute(f'SELECT * FROM "{quoted}"')
            names = [column[0] for column in rows.description]
            while some := rows.fetchmany(_SQLITE_ROWS):
                for name, values in zip(names, zip(*some, strict=True), strict=True):
                    if texts := [_text_of(value) for value in values if isinstance(value, str | bytes)]:
                        yield Column(f"{table}.{name}", pl.Series(texts))


def duckdb_columns(path: Path, least: int, *, lock: Path | None, wait_s: float) -> Iterator[Column]:
    """Every column of every table that can hold a text, without values shorter than ``least`` characters.

    ``lock``: the lock file under which the pipeline opens this database; it is let go between columns, so that a run never
    waits for the whole search.

    Raises:
        DatabaseLocked: another process kept the database for longer than ``wait_s``.
        WarehouseError: it cannot be opened or read.
    """
    with opened(path, lock, wait_s) as connection:
        found = connection.sql(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = current_database() AND NOT internal AND (schema_name, table_name) IN "
            "(SELECT (schema_name, table_name) FROM duckdb_tables()) ORDER BY schema_name, table_name, column_index"
        ).fetchall()
    by_table: dict[tuple[str, str], list[str]] = {}
    for schema, table, column, kind in found:
        if not _is_number(kind):
            by_table.setdefault((schema, table), []).append(column)
    waiting = deque((*table, column, _key(columns)) for table, columns in by_table.items() for column in columns)
    while waiting:
        with opened(path, lock, wait_s) as connection:
            until = time.monotonic() + _HOLD_S
            while waiting and (lock is None or time.monotonic() < until):
                yield from _pieces(connection, *waiting.popleft(), least)


def duckdb_blocks(path: Path) -> Iterator[bytes]:
    """What stands compressed by FSST in the blocks of a DuckDB file, used and free ones alike."""
    with path.open("rb") as stream:
        stream.seek(FIRST_BLOCK)
        while block := stream.read(BLOCK):
            yield from decoded(block)


def free_blocks(path: Path, *, lock: Path | None, wait_s: float) -> tuple[int, bool]:
    """Blocks that no table uses, which keep the bytes of former rows, and whether ``duckdb_blocks`` decodes all that such
    blocks may hold. Raises as ``duckdb_columns`` does."""
    with opened(path, lock, wait_s) as connection:
        free, size, version = connection.execute(
            "SELECT s.free_blocks, s.block_size, d.tags['storage_version'] FROM pragma_database_size() AS s "
            "JOIN duckdb_databases() AS d USING (database_name)"
        ).fetchall()[0]
    found = re.match(r"v(\d+)\.(\d+)", str(version))
    return int(free), bool(found) and size == BLOCK and (int(found[1]), int(found[2])) < _OTHER_FORMS


def as_texts(values: pl.Series) -> pl.Series:
    """Strings as they are, anything else in its written form."""
    if values.dtype == pl.String:
        return values
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    written = [
        None if v is None else _text_of(v) if isinstance(v, bytes) else json.dumps(v, ensure_ascii=False, default=str)
        for v in values.to_list()
    ]
    return pl.Series(written, dtype=pl.String)


def _is_number(kind: str) -> bool:
    return kind.upper().startswith(_NUMBERS) and "[" not in kind and "<" not in kind


def _sqlite_address(path: Path) -> str:
    """Opened so that nothing is written beside it: a file without pending changes needs no shared memory."""
    pending = path.with_name(path.name + "-wal")
    rest = "?mode=ro" if pending.exists() and pending.stat().st_size else "?mode=ro&immutable=1"
    return f"file:{quote(str(path))}{rest}"


def _text_of(value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    for unpack in (zlib.decompress, gzip.decompress):
        with contextlib.suppress(zlib.error, OSError, EOFError):
            return unpack(value).decode("utf-8", "replace")
    return value.decode("utf-8", "replace")


def _key(columns: list[str]) -> str:
    return next((name for name in _KEYS if name in columns), columns[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _pieces(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, column: str, key: str, least: int
) -> Iterator[Column]:
    """One column, so many rows at a time that a piece fits in memory whatever the table has."""
    value, row = (f"CAST({_quoted(name)} AS VARCHAR)" for name in (column, key))
    source = f"{_quoted(schema)}.{_quoted(table)}"
    try:
        (last,) = connection.execute(f"SELECT max(rowid) FROM {source}").fetchall()[0]
        for first in range(0, 0 if last is None else last + 1, _DUCKDB_ROWS):
            frame = connection.sql(
                f"SELECT {value} AS text, {row} AS key FROM {source} "
                f"WHERE rowid >= {first} AND rowid < {first + _DUCKDB_ROWS} AND length({value}) >= {least}"
            ).pl()
            yield Column(f"{schema}.{table}.{column}", frame["text"], frame["key"])
    except (duckdb.CatalogException, duckdb.BinderException):
        return  # replaced since the list was made: the file has changed, and is searched again


@contextlib.contextmanager
def opened(path: Path, lock: Path | None, wait_s: float) -> Generator[duckdb.DuckDBPyConnection, None, None]:
    """A DuckDB file, read-only, under the pipeline's lock where it has one. Raises as ``duckdb_columns`` does."""
    held = exclusive(lock, "tendril audit", wait_s) if lock else contextlib.nullcontext()
    deadline = time.monotonic() + wait_s
    with held:
        connection = _connect(path, deadline)
        try:
            yield connection
        except duckdb.Error as error:
            raise WarehouseError(f"it cannot be read: {_first_line(error)}") from error
        finally:
            connection.close()


def _connect(path: Path, deadline: float) -> duckdb.DuckDBPyConnection:
    while True:
        try:
            return duckdb.connect(str(path), read_only=True)
        except duckdb.Error as error:
            message = _first_line(error)
            if "Could not set lock" not in message:
                raise WarehouseError(f"it cannot be opened: {message}") from error
            if time.monotonic() > deadline:
                raise DatabaseLocked(f"another program has it open for writing: {message}") from error
            time.sleep(_POLL_S)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
