"""Negatives: two from the positive's document, one from another, never a text twice."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.training.negatives import Pooled, choose_negatives


def pool(*entries: tuple[str, str, str]) -> list[Pooled]:
    """(passage, document, text) in keyed order."""
    return [Pooled(order, *entry) for order, entry in enumerate(entries)]


def choose(entries: list[Pooled], positive_text: str = "positive", wanted: int = 3, same: int = 2) -> list[str]:
    return choose_negatives(positive_text, "d1", entries, wanted=wanted, same_document=same)


def test_two_from_the_document_and_one_from_another() -> None:
    entries = pool(("a", "d1", "a"), ("b", "d1", "b"), ("c", "d1", "c"), ("d", "d2", "d"), ("e", "d3", "e"))
    assert choose(entries) == ["a", "b", "d"]


def test_other_documents_fill_in() -> None:
    entries = pool(("a", "d1", "a"), ("d", "d2", "d"), ("e", "d3", "e"))
    assert choose(entries) == ["a", "d", "e"]


def test_the_own_document_fills_in() -> None:
    entries = pool(("a", "d1", "a"), ("b", "d1", "b"), ("c", "d1", "c"))
    assert choose(entries) == ["a", "b", "c"]


def test_texts_are_compared_not_ids() -> None:
    """``b`` repeats ``a``, ``c`` repeats the positive, ``e`` repeats ``a`` from another document."""
    entries = pool(
        ("a", "d1", "same"), ("b", "d1", "same"), ("c", "d1", "positive"), ("d", "d1", "d"), ("e", "d2", "same"),
        ("f", "d2", "f"),
    )  # fmt: skip
    assert choose(entries) == ["a", "d", "f"]


def test_a_text_of_both_sides_counts_for_the_side_that_needs_it() -> None:
    """``x`` is the only text of another document: the own document leaves it there and takes its next two."""
    entries = pool(("a", "d1", "x"), ("b", "d1", "y"), ("c", "d1", "z"), ("d", "d2", "x"))
    assert choose(entries) == ["b", "c", "d"]


def test_fewer_where_the_pool_has_no_more_texts() -> None:
    assert choose(pool(("a", "d1", "x"), ("b", "d2", "x"), ("c", "d2", "y"))) == ["a", "c"]


def test_a_quota_above_the_number_wanted_takes_the_own_document_alone() -> None:
    entries = pool(("d", "d2", "d"), ("a", "d1", "a"), ("b", "d1", "b"), ("c", "d1", "c"))
    assert choose(entries, wanted=2, same=5) == ["a", "b"]


TEXTS = st.sampled_from(["positive", "x", "y", "z", "u", "v"])
ENTRIES = st.lists(st.tuples(st.sampled_from(["d1", "d2"]), TEXTS), max_size=9)


def best_split(entries: list[Pooled], wanted: int, same: int) -> tuple[int, int]:
    """(negatives, of them from the own document), by trying every choice: most negatives, then nearest to the quota."""
    possible = [entry for entry in entries if entry.text != "positive"]
    splits = {
        (len(choice), sum(entry.document_id == "d1" for entry in choice))
        for size in range(min(wanted, len(possible)) + 1)
        for choice in combinations(possible, size)
        if len({entry.text for entry in choice}) == size
    }
    return max(splits, key=lambda split: (split[0], -abs(split[1] - min(same, wanted))))


@settings(max_examples=50, deadline=None)
@given(ENTRIES, st.integers(1, 4), st.integers(0, 4))
def test_quotas_are_met_wherever_any_choice_meets_them(entries, wanted: int, same: int) -> None:
    given_pool = [Pooled(n, f"p{n}", document, text) for n, (document, text) in enumerate(entries)]
    chosen = choose(given_pool, wanted=wanted, same=same)
    documents = {entry.passage_id: entry.document_id for entry in given_pool}
    total, near = best_split(given_pool, wanted, same)
    assert len(chosen) == total
    assert abs(sum(documents[passage] == "d1" for passage in chosen) - min(same, wanted)) == abs(
        near - min(same, wanted)
    )


@settings(max_examples=50, deadline=None)
@given(ENTRIES, st.randoms())
def test_never_a_text_twice_nor_the_positives_and_whatever_the_order(entries, random) -> None:
    given_pool = [Pooled(n, f"p{n}", document, text) for n, (document, text) in enumerate(entries)]
    chosen = choose(given_pool)
    texts = [entry.text for passage in chosen for entry in given_pool if entry.passage_id == passage]
    assert len(texts) == len(set(texts) - {"positive"}) == min(3, len({text for _, text in entries} - {"positive"}))
    shuffled = list(given_pool)
    random.shuffle(shuffled)
    assert choose(shuffled) == chosen
