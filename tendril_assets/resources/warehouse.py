"""The DuckDB warehouse: one writer at a time, short transactions, always closed.

DuckDB lets no second process open a file while a writer has it, and the stock dagster-duckdb resource leaves its
connection open after an exception. Here every access queues on a lock file, opens the database, works in one
transaction and closes it in ``finally``. No caller holds it while it computes, calls an API or trains. Readers who
want to stay use the published snapshot.
"""

import contextlib
import re
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from dagster_duckdb import DuckDBResource
from pydantic import Field

from tendril_assets.errors import DatabaseLocked, SchemaMismatch, UnsupportedStorageVersion, WarehouseError
from tendril_assets.files import erase
from tendril_assets.records import Table
from tendril_assets.resources import sql
from tendril_assets.resources.frames import conform
from tendril_assets.resources.lock import exclusive
from tendril_assets.resources.rewriting import Rewrite, copy_database, exchange, sweep
from tendril_assets.resources.same_table import holds, stale_tables
from tendril_assets.resources.snapshot import Snapshot, write_snapshot
from tendril_assets.tables import TABLES

# Of this thread: the database of the ``one_state`` block it is in, and the connection to it.
_reading_once = threading.local()
_PID = re.compile(r"PID (\d+)")
_META = (
    "CREATE TABLE IF NOT EXISTS main.meta "
    "(collection VARCHAR NOT NULL, name VARCHAR NOT NULL, value VARCHAR NOT NULL, written_at TIMESTAMP NOT NULL)"
)


