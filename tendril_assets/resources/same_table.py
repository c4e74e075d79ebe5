"""Whether a warehouse table holds a frame already, so that a run in which nothing changed need not write it again.

Writing a million rows of hashes takes DuckDB seconds; adding up a hash of each row on both sides takes a tenth of that.
The table itself is read, not a note about it: one that was changed by hand is written anew.
"""

from collections.abc import Mapping

import duckdb
import polars as pl

from tendril_assets.records import Table
from tendril_assets.resources import sql

_COLUMNS = """
SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = $schema AND table_name = $table ORDER BY column_index
"""
_COMMENT = """
SELECT comment FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = $schema AND table_name = $table
"""


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
