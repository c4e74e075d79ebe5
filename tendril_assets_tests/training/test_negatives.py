"""Negatives: two from the positive's document, one from another, never a text twice."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.training.negatives import Pooled, choose_negatives, normalised


def pool(*entries: tuple[str, str, str]) -> list[Pooled]:
    """(passage, document, text) in keyed order."""
    return [Pooled(passage, document, text, order) for order, (passage, document, text) in enumerate(entries)]


def choose(entries: list[Pooled], positive_text: str = "positive", wanted: int = 3) -> list[str]:
    return choose_negatives(positive_text, "d1", entries, wanted=wanted, same_document=2)


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


def test_fewer_where_the_pool_has_no_more_texts() -> None:
    assert choose(pool(("a", "d1", "x"), ("b", "d2", "x"), ("c", "d2", "y"))) == ["a", "c"]


def test_comparison_ignores_case_spacing_and_unicode_form() -> None:
    assert normalised("  Fla\u0308che \n STRASSE ") == normalised("Fläche straße")
    assert normalised("10³ m") != normalised("103 m")


TEXTS = st.sampled_from(["positive", "x", "y", "z", "u", "v"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["d1", "d2"]), TEXTS), max_size=12), st.randoms())
def test_as_many_as_the_pool_has_texts_whatever_its_order(entries: list[tuple[str, str]], random) -> None:
    given_pool = [Pooled(f"p{n}", document, text, n) for n, (document, text) in enumerate(entries)]
    chosen = choose(given_pool)
    texts = {entry.passage_id: entry.text for entry in given_pool}
    different = {text for _, text in entries} - {"positive"}
    assert len(chosen) == min(3, len(different))
    assert len({texts[passage] for passage in chosen} - {"positive"}) == len(chosen)
    shuffled = list(given_pool)
    random.shuffle(shuffled)
    assert choose(shuffled) == chosen
