"""The layout of a page of boxes, whatever they are: no word is lost, repeated or taken apart."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.boxes import Bar, Drawn, Rule, Span
from tendril_assets.corpus.layout import page_text

_places = st.tuples(
    st.integers(40, 500), st.integers(40, 780), st.integers(10, 200), st.sampled_from([8, 11, 11, 11, 16])
)


def _spans(places: list[tuple[int, int, int, int]]) -> list[Span]:
    return [Span(f"wort{i}", x, y, x + width, y + height) for i, (x, y, width, height) in enumerate(places)]


@given(
    st.lists(_places, max_size=40),
    st.lists(st.tuples(st.integers(40, 780), st.sampled_from([40, 200]), st.sampled_from([400, 540])), max_size=8),
    st.lists(st.tuples(st.integers(40, 540), st.integers(40, 300), st.integers(310, 780)), max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_every_word_is_there_once(places: list, rules: list, bars: list) -> None:
    spans = _spans(places)
    text = page_text(spans, Drawn([Rule(*rule) for rule in rules], [Bar(*bar) for bar in bars]))
    found = Counter(text.replace("|", " ").split())
    # Boxes that overlap are words set over each other, which stand together.
    joined = "".join(text.replace("|", " ").split())
    assert sum(found.values()) <= len(spans)
    assert sorted(joined) == sorted("".join(span.text for span in spans))


def test_words_on_one_line_are_one_line_in_any_order_of_drawing() -> None:
    spans = [Span("zwei", 40, 10, 60, 21), Span("eins", 10, 10, 30, 21), Span("drei", 70, 10.4, 90, 21.4)]
    assert page_text(spans) == "eins zwei drei"


def test_nothing_gives_nothing() -> None:
    assert page_text([]) == ""
    assert page_text([], Drawn([Rule(10, 0, 100), Rule(30, 0, 100)], [Bar(0, 10, 30)])) == ""
