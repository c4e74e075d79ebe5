"""The queries behind cards, reports and the release's own checks, against figures counted by hand (see ``toy``)."""

from decimal import Decimal

import polars as pl
import pytest

from tendril_assets.release.invariants import BREACH_QUERIES, breach_queries
from tendril_assets.resources import sql
from tendril_assets.tables import OF_REGISTERS, TABLES
from tendril_assets_tests.release import toy

QUERIES = sorted(p.stem for p in (toy.SQL / "release").glob("*.sql"))
VIEWS = sorted(p.stem for p in (toy.SQL / "views").glob("*.sql"))


@pytest.fixture
def read():
    return toy.reader(toy.database())


def test_what_was_taken_out_with_a_removed_passage_is_found_too() -> None:
    copy, former = toy.passage(3, 1, 1), toy.passage(4, 1, 1)
    rows = [
        ("p/a/1/0", copy, "p", "b", 1, "copy", [], None, []),
        ("p/a/1/0", former, "p", "a", 1, "remembered", [], "w", []),
    ]
    found = with_rows("removed_passages", *rows)("removed")
    assert set(found.filter(kind="passage")["id"]) == {copy}
    assert {i.rsplit("/", 1)[1] for i in found.filter(kind="judgment")["id"]} == {copy}


def with_rows(name: str, *rows: tuple):
    """``read`` over the toy tables with rows added to one of them."""
    tables = toy.tables()
    tables[name] = pl.concat([tables[name], TABLES[name].frame(list(rows))])
    return toy.reader(toy.database(tables))


@pytest.mark.parametrize("name", QUERIES)
def test_queries_run_on_empty_tables(name: str) -> None:
    read = toy.reader(toy.database({n: t.empty() for n, t in TABLES.items()}))
    assert read(name).height == (1 if name in ("calibration_size", "counts", "query_origins") else 0)


@pytest.mark.parametrize("view", VIEWS)
def test_views_can_be_made_in_a_schema_and_read_from_outside(view: str) -> None:
    con = toy.database()
    con.execute(f"CREATE VIEW toy.{view} AS {(toy.SQL / 'views' / f'{view}.sql').read_text(encoding='utf-8')}")
    con.execute("SET schema = 'main'")
    has_rows = con.sql(f"SELECT count(*) FROM toy.{view}").fetchone()[0] > 0
    # No ranking of the toy is stale (test_removal_views has some), and its queries are of no registers: of those only the view
    # of the registers has rows, for it counts every level.
    without_registers = {table.name for table in OF_REGISTERS}.isdisjoint(sql.inputs(f"views/{view}"))
    assert has_rows == (view == "registers" or (without_registers and view != "stale_systems"))


def test_counts(read) -> None:
    row = read("counts").row(0, named=True)
    # Queries 0..7 are judged in these projects (project i has queries i, i+1, i+2 mod 8, i = 1..10; 9 as 1, 10 as 2):
    # 0: 6 7 8 | 1: 1 7 8 9 | 2: 1 2 8 9 10 | 3: 1 2 3 9 10 | 4: 2 3 4 10 | 5: 3 4 5 | 6: 4 5 6 | 7: 5 6 7, times 8
    # passages: 24 32 40 40 32 24 24 24 judgments, of which the median is (24 + 32) / 2 = 28.
    assert row == {
        "passages": 80,
        "groups": 10,
        "documents": 20,
        "queries": 8,
        "judgments": 240,
        "candidates": 240,
        "requests": 240,
        "sampled_groups": 12,
        "raw_passages": 110,
        "judged_queries": 8,
        "median_judgments_per_query": 28.0,
        "max_judgments_per_query": 40,
    }


def test_grades_levels_and_catalogs(read) -> None:
    # Area queries 0..2: 3 + 4 + 5 = 12 pairs of group and query, criteria 3..7: 5 + 4 + 3 + 3 + 3 = 18; in each pair of
    # eight passages one is graded 2, one 1, six 0.
    assert read("grades").rows() == [
        ("area_of_action", 0, 72),
        ("area_of_action", 1, 12),
        ("area_of_action", 2, 12),
        ("criterion", 0, 108),
        ("criterion", 1, 18),
        ("criterion", 2, 18),
    ]
    assert read("levels").rows() == [("area_of_action", 3, 3), ("criterion", 5, 5)]
    # Catalog_0 has the queries 0 and 4: projects 6 7 8 and 2 3 4 10, so 7 projects, 7 x 8 pairs, a quarter relevant.
    assert read("catalogs").row(0) == ("Catalog_0", 2, 7, 14, 56, 56, 14)
    assert read("missing_catalogs")["catalog"].to_list() == ["Catalog_4"]


