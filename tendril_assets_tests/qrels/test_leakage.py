"""Held-out text leaves training."""

import polars as pl
import pytest

from tendril_assets.qrels.leakage import find_leakage, leaks_left
from tendril_assets.spec import NearDuplicateSpec
from tendril_assets.tables import TABLES

SPEC = NearDuplicateSpec(unit="words", n=5, threshold=0.7)
BOILERPLATE = "Die Unterlagen sind bis zum genannten Termin vollständig und unterzeichnet einzureichen"


def passages(**texts: str) -> pl.DataFrame:
    return pl.DataFrame({"passage_id": list(texts), "text": list(texts.values())})


def test_equal_passage_of_a_validation_group_leaks() -> None:
    leakage = find_leakage(
        passages(t1=BOILERPLATE, t2="Das Holz stammt aus nachweislich nachhaltiger Bewirtschaftung im Inland"),
        {"validation": passages(v1=BOILERPLATE), "test": passages(x1="Etwas ganz anderes steht hier in der Prüfmenge")},
        SPEC,
    )
    assert leakage.rows() == [("t1", "v1", "validation", 1.0)]
    assert leakage.schema == TABLES["leakage"].schema


def test_both_held_out_sets_are_named() -> None:
    leakage = find_leakage(
        passages(t1=BOILERPLATE), {"validation": passages(v1=BOILERPLATE), "test": passages(x1=BOILERPLATE)}, SPEC
    )
    assert leakage.select("cause", "cause_set").rows() == [("x1", "test"), ("v1", "validation")]


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
    found = find_leakage(passages(t1=" ".join(text)), {"test": passages(x1=" ".join(changed))}, SPEC)
    assert (found.height == 1) is leaks


def test_a_changed_number_is_still_a_leak() -> None:
    """The guard of the near-duplicate filter keeps such pairs apart; here it must not."""
    left = "Die Garantie beträgt 2 Jahre ab Abnahme des Werkes und umfasst alle Teile der Anlage ohne Ausnahme von Verschleiss"
    right = left.replace("2 Jahre", "5 Jahre")
    # 19 words, 15 five-grams; the number is word 4, so 4 of them hold it: 11 shared of 19 = 0.579, under 0.7.
    spec = NearDuplicateSpec(unit="words", n=5, threshold=0.5, guard=True)
    assert find_leakage(passages(t1=left), {"test": passages(x1=right)}, spec).height == 1


def test_no_held_out_text_no_leak() -> None:
    assert find_leakage(passages(t1=BOILERPLATE), {"test": passages().cast(pl.String)}, SPEC).is_empty()


def examples(*rows: tuple[str, list[str], bool]) -> pl.DataFrame:
    return TABLES["training_examples"].frame(
        [("q", "level", "g", positive, negatives, used, None) for positive, negatives, used in rows]
    )


def test_leaks_left_looks_at_positives_and_negatives_in_use() -> None:
    leakage = TABLES["leakage"].frame([("p1", "v", "validation", 1.0), ("n9", "x", "test", 0.8)])
    table = examples(("p1", ["n1"], True), ("p2", ["n1", "n9"], True), ("p3", ["n1"], True), ("p1", ["n9"], False))
    assert leaks_left(table, leakage)["passage_id"].to_list() == ["p1", "n9"]
    assert leaks_left(table.tail(2), leakage).is_empty()
