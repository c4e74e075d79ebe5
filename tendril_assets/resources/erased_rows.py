"""Rows of the warehouse that hold removed ids: found in any column of any table, and taken out.

Published ids are told apart by their form alone, so every text column and list of every table that is there is compared
with all of them: of one that an earlier version wrote, too. Tables that hold such ids on purpose are named here, each with
the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import duckdb
import polars as pl

from tendril_assets.corpus.erasure import Removed
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import ACTS, LANDING, TABLES

# Table -> why it may hold the ids of what is removed, though none of its text.
KEPT: Mapping[str, str] = {
    "removal_effects": "what each entry of the removal list hit",
    "removed_passages": "what each entry took out, known again by keyed hashes",
    "erased_ids": "what is erased",
    "erasures": "where it was erased",
    "project_status": "says of each landed project that it is removed",
    "trained_passages": "says which weights were trained on it",
    "released_passages": "says which published versions hold it",
    **{table.name: "lists what the landing folder holds" for table in (*LANDING, *ACTS)},
}
# The external collection: published by others, and landed anew each time. What ranks it and what compares the corpus with
# it names its ids.
_TEST = {"test_corpus": ("passage_id", "document_id", "group_id"), "test_qrels": ("passage_id",)}
# Texts of passages that people graded, handed in beside the documents: named ones have the ids of the corpus.
_GRADED = {"calibration_pairs": ("passage_id",)}
_OF_TEST = frozenset({"leakage", *(table.name for table in TABLES.values() if table.stage == "evaluation")})
_PLACE = ("passage_id", "document_id", "group_id")
_TYPES = ("VARCHAR", "VARCHAR[]")
_PRESENT = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE schema_name = $schema AND database_name = current_database()
    AND table_oid IN (SELECT table_oid FROM duckdb_tables() WHERE database_name = current_database())
ORDER BY table_name, column_index
"""
# Name -> type of the columns of one table.
Columns = dict[str, str]


def ids_of(removed: Removed) -> frozenset[str]:
    """Every id, whatever its kind."""
    return removed.groups | removed.documents | removed.passages


def known_passages(warehouse: Warehouse, collection: str, removed: Removed) -> pl.DataFrame:
    """Every passage that some table still knows to be removed: ``passage_id document_id group_id``, once each.

    A passage of a removed document or project is found where a table names both. Raises WarehouseError.
    """
    landed = {table.name for table in (*LANDING, *ACTS)}
    named = [
        f"SELECT passage_id, document_id, group_id FROM {sql.identifier(name)} WHERE "
        "passage_id IN (SELECT unnest($passages)) OR document_id IN (SELECT unnest($documents)) "
        "OR group_id IN (SELECT unnest($groups))"
        for name, columns in _present(warehouse, collection).items()
        if name not in landed and set(_PLACE) <= columns.keys()
    ]
    if not named:
        return pl.DataFrame(schema=dict.fromkeys(_PLACE, pl.String))
    return warehouse.frame(
        collection,
        " UNION ".join(named) + " ORDER BY ALL",
        "look for removed passages",
        passages=sorted(removed.passages),
        documents=sorted(removed.documents),
        groups=sorted(removed.groups),
    )


def landed_by_others(warehouse: Warehouse, collection: str, ids: Iterable[str]) -> dict[str, list[str]]:
    """Table of the external test collection, or of the pairs that people graded, -> those of ``ids`` in it; only who keeps
    the landing folder can take them out. Raises WarehouseError."""
    return _landed(warehouse, collection, _present(warehouse, collection), sorted(ids), {**_TEST, **_GRADED})


