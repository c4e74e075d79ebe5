"""Near-duplicates and the n-gram engine below them: right pairs, and nothing that depends on order or place."""

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

from tendril_assets.corpus import ngrams
from tendril_assets.corpus.neardup import Duplicate, Guarded, find_near_duplicates, near_duplicates
from tendril_assets.corpus.ngrams import normalise, shingle, similar_pairs
from tendril_assets.spec_corpus import NearDuplicateSpec

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


@pytest.mark.parametrize("guard", [True, False])
def test_a_pair_that_differs_in_a_negation_is_told_with_both_ids_guard_on_or_off(guard: bool):
    frame = passages(("a", f"{LONG} ist zwingend"), ("b", f"{LONG} ist nicht zwingend"))
    result = near_duplicates(frame, NearDuplicateSpec(unit="characters", guard=guard))
    [pair] = result.guarded
    assert (pair.passage_id, pair.other, pair.difference) == ("b", "a", "negation")
    assert result.removed == ([] if guard else [Duplicate("b", "a", pair.similarity)])


def test_guard_keeps_numbers_apart_but_not_from_their_own_equals():
    a, b = f"{A} 10 {B}", f"{A} 20 {B}"
    # 41 words give 37 5-grams, of which the 14 common to A and B stand twice: 23 in a set. The number is in 5 of
    # them: 18 shared, 23 + 23 - 18 = 28 together.
    spec = NearDuplicateSpec(threshold=0.6)
    result = near_duplicates(passages(("p1", a), ("p2", b), ("p3", a), ("p4", b)), spec)
    assert result.removed == [Duplicate("p3", "p1", 1.0), Duplicate("p4", "p2", 1.0)]
    assert result.guarded == [Guarded("p2", "p1", 18 / 28, "number")]


def test_every_guarded_pair_is_told_once():
    texts = [f"{A} {number} {B}" for number in (10, 20, 30)]
    result = near_duplicates(passages(*zip("abc", texts, strict=True)), NearDuplicateSpec(threshold=0.6))
    assert [(pair.passage_id, pair.other) for pair in result.guarded] == [("b", "a"), ("c", "a"), ("c", "b")]


def test_a_section_repeated_under_another_number_is_a_repetition():
    # 22 words give 18 5-grams; the first word differs, so 17 are shared of 19.
    frame = passages(("a", f"3.2 Zuschlagskriterien {A}"), ("b", f"4.1 Zuschlagskriterien {A}"))
    assert near_duplicates(frame, WORDS) == ([Duplicate("b", "a", 17 / 19)], [])
    other = passages(("a", f"3.2 Liter Wasser {A}"), ("b", f"4.1 Liter Wasser {A}"))
    assert [pair.difference for pair in near_duplicates(other, WORDS).guarded] == ["number"]


def test_character_unit():
    # 5-grams of 8 and 9 letters: 4 and 5, all 4 shared: 4/5.
    frame = passages(("a", "abcdefgh"), ("b", "abcdefghi"))
    assert find_near_duplicates(frame, CHARACTERS) == [Duplicate("b", "a", 0.8)]


Found = list[tuple[int, int, float, float]]


def found_pairs(texts: list[str], n: int, threshold: float) -> Found:
    pairs = similar_pairs(shingle(texts, [0] * len(texts), "words", n), threshold)
    return list(zip(*(column.tolist() for column in pairs), strict=True))


def brute_force(texts: list[str], n: int, threshold: float) -> Found:
    sets = [{tuple(ws[i : i + n]) for i in range(len(ws) - n + 1)} for ws in (text.split() for text in texts)]
    pairs = []
    for b in range(len(texts)):
        for a in range(b):
            shared, union = len(sets[a] & sets[b]), len(sets[a] | sets[b])
            if sets[a] and sets[b] and shared / union >= threshold:
                pairs.append((a, b, shared / union, shared / min(len(sets[a]), len(sets[b]))))
    return sorted(pairs)


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), max_size=12),
    st.integers(1, 3),
    st.sampled_from([0.3, 0.5, 0.7, 0.8, 1.0]),
)
@settings(max_examples=50, deadline=None)
def test_pairs_are_those_of_comparing_all(texts: list[str], n: int, threshold: float):
    assert found_pairs(texts, n, threshold) == brute_force(texts, n, threshold)


@pytest.mark.parametrize("size", [1, 3, 64])
def test_pairs_do_not_depend_on_the_size_of_the_parts_worked_on(size: int, monkeypatch: pytest.MonkeyPatch):
    rng = random.Random(size)
    texts = [" ".join(rng.choices("abc", k=rng.randint(0, 14))) for _ in range(60)]
    expected = brute_force(texts, 3, 0.5)
    assert len(expected) > 10
    for name in ("_TEXTS", "_GRAMS", "_PAIRS"):
        monkeypatch.setattr(ngrams, name, size)
    assert found_pairs(texts, 3, 0.5) == expected


