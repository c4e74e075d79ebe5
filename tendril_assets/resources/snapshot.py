"""The analysts' copy of the warehouse: public columns, comments and views, swapped in atomically."""

from pathlib import Path
from typing import NamedTuple

import duckdb

from tendril_assets.files import put_in_place
from tendril_assets.resources import sql
from tendril_assets.resources.removed_landing import condition_of_kept
from tendril_assets.resources.rewriting import discard, replace_erasing, sweep
from tendril_assets.resources.same_table import stale_tables
from tendril_assets.tables import TABLES


class Snapshot(NamedTuple):
    """The copy, and what of the warehouse it lacks: ``<collection>.<table>`` of each stale table (``same_table``), and of
    each view that reads one. ``former``: what became of the former copy, where it was to be erased (``rewriting``)."""

    path: Path
    stale: list[str]
    left_out_views: list[str]
    former: str | None = None


def write_snapshot(database: Path, target: Path, *, erase_former: bool = False) -> Snapshot:
    """Copy every declared table of ``database`` to ``target``; the caller holds the warehouse lock.

    A table that an earlier version wrote is left out, with the views that read it, and named: one collection that was not
    made again must not keep all others from their analysts.

    The copy is written beside the target, fsynced and renamed over it, so a reader has the old file or the new one,
    and a kill or an error leaves the old one. With ``erase_former`` the bytes of that one are overwritten where nobody has
    it open. Raises duckdb.Error where a view does not fit the tables.
    """
    target = target.resolve()  # a link stays, and what it leads to is replaced where it lies
    partial = target.with_name(f".{target.name}.partial")
    sweep(target)
    discard(partial)
    try:
        stale, left_out_views = _fill(partial, database, database.parent / "duckdb_temp")
    except BaseException:
        discard(partial)
        raise
    former = None
    if erase_former and target.exists():
        former = replace_erasing(partial, target)
    else:
        put_in_place(partial, target)
    return Snapshot(target, [f"{schema}.{name}" for schema, name in stale], left_out_views, former)


def _fill(partial: Path, database: Path, temporary: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Write the copy; returns stale tables (schema, name) and views that are left out."""
    connection = duckdb.connect(str(partial), config={"temp_directory": str(temporary)})
    try:
        connection.execute(f"ATTACH {sql.text(str(database))} AS warehouse (READ_ONLY)")
        present = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'warehouse' ORDER BY ALL"
        ).fetchall()
        stale = stale_tables(connection, "warehouse")
        left_out_views = []
        for schema, name in present:
            if name in TABLES and (schema, name) not in stale:
                readable = {n for s, n in present if s == schema and (s, n) not in stale}
                kept = condition_of_kept(schema, name, readable, has_meta=("main", "meta") in present)
                _copy_table(connection, schema, name, kept)
        for schema in sorted({schema for schema, name in present if name in TABLES}):
            tables = {name for s, name in present if s == schema}
            left_out_views += _create_views(connection, schema, tables, {name for s, name in stale if s == schema})
        connection.execute("DETACH warehouse")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    return stale, left_out_views


def _copy_table(connection: duckdb.DuckDBPyConnection, schema: str, name: str, kept: str) -> None:
    """Copy public columns of the rows that the condition ``kept`` holds of."""
    public = [c for c in TABLES[name].columns if not c.private]
    full = f"{sql.identifier(schema)}.{sql.identifier(name)}"
    columns = ", ".join(sql.identifier(c.name) for c in public)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.identifier(schema)}")
    connection.execute(f"CREATE TABLE {full} AS SELECT {columns} FROM warehouse.{full} WHERE {kept}")
    connection.execute(f"COMMENT ON TABLE {full} IS {sql.text(TABLES[name].comment)}")
    for column in public:
        connection.execute(f"COMMENT ON COLUMN {full}.{sql.identifier(column.name)} IS {sql.text(column.comment)}")


def _create_views(connection: duckdb.DuckDBPyConnection, schema: str, tables: set[str], stale: set[str]) -> list[str]:
    """Views of ``sql/views`` whose inputs, named in their header, are all there; the grain becomes the
    view's comment, and what the header says of a column the column's.

    Returns ``<schema>.<view>`` of those that would be there if none of ``tables`` were stale.
    """
    left_out = []
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.identifier(schema)}")
    connection.execute(f"USE {sql.identifier(schema)}")
    for name in sql.names("views"):
        text, view, inputs = sql.query(name), name.split("/")[1], set(sql.inputs(name))
        if inputs <= tables - stale:
            connection.execute(f"CREATE VIEW {sql.identifier(view)} AS {text}")
            connection.execute(f"COMMENT ON VIEW {sql.identifier(view)} IS {sql.text(sql.grain(name))}")
            for column, comment in sql.columns(name).items():
                at = f"{sql.identifier(view)}.{sql.identifier(column)}"
                connection.execute(f"COMMENT ON COLUMN {at} IS {sql.text(comment)}")
        elif inputs <= tables:
            left_out.append(f"{schema}.{view}")
    connection.execute("USE main")
    return left_out
