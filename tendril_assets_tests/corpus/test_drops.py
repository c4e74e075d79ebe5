"""The drop report: it adds up, and the analysts' views say the same."""

import duckdb
import polars as pl
import pytest

from tendril_assets.corpus.drops import KEPT, NO_AREA, by_catalog, by_reason
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import create_statements
from tendril_assets.tables import TABLES

DECISIONS = TABLES["passage_decisions"].frame(
    [
        ("p1", "a", True, None, None, None, "v"),
        ("p2", "a", False, "too_short", 3.0, None, "v"),
        ("p3", "a", False, "near_duplicate", 0.8, "p1", "v"),
        ("p4", "b", True, None, None, None, "v"),
        ("p5", "b", False, "too_short", 4.0, None, "v"),
        ("p6", "c", False, "restricted_project", None, None, "r"),
    ]
)
# a has areas of two catalogs, b of one (two areas of it), c has none.
AREAS = TABLES["areas"].frame([(f"cat-{i}", f"area-{i}-{k}", "T", "t") for i in (1, 2) for k in (1, 2)])
GIVEN = TABLES["project_areas"].frame(
    [
        ("a", "area-1-1", "c", None, "coverage"),
        ("a", "area-2-1", "c", None, "coverage"),
        ("b", "area-2-1", "c", None, "coverage"),
        ("b", "area-2-2", "c", None, "coverage"),
    ]
)


def catalogs() -> pl.DataFrame:
    return GIVEN.join(AREAS, on="area")


def test_by_reason_adds_up_with_kept_first() -> None:
    report = by_reason(DECISIONS)
    assert report.drop("share").rows() == [
        (KEPT, 2, 2, "v", "p1"),
        ("too_short", 2, 2, "v", "p2"),
        ("near_duplicate", 1, 1, "v", "p3"),
        ("restricted_project", 1, 1, "r", "p6"),
    ]
    assert report["passages"].sum() == DECISIONS.height
    assert report["share"].to_list() == [2 / 6, 2 / 6, 1 / 6, 1 / 6]


def test_a_project_counts_for_each_of_its_catalogs_once() -> None:
    report = by_catalog(DECISIONS, catalogs())
    assert report.columns == ["catalog", "raw", KEPT, "too_short", "near_duplicate", "restricted_project"]
    assert report.rows() == [(NO_AREA, 1, 0, 0, 0, 1), ("cat-1", 3, 1, 1, 1, 0), ("cat-2", 5, 2, 2, 1, 0)]


def test_nothing_read_nothing_dropped() -> None:
    assert by_reason(DECISIONS.clear()).is_empty()
    assert by_catalog(DECISIONS.clear(), catalogs()).columns == ["catalog", "raw", KEPT]


def view(name: str, **frames: pl.DataFrame) -> pl.DataFrame:
    connection = duckdb.connect()
    for table in sql.inputs(name):
        for statement in create_statements("toy", TABLES[table]):
            connection.execute(statement)
    connection.execute("USE toy")
    for table, frame in frames.items():
        connection.register("incoming", frame)
        connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        connection.unregister("incoming")
    return connection.sql(sql.query(name)).pl()


def test_the_view_by_reason_and_catalog_says_the_same() -> None:
    found = view("views/drops_by_reason_and_catalog", passage_decisions=DECISIONS, areas=AREAS, project_areas=GIVEN)
    report = by_catalog(DECISIONS, catalogs())
    expected = report.unpivot(index=["catalog", "raw"], variable_name="fate", value_name="passages").filter(
        pl.col("passages") > 0
    )
    assert sorted(found.select("catalog", "fate", "passages").rows()) == sorted(
        expected.select("catalog", "fate", "passages").rows()
    )
    shares = dict(found.group_by("catalog").agg(pl.sum("share")).iter_rows())
    assert shares == pytest.approx({NO_AREA: 1.0, "cat-1": 1.0, "cat-2": 1.0}, abs=0.0005)  # each to 4 digits
    assert 0.3333 in found.filter(catalog="cat-1")["share"].to_list()
    assert found.filter(catalog="cat-2", fate=KEPT).row(0) == ("cat-2", KEPT, 2, 2, 2 / 5)


def test_the_view_by_reason_says_the_same() -> None:
    found = view("views/drops_by_reason", passage_decisions=DECISIONS)
    columns = ["reason", "passages", "share", "projects", "rule_version", "example"]
    report = by_reason(DECISIONS).filter(pl.col("fate") != KEPT).rename({"fate": "reason"})
    rounded = report.with_columns(pl.col("share").round(4))
    assert found.select(columns).rows() == rounded.select(columns).rows()
    assert found["share"].to_list() == [0.3333, 0.1667, 0.1667]


def test_the_view_of_repeated_texts_counts_groups() -> None:
    texts = TABLES["passage_texts"].frame(
        [
            ("p1", "corpus", "g1", "t-a"),
            ("p2", "corpus", "g2", "t-a"),
            ("p3", "corpus", "g2", "t-b"),
            ("x1", "test", "g2", "t-b"),
            ("p4", "corpus", "g3", "t-c"),
            ("p5", "corpus", "g4", "t-d"),
            ("p6", "corpus", "g4", "t-d"),
        ]
    )
    similar = TABLES["similar_texts"].frame([("t-a", "t-c", 0.8, 1.0)])
    found = view("views/repeated_texts", passage_texts=texts, similar_texts=similar)
    # text, example, passages, groups, groups with a similar text, in the test collection; t-d stands in one group only.
    assert found.rows() == [
        ("t-a", "p1", 2, 2, 3, False),
        ("t-c", "p4", 1, 1, 3, False),
        ("t-b", "p3", 2, 2, 2, True),
    ]
