"""A DuckDB file written anew, so that no byte of a deleted row is left in it.

DELETE, a dropped table and VACUUM leave old rows in blocks that count as free; they stay in the file until something
else needs the space. So everything is copied into a fresh file by ``COPY FROM DATABASE``, compared with what it was
copied from, and put in its place; the old file's bytes are overwritten.

The order survives a kill anywhere: the old file is there, under its name, until the new one is complete and on disk.
From the one rename on, it has another name (``.<name>.old``) under which the next rewrite finds it.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import NamedTuple

import duckdb

from tendril_assets.errors import WarehouseError
from tendril_assets.files import erase, overwrite, put_in_place
from tendril_assets.resources import sql
from tendril_assets.resources.ledger_files import fsync_folder

_FRESH = "rewritten"
# Everything that is not derived from the rows: a copy that lost a comment or a NOT NULL would be another table.
_SHAPE = """
SELECT schema_name, table_name, column_index, column_name, data_type, is_nullable, comment FROM duckdb_columns()
WHERE database_name = $database AND NOT internal ORDER BY ALL
"""
_TABLES = """
SELECT schema_name, table_name, comment FROM duckdb_tables()
WHERE database_name = $database AND NOT internal ORDER BY ALL
"""
_VIEWS = """
SELECT schema_name, view_name, sql, comment FROM duckdb_views()
WHERE database_name = $database AND NOT internal ORDER BY ALL
"""


# What became of a former file: its bytes are gone; or only its name is, because they belong to another hard link as well
# (perhaps somebody's backup), or because a program outside this pipeline has it open and they go when it closes.
ERASED, LINKED, OPEN = "erased", "linked elsewhere", "open elsewhere"


class Rewrite(NamedTuple):
    """What a rewrite did; ``former`` is one of ``ERASED``, ``LINKED`` and ``OPEN``."""

    tables: int
    rows: int
    bytes_before: int
    bytes_after: int
    former: str


def partial_of(database: Path) -> Path:
    """Where the new file is written: beside the file itself where ``database`` is a link to it."""
    real = database.resolve()
    return real.with_name(f".{real.name}.rewrite.partial")


def old_of(database: Path) -> Path:
    """Where the old file lies from the rename until it is overwritten."""
    real = database.resolve()
    return real.with_name(f".{real.name}.old")


def copy_database(connection: duckdb.DuckDBPyConnection, database: Path) -> tuple[int, int]:
    """Copy the database that ``connection`` has open, ``database``, into ``partial_of(database)``, compared and on disk.

    Returns the number of tables and of rows. What a killed one left was swept before the database was opened. Raises
    WarehouseError where there is no space, or where the copy is not what it was copied from; the partial file is gone
    then, and ``database`` is as it was.
    """
    partial = partial_of(database)
    try:
        connection.execute("CHECKPOINT")
        row = connection.execute(
            "SELECT database_name, tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
        ).fetchone()
        assert row is not None
        name, version = row
        # As old programs read it now, they read it afterwards.
        options = f" (STORAGE_VERSION {sql.text(str(version).removesuffix('+'))})" if version else ""
        connection.execute(f"ATTACH {sql.text(str(partial))} AS {_FRESH}{options}")
        try:
            connection.execute(f"COPY FROM DATABASE {_quoted(name)} TO {_FRESH}")
            done = _compare(connection, name)
            connection.execute(f"CHECKPOINT {_FRESH}")
        finally:
            connection.execute(f"DETACH {_FRESH}")
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
    except (duckdb.Error, OSError) as error:
        discard(partial)
        raise WarehouseError(
            f"{database} could not be written anew: {error} It is as it was, and what is to be erased is still in it. If "
            f"space is short there, free about {database.stat().st_size / 2**20:,.0f} MiB; then run again."
        ) from error
    except BaseException:
        discard(partial)
        raise
    return done


def exchange(database: Path) -> str:
    """Put the copy in the place of ``database``, whose connections are closed, and overwrite the old file; returns what
    became of that. Raises WarehouseError where the file has a log that was not applied to it: nothing was changed."""
    if left := [log for log in (_log_of(database), _log_of(database.resolve())) if log.exists()]:
        discard(partial_of(database))
        raise WarehouseError(
            f"{left[0]} could not be applied to {database.name}; nothing was changed. Close whatever else has "
            "the database open, and run again."
        )
    return replace_erasing(partial_of(database), database)


def replace_erasing(finished: Path, database: Path) -> str:
    """``files.put_in_place`` for a DuckDB file, and the bytes of the former one are overwritten, unless somebody reads it
    or keeps it under another name; returns what became of it."""
    database = database.resolve()
    descriptor = os.open(database, os.O_RDWR | os.O_CLOEXEC)
    try:
        # A second name, so that after a kill in between ``sweep`` finds the file. Without hard links, as on some network
        # file systems, such a kill leaves bytes that no name leads to.
        with contextlib.suppress(OSError):
            os.link(database, old_of(database))
        put_in_place(finished, database)
        fsync_folder(database.parent)
        return _retire(descriptor, old_of(database))
    finally:
        os.close(descriptor)


def sweep(database: Path) -> None:
    """Overwrite and remove what a killed replacement left: a copy that was never put in place, or the former file.

    To be called while this process has ``database`` closed: it may be that former file still, and a process that closes
    any descriptor of a file loses all its record locks on it.
    """
    discard(partial_of(database))
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(old_of(database), os.O_RDWR | os.O_CLOEXEC)
        try:
            _retire(descriptor, old_of(database))
        finally:
            os.close(descriptor)


def discard(partial: Path) -> None:
    """Overwrite and remove an unfinished copy, with its log."""
    for left in (partial, _log_of(partial)):
        if left.exists():
            erase(left)


def _retire(descriptor: int, name: Path) -> str:
    try:
        # DuckDB holds a record lock on what it has open, for reading too.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        became = OPEN
    else:
        became = ERASED if overwrite(descriptor) else LINKED
    name.unlink(missing_ok=True)
    fsync_folder(name.parent)
    return became


def _quoted(name: str) -> str:
    """DuckDB names a database by its file, which somebody may have called as they liked."""
    return '"' + name.replace('"', '""') + '"'


def _log_of(database: Path) -> Path:
    return Path(f"{database}.wal")


def _compare(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[int, int]:
    """Tables and rows of both databases. Raises WarehouseError where they differ in anything."""
    for statement in (_SHAPE, _TABLES, _VIEWS):
        there, copied = (connection.execute(statement, {"database": d}).fetchall() for d in (name, _FRESH))
        if there != copied:
            odd = sorted({str(row) for row in {*map(str, there)} ^ {*map(str, copied)}})
            raise WarehouseError(
                f"the copy of {name} is declared otherwise: {'; '.join(odd[:3])}. Nothing was changed."
            )
    tables = connection.execute(_TABLES, {"database": name}).fetchall()
    rows = 0
    for schema, table, _ in tables:
        full = f"{sql.identifier(schema)}.{sql.identifier(table)}"
        # Sums do not depend on the order of rows, and a row of equal columns counts each time.
        state = "SELECT count(*), sum(hash(t)) FROM"
        there, copied = (connection.execute(f"{state} {_quoted(d)}.{full} t").fetchone() for d in (name, _FRESH))
        if there != copied or there is None:
            raise WarehouseError(f"the copy of {schema}.{table} holds other rows than the table. Nothing was changed.")
        rows += there[0]
    return len(tables), rows
