"""Held-out text leaves training."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.duplicates import duplicate_index
from tendril_assets.corpus.ngrams import normalise
from tendril_assets.qrels.leakage import find_leakage, groups_under_test, leaking, leaks_left
from tendril_assets.spec_corpus import NearDuplicateSpec
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
    assert leakage.rows() == [("t1", "train", "v1", "validation", 1.0, 1)]
    assert leakage.schema == TABLES["leakage"].schema


def test_both_held_out_sets_are_named() -> None:
    leakage = leakage_of(t1=BOILERPLATE, v1=BOILERPLATE, x1=BOILERPLATE).filter(split="train")
    assert leakage.select("cause", "cause_set").rows() == [("x1", "test"), ("v1", "validation")]


def test_what_validation_repeats_of_the_test_collection_is_counted_and_leaves_nothing() -> None:
    """The step is chosen on v1, which stands in the test collection; t1 repeats neither."""
    leakage = leakage_of(
        t1="Etwas ganz anderes steht hier in der Prüfmenge", v1=BOILERPLATE, v2=BOILERPLATE, x1=BOILERPLATE
    )
    assert leakage.rows() == [("v1", "validation", "x1", "test", 1.0, 1), ("v2", "validation", "x1", "test", 1.0, 1)]
    assert leaking(leakage) == frozenset()


def test_the_closest_cause_is_named_and_all_are_counted() -> None:
    """v3 differs in its last word (16 of 18 five-grams shared), v1 and v2 are equal: v1 is named, three are counted."""
    text = " ".join(f"wort{chr(97 + number)}" for number in range(21))
    leakage = leakage_of(t1=text, v3=text[:-5] + "neu", v2=text, v1=text.upper())
    assert leakage.rows() == [("t1", "train", "v1", "validation", 1.0, 3)]
    near = leakage_of(t1=text, v3=text[:-5] + "neu")
    assert near.rows() == [("t1", "train", "v3", "validation", 16 / 18, 1)]


def test_a_clause_of_every_project_stays_one_row_for_each_training_copy() -> None:
    """Not one for each pair: 120 training and 80 held-out copies are 9,600 pairs."""
    texts = {f"t{n}": BOILERPLATE for n in range(120)} | {f"v{n}": BOILERPLATE for n in range(80)}
    leakage = leakage_of(**texts)
    assert leakage.height == 120
    assert leakage["causes"].unique().to_list() == [80]


def test_the_split_of_the_group_stays_and_one_passage_leaves() -> None:
    """p1 trains, p2 is of the test collection, both hold one clause: the passage leaves, p1 stays in training."""
    corpus = pl.DataFrame({"passage_id": ["a", "b"], "group_id": ["p1", "p1"], "text": [BOILERPLATE, "Etwas anderes"]})
    test = pl.DataFrame({"passage_id": ["c"], "group_id": ["p2"], "text": [BOILERPLATE]})
    splits = TABLES["splits"].frame([("p1", "train")])
    assert leaking(find_leakage(duplicate_index(corpus, test, SPEC), splits)) == {"a"}


def test_projects_of_the_test_collection_are_found_by_either_name() -> None:
    splits = TABLES["splits"].frame([(f"g{n}", "train") for n in range(4)])
    sampled = pl.DataFrame({"project": ["P-0", "P-1", "P-2", "P-3"], "group_id": ["g0", "g1", "g2", "g3"]})
    # P-1 is listed by its raw id, g2 by its published one, and g3 has a passage in the test collection.
    assert groups_under_test(splits, sampled, ["P-1", "g2", "P-9"], ["g3", "g9"]) == ["g1", "g2", "g3"]
    assert groups_under_test(splits, sampled, ["P-9"], ["g9"]) == []


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
    assert leakage_of(spec, t1=left, x1=right).rows() == [("t1", "train", "x1", "test", 11 / 19, 1)]


def test_no_held_out_text_no_leak() -> None:
    assert leakage_of(t1=BOILERPLATE).is_empty()


def direct(texts: dict[str, str], n: int, threshold: float) -> list[tuple]:
    """Each passage compared with each one held out from it, by the definition; then the closest of each set."""
    grams = {
        name: {tuple(ws[i : i + n]) for i in range(len(ws) - n + 1)}
        for name, ws in ((name, normalise(text).split()) for name, text in texts.items())
    }
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for name, other in ((a, b) for a in texts for b in texts if a[0] + b[0] in ("tv", "tx", "vx")):
        union = grams[name] | grams[other]
        similarity = len(grams[name] & grams[other]) / len(union) if union else 0.0
        if normalise(texts[name]) == normalise(texts[other]):
            similarity = 1.0
        if similarity >= threshold:
            found.setdefault((name, "test" if other[0] == "x" else "validation"), []).append((-similarity, other))
    return [
        (name, SPLITS[name[0]], min(causes)[1], cause_set, -min(causes)[0], len(causes))
        for (name, cause_set), causes in sorted(found.items())
    ]


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
    leakage = TABLES["leakage"].frame(
        [("p1", "train", "v", "validation", 1.0, 1), ("n9", "train", "x", "test", 0.8, 2)]
    )
    table = examples(("p1", ["n1"], True), ("p2", ["n1", "n9"], True), ("p3", ["n1"], True), ("p1", ["n9"], False))
    assert leaks_left(table, leakage)["passage_id"].to_list() == ["p1", "n9"]
    assert leaks_left(table.tail(2), leakage).is_empty()
