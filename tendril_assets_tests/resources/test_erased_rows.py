"""Rows that hold removed ids: in any column of any declared table, found and taken out; tables that name them stay."""

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.corpus.erasure import Removed
from tendril_assets.resources.erased_rows import (
    KEPT,
    ids_of,
    known_passages,
    landed_by_others,
    note_erased,
    rows_left,
    stored,
    take_out_rows,
)
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES

GROUP, DOCUMENT, PASSAGE = "g-9", "d-9", "p-9"
REMOVED = Removed(frozenset({GROUP}), frozenset({DOCUMENT}), frozenset({PASSAGE}))
ROWS = {
    "corpus": [("p-1", "Holz.", "g-1", "d-1", 1)],
    "candidates": [("q", "p-1", "g-1", "k-1"), ("q", "p-9", "g-1", "k-9"), ("q", "p-old", "g-1", "k-old")],
    # Of the removed document, and asked about before: its id is on no list.
    "request_passages": [("k-1", "p-1", "d-1", "g-1"), ("k-8", "p-8", "d-9", "g-1"), ("k-7", "p-7", "d-7", "g-9")],
    "judge_calls": [],
    "training_examples": [
        ("q", "criterion", "g-1", "p-1", ["p-2", "p-9"], True, None),
        ("q", "criterion", "g-1", "p-2", ["p-1"], True, None),
    ],
    "splits": [("g-1", "train"), ("g-9", "train")],
    "leakage": [("p-1", "train", "p-9", "validation", 1.0, 1), ("p-1", "train", "t-1", "test", 1.0, 1)],
    "erased_ids": [("passage", "p-9", "p-9", datetime(2026, 5, 1))],
    "trained_passages": [("tiny", "sha", "p-6", "d-9", "g-1", "train")],
}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"))
    made.replace("toy", {name: TABLES[name].frame(rows) for name, rows in ROWS.items()}, "test")
    return made


def test_passages_of_a_removed_document_or_project_are_known_where_a_table_names_both(warehouse: Warehouse) -> None:
    found = known_passages(warehouse, "toy", REMOVED)
    assert found.rows() == [("p-6", "d-9", "g-1"), ("p-7", "d-7", "g-9"), ("p-8", "d-9", "g-1")]


def test_every_column_of_every_table_is_looked_at(warehouse: Warehouse) -> None:
    assert rows_left(warehouse, "toy", ids_of(REMOVED)) == {
        "candidates.passage_id": 1,
        "leakage.cause": 1,
        "request_passages.document_id": 1,
        "request_passages.group_id": 1,
        "splits.group_id": 1,
        "training_examples.negative_ids": 1,
    }
    assert rows_left(warehouse, "toy", []) == {}


def test_rows_go_and_all_others_stay(warehouse: Warehouse) -> None:
    before = {name: warehouse.load("toy", name) for name in ROWS}
    taken = take_out_rows(warehouse, "toy", ids_of(REMOVED))
    assert taken == {"candidates": 1, "leakage": 1, "request_passages": 2, "splits": 1, "training_examples": 1}
    assert rows_left(warehouse, "toy", ids_of(REMOVED)) == {}
    for name, frame in before.items():
        now = warehouse.load("toy", name)
        assert now.height == frame.height - taken.get(name, 0)
        assert now.join(frame, on=frame.columns, how="anti", nulls_equal=True).is_empty()
    assert take_out_rows(warehouse, "toy", ids_of(REMOVED)) == {}


def test_of_a_group_that_lost_something_what_the_corpus_does_not_have_goes_too(warehouse: Warehouse) -> None:
    assert take_out_rows(warehouse, "toy", [], ["g-1"], leave=["request_passages"]) == {"candidates": 2}
    assert warehouse.load("toy", "candidates")["passage_id"].to_list() == ["p-1"]


def test_replies_go_by_their_request(warehouse: Warehouse) -> None:
    assert take_out_rows(warehouse, "toy", ["k-1"], leave=["request_passages"]) == {"candidates": 1}


