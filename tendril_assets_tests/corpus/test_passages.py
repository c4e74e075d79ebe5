"""Passage rows, filter decisions, removal of copies, the length rule on masked texts."""

import polars as pl

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.passages import bounded_after_masking, decide_passages, passage_rows, without_removed
from tendril_assets.corpus.removals import Removals
from tendril_assets.spec import FilterSpec
from tendril_assets.tables import TABLES

HASHER = KeyedHasher(b"k" * 32)
LONG = "Das Holz der Fassade muss aus nachhaltiger Bewirtschaftung stammen und ein anerkanntes Label tragen"
FILTERS = FilterSpec()


def passages(*rows: tuple[str, str, int, int, str]) -> pl.DataFrame:
    return TABLES["passages"].frame([(f"p-{i}", *row, len(row[4])) for i, row in enumerate(rows)])


def documents(*names: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(p, d, i) for i, (p, d) in enumerate(names)], schema=["project", "document", "rank"], orient="row"
    )


def test_equal_texts_of_a_document_get_different_ids_that_other_passages_do_not_move():
    texts = [
        PassageText(1, 0, "Kopfzeile des Amtes"),
        PassageText(2, 1, "Anderes"),
        PassageText(3, 2, "Kopfzeile des Amtes"),
    ]
    rows = passage_rows("p", "d", texts, HASHER)
    assert len({row[0] for row in rows}) == 3
    assert rows[2][0] == HASHER.passage("p", "d", "Kopfzeile des Amtes", 1)
    assert passage_rows("p", "d", texts[1:], HASHER)[0][0] == rows[1][0]
    assert rows[0][3:] == (1, 0, "Kopfzeile des Amtes", 19)


def test_the_passage_of_the_document_drawn_earlier_stays():
    frame = passages(("p", "late", 1, 0, LONG), ("p", "early", 7, 9, LONG), ("q", "x", 1, 0, LONG))
    decisions = decide_passages(frame, documents(("p", "early"), ("p", "late"), ("q", "x")), FILTERS)
    found = {row["passage_id"]: row for row in decisions.iter_rows(named=True)}
    assert found["p-0"]["reason"] == "near_duplicate"
    assert (found["p-0"]["cause"], found["p-0"]["figure"]) == ("p-1", 1.0)
    assert found["p-1"]["kept"]
    assert found["p-2"]["kept"]  # another project


def test_copies_of_a_removed_passage_go_with_it_even_where_a_number_differs():
    # LONG has 14 words, so 10 word 5-grams; a number in front keeps them all and adds one: 10 / 11 = 0.91 >= 0.7
    frame = passages(
        ("p", "a", 1, 0, LONG),
        ("p", "b", 1, 0, f"4 {LONG}"),
        ("p", "b", 1, 1, "Ganz etwas anderes steht hier."),
        ("q", "c", 1, 0, LONG),
    )
    left = without_removed(frame, Removals.of([("passage", "p/a/1/0")]), FILTERS.near_duplicate)
    assert left["passage_id"].to_list() == ["p-2", "p-3"]
    assert without_removed(frame, Removals(), FILTERS.near_duplicate).equals(frame)


def test_the_length_rule_holds_for_masked_texts():
    decisions = TABLES["passage_decisions"].frame(
        [
            (f"p-{i}", "p", i < 4, "near_duplicate" if i == 4 else None, 0.9 if i == 4 else None, None, "v")
            for i in range(5)
        ]
    )
    texts = ["x" * 19, "x" * 20, "x" * 5000, "x" * 5001]
    corpus = pl.DataFrame({"passage_id": [f"p-{i}" for i in range(4)], "text": texts})
    bounded = bounded_after_masking(decisions, corpus, FILTERS).select("kept", "reason", "figure").rows()
    assert bounded == [
        (False, "too_short", 19.0),
        (True, None, None),
        (True, None, None),
        (False, "too_long", 5001.0),
        (False, "near_duplicate", 0.9),
    ]
