"""The duplicate index, against comparing all passages with all."""

import random

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.duplicates import duplicate_index, text_id
from tendril_assets.corpus.ngrams import normalise
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.tables import TABLES

SPEC = NearDuplicateSpec()
CLAUSE = "Die Unterlagen sind bis zum genannten Termin vollständig und unterzeichnet beim Amt einzureichen"


def passages(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """Rows of passage id, group, text."""
    return pl.DataFrame(rows, schema=dict.fromkeys(("passage_id", "group_id", "text"), pl.String), orient="row")


def test_equal_texts_are_one_text_and_no_pair() -> None:
    rows = [(f"p{i}", f"g{i}", CLAUSE if i % 2 else f"  {CLAUSE.upper()}\n") for i in range(600)]
    texts, similar = duplicate_index(passages(*rows), passages(("x", "t", CLAUSE)), SPEC)
    assert set(texts["text_id"]) == {text_id(normalise(CLAUSE))}
    assert texts.filter(source="test").rows() == [("x", "test", "t", text_id(normalise(CLAUSE)))]
    assert texts.height == 601
    assert similar.is_empty()
    assert (texts.schema, similar.schema) == (TABLES["passage_texts"].schema, TABLES["similar_texts"].schema)


def test_a_pair_has_its_figures_and_the_guard_does_not_hold() -> None:
    # 13 words, 9 n-grams; with a number in front 10, which hold them all: 9 / 10, and 9 / 9 of the smaller.
    texts, similar = duplicate_index(passages(("a", "g", CLAUSE), ("b", "h", f"14 {CLAUSE}")), passages(), SPEC)
    ids = sorted(texts["text_id"])
    assert similar.rows() == [(*ids, 0.9, 1.0)]


def test_pairs_within_one_group_only_are_left_out() -> None:
    pair = [("a", "g", CLAUSE), ("b", "g", f"14 {CLAUSE}")]
    assert duplicate_index(passages(*pair), passages(), SPEC).similar.is_empty()
    # One of the two texts in another group, or the same group name in the other source, is enough.
    assert duplicate_index(passages(*pair, ("c", "h", CLAUSE)), passages(), SPEC).similar.height == 1
    assert duplicate_index(passages(pair[0]), passages(pair[1]), SPEC).similar.height == 1


def test_no_passages_no_index() -> None:
    assert [frame.height for frame in duplicate_index(passages(), passages(), SPEC)] == [0, 0]


def all_pairs(rows: list[tuple[str, str, str, str]], n: int, threshold: float) -> set[tuple[str, str]]:
    """(source/id, source/id) of all passages of different groups that are equal or similar."""
    grams = [{tuple(ws[i : i + n]) for i in range(len(ws) - n + 1)} for ws in (normalise(r[3]).split() for r in rows)]
    found = set()
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            if left[:1] + left[2:3] == right[:1] + right[2:3]:
                continue
            union = grams[i] | grams[j]
            alike = bool(union) and len(grams[i] & grams[j]) / len(union) >= threshold
            if alike or normalise(left[3]) == normalise(right[3]):
                found.add((f"{left[0]}/{left[1]}", f"{right[0]}/{right[1]}"))
    return found


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_index_holds_every_pair_of_passages_of_different_groups(rng: random.Random) -> None:
    rows = []
    for i in range(30):
        source = rng.choice(["corpus", "corpus", "test"])
        rows.append((source, f"p{i}", f"g{rng.randrange(3)}", " ".join(rng.choices("abc", k=rng.randint(0, 8)))))
    spec = NearDuplicateSpec(n=2, threshold=0.6)
    frames = [passages(*(row[1:] for row in rows if row[0] == source)) for source in ("corpus", "test")]
    index = duplicate_index(*frames, spec)
    by_text: dict[str, list[tuple[str, str]]] = {}
    for passage_id, source, group_id, text in index.texts.iter_rows():
        by_text.setdefault(text, []).append((f"{source}/{passage_id}", f"{source}/{group_id}"))
    ends = [(a, b) for a, b, *_ in index.similar.iter_rows()]
    ends += [(b, a) for a, b in ends] + [(text, text) for text in by_text]
    found = {
        (left, right)
        for a, b in ends
        for left, left_group in by_text[a]
        for right, right_group in by_text[b]
        if left_group != right_group
    }
    assert found == all_pairs(rows, 2, 0.6)
    rng.shuffle(rows)
    shuffled = [passages(*(row[1:] for row in rows if row[0] == source)) for source in ("corpus", "test")]
    assert all(a.equals(b) for a, b in zip(index, duplicate_index(*shuffled, spec), strict=True))