def test_fates_and_states(read) -> None:
    # 11 projects with text, 2 documents of 5 passages: 110; one of 5 is dropped; of the restricted project 11 all 10 go.
    assert sorted(read("drops").rows()) == [
        ("in_corpus", 80),
        ("near_duplicate", 10),
        ("restricted_project", 10),
        ("too_short", 10),
    ]
    assert read("group_states").rows() == [("in_corpus", 10), ("failed", 1), ("restricted", 1)]
    assert read("document_outcomes").rows() == [("ok", 22, 66), ("no_text_layer", 2, 6)]


def test_calls_count_every_answer_paid_and_the_latest_status() -> None:
    failed = (
        f"k{0:063x}",
        -1,
        "judge",
        "maker/judge-2",
        None,
        None,
        "truncated",
        200,
        "length",
        "",
        400,
        512,
        None,
        None,
        2,
        3.0,
    )
    when = toy.tables()["judge_calls"]["called_at"][0]
    rest = (when, None, Decimal("0.0002"), None, None, None)
    calls = {r["purpose"]: r for r in with_rows("judge_calls", (*failed, *rest))("calls").iter_rows(named=True)}
    # 240 judged at 0.00012 USD; the earlier truncated answer to the first request has no cost and took 2 attempts.
    assert (calls["judge"]["requests"], calls["judge"]["answers"], calls["judge"]["attempts"]) == (240, 241, 242)
    assert str(calls["judge"]["known_cost"]) == "0.028800000"
    assert (calls["judge"]["unknown_costs"], calls["judge"]["status"]) == (1, "answered")
    assert calls["judge"]["estimated_cost"] == Decimal("0.0002")
    assert (calls["area_summary"]["known_cost"], calls["area_summary"]["unknown_costs"]) == (0, 3)


def test_verdicts_tell_failed_from_open() -> None:
    tables = toy.tables()
    one, other = (toy.query(0), toy.passage(6, 1, 2)), (toy.query(0), toy.passage(6, 1, 3))
    pair = pl.struct("query_id", "passage_id")
    tables["qrels"] = tables["qrels"].filter(
        ~pair.is_in([dict(zip(("query_id", "passage_id"), p, strict=True)) for p in (one, other)])
    )
    judged = tables["judgments"].filter(pl.col("passage_id").ne(other[1]) | pl.col("query_id").ne(other[0]))
    failed = pl.col("passage_id").eq(one[1]) & pl.col("query_id").eq(one[0])
    tables["judgments"] = judged.with_columns(
        pl.when(failed).then(pl.lit("parse_error")).otherwise("status").alias("status"),
        pl.when(failed).then(None).otherwise("grade").alias("grade"),
    )
    rows = toy.reader(toy.database(tables))("verdicts").rows()
    assert rows == [("ok", 238, 238, 238), ("open", 1, 1, 0), ("parse_error", 1, 1, 0)]


def test_group_differences_pair_a_model_with_its_base(read) -> None:
    every = read("views/group_differences")
    rows = every.filter((pl.col("measure") == "ndcg@10") & (pl.col("level") == "all"))
    assert rows.height == 33
    assert every.unique(["model", "group_id", "level", "measure"]).height == every.height
    assert rows["difference"].to_list() == sorted(rows["difference"], reverse=True)
    assert rows.select((pl.col("tuned") - pl.col("base") - pl.col("difference")).abs().max()).item() < 1e-12


def test_consistent_tables_have_no_breach(read) -> None:
    assert [read(name).height for name in breach_queries(toy.spec())] == [0] * 6


TODAY = toy.date(2026, 11, 1)


