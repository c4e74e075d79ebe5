"""Whether a warehouse table is as it is declared, and whether it holds a frame already.

The second is asked so that a run in which nothing changed need not write it again.

Writing a million rows of hashes takes DuckDB seconds; adding up a hash of each row on both sides takes a tenth of that.
The table itself is read, not a note about it: one that was changed by hand is written anew.
"""

from collections.abc import Mapping

import duckdb
import polars as pl

from tendril_assets.records import Table
from tendril_assets.resources import sql
from tendril_assets.tables import TABLES

_COLUMNS = """
SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = $schema AND table_name = $table ORDER BY column_index
"""
_COMMENT = """
SELECT comment FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = $schema AND table_name = $table
"""
_STORED = """
SELECT schema_name, table_name, list((column_name, data_type)) FROM duckdb_columns()
WHERE database_name = coalesce($database, current_database()) GROUP BY ALL ORDER BY ALL
"""


def stale_tables(connection: duckdb.DuckDBPyConnection, database: str | None = None) -> list[tuple[str, str]]:
    """Schema and name of each declared table that lacks a declared column or has it with another type, sorted.

    An earlier version wrote it, and its asset writes it anew. Columns that are not declared any more do no harm.

    Args:
        connection: an open database.
        database: name of an attached one to look at instead.
    """
    stored = connection.execute(_STORED, {"database": database}).fetchall()
    return [
        (schema, name)
        for schema, name, columns in stored
        if name in TABLES and not {(c.name, c.type) for c in TABLES[name].columns} <= set(columns)
    ]


def holds(connection: duckdb.DuckDBPyConnection, collection: str, table: Table, frame: pl.DataFrame) -> bool:
    """Whether ``collection.table`` is declared as ``table`` is, comments included, and has exactly the rows of ``frame``.

    Rows are compared by the sum of 64-bit hashes over all columns, whatever their order. ``frame`` fits the table.
    """
    names: Mapping[str, str] = {"schema": collection, "table": table.name}
    declared = [(c.name, c.type, c.nullable, c.comment) for c in table.columns]
    if connection.execute(_COLUMNS, names).fetchall() != declared:
        return False
    if connection.execute(_COMMENT, names).fetchone() != (table.comment,):
        return False
    values = ", ".join(f"{sql.identifier(c.name)}::{c.type}" for c in table.columns)
    state = f"SELECT count(*), sum(hash({values})) FROM"
    stored = f"{sql.identifier(collection)}.{sql.identifier(table.name)}"
    connection.register("incoming", frame)
    try:
        there, coming = (connection.execute(f"{state} {name}").fetchone() for name in (stored, "incoming"))
    finally:
        connection.unregister("incoming")
    return there == coming
