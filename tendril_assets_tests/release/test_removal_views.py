"""What a removal would touch and what it has made stale, by the analysts' views, against figures counted by hand."""

from datetime import datetime

import polars as pl

from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

LATER = datetime(2026, 12, 2)
REACH = ("id", "passages", "judged_pairs", "qrels", "positives", "training_examples", "models", "releases")


def view(name: str, **added: list[tuple]) -> pl.DataFrame:
    """A view over the toy tables, with rows added to some of them."""
    tables = toy.tables()
    for table, rows in added.items():
        tables[table] = pl.concat([tables[table], TABLES[table].frame(rows)])
    con = toy.database(tables)
    con.execute("SET schema = 'toy'")
    return con.sql((toy.SQL / "views" / f"{name}.sql").read_text(encoding="utf-8")).pl()


def test_reach_of_a_passage_a_document_and_a_project() -> None:
    reach = view("removal_reach")
    assert reach.select("kind", "id").is_unique().all()
    # 80 passages of the corpus in 20 documents of 10 projects, and the removed one that an old version and model have.
    assert dict(reach.group_by("kind").len().rows()) == {"passage": 81, "document": 21, "project": 11}
    rows = {row[0]: row[1:] for row in reach.select(REACH).rows()}
    # Project 1 is judged against the queries 1, 2, 3: 3 pairs a passage. In each pair of eight passages two are relevant.
    # It has an example for each of the three, all in use, of the positive 1.1.1 and the negatives 1.1.2, 1.1.3, 1.2.2.
    assert rows[toy.passage(1, 1, 1)] == (1, 3, 3, 3, 3, ["mini"], ["0.9.0"])
    assert rows[toy.passage(1, 1, 4)][-3:] == (0, [], [])
    assert rows[toy.document(1, 1)][0:3] == (4, 12, 12)
    assert rows[toy.document(1, 1)][-3:] == (3, ["mini"], ["0.9.0"])
    assert rows[toy.document(1, 2)][-3:] == (3, ["mini"], [])
    assert rows[toy.group(1)] == (8, 24, 24, 6, 3, ["mini"], ["0.9.0"])
    # Of project 4 the queries 4, 5, 6: the example of query 5 is left out. Project 10 is validated on.
    assert rows[toy.group(4)][-3:] == (2, ["mini"], [])
    assert rows[toy.group(10)][-3:] == (0, ["mini"], [])
    assert rows[toy.REMOVED[0]] == (0, 0, 0, 0, 0, ["midi"], ["0.9.0"])
    # Whatever the level, the sums are those of the tables.
    sums = reach.group_by("kind").agg(pl.col("passages", "judged_pairs", "qrels", "positives").sum())
    assert {row[1:] for row in sums.rows()} == {(80, 240, 240, 60)}


def test_reach_names_what_the_removal_list_takes() -> None:
    entries = dict(view("removal_reach").select("id", "entry").rows())
    assert entries[toy.group(3)] == "P-3"
    assert entries[toy.document(3, 2)] == "P-3/doc2.pdf"
    assert entries[toy.passage(3, 2, 4)] == "P-3/doc2.pdf/4/4"
    assert entries[toy.REMOVED[0]] is None


def test_models_on_removed_passages() -> None:
    assert view("models_on_removed").rows() == [
        ("midi", "a" * 64, 1, 1, 0, datetime(2026, 11, 30, 18, 0), ["P-99/doc1.pdf"])
    ]
    weights = toy.trained_model()["weights_sha256"]
    found = view(
        "models_on_removed",
        erased_ids=[
            ("passage", toy.passage(1, 1, 1), "P-1/doc1.pdf", datetime(2026, 12, 1)),
            ("document", toy.document(1, 1), "P-1/doc1.pdf", datetime(2026, 11, 1)),
            ("project", toy.group(10), "P-10", datetime(2026, 12, 1)),
            ("passage", toy.passage(5, 1, 4), "p-5", datetime(2026, 10, 1)),  # never trained on
        ],
    )
    # Document 1.1 has three of the trained passages, project 10 all eight of the validation.
    assert found.filter(model="mini").rows() == [
        ("mini", weights, 11, 3, 8, datetime(2026, 11, 1), ["P-1/doc1.pdf", "P-10"])
    ]


def test_results_say_which_figures_are_stale_and_why() -> None:
    fresh = view("results")
    assert fresh.height == toy.tables()["system_scores"].height
    assert fresh["stale"].null_count() == fresh.height
    removed = [("passage", toy.passage(1, 1, 1), "e", datetime(2026, 11, 30, 23, 59))]
    told = view("results", erased_ids=removed)
    assert set(told.filter(system="mini_tuned")["stale"]) == {
        "trained on 1 passage removed since 2026-11-30; train it again"
    }
    assert (
        told.filter(pl.col("system") != "mini_tuned")["stale"].null_count()
        == told.filter(pl.col("system") != "mini_tuned").height
    )
    # Two more of the training and the eight that its best step was chosen by; every table of measures is stale with it.
    more = [*removed, ("document", toy.document(1, 1), "e", LATER), ("project", toy.group(10), "e", LATER)]
    reason = "trained on 3 passages and chosen by 8 passages removed since 2026-11-30; train it again"
    assert set(view("results", erased_ids=more).filter(system="mini_tuned")["stale"]) == {reason}
    weights = toy.trained_model()["weights_sha256"]
    assert view("stale_systems", erased_ids=more).rows() == [("mini_tuned", weights, reason)]
    chosen = view("stale_systems", erased_ids=[("passage", toy.passage(10, 1, 1), "e", LATER)])
    assert chosen["stale"].to_list() == ["chosen by 1 passage removed since 2026-12-02; train it again"]
    assert view("stale_systems").is_empty()


def test_scores_of_weights_that_are_not_kept_any_more_are_stale() -> None:
    tables = toy.tables()
    again = pl.lit("b" * 64).alias("weights_sha256")
    tables["trained_models"] = tables["trained_models"].with_columns(again)
    con = toy.database(tables)
    con.execute("SET schema = 'toy'")
    told = con.sql((toy.SQL / "views" / "results.sql").read_text(encoding="utf-8")).pl()
    assert set(told.filter(system="mini_tuned")["stale"]) == {
        "ranked with other weights than those kept now; rank it again"
    }
    every = con.sql((toy.SQL / "views" / "stale_systems.sql").read_text(encoding="utf-8")).pl()
    assert every.select("system", "stale").rows() == [
        ("mini_tuned", "ranked with other weights than those kept now; rank it again")
    ]
    assert told.filter(system="mini_base")["stale"].null_count() == told.filter(system="mini_base").height