def test_ngrams_whose_hashes_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    real, attempts = ngrams._multiplier, set()

    def multiplier(attempt: int, k: int):
        attempts.add(attempt)
        # In the first attempt only the scope counts, so that all n-grams have one hash.
        return real(attempt, k) * (attempt > 0 or k == 2)

    monkeypatch.setattr(ngrams, "_multiplier", multiplier)
    texts = ["a b c", "b c d", "a b c d", "x y"]
    assert found_pairs(texts, 2, 0.3) == brute_force(texts, 2, 0.3)
    assert attempts == {0, 1}


@given(st.text(max_size=60))
@settings(max_examples=50, deadline=None)
def test_the_normal_form_is_stable_and_parted_by_single_blanks(text: str):
    normal = normalise(text)
    assert normal == " ".join(normal.split()) == normalise(f" {normal}\n")


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


@given(st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_groups_may_be_shared_out_to_any_number_of_processes(rng: random.Random, parts: int):
    rows = [(f"p{i}", f"g{i % 5}", i % 2, " ".join(rng.choices("abcd", k=rng.randint(0, 12)))) for i in range(40)]
    frame = pl.DataFrame(rows, schema=["passage_id", "group", "order", "text"], orient="row")
    whole = near_duplicates(frame, NearDuplicateSpec(n=2))
    shares = [
        near_duplicates(frame.filter(pl.col("group").str.slice(1).cast(pl.Int64) % parts == k), NearDuplicateSpec(n=2))
        for k in range(parts)
    ]
    assert sorted(d for share in shares for d in share.removed) == sorted(whole.removed)
    assert sorted(p for share in shares for p in share.guarded) == sorted(whole.guarded)


_SCRIPT = """
import polars as pl
from tendril_assets.corpus.neardup import near_duplicates
from tendril_assets.spec_corpus import NearDuplicateSpec
rows = [(f"p{i}", "g", 0, " ".join(f"w{(i * k) % 5}" for k in range(12))) for i in range(60)]
print(near_duplicates(pl.DataFrame(rows, schema=["passage_id", "group", "order", "text"], orient="row"),
                      NearDuplicateSpec(n=2)))
"""


def test_result_depends_on_neither_the_hash_seed_nor_the_number_of_threads():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "POLARS_MAX_THREADS": threads,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            check=True,
        ).stdout
        for seed, threads in (("0", "1"), ("1", "2"))
    }
    assert len(outputs) == 1
    assert b"Duplicate" in outputs.pop()


def test_adding_a_younger_group_or_passage_never_removes_an_older_one():
    old = passages(("b", B), ("c", C), order=1)
    before = find_near_duplicates(old, WORDS)
    after = find_near_duplicates(pl.concat([old, passages(("a", A), order=2)]), WORDS)
    assert [d for d in after if d.passage_id != "a"] == before


def test_what_is_added_never_removes_what_was_kept_even_where_it_is_drawn_first():
    old = passages(("b", B), ("c", C), order=1)
    assert find_near_duplicates(old, WORDS) == [Duplicate("c", "b", 14 / 18)]
    both = pl.concat([old, passages(("a", A), order=0)])
    # By the draw alone "a" would take the place of "b".
    assert find_near_duplicates(both, WORDS) == [Duplicate("b", "a", 14 / 18)]
    assert near_duplicates(both, WORDS, kept_before={"b"}).removed == [
        Duplicate("a", "b", 14 / 18),
        Duplicate("c", "b", 14 / 18),
    ]


@given(st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_run_keeps_what_the_last_one_kept_and_an_unchanged_one_finds_the_same(rng: random.Random):
    rows = [
        (f"p{i}", f"g{i % 3}", rng.randrange(5), " ".join(rng.choices("abcd", k=rng.randint(0, 9)))) for i in range(40)
    ]
    frame = pl.DataFrame(rows, schema=["passage_id", "group", "order", "text"], orient="row")
    spec = NearDuplicateSpec(n=2, threshold=0.5)
    kept: set[str] = set()
    for share in (10, 25, 40):
        present = frame.filter(pl.col("passage_id").is_in([f"p{i}" for i in range(40 - share, 40)]))
        result = near_duplicates(present, spec, kept)
        now = set(present["passage_id"]) - {d.passage_id for d in result.removed}
        assert kept <= now
        assert near_duplicates(present, spec, now) == result
        kept = now