def create_statements(collection: str, table: Table) -> list[str]:
    """DDL that replaces one table, comments included."""
    full = f"{sql.identifier(collection)}.{sql.identifier(table.name)}"
    columns = ", ".join(f"{sql.identifier(c.name)} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in table.columns)
    return [
        f"CREATE SCHEMA IF NOT EXISTS {sql.identifier(collection)}",
        f"CREATE OR REPLACE TABLE {full} ({columns})",
        f"COMMENT ON TABLE {full} IS {sql.text(table.comment)}",
        *(f"COMMENT ON COLUMN {full}.{sql.identifier(c.name)} IS {sql.text(c.comment)}" for c in table.columns),
    ]


class Warehouse(DuckDBResource):
    """``DuckDBResource`` with its connection handling replaced; ``database`` is an absolute path."""

    snapshot: str = Field(description="Path of the analysts' read-only copy.")
    wait_s: float = Field(default=120.0, description="Longest wait for another step or process, in seconds.")
    memory_limit: str = Field(default="4GB", description="DuckDB's memory limit.")

    @property
    def _lock_path(self) -> Path:
        return Path(f"{self.database}.lock")

    @property
    def _temporary(self) -> Path:
        return Path(self.database).parent / "duckdb_temp"

    def _connect(self, *, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
        path = Path(self.database)
        config: dict[str, Any] = {
            "custom_user_agent": "tendril_assets",
            "memory_limit": self.memory_limit,
            "temp_directory": str(self._temporary),
            "max_temp_directory_size": "50GB",
            **self.connection_config,
        }
        while True:
            try:
                return duckdb.connect(self.database, read_only=read_only, config=config)
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                # Only a program that does not use our lock file gets here: a notebook, the duckdb shell, an editor.
                message = str(error)
                if "Could not set lock" not in message and "different configuration" not in message:
                    if "version" in message.lower():
                        raise UnsupportedStorageVersion(
                            f"{path.name} was written by another DuckDB than {duckdb.__version__}: {message} "
                            "Open it with that version, EXPORT DATABASE to a folder, and IMPORT DATABASE here."
                        ) from error
                    raise WarehouseError(
                        f"{path} cannot be opened: {message} Restore it, or move it away and run again: the reply ledger "
                        "and the caches rebuild it without a paid call."
                    ) from error
                if time.monotonic() > deadline:
                    found = _PID.search(message)
                    pid = int(found.group(1)) if found else None
                    raise DatabaseLocked(
                        f"{path.name} is open in process {pid or 'unknown'} outside this pipeline. Close it there (analysts "
                        f"read {Path(self.snapshot).name}) and run again; nothing was written.",
                        pid=pid,
                    ) from error
                time.sleep(0.1)

    @contextlib.contextmanager
    def _open(self, purpose: str, *, read_only: bool) -> Generator[duckdb.DuckDBPyConnection, None, None]:
        database, held = getattr(_reading_once, "state", None) or (None, None)
        if read_only and held is not None and database == self.database:
            with held.cursor() as connection:
                yield connection
            return
        deadline = time.monotonic() + self.wait_s
        with exclusive(self._lock_path, purpose, self.wait_s):
            connection = self._connect(read_only=read_only, deadline=deadline)
            try:
                _refuse_newer(connection, Path(self.database).name)
                yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def one_state(self, purpose: str) -> Generator[None, None, None]:
        """All that this thread reads in the block is of one state of the warehouse, opened once; others wait to write.

        Raises:
            DatabaseLocked: another process kept the database for longer than ``wait_s``.
            WarehouseError: there is no warehouse yet, or this thread writes in the block.
        """
        self._require_file("materialise the landing assets first")
        with self._open(purpose, read_only=True) as connection:
            former = getattr(_reading_once, "state", None)
            _reading_once.state = (self.database, connection)
            try:
                yield
            finally:
                _reading_once.state = former

    @contextlib.contextmanager
    def transaction(self, collection: str, purpose: str) -> Generator[duckdb.DuckDBPyConnection, None, None]:
        """One write transaction with the collection's schema as default; rolled back on any exception.

        Raises:
            DatabaseLocked: another process kept the database for longer than ``wait_s``.
            UnsupportedStorageVersion: the file was written by a newer DuckDB.
        """
        with self._open(purpose, read_only=False) as connection:
            connection.execute("BEGIN")
            try:
                connection.execute(_META)
                _stamp(connection)
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.identifier(collection)}")
                connection.execute(f"USE {sql.identifier(collection)}")
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def get_connection(self) -> Generator[duckdb.DuckDBPyConnection, None, None]:
        """A read-write connection in one transaction, closed in any case, for users of the stock resource."""
        with self.transaction("main", "get_connection") as connection:
            yield connection

    def replace(self, collection: str, frames: dict[str, pl.DataFrame], purpose: str) -> list[str]:
        """Replace whole tables in one transaction: all of them, or none. One that holds exactly these rows is left as it
        is; returns the names of those that were written.

        Raises:
            SchemaMismatch: a frame does not fit its declared table; checked before the database is opened.
        """
        typed = {name: conform(_declared(name), frame) for name, frame in frames.items()}
        with self.transaction(collection, purpose) as connection:
            changed = [name for name, frame in typed.items() if not holds(connection, collection, TABLES[name], frame)]
            for name in changed:
                for statement in create_statements(collection, TABLES[name]):
                    connection.execute(statement)
                _insert(connection, name, typed[name])
        return changed

    def upsert(self, collection: str, table: str, frame: pl.DataFrame, purpose: str) -> None:
        """Insert rows, replacing those of the same key. Of rows that share a key inside the frame, the last one wins.

        Raises:
            SchemaMismatch: the frame does not fit its declared table, or an earlier version wrote the stored one.
        """
        declared = _declared(table)
        typed = conform(declared, frame.unique(subset=list(declared.key), keep="last", maintain_order=True))
        with self.transaction(collection, purpose) as connection:
            _require_current(connection, collection, table)
            if not _exists(connection, collection, table):
                for statement in create_statements(collection, declared):
                    connection.execute(statement)
            connection.register("incoming", typed)
            same = " AND ".join(f"t.{sql.identifier(k)} = i.{sql.identifier(k)}" for k in declared.key)
            connection.execute(f"DELETE FROM {sql.identifier(table)} t USING incoming i WHERE {same}")
            connection.unregister("incoming")
            _insert(connection, table, typed)

    def frame(self, collection: str, statement: str, purpose: str = "read", **values: Any) -> pl.DataFrame:
        """Result of one SELECT; unqualified names resolve in the collection's schema, ``$name`` binds ``values``.

        Sums of integers, which DuckDB widens to 128 bits, come back as 64-bit integers.

        Raises:
            WarehouseError: the warehouse or a table it names does not exist yet.
            SchemaMismatch: an earlier version wrote a table it names, without what is asked for.
        """
        with self._reading(collection, purpose) as connection:
            try:
                result = connection.sql(statement, params=values or None).pl()
            except duckdb.BinderException as error:
                stale = [name for schema, name in stale_tables(connection) if schema == collection]
                if read := [name for name in stale if re.search(rf"\b{name}\b", statement)]:
                    raise SchemaMismatch(_made_by_earlier(collection, read)) from error
                raise
        return result.with_columns(pl.col(pl.Decimal(38, 0)).cast(pl.Int64))

    @contextlib.contextmanager
    def _reading(self, collection: str, purpose: str) -> Generator[duckdb.DuckDBPyConnection, None, None]:
        """A read-only connection with the collection's schema as default; what does not exist yet is said so."""
        if not Path(self.database).exists():
            raise WarehouseError(f"there is no warehouse at {self.database} yet: materialise the landing assets first")
        with self._open(purpose, read_only=True) as connection:
            try:
                connection.execute(f"USE {sql.identifier(collection)}")
                yield connection
            except duckdb.CatalogException as error:
                raise WarehouseError(f"{collection}: {error} Materialise the asset that makes it first.") from error

    def load(self, collection: str, table: str, columns: list[str] | None = None) -> pl.DataFrame:
        """One declared table, or some of its columns.

        Raises:
            WarehouseError: the warehouse or the table does not exist yet.
            SchemaMismatch: a column that is not declared, or a table that an earlier version wrote.
        """
        declared = _declared(table)
        chosen = columns or list(declared.schema)
        unknown = sorted(set(chosen) - set(declared.schema))
        if unknown:
            raise SchemaMismatch(f"table {table} has no column {unknown}")
        names = ", ".join(sql.identifier(c) for c in chosen)
        with self._reading(collection, f"read {table}") as connection:
            _require_current(connection, collection, table)
            return connection.sql(f"SELECT {names} FROM {sql.identifier(table)}").pl()

    def exists(self, collection: str, table: str) -> bool:
        if not Path(self.database).exists():
            return False
        with self._open(f"look up {table}", read_only=True) as connection:
            return _exists(connection, collection, table)

    def meta_get(self, collection: str, name: str) -> str | None:
        """A value stored beside the tables, such as the fingerprint of the keyed-hash secret."""
        if not Path(self.database).exists():
            return None
        with self._open(f"read meta {name}", read_only=True) as connection:
            if not _exists(connection, "main", "meta"):
                return None
            row = connection.execute(
                "SELECT value FROM main.meta WHERE collection = $c AND name = $n", {"c": collection, "n": name}
            ).fetchone()
        return row[0] if row else None

    def meta_set(self, collection: str, name: str, value: str) -> None:
        """Store a value; one that is there already is not written again."""
        if self.meta_get(collection, name) == value:
            return
        with self.transaction(collection, f"write meta {name}") as connection:
            _meta_put(connection, collection, name, value)

    def publish_snapshot(self, *, erase_former: bool = False) -> Snapshot:
        """Write the analysts' copy and swap it in; readers of the former one keep their open file.

        Private columns (raw tender text) are left out; the views of ``sql/views`` are added per collection. Tables that an
        earlier version wrote are left out too, and named in the result. With ``erase_former`` the bytes of the former copy
        are overwritten, unless somebody reads it: then it is gone when they close it.
        """
        with exclusive(self._lock_path, "publish snapshot", self.wait_s):
            self._require_file("nothing to publish")
            # Waits for a program that has the file open, and names it where the wait is in vain.
            self._connect(read_only=True, deadline=time.monotonic() + self.wait_s).close()
            return write_snapshot(Path(self.database), Path(self.snapshot), erase_former=erase_former)

    def rewrite(self) -> Rewrite:
        """Write the file anew, so that nothing of deleted rows and replaced tables is left in it; the old bytes are
        overwritten. Rows, declarations and comments are as they were. Leftovers of queries (``duckdb_temp``) go too.

        Raises:
            DatabaseLocked: another process kept the database for longer than ``wait_s``.
            WarehouseError: there is no warehouse, no space for a second one, or the copy does not hold what it should;
                the file is as it was.
        """
        path, deadline = Path(self.database), time.monotonic() + self.wait_s
        with exclusive(self._lock_path, "rewrite the warehouse", self.wait_s):
            self._require_file("nothing to rewrite")
            sweep(path)
            connection = self._connect(read_only=False, deadline=deadline)
            try:
                _refuse_newer(connection, path.name)
                tables, rows = copy_database(connection, path)
            finally:
                connection.close()
            before = path.stat().st_size
            former = exchange(path)
            # Nobody who takes turns has the database open now: what lies there was left by killed processes.
            for left in self._temporary.glob("*"):
                erase(left)
            return Rewrite(tables, rows, before, path.stat().st_size, former)

    def _require_file(self, otherwise: str) -> None:
        if not Path(self.database).exists():
            raise WarehouseError(f"there is no warehouse at {self.database} yet: {otherwise}")


def _declared(table: str) -> Table:
    if table not in TABLES:
        raise SchemaMismatch(f"no table {table!r} is declared in tendril_assets.tables")
    return TABLES[table]


def _insert(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    connection.register("incoming", frame)
    connection.execute(f"INSERT INTO {sql.identifier(table)} BY NAME SELECT * FROM incoming")
    connection.unregister("incoming")


def _exists(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE schema_name = $s AND table_name = $t", {"s": schema, "t": table}
    ).fetchone()
    return found is not None


def _require_current(connection: duckdb.DuckDBPyConnection, collection: str, table: str) -> None:
    if (collection, table) in stale_tables(connection):
        raise SchemaMismatch(_made_by_earlier(collection, [table]))


def _made_by_earlier(collection: str, tables: list[str]) -> str:
    """What is wrong with stale tables, and what to do."""
    one = len(tables) == 1
    what = f"table {tables[0]} was" if one else f"tables {', '.join(tables)} were"
    again = ", ".join(f"{collection}/{name}" for name in tables)
    return f"{what} written by an earlier version; materialise {again} again"


def _version(text: str) -> tuple[int, int]:
    major, minor, *_ = re.findall(r"\d+", text)
    return int(major), int(minor)


def _refuse_newer(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    if not _exists(connection, "main", "meta"):
        return
    row = connection.execute("SELECT value FROM main.meta WHERE collection = '' AND name = 'duckdb_version'").fetchone()
    if row and _version(row[0]) > _version(duckdb.__version__):
        raise UnsupportedStorageVersion(
            f"{name} was last written by DuckDB {row[0]}, this is {duckdb.__version__}. Install that version, or "
            "EXPORT DATABASE there and IMPORT DATABASE here; nothing was changed."
        )


def _meta_put(connection: duckdb.DuckDBPyConnection, collection: str, name: str, value: str) -> None:
    keys = {"c": collection, "n": name}
    connection.execute("DELETE FROM main.meta WHERE collection = $c AND name = $n", keys)
    connection.execute(
        "INSERT INTO main.meta VALUES ($c, $n, $v, (now() AT TIME ZONE 'UTC')::TIMESTAMP)", {**keys, "v": value}
    )


def _stamp(connection: duckdb.DuckDBPyConnection) -> None:
    row = connection.execute("SELECT value FROM main.meta WHERE collection = '' AND name = 'duckdb_version'").fetchone()
    if not row or row[0] != duckdb.__version__:
        _meta_put(connection, "", "duckdb_version", duckdb.__version__)
        storage = connection.execute(
            "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
        ).fetchone()
        _meta_put(connection, "", "storage_version", str(storage[0] if storage else "unknown"))
