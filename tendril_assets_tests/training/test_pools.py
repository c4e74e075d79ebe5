"""What each judged pair of the training groups may become."""

import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.tables import TABLES
from tendril_assets.training.pools import judged_pairs, negatives_by_reason

QUERIES = pl.DataFrame({"query_id": ["qa", "qc"], "level": ["area", "criterion"]})
SPLITS = TABLES["splits"].frame([("g1", "train"), ("g2", "train"), ("g9", "validation")])


def world(*passages: tuple[str, str, str, dict[str, int]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Qrels and corpus from (passage, group, text, grades by query)."""
    corpus = TABLES["corpus"].frame([(p, text, group, f"{group}-d", 1) for p, group, text, _ in passages])
    rows = [(query, p, group, grade) for p, group, _, grades in passages for query, grade in grades.items()]
    return TABLES["qrels"].frame(rows), corpus


def reasons(data: tuple[pl.DataFrame, pl.DataFrame], leaked: set[str] = frozenset(), positive_grade: int = 2) -> dict:
    """(query, passage) -> (is_positive, reason)."""
    pairs = judged_pairs(*data, QUERIES, SPLITS, leaked, positive_grade)
    return {(row["query_id"], row["passage_id"]): (row["is_positive"], row["reason"]) for row in pairs.rows(named=True)}


def test_each_pair_has_its_place() -> None:
    data = world(
        ("p", "g1", "Holz", {"qa": 2, "qc": 0}),
        ("half", "g1", "Papier", {"qa": 1}),
        ("n", "g1", "Beton", {"qa": 0}),
        ("leaking", "g1", "Glas", {"qa": 0}),
        ("v", "g9", "Stahl", {"qa": 2}),
    )
    assert reasons(data, {"leaking"}) == {
        ("qa", "p"): (True, None),
        ("qc", "p"): (False, "no_positive"),
        ("qa", "half"): (False, "partial"),
        ("qa", "n"): (False, None),
        ("qa", "leaking"): (False, "leak"),
    }


def test_a_query_whose_only_positive_leaks_needs_no_negatives() -> None:
    data = world(("p", "g1", "Holz", {"qa": 2}), ("n", "g1", "Beton", {"qa": 0}))
    assert reasons(data, {"p"}) == {("qa", "p"): (True, "leak"), ("qa", "n"): (False, "no_positive")}


def test_a_text_judged_relevant_is_no_negative_of_that_query() -> None:
    """n1 holds p's text and n2 that of the partly relevant one, in another writing; n3 that of another group's positive.

    The other query, which judged none of these texts relevant, may have all of them.
    """
    data = world(
        ("p", "g1", "Holz aus der Fläche", {"qa": 2}),
        ("half", "g1", "Papier", {"qa": 1}),
        ("n1", "g1", "holz  aus\nder FLA\u0308CHE", {"qa": 0, "qc": 0}),
        ("n2", "g1", "PAPIER", {"qa": 0}),
        ("n3", "g1", "Beton 10³ m", {"qa": 0}),
        ("n4", "g1", "Beton 103 m", {"qa": 0}),
        ("c", "g1", "Glas", {"qc": 2}),
        ("other", "g2", "beton 10³ M", {"qa": 1}),
    )
    found = reasons(data)
    assert {passage: reason for (query, passage), (_, reason) in found.items() if query == "qa" and reason} == {
        "half": "partial",
        "n1": "contradiction",
        "n2": "contradiction",
        "n3": "contradiction",
        "other": "partial",
    }
    assert found["qc", "n1"] == (False, None)


def test_validation_grades_have_no_say_in_training() -> None:
    data = world(("p", "g1", "Holz", {"qa": 2}), ("n", "g1", "Glas", {"qa": 0}), ("v", "g9", "Glas", {"qa": 2}))
    assert reasons(data)["qa", "n"] == (False, None)


def test_of_equal_positives_of_a_query_and_group_the_lowest_id_stays() -> None:
    """Not so in another group, whose negatives differ, nor for another query; a leaking one does not count."""
    data = world(
        ("p1", "g1", "Holz", {"qa": 2}),
        ("p2", "g1", "HOLZ", {"qa": 2, "qc": 2}),
        ("p3", "g1", " holz", {"qa": 2}),
        ("p4", "g2", "Holz", {"qa": 2}),
    )
    passages = ("p1", "p2", "p3", "p4")
    assert [reasons(data)["qa", p][1] for p in passages] == [None, "repeat", "repeat", None]
    assert reasons(data)["qc", "p2"] == (True, None)
    assert [reasons(data, {"p1"})["qa", p][1] for p in passages] == ["leak", None, "repeat", None]


def test_the_positive_grade_is_the_recipes() -> None:
    data = world(("p", "g1", "Holz", {"qa": 1}), ("n", "g1", "Glas", {"qa": 0}))
    assert reasons(data, positive_grade=1) == {("qa", "p"): (True, None), ("qa", "n"): (False, None)}
    assert reasons(data) == {("qa", "p"): (False, "partial"), ("qa", "n"): (False, "no_positive")}


def test_counts_by_reason() -> None:
    data = world(
        ("p", "g1", "Holz", {"qa": 2}), ("n1", "g1", "Glas", {"qa": 0}), ("n2", "g1", "holz", {"qa": 0, "qc": 0})
    )  # fmt: skip
    pairs = judged_pairs(*data, QUERIES, SPLITS, set(), 2)
    assert negatives_by_reason(pairs).rows() == [
        ("area", "available", 1),
        ("area", "contradiction", 1),
        ("criterion", "no_positive", 1),
    ]


@pytest.mark.parametrize(("table", "column"), [("corpus", "passage_id"), ("queries", "query_id")])
def test_judgments_older_than_their_tables_are_refused(table: str, column: str) -> None:
    qrels, corpus = world(("p", "g1", "Holz", {"qa": 2}), ("lost", "g1", "Glas", {"qc": 0}))
    kept = {"corpus": corpus.filter(pl.col("passage_id") != "lost"), "queries": QUERIES.filter(query_id="qa")}
    tables = {"corpus": corpus, "queries": QUERIES} | {table: kept[table]}
    gone = "lost" if table == "corpus" else "qc"
    with pytest.raises(TrainingError, match=f"1 of the judged ids in {column} are not in {table}, the first: {gone}"):
        judged_pairs(qrels, tables["corpus"], tables["queries"], SPLITS, set(), 2)
    # Judgments of held-out groups are not training's to look at.
    assert judged_pairs(qrels.filter(pl.col("group_id") == "g9"), corpus.clear(), QUERIES, SPLITS, set(), 2).is_empty()
