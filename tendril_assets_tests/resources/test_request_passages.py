"""What each request asked about is noted once, and forgotten row by row."""

import hashlib
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import SchemaMismatch
from tendril_assets.resources.request_passages import NAME, forget_requests, note_requests
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES

FIRST = [("k-1", "p-1", "d-1", "g-1"), ("k-1", "p-2", "d-1", "g-1"), ("k-2", "p-3", "d-2", "g-2")]


def rows(*given: tuple[str, str, str, str]) -> pl.DataFrame:
    return TABLES[NAME].frame(list(given))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"))


def noted(warehouse: Warehouse) -> list[tuple]:
    return sorted(warehouse.load("toy", NAME).rows())


def file_hash(warehouse: Warehouse) -> str:
    return hashlib.sha256(Path(warehouse.database).read_bytes()).hexdigest()


def test_only_new_rows_are_added_and_an_equal_state_has_an_equal_version(warehouse: Warehouse, tmp_path: Path) -> None:
    first = note_requests(warehouse, "toy", rows(*FIRST))
    assert (first.new, first.rows) == (3, 3)
    # An earlier judge's request stays beside the present one's.
    second = note_requests(warehouse, "toy", rows(FIRST[0], ("k-9", "p-1", "d-1", "g-1")))
    assert (second.new, second.rows) == (1, 4)
    assert noted(warehouse) == sorted([*FIRST, ("k-9", "p-1", "d-1", "g-1")])
    assert first.version != second.version
    other = Warehouse(database=str(tmp_path / "o.duckdb"), snapshot=str(tmp_path / "x.duckdb"))
    for row in reversed(noted(warehouse)):
        last = note_requests(other, "toy", rows(row))
    assert last.version == second.version


def test_with_nothing_new_not_a_byte_is_written(warehouse: Warehouse) -> None:
    note_requests(warehouse, "toy", rows(*FIRST))
    before = file_hash(warehouse)
    again = note_requests(warehouse, "toy", rows(*reversed(FIRST)))
    assert (again.new, again.rows) == (0, 3)
    assert note_requests(warehouse, "toy", rows()).new == 0
    assert file_hash(warehouse) == before
    assert not Path(f"{warehouse.database}.wal").exists()


def test_a_row_twice_or_without_a_passage_is_refused_and_nothing_is_noted(warehouse: Warehouse) -> None:
    for wrong in ([FIRST[0], FIRST[0]], [("k-1", None, "d-1", "g-1")]):
        with pytest.raises(SchemaMismatch):
            note_requests(warehouse, "toy", rows(*wrong))
    assert not warehouse.exists("toy", NAME)


def test_rows_are_forgotten_one_by_one(warehouse: Warehouse) -> None:
    assert forget_requests(warehouse, "toy", rows(*FIRST)) == 0
    note_requests(warehouse, "toy", rows(*FIRST))
    outgoing = rows(FIRST[1], ("k-2", "p-1", "d-1", "g-1"))  # the second is not there
    assert forget_requests(warehouse, "toy", outgoing) == 1
    assert noted(warehouse) == sorted([FIRST[0], FIRST[2]])
    assert forget_requests(warehouse, "toy", outgoing) == 0
    before = file_hash(warehouse)
    assert forget_requests(warehouse, "toy", rows()) == 0
    assert file_hash(warehouse) == before
