"""Which passages each request asked about: the table ``request_passages``, which only grows until an erasure.

A reply in the ledger is found by its request's key, and a key is a hash of texts. So that the replies about a text can be
found when the text is gone, the pairs are noted before a request is handed over.
"""

from typing import NamedTuple

import duckdb
import polars as pl

from tendril_assets.resources.frames import conform
from tendril_assets.resources.warehouse import Warehouse, create_statements
from tendril_assets.tables import TABLES

NAME = "request_passages"
_TABLE = TABLES[NAME]
_EXISTS = "SELECT 1 FROM duckdb_tables() WHERE schema_name = $schema AND table_name = $table"


class Noted(NamedTuple):
    """``new`` rows were added to ``rows``; ``version`` names the content, whatever the order it came in."""

    new: int
    rows: int
    version: str


def note_requests(warehouse: Warehouse, collection: str, rows: pl.DataFrame) -> Noted:
    """Add those of ``rows`` (columns of the table) that are not there yet. With nothing new, nothing is written.

    Raises SchemaMismatch for rows that do not fit, and what ``Warehouse.transaction`` raises.
    """
    typed = conform(_TABLE, rows)
    with warehouse.transaction(collection, f"note {NAME}") as connection:
        if not _is_there(connection, collection):
            for statement in create_statements(collection, _TABLE):
                connection.execute(statement)
        connection.register("incoming", typed)
        new = connection.execute(
            f"INSERT INTO {NAME} BY NAME SELECT * FROM incoming ANTI JOIN {NAME} USING (request_key, passage_id)"
        ).fetchone()
        connection.unregister("incoming")
        state = connection.execute(f"SELECT count(*), bit_xor(hash(request_key, passage_id)) FROM {NAME}").fetchone()
    count, digest = state or (0, None)
    return Noted(new[0] if new else 0, count, f"{count}-{digest or 0:016x}")


def forget_requests(warehouse: Warehouse, collection: str, rows: pl.DataFrame) -> int:
    """Take out these rows (request_key, passage_id); returns how many were there. Without rows nothing is opened."""
    if rows.is_empty():
        return 0
    with warehouse.transaction(collection, f"forget {NAME}") as connection:
        if not _is_there(connection, collection):
            return 0
        connection.register("outgoing", rows.select("request_key", "passage_id"))
        gone = connection.execute(
            f"DELETE FROM {NAME} t USING outgoing o WHERE t.request_key = o.request_key AND t.passage_id = o.passage_id"
        ).fetchone()
        connection.unregister("outgoing")
    return gone[0] if gone else 0


def _is_there(connection: duckdb.DuckDBPyConnection, collection: str) -> bool:
    return connection.execute(_EXISTS, {"schema": collection, "table": NAME}).fetchone() is not None
