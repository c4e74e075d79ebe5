"""The analysts' copy of the warehouse: public columns, comments and views, swapped in atomically."""

from pathlib import Path

import duckdb

from tendril_assets.files import put_in_place
from tendril_assets.resources import sql
from tendril_assets.tables import TABLES


def write_snapshot(database: Path, target: Path) -> Path:
    """Copy every declared table of ``database`` to ``target``; the caller holds the warehouse lock.

    The copy is written beside the target, fsynced and renamed over it, so a reader has the old file or the new one,
    and a kill leaves the old one. Raises duckdb.Error where a view does not fit the tables.
    """
    partial = target.with_name(f".{target.name}.partial")
    for leftover in (partial, Path(f"{partial}.wal")):
        leftover.unlink(missing_ok=True)
    connection = duckdb.connect(str(partial), config={"temp_directory": str(target.parent / "duckdb_temp")})
    try:
        connection.execute(f"ATTACH {sql.text(str(database))} AS warehouse (READ_ONLY)")
        present = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'warehouse' ORDER BY ALL"
        ).fetchall()
        for schema, name in present:
            if name in TABLES:
                _copy_table(connection, schema, name)
        for schema in sorted({schema for schema, name in present if name in TABLES}):
            _create_views(connection, schema, {name for s, name in present if s == schema})
        connection.execute("DETACH warehouse")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    put_in_place(partial, target)
    return target


def _copy_table(connection: duckdb.DuckDBPyConnection, schema: str, name: str) -> None:
    public = [c for c in TABLES[name].columns if not c.private]
    full = f"{sql.identifier(schema)}.{sql.identifier(name)}"
    columns = ", ".join(sql.identifier(c.name) for c in public)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.identifier(schema)}")
    connection.execute(f"CREATE TABLE {full} AS SELECT {columns} FROM warehouse.{full}")
    connection.execute(f"COMMENT ON TABLE {full} IS {sql.text(TABLES[name].comment)}")
    for column in public:
        connection.execute(f"COMMENT ON COLUMN {full}.{sql.identifier(column.name)} IS {sql.text(column.comment)}")


def _create_views(connection: duckdb.DuckDBPyConnection, schema: str, tables: set[str]) -> None:
    """Views of ``sql/views`` whose inputs, named in their header, are all there; their grain becomes the comment."""
    connection.execute(f"USE {sql.identifier(schema)}")
    for name in sql.names("views"):
        text = sql.query(name)
        if set(sql.inputs(name)) <= tables:
            view = sql.identifier(name.split("/")[1])
            connection.execute(f"CREATE VIEW {view} AS {text}")
            connection.execute(f"COMMENT ON VIEW {view} IS {sql.text(sql.grain(name))}")
    connection.execute("USE main")
