"""Rows of the warehouse that hold removed ids: found in any column of any table, and taken out.

Published ids are told apart by their form alone, so every text column and list of every declared table is compared with
all of them; a table that is declared tomorrow is searched too. Tables that hold such ids on purpose are named here,
each with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import duckdb
import polars as pl

from tendril_assets.corpus.erasure import Removed
from tendril_assets.records import Table
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import LANDING, TABLES

# Table -> why it may hold the ids of what is removed, though none of its text.
KEPT: Mapping[str, str] = {
    "removal_effects": "what each entry of the removal list hit",
    "removed_passages": "what each entry took out, known again by keyed hashes",
    "erased_ids": "what is erased",
    "erasures": "where it was erased",
    "project_status": "says of each landed project that it is removed",
    "trained_passages": "says which weights were trained on it",
    "released_passages": "says which published versions hold it",
    **{table.name: "lists what the landing folder holds" for table in LANDING},
}
# The external collection: published by others, and landed anew each time.
_TEST = {"test_corpus": ("passage_id", "document_id", "group_id"), "test_qrels": ("passage_id",)}
_PLACE = ("passage_id", "document_id", "group_id")
_TYPES = ("VARCHAR", "VARCHAR[]")
_PRESENT = "SELECT table_name FROM duckdb_tables() WHERE schema_name = $schema ORDER BY ALL"


def ids_of(removed: Removed) -> frozenset[str]:
    """Every id, whatever its kind."""
    return removed.groups | removed.documents | removed.passages


def known_passages(warehouse: Warehouse, collection: str, removed: Removed) -> pl.DataFrame:
    """Every passage that some table still knows to be removed: ``passage_id document_id group_id``, once each.

    A passage of a removed document or project is found where a table names both. Raises WarehouseError.
    """
    found = [pl.DataFrame(schema=dict.fromkeys(_PLACE, pl.String))]
    present = set(_present(warehouse, collection))
    for table in TABLES.values():
        if table.name in present and table.stage != "landing" and set(_PLACE) <= set(table.schema):
            found.append(
                warehouse.frame(
                    collection,
                    f"SELECT DISTINCT passage_id, document_id, group_id FROM {sql.identifier(table.name)} "
                    "WHERE passage_id IN (SELECT unnest($passages)) OR document_id IN (SELECT unnest($documents)) "
                    "OR group_id IN (SELECT unnest($groups))",
                    "look for removed passages",
                    passages=sorted(removed.passages),
                    documents=sorted(removed.documents),
                    groups=sorted(removed.groups),
                )
            )
    return pl.concat(found).unique().sort(_PLACE)


def landed_by_others(warehouse: Warehouse, collection: str, removed: Removed) -> dict[str, list[str]]:
    """Table of the external test collection -> the removed ids in it. It was never sampled from, so nothing else of this
    collection has those ids; only who keeps the landing folder can take them out."""
    found: dict[str, list[str]] = {}
    present = set(_present(warehouse, collection))
    for table, columns in _TEST.items():
        if table in present:
            ids = pl.concat([warehouse.load(collection, table, [c]).to_series().rename("id") for c in columns])
            if both := sorted(ids_of(removed) & set(ids.drop_nulls())):
                found[table] = both
    return found


def rows_left(warehouse: Warehouse, collection: str, ids: Iterable[str]) -> dict[str, int]:
    """``table.column`` -> rows that hold one of ``ids``, in tables other than those of ``KEPT``; only those with any."""
    statements = []
    for name in _present(warehouse, collection):
        for column, kind in _columns(name):
            place = sql.text(f"{name}.{column}")
            found = _holds(column, kind, "$ids")
            statements.append(f"SELECT {place} AS place, count(*) AS n FROM {sql.identifier(name)} WHERE {found}")
    wanted = sorted(ids)
    if not statements or not wanted:
        return {}
    rows = warehouse.frame(collection, " UNION ALL ".join(statements), "look for removed ids", ids=wanted)
    return {place: n for place, n in rows.sort("place").iter_rows() if n}


def take_out_rows(
    warehouse: Warehouse,
    collection: str,
    ids: Iterable[str],
    stale_groups: Iterable[str] = (),
    leave: Sequence[str] = (),
) -> dict[str, int]:
    """Delete, in one transaction, every row that holds one of ``ids`` (request keys among them); table -> rows deleted.

    Args:
        stale_groups: groups of which passages were removed. An older row may name one under an id that nobody knows any
            more, so rows of these groups whose passage is not in the corpus go too.
        leave: tables that are not touched, besides those of ``KEPT``.
    """
    values = {"ids": sorted(ids), "stale": sorted(stale_groups)}
    names = [name for name in _present(warehouse, collection) if name not in leave]
    taken: dict[str, int] = {}
    with warehouse.transaction(collection, "erase rows of what is removed") as connection:
        for name in names:
            conditions = [_holds(*column, "$ids") for column in _columns(name)]
            if "corpus" in names and _is_of_passages(TABLES[name]):
                conditions.append(
                    "(group_id IN (SELECT unnest($stale)) AND passage_id NOT IN (SELECT passage_id FROM corpus))"
                )
            if conditions and (deleted := _delete(connection, name, " OR ".join(conditions), values)):
                taken[name] = deleted
    return taken


def stored(warehouse: Warehouse, collection: str, table: str) -> pl.DataFrame:
    """A table as it is; an empty one where it was not made yet."""
    return warehouse.load(collection, table) if warehouse.exists(collection, table) else TABLES[table].empty()


def note_erased(warehouse: Warehouse, collection: str, at: datetime, done: Iterable[tuple[str, str, int]]) -> None:
    """Add (place, name, items) to ``erasures`` at once, so that the work of a step that is killed later is told too; the
    same place twice at one time adds up. Without any nothing is written."""
    rows = TABLES["erasures"].frame([(at, *one) for one in done])
    if rows.is_empty():
        return
    key = ["erased_at", "place", "name"]
    every = pl.concat([stored(warehouse, collection, "erasures"), rows])
    total = every.group_by(key, maintain_order=True).agg(pl.col("items").sum()).sort(key)
    warehouse.replace(collection, {"erasures": total}, "note what was erased")


def _holds(column: str, kind: str, ids: str) -> str:
    """Condition that a column holds one of ``ids``, an expression that gives a list."""
    if kind == "VARCHAR":
        return f"{sql.identifier(column)} IN (SELECT unnest({ids}))"
    return f"list_has_any({sql.identifier(column)}, {ids})"


def _delete(connection: duckdb.DuckDBPyConnection, name: str, condition: str, values: dict[str, list[str]]) -> int:
    used = {key: value for key, value in values.items() if f"${key}" in condition}
    row = connection.execute(f"DELETE FROM {sql.identifier(name)} WHERE {condition}", used).fetchone()
    return int(row[0]) if row else 0


def _columns(name: str) -> list[tuple[str, str]]:
    """Columns of a table that could hold an id, with their type; none of a table that keeps ids on purpose."""
    if name in KEPT or name not in TABLES:
        return []
    return [(column.name, column.type) for column in TABLES[name].columns if column.type in _TYPES]


def _is_of_passages(table: Table) -> bool:
    """Whether its rows are about passages of the corpus, by group, and made after it."""
    return table.stage in ("judging", "qrels") and {"passage_id", "group_id"} <= set(table.schema)


def _present(warehouse: Warehouse, collection: str) -> list[str]:
    return warehouse.frame(collection, _PRESENT, "look up tables", schema=collection)["table_name"].to_list()
