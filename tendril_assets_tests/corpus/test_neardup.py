import logging
import os
import random
import subprocess
import sys
from itertools import permutations

import polars as pl
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.neardup import Duplicate, Guarded, find_near_duplicates, near_duplicates, similar_across
from tendril_assets.corpus.ngrams import Pair, normalise, shingle, similar_pairs
from tendril_assets.spec import NearDuplicateSpec

WORDS = NearDuplicateSpec()
UNGUARDED = NearDuplicateSpec(guard=False)
CHARACTERS = NearDuplicateSpec(unit="characters")


def passages(*rows: tuple[str, str], group: str = "g", order: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        [(passage_id, group, order, text) for passage_id, text in rows],
        schema={"passage_id": pl.String, "group": pl.String, "order": pl.Int64, "text": pl.String},
        orient="row",
    )


def words(first: int, last: int) -> str:
    return " ".join(f"w{chr(96 + i)}" for i in range(first, last + 1))


# Twenty words give 16 5-grams; a window moved by two words shares 14 of 18 (0.778), one moved by four 12 of 20 (0.6).
A, B, C = words(1, 20), words(3, 22), words(5, 24)


def test_texts_without_an_ngram_are_compared_as_texts():
    frame = passages(("p1", "Preis pro Stück"), ("p2", "Ort und Datum"), ("p3", "Preis pro  Stück"))
    assert find_near_duplicates(frame, WORDS) == [Duplicate("p3", "p1", 1.0)]
    assert find_near_duplicates(passages(("p1", ""), ("p2", " "), ("p3", "x")), WORDS) == [Duplicate("p2", "p1", 1.0)]
    # A peer shows the trap: two empty MinHashes are equal.
    assert MinHash().jaccard(MinHash()) == 1.0


def test_chain_in_all_orders_of_rows():
    for rows in permutations([("a", A), ("b", B), ("c", C)]):
        assert find_near_duplicates(passages(*rows), WORDS) == [Duplicate("b", "a", 14 / 18)]


def test_older_passages_stay():
    frame = pl.concat([passages(("a", A), ("c", C), order=2), passages(("b", B), order=1)])
    assert find_near_duplicates(frame, WORDS) == [Duplicate("a", "b", 14 / 18), Duplicate("c", "b", 14 / 18)]


def test_threshold_is_inclusive():
    # Windows of 21 words (17 5-grams), moved by three: 14 shared, 17 + 17 - 14 = 20 together, exactly 0.7.
    frame = passages(("a", words(1, 21)), ("b", words(4, 24)))
    assert find_near_duplicates(frame, WORDS) == [Duplicate("b", "a", 0.7)]
    assert find_near_duplicates(frame, NearDuplicateSpec(threshold=0.701)) == []


def test_groups_are_apart():
    frame = pl.concat([passages(("a", A), group="g1"), passages(("b", A), group="g2")])
    assert find_near_duplicates(frame, WORDS) == []


def test_normal_form_decides_equality():
    assert normalise("  GRÖSSE\n in\tMetern ") == normalise("Gro\u0308ße in Metern")
    frame = passages(
        ("a", "Die Grösse der Fläche in Metern zählt"), ("b", "DIE GRÖßE der Fla\u0308che\nin Metern zählt")
    )
    assert find_near_duplicates(frame, WORDS) == [Duplicate("b", "a", 1.0)]


LONG = "Der Nachweis des Umweltmanagements nach der genannten Norm"


def test_guard_keeps_a_negation_apart_and_logs_both_ids(caplog: pytest.LogCaptureFixture):
    frame = passages(("a", f"{LONG} ist zwingend"), ("b", f"{LONG} ist nicht zwingend"))
    with caplog.at_level(logging.INFO, logger="tendril_assets.corpus.neardup"):
        result = near_duplicates(frame, CHARACTERS)
    assert result.removed == []
    [pair] = result.guarded
    assert (pair.passage_id, pair.other, pair.difference) == ("b", "a", "negation")
    assert [record.getMessage() for record in caplog.records] == [
        f"b and a: similarity {pair.similarity:.3f}, but they differ in a negation"
    ]
    unguarded = near_duplicates(frame, NearDuplicateSpec(unit="characters", guard=False))
    assert unguarded.removed == [Duplicate("b", "a", pair.similarity)]
    assert unguarded.guarded == result.guarded


