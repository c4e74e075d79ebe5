"""Passage rows, filter decisions, the length rule on masked texts."""

import polars as pl

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.passages import RESTRICTION_VERSION, bounded_after_masking, decide_passages, passage_rows
from tendril_assets.spec_corpus import FilterSpec
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


def fates(decisions: pl.DataFrame) -> dict[str, str | None]:
    return dict(decisions.select("passage_id", "reason").iter_rows())


def test_the_passage_of_the_document_drawn_earlier_stays():
    frame = passages(("p", "late", 1, 0, LONG), ("p", "early", 7, 9, LONG), ("q", "x", 1, 0, LONG))
    decisions, _ = decide_passages(frame, documents(("p", "early"), ("p", "late"), ("q", "x")), (), FILTERS)
    found = {row["passage_id"]: row for row in decisions.iter_rows(named=True)}
    assert found["p-0"]["reason"] == "near_duplicate"
    assert (found["p-0"]["cause"], found["p-0"]["figure"]) == ("p-1", 1.0)
    assert found["p-1"]["kept"]
    assert found["p-2"]["kept"]  # another project


def test_a_document_that_is_added_does_not_take_the_place_of_what_was_kept():
    old = passages(("p", "old", 1, 0, LONG))
    before, _ = decide_passages(old, documents(("p", "old")), (), FILTERS)
    both, drawn = passages(("p", "old", 1, 0, LONG), ("p", "new", 1, 0, LONG)), documents(("p", "new"), ("p", "old"))
    after, _ = decide_passages(both, drawn, (), FILTERS, before)
    assert fates(after) == {"p-0": None, "p-1": "near_duplicate"}
    again, _ = decide_passages(both, drawn, (), FILTERS, after)
    assert again.equals(after)
    # Without a former run the draw decides.
    assert fates(decide_passages(both, drawn, (), FILTERS).decisions) == {"p-0": "near_duplicate", "p-1": None}


def test_a_former_repetition_does_not_come_first():
    frame, drawn = passages(("p", "a", 1, 0, LONG), ("p", "b", 1, 0, LONG)), documents(("p", "a"), ("p", "b"))
    first, _ = decide_passages(frame, drawn, (), FILTERS)
    assert fates(first) == {"p-0": None, "p-1": "near_duplicate"}
    assert fates(decide_passages(frame, drawn, (), FILTERS, first).decisions) == fates(first)
    # The text it repeated is gone: now it stays.
    assert fates(decide_passages(frame.tail(1), drawn, (), FILTERS, first).decisions) == {"p-1": None}


def test_passages_of_a_restricted_project_are_left_out_for_that_and_cause_nothing():
    frame = passages(("p", "a", 1, 0, LONG), ("p", "a", 1, 1, LONG), ("p", "a", 1, 2, "kurz"), ("q", "b", 1, 0, LONG))
    decisions, guarded = decide_passages(frame, documents(("p", "a"), ("q", "b")), ["p"], FILTERS)
    assert decisions.filter(~pl.col("kept")).select("passage_id", "reason", "figure", "cause").rows() == [
        (f"p-{i}", "restricted_project", None, None) for i in range(3)
    ]
    assert set(decisions.filter(project="p")["rule_version"]) == {RESTRICTION_VERSION}
    assert fates(decisions)["p-3"] is None
    assert guarded.is_empty()


def test_guarded_pairs_name_their_project():
    frame = passages(("p", "a", 1, 0, f"Mindestens 40 {LONG}"), ("p", "a", 1, 1, f"Mindestens 60 {LONG}"))
    decisions, guarded = decide_passages(frame, documents(("p", "a")), (), FILTERS)
    assert decisions["kept"].all()
    # 16 words, 12 n-grams each, of which those without the number are shared: 10 of 14.
    assert guarded.rows() == [("p-1", "p-0", "p", 10 / 14, "number")]


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
