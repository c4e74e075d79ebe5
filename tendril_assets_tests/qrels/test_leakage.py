"""Held-out text leaves training."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.duplicates import duplicate_index
from tendril_assets.corpus.ngrams import normalise
from tendril_assets.qrels.leakage import find_leakage, leaks_left
from tendril_assets.spec import NearDuplicateSpec
from tendril_assets.tables import TABLES

SPEC = NearDuplicateSpec(unit="words", n=5, threshold=0.7)
BOILERPLATE = "Die Unterlagen sind bis zum genannten Termin vollständig und unterzeichnet einzureichen"
# Each passage of these tests is a group of its own; its first letter is the split it belongs to.
SPLITS = {"t": "train", "v": "validation"}


def leakage_of(spec: NearDuplicateSpec = SPEC, **texts: str) -> pl.DataFrame:
    """``t...`` are training passages, ``v...`` of validation, ``x...`` of the test collection."""
    rows = pl.DataFrame(
        {"passage_id": list(texts), "group_id": list(texts), "text": list(texts.values())},
        schema=dict.fromkeys(("passage_id", "group_id", "text"), pl.String),
    )
    is_test = pl.col("passage_id").str.starts_with("x")
    index = duplicate_index(rows.filter(~is_test), rows.filter(is_test), spec)
    splits = TABLES["splits"].frame([(name, SPLITS[name[0]]) for name in texts if name[0] in SPLITS])
    return find_leakage(index, splits)


def test_equal_passage_of_a_validation_group_leaks() -> None:
    leakage = leakage_of(
        t1=BOILERPLATE,
        t2="Das Holz stammt aus nachweislich nachhaltiger Bewirtschaftung im Inland",
        v1=BOILERPLATE,
        x1="Etwas ganz anderes steht hier in der Prüfmenge",
    )
    assert leakage.rows() == [("t1", "v1", "validation", 1.0)]
    assert leakage.schema == TABLES["leakage"].schema


def test_both_held_out_sets_are_named() -> None:
    leakage = leakage_of(t1=BOILERPLATE, v1=BOILERPLATE, x1=BOILERPLATE)
    assert leakage.select("cause", "cause_set").rows() == [("x1", "test"), ("v1", "validation")]


def test_a_group_without_a_split_neither_leaks_nor_is_held_out() -> None:
    assert leakage_of(t1=BOILERPLATE, n1=BOILERPLATE).is_empty()
    assert leakage_of(n1=BOILERPLATE, v1=BOILERPLATE).is_empty()


@pytest.mark.parametrize(
    ("words", "leaks"),
    [
        # 21 words have 17 word 5-grams. With the last word changed 16 are shared and 18 exist in all: 0.889.
        (1, True),
        # With the last 3 changed 14 are shared, 20 in all: 14 / 20 = 0.7, inclusive.
        (3, True),
        # With the last 4 changed 13 are shared, 21 in all: 0.619.
        (4, False),
    ],
)
def test_near_duplicates_leak_from_the_threshold_on(words: int, leaks: bool) -> None:
    text = [f"wort{chr(97 + number)}" for number in range(21)]
    changed = text[:-words] + [f"neu{chr(97 + number)}" for number in range(words)]
    assert (leakage_of(t1=" ".join(text), x1=" ".join(changed)).height == 1) is leaks


def test_a_changed_number_is_still_a_leak() -> None:
    """The guard of the near-duplicate filter keeps such pairs apart; here it must not."""
    left = "Die Garantie beträgt 2 Jahre ab Abnahme des Werkes und umfasst alle Teile der Anlage ohne Ausnahme von Verschleiss"
    right = left.replace("2 Jahre", "5 Jahre")
    # 19 words, 15 five-grams; the number is word 4, so 4 of them hold it: 11 shared of 19 = 0.579, under 0.7.
    spec = NearDuplicateSpec(unit="words", n=5, threshold=0.5, guard=True)
    assert leakage_of(spec, t1=left, x1=right).rows() == [("t1", "x1", "test", 11 / 19)]


def test_no_held_out_text_no_leak() -> None:
    assert leakage_of(t1=BOILERPLATE).is_empty()


def direct(texts: dict[str, str], n: int, threshold: float) -> list[tuple[str, str, str, float]]:
    """Each training passage compared with each held-out one, by the definition."""
    grams = {
        name: {tuple(ws[i : i + n]) for i in range(len(ws) - n + 1)}
        for name, ws in ((name, normalise(text).split()) for name, text in texts.items())
    }
    rows = []
    for name in (name for name in texts if name[0] == "t"):
        for other in (other for other in texts if other[0] in "vx"):
            union = grams[name] | grams[other]
            similarity = len(grams[name] & grams[other]) / len(union) if union else 0.0
            if normalise(texts[name]) == normalise(texts[other]):
                similarity = 1.0
            if similarity >= threshold:
                rows.append((name, other, "test" if other[0] == "x" else "validation", similarity))
    return sorted(rows, key=lambda row: (row[0], row[2], row[1]))


@given(st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_index_gives_what_comparing_directly_gives(rng: random.Random) -> None:
    texts = {f"{rng.choice('ttvxn')}{i}": " ".join(rng.choices("abc", k=rng.randint(0, 9))) for i in range(40)}
    assert leakage_of(NearDuplicateSpec(n=2, threshold=0.6), **texts).rows() == direct(texts, 2, 0.6)


def examples(*rows: tuple[str, list[str], bool]) -> pl.DataFrame:
    return TABLES["training_examples"].frame(
        [("q", "level", "g", positive, negatives, used, None) for positive, negatives, used in rows]
    )


def test_leaks_left_looks_at_positives_and_negatives_in_use() -> None:
    leakage = TABLES["leakage"].frame([("p1", "v", "validation", 1.0), ("n9", "x", "test", 0.8)])
    table = examples(("p1", ["n1"], True), ("p2", ["n1", "n9"], True), ("p3", ["n1"], True), ("p1", ["n9"], False))
    assert leaks_left(table, leakage)["passage_id"].to_list() == ["p1", "n9"]
    assert leaks_left(table.tail(2), leakage).is_empty()