def test_guard_keeps_numbers_apart_but_not_from_their_own_equals():
    a, b = f"{A} 10 {B}", f"{A} 20 {B}"
    # 41 words give 37 5-grams, of which the 14 common to A and B stand twice: 23 in a set. The number is in 5 of
    # them: 18 shared, 23 + 23 - 18 = 28 together.
    assert similar_across(passages(("a", a)), passages(("b", b)), NearDuplicateSpec(threshold=0.6)) == [
        ("a", "b", 18 / 28)
    ]
    spec = NearDuplicateSpec(threshold=0.6)
    result = near_duplicates(passages(("p1", a), ("p2", b), ("p3", a), ("p4", b)), spec)
    assert result.removed == [Duplicate("p3", "p1", 1.0), Duplicate("p4", "p2", 1.0)]
    assert result.guarded == [Guarded("p2", "p1", 18 / 28, "number")]


def test_character_unit():
    # 5-grams of 8 and 9 letters: 4 and 5, all 4 shared: 4/5.
    frame = passages(("a", "abcdefgh"), ("b", "abcdefghi"))
    assert find_near_duplicates(frame, CHARACTERS) == [Duplicate("b", "a", 0.8)]


def test_similar_across_ignores_the_guard_and_pairs_within_a_side():
    left = passages(("l1", A), ("l2", A), ("l3", "kurz"), ("l4", "ganz anders als alle diese Texte"))
    right = passages(("r1", B), ("r2", "Kurz"), ("r3", C))
    assert similar_across(left, right, WORDS) == [("l1", "r1", 14 / 18), ("l2", "r1", 14 / 18), ("l3", "r2", 1.0)]
    assert similar_across(left, right.clear(), WORDS) == []


def _brute_force(texts: list[str], n: int, threshold: float) -> list[Pair]:
    sets = [{tuple(ws[i : i + n]) for i in range(len(ws) - n + 1)} for ws in (text.split() for text in texts)]
    pairs = []
    for b in range(len(texts)):
        for a in range(b):
            union = len(sets[a] | sets[b])
            if sets[a] and sets[b] and len(sets[a] & sets[b]) / union >= threshold:
                pairs.append(Pair(a, b, len(sets[a] & sets[b]) / union))
    return sorted(pairs)


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), max_size=12),
    st.integers(1, 3),
    st.sampled_from([0.3, 0.5, 0.7, 0.8, 1.0]),
)
@settings(max_examples=50, deadline=None)
def test_pairs_are_those_of_comparing_all(texts: list[str], n: int, threshold: float):
    found = similar_pairs(shingle(texts, [0] * len(texts), "words", n), threshold)
    assert sorted(found) == _brute_force(texts, n, threshold)


@given(st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_result_does_not_depend_on_row_order(rng: random.Random):
    rows = [(f"p{i}", f"g{i % 3}", i % 2, " ".join(rng.choices("abcd", k=rng.randint(0, 12)))) for i in range(40)]
    columns = ["passage_id", "group", "order", "text"]
    spec = NearDuplicateSpec(n=2)
    expected = near_duplicates(pl.DataFrame(rows, schema=columns, orient="row"), spec)
    rng.shuffle(rows)
    assert near_duplicates(pl.DataFrame(rows, schema=columns, orient="row"), spec) == expected
    kept = {row[0] for row in rows} - {d.passage_id for d in expected.removed}
    assert all(d.cause in kept for d in expected.removed)


_SCRIPT = """
import polars as pl
from tendril_assets.corpus.neardup import find_near_duplicates
from tendril_assets.spec import NearDuplicateSpec
rows = [(f"p{i}", "g", 0, " ".join(f"w{(i * k) % 5}" for k in range(12))) for i in range(60)]
print(find_near_duplicates(pl.DataFrame(rows, schema=["passage_id", "group", "order", "text"], orient="row"),
                           NearDuplicateSpec(n=2)))
"""


def test_result_does_not_depend_on_the_hash_seed():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert b"Duplicate" in outputs.pop()


def test_adding_a_younger_group_or_passage_never_removes_an_older_one():
    old = passages(("b", B), ("c", C), order=1)
    before = find_near_duplicates(old, WORDS)
    after = find_near_duplicates(pl.concat([old, passages(("a", A), order=2)]), WORDS)
    assert [d for d in after if d.passage_id != "a"] == before
