"""What landing keeps of removed projects, and what of them and of removed documents an analyst is given."""

from pathlib import Path

import duckdb
import pytest

from tendril_assets_tests.assets.toy_landing import COLLECTION, HASHER, Toy, prepared

PROJECTS = ("11", "12", "13")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    made = prepared(tmp_path, monkeypatch, *PROJECTS)
    (made.folder / "projects.csv").write_text(
        "project,title,published,language,cpv\n" + "".join(f"{p},Titel {p},2026-01-02,de,4521\n" for p in PROJECTS)
    )
    (made.folder / "evidence.csv").write_text(
        "project,area,tier\n" + "".join(f"{p},wood,validated_relevant\n" for p in PROJECTS)
    )
    return made


def shown(toy: Toy, table: str, column: str) -> set[str]:
    toy.warehouse.publish_snapshot()
    with duckdb.connect(toy.warehouse.snapshot, read_only=True) as connection:
        return {row[0] for row in connection.execute(f"SELECT {column} FROM {COLLECTION}.{table}").fetchall()}


@pytest.mark.parametrize("entry", ["12", HASHER.group("12")])
def test_of_a_removed_project_nothing_is_kept_but_that_it_is_landed_and_removed(toy: Toy, entry: str) -> None:
    assert toy.run().success
    assert shown(toy, "projects", "title") == {"Titel 11", "Titel 12", "Titel 13"}
    assert shown(toy, "evidence", "project") == set(PROJECTS)
    toy.removals(f"project,{entry}")
    assert toy.run().success
    rows = {row["project"]: row for row in toy.table("projects").iter_rows(named=True)}
    assert (rows["12"]["title"], rows["12"]["published"], rows["12"]["cpv"]) == ("", None, None)
    assert (rows["11"]["title"], rows["11"]["cpv"]) == ("Titel 11", "4521")
    assert rows["11"]["published"] is not None
    assert set(toy.table("evidence")["project"]) == {"11", "13"}
    for table in ("projects", "evidence", "documents"):
        assert shown(toy, table, "project") == {"11", "13"}, table
    # What the list did is still known.
    assert toy.states()["12"] == "removed"
    assert toy.table("removal_effects").select("id", "state", "projects", "documents").rows() == [
        (entry, "effective", 1, 2)
    ]


@pytest.mark.parametrize("entry", ["12/a.txt", HASHER.document("12", "a.txt")])
def test_a_removed_document_is_not_shown(toy: Toy, entry: str) -> None:
    place = "project || '/' || document"
    every = {f"{project}/{name}" for project in PROJECTS for name in ("a.txt", "b.txt")}
    toy.removals(f"document,{entry}")
    assert toy.run().success
    assert shown(toy, "documents", place) == every - {"12/a.txt"}
    assert shown(toy, "projects", "title") == {"Titel 11", "Titel 12", "Titel 13"}
    assert toy.table("removal_effects")["documents"].to_list() == [1]
    toy.removals()
    assert toy.run().success
    assert shown(toy, "documents", place) == every
