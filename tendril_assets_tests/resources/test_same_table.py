"""A table that holds a frame already is not written again; one that was changed by hand is. And the hash of a frame."""

import hashlib
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.records import declare
from tendril_assets.resources.frames import content_hash
from tendril_assets.resources.same_table import holds
from tendril_assets.resources.warehouse import Warehouse, create_statements
from tendril_assets.tables import TABLES


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"), wait_s=5)


def qrels(*rows: tuple[str, str, str, int]) -> pl.DataFrame:
    return TABLES["qrels"].frame(list(rows))


def test_content_hash_is_the_one_of_its_definition() -> None:
    """Lengths (4 bytes each, all ones where empty) and then the UTF-8 of each column, in key order, after the schema."""
    table = declare("t", "test", "Toy.", "k", "k VARCHAR key\na VARCHAR? text")
    rows = table.frame([("b", None), ("a", "äé")])
    lengths = [(1, 1), (4, 2**32 - 1)]
    texts = ["ab", "äé"]
    expected = hashlib.sha256(repr([("k", pl.String()), ("a", pl.String())]).encode())
    for of_column, text in zip(lengths, texts, strict=True):
        expected.update(b"".join(n.to_bytes(4, "little") for n in of_column) + text.encode())
    assert content_hash(table, rows) == expected.hexdigest()[:32]
    # A frame that is cut from a larger one shares its memory.
    larger = pl.concat([table.frame([("0", "x")]), rows, table.frame([("z", "y")])])
    assert content_hash(table, larger.slice(1, 2)) == content_hash(table, rows)


def physical(warehouse: Warehouse) -> int:
    """Changes whenever the table is made anew."""
    return warehouse.frame("toy", "SELECT table_oid FROM duckdb_tables() WHERE table_name = 'qrels'").item()


def test_a_table_that_holds_these_rows_is_left_as_it_is(warehouse: Warehouse) -> None:
    rows = [("q1", "p1", "g", 2), ("q1", "p2", "g", 0)]
    assert warehouse.replace("toy", {"qrels": qrels(*rows)}, "test") == ["qrels"]
    before = physical(warehouse)
    assert warehouse.replace("toy", {"qrels": qrels(*reversed(rows))}, "test") == []
    assert physical(warehouse) == before
    assert sorted(warehouse.load("toy", "qrels").rows()) == rows


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE qrels SET score = 1 WHERE passage_id = 'p2'",
        "DELETE FROM qrels WHERE passage_id = 'p2'",
        "INSERT INTO qrels VALUES ('q9', 'p9', 'g', 1)",
        "INSERT INTO qrels SELECT * FROM qrels",
        "ALTER TABLE qrels ADD COLUMN more VARCHAR",
        "ALTER TABLE qrels ALTER score TYPE INTEGER",
        "ALTER TABLE qrels ALTER score DROP NOT NULL",
        "COMMENT ON TABLE qrels IS 'Another'",
        "COMMENT ON COLUMN qrels.score IS 'Another'",
        "DROP TABLE qrels",
    ],
)
def test_a_table_changed_by_hand_is_written_anew(warehouse: Warehouse, damage: str) -> None:
    rows = qrels(("q1", "p1", "g", 2), ("q1", "p2", "g", 0))
    warehouse.replace("toy", {"qrels": rows}, "test")
    with warehouse.transaction("toy", "damage") as connection:
        connection.execute(damage)
    assert warehouse.replace("toy", {"qrels": rows}, "test") == ["qrels"]
    assert warehouse.load("toy", "qrels").equals(rows)
    assert warehouse.replace("toy", {"qrels": rows}, "test") == []


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.text(max_size=3)), max_size=4, unique_by=lambda row: row[0])
)
def test_only_equal_rows_count_as_the_same(given_rows: list[tuple[str, str | None]]) -> None:
    table = declare("t", "test", "Toy.", "k", "k VARCHAR key\na VARCHAR? text")
    frame = table.frame(given_rows)
    other = table.frame([*given_rows[1:], ("new", "row")])
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA toy")
        for statement in create_statements("toy", table):
            connection.execute(statement)
        connection.register("written", frame)
        connection.execute("INSERT INTO toy.t SELECT * FROM written")
        assert holds(connection, "toy", table, frame.reverse())
        assert not holds(connection, "toy", table, other)