def test_the_test_collection_is_told_of_and_not_touched(warehouse: Warehouse) -> None:
    test = TABLES["test_corpus"].frame([("p-9", "Text", "g-2", "d-2", 1), ("t", "Text", "g-9", None, 1)])
    warehouse.replace("toy", {"test_corpus": test}, "test")
    assert landed_by_others(warehouse, "toy", ids_of(REMOVED)) == {"test_corpus": ["g-9", "p-9"]}
    assert "test_corpus" in KEPT
    # Measures of the test collection and what is leaked into it name its ids. Anywhere else such an id is a removed one: of
    # an own release that is the test collection, or of a project that was judged before it became one of the test.
    tables = {
        "group_scores": [("bm25", "g-9", "all", "ndcg@10", 1.0, 1)],
        "leakage": [("p-1", "train", "p-9", "test", 1.0, 1), ("p-1", "train", "d-9", "validation", 1.0, 1)],
    }
    warehouse.replace("toy", {name: TABLES[name].frame(rows) for name, rows in tables.items()}, "test")
    left = rows_left(warehouse, "toy", ids_of(REMOVED))
    assert left["splits.group_id"] == left["candidates.passage_id"] == left["leakage.cause"] == 1
    assert "group_scores.group_id" not in left
    taken = take_out_rows(warehouse, "toy", ids_of(REMOVED))
    assert taken["splits"] == taken["candidates"] == taken["leakage"] == 1
    assert rows_left(warehouse, "toy", ids_of(REMOVED)) == {}
    assert warehouse.load("toy", "test_corpus").height == 2
    assert warehouse.load("toy", "group_scores").height == 1
    assert warehouse.load("toy", "leakage").rows() == [("p-1", "train", "p-9", "test", 1.0, 1)]


def test_tables_of_an_earlier_version_are_searched_as_they_are(warehouse: Warehouse) -> None:
    """One that is declared no more, and one with fewer columns than it is declared with."""
    with warehouse.transaction("toy", "as an earlier version wrote them") as connection:
        connection.execute("CREATE TABLE former AS SELECT 'p-9' AS passage, ['g-1', 'g-9'] AS groups, 1 AS n")
        connection.execute("CREATE VIEW shown AS SELECT * FROM former")
        connection.execute("ALTER TABLE candidates DROP COLUMN request_key")
    left = rows_left(warehouse, "toy", ids_of(REMOVED))
    assert (left["former.passage"], left["former.groups"], left["candidates.passage_id"]) == (1, 1, 1)
    taken = take_out_rows(warehouse, "toy", ids_of(REMOVED), ["g-1"])
    assert (taken["former"], taken["candidates"]) == (1, 2)
    assert rows_left(warehouse, "toy", ids_of(REMOVED)) == {}


def test_tables_that_hold_ids_on_purpose_hold_no_text_of_passages() -> None:
    """Those of the landing stage list what the user's folder holds; all others may name ids, never a text."""
    for name in KEPT:
        if TABLES[name].stage != "landing":
            assert not {"text", "content", "sentence", "context"} & set(TABLES[name].schema), name


def test_what_was_erased_adds_up_and_nothing_is_written_for_nothing(warehouse: Warehouse) -> None:
    at, later = datetime(2026, 5, 1, 8), datetime(2026, 5, 2, 8)
    note_erased(warehouse, "toy", at, [])
    assert not warehouse.exists("toy", "erasures")
    note_erased(warehouse, "toy", at, [("cache", "masked", 2), ("ledger", "replies", 3)])
    note_erased(warehouse, "toy", at, [("cache", "masked", 1)])
    note_erased(warehouse, "toy", later, [("cache", "masked", 5)])
    assert stored(warehouse, "toy", "erasures").rows() == [
        (at, "cache", "masked", 3),
        (at, "ledger", "replies", 3),
        (later, "cache", "masked", 5),
    ]
    assert stored(warehouse, "toy", "qrels").equals(pl.DataFrame(schema=TABLES["qrels"].schema))