@pytest.mark.parametrize(
    ("kind", "identifier", "passages", "judgments"),
    [
        ("project", "P-3", 8, 24),
        ("project", toy.group(3), 8, 24),
        ("document", "P-3/doc2.pdf", 4, 0),
        ("document", toy.document(3, 2), 4, 0),
        ("passage", toy.passage(3, 1, 1), 1, 3),
        ("pair", f"{toy.query(3)}/{toy.passage(3, 1, 1)}", 0, 1),
        ("project", "P-99", 0, 0),
    ],
)
def test_removed_ids_are_found_raw_or_published(kind: str, identifier: str, passages: int, judgments: int) -> None:
    found = with_rows("removals", (kind, identifier, "asked for", TODAY))("removed")["kind"].to_list()
    assert (found.count("passage"), found.count("judgment")) == (passages, judgments)


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        ("splits", (toy.group(1), "validation"), [("group_in_two_splits", toy.group(1))]),
        (
            "leakage",
            (toy.passage(2, 1, 2), "train", toy.passage(10, 1, 1), "validation", 0.9, 1),
            [("leaked_passage_in_training", toy.passage(2, 1, 2))],
        ),
        ("test_projects", ("P-4",), [("test_group_in_corpus", toy.group(4))]),
        ("test_projects", (toy.group(4),), [("test_group_in_corpus", toy.group(4))]),
        ("test_corpus", ("t-1", "Text", toy.group(5), None, 1), [("test_group_in_corpus", toy.group(5))]),
        (
            "training_examples",
            (toy.query(4), "criterion", toy.group(10), toy.passage(10, 1, 1), [toy.passage(10, 1, 2)], True, None),
            [
                ("held_out_group_in_training", toy.group(10)),
                ("held_out_passage_in_training", toy.passage(10, 1, 1)),
                ("held_out_passage_in_training", toy.passage(10, 1, 2)),
            ],
        ),
        (
            "training_examples",
            (toy.query(0), "area_of_action", toy.group(1), toy.passage(1, 1, 4), ["p-gone"], True, None),
            [("held_out_passage_in_training", "p-gone")],
        ),
    ],
)
def test_leaks_are_found(table: str, row: tuple, expected: list[tuple[str, str]]) -> None:
    assert with_rows(table, row)("leaks").rows() == expected


def test_an_unused_example_is_no_leak() -> None:
    row = (toy.query(4), "criterion", toy.group(10), toy.passage(10, 1, 1), [], False, "leak")
    assert with_rows("training_examples", row)("leaks").height == 0


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        ("corpus", ("p-new", "Text", toy.group(1), toy.document(1, 1), 1), [("passage_not_kept", "p-new")]),
        (
            "corpus",
            ("p-new", "Text", "P-1", "doc1.pdf", 1),
            [
                ("group_not_sampled", "P-1"),
                ("passage_not_kept", "p-new"),
            ],
        ),
        (
            "qrels",
            (toy.query(1), toy.passage(2, 1, 1), toy.group(1), 0),
            [("judgment_in_wrong_group", f"{toy.query(1)}/{toy.passage(2, 1, 1)}")],
        ),
    ],
)
def test_strays_are_found(table: str, row: tuple, expected: list[tuple[str, str]]) -> None:
    assert with_rows(table, row)("strays").rows() == expected


@pytest.mark.parametrize(
    ("name", "table", "row", "expected"),
    [
        (
            "raw_names",
            "corpus",
            ("p-new", "Text", "P-1", "doc1.pdf", 1),
            [("raw_name", "P-1"), ("raw_name", "doc1.pdf")],
        ),
        (
            "unselected",
            "qrels",
            (toy.query(0), toy.passage(1, 1, 1), toy.group(1), 0),
            [("query_not_selected_for_group", f"{toy.query(0)}/{toy.group(1)}")],
        ),
        (
            "foreign_examples",
            "training_examples",
            (toy.query(0), "area_of_action", toy.group(1), toy.passage(1, 1, 4), [toy.passage(2, 1, 4)], True, None),
            [("passage_of_another_group_in_training", toy.passage(2, 1, 4))],
        ),
    ],
)
def test_breaches_of_a_policy_are_found(name: str, table: str, row: tuple, expected: list[tuple[str, str]]) -> None:
    assert with_rows(table, row)(name).rows() == expected


def test_each_policy_has_its_breaches() -> None:
    usual = toy.spec()
    assert breach_queries(usual) == (*BREACH_QUERIES, "raw_names", "unselected", "foreign_examples")
    others = {
        "identifiers": usual.identifiers.model_copy(update={"policy": "named"}),
        "candidates": usual.candidates.model_copy(update={"policy": "pooled"}),
        "examples": usual.examples.model_copy(update={"negatives": "mined"}),
    }
    assert breach_queries(usual.model_copy(update=others)) == (*BREACH_QUERIES, "foreign_negatives")


def test_passages_of_a_restricted_group_are_strays() -> None:
    row = ("P-2", "doc1.pdf", 1, "de", "no_publication", "Die Veröffentlichung ist untersagt.")
    found = with_rows("restricted_projects", row)("strays")
    assert found["rule"].unique().to_list() == ["restricted_group"]
    assert found.height == 8