def _landed(
    warehouse: Warehouse,
    collection: str,
    present: Iterable[str],
    wanted: list[str],
    tables: Mapping[str, Sequence[str]] = _TEST,
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table, columns in tables.items():
        if table in present and wanted:
            every = " UNION ".join(f"SELECT {c} AS id FROM {table} WHERE {_holds(c, 'VARCHAR')}" for c in columns)
            both = warehouse.frame(collection, every + " ORDER BY id", "read the test collection", ids=wanted)
            if not both.is_empty():
                found[table] = both["id"].to_list()
    return found


def rows_left(warehouse: Warehouse, collection: str, ids: Iterable[str]) -> dict[str, int]:
    """``table.column`` -> rows that hold one of ``ids``, in tables other than those of ``KEPT``; only those with any.

    In tables of the test collection its own ids do not count. Raises WarehouseError.
    """
    present = _present(warehouse, collection)
    values = _values(warehouse, collection, present, ids)
    statements = [
        f"SELECT {sql.text(f'{name}.{column}')} AS place, count(*) AS n FROM {sql.identifier(name)} "
        f"WHERE {_holds(column, kind, _list_for(name))}"
        for name, columns in present.items()
        if name not in KEPT
        for column, kind in columns.items()
        if kind in _TYPES
    ]
    if not statements or not values["ids"]:
        return {}
    every = " UNION ALL ".join(statements)
    rows = warehouse.frame(collection, every, "look for removed ids", **_used(every, values))
    return {place: n for place, n in rows.sort("place").iter_rows() if n}


def take_out_rows(
    warehouse: Warehouse,
    collection: str,
    ids: Iterable[str],
    stale_groups: Iterable[str] = (),
    leave: Sequence[str] = (),
) -> dict[str, int]:
    """Delete, in one transaction, every row that holds one of ``ids`` (request keys among them); table -> rows deleted.

    In tables of the test collection its own ids stay. Raises WarehouseError.

    Args:
        stale_groups: groups of which passages were removed. An older row may name one under an id that nobody knows any
            more, so rows of these groups whose passage is not in the corpus go too.
        leave: tables that are not touched, besides those of ``KEPT``.
    """
    present = _present(warehouse, collection)
    values = _values(warehouse, collection, present, ids) | {"stale": sorted(stale_groups)}
    taken: dict[str, int] = {}
    with warehouse.transaction(collection, "erase rows of what is removed") as connection:
        for name, columns in present.items():
            if name in KEPT or name in leave:
                continue
            conditions = [_holds(c, kind, _list_for(name)) for c, kind in columns.items() if kind in _TYPES]
            if "corpus" in present and _is_of_passages(name, columns):
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


def _values(warehouse: Warehouse, collection: str, present: Iterable[str], ids: Iterable[str]) -> dict[str, list[str]]:
    """``ids``, and as ``own`` those of them that the test collection does not have."""
    wanted = sorted(ids)
    others = {i for found in _landed(warehouse, collection, present, wanted).values() for i in found}
    return {"ids": wanted, "own": [i for i in wanted if i not in others]}


def _list_for(name: str) -> str:
    """The parameter with the ids that must not be in this table."""
    return "$own" if name in _OF_TEST else "$ids"


def _holds(column: str, kind: str, ids: str = "$ids") -> str:
    """Condition that a column holds one of ``ids``, an expression that gives a list."""
    if kind == "VARCHAR":
        return f"{sql.identifier(column)} IN (SELECT unnest({ids}))"
    return f"list_has_any({sql.identifier(column)}, {ids})"


def _delete(connection: duckdb.DuckDBPyConnection, name: str, condition: str, values: dict[str, list[str]]) -> int:
    row = connection.execute(
        f"DELETE FROM {sql.identifier(name)} WHERE {condition}", _used(condition, values)
    ).fetchone()
    return int(row[0]) if row else 0


def _used(statement: str, values: dict[str, list[str]]) -> dict[str, list[str]]:
    """DuckDB refuses values that a statement does not name."""
    return {key: value for key, value in values.items() if f"${key}" in statement}


def _is_of_passages(name: str, columns: Columns) -> bool:
    """Whether its rows are about passages of the corpus, by group, and made after it."""
    return (
        name in TABLES and TABLES[name].stage in ("judging", "qrels") and {"passage_id", "group_id"} <= columns.keys()
    )


def _present(warehouse: Warehouse, collection: str) -> dict[str, Columns]:
    """The collection's tables as they are in the warehouse, whoever wrote them."""
    found: dict[str, Columns] = {}
    for name, column, kind in warehouse.frame(collection, _PRESENT, "look up tables", schema=collection).iter_rows():
        found.setdefault(name, {})[column] = kind
    return found
