"""Grade 1 for a neighbour that holds enough of the gold text, measured on the texts themselves."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.qrels.neighbours import body, neighbours, overlap, shared_characters

# Few letters, so that ends and beginnings fit often, also where they nearly do.
TEXT = st.text(alphabet="ab \n", max_size=70)


def longest(first: str, second: str) -> int:
    """By trying every length."""
    one, two = " ".join(first.split()), " ".join(second.split())
    return max(n for n in range(min(len(one), len(two)) + 1) if two.startswith(one[len(one) - n :]))


@settings(deadline=None)
@given(TEXT, TEXT)
def test_the_shared_part_is_the_longest_end_that_begins_the_other(first, second):
    assert shared_characters(first, second) == longest(first, second)


@settings(deadline=None)
@given(TEXT, st.text(alphabet="cd", min_size=1, max_size=40), TEXT)
def test_a_planted_overlap_is_found_whole(left, middle, right):
    assert shared_characters(left + middle, middle + right) >= len(middle)


def test_the_share_is_of_the_gold_text_and_of_where_the_two_meet():
    gold = "один два три четыре"  # 19 characters
    assert overlap(gold, "три четыре пять", before=False) == pytest.approx(10 / 19)
    # Behind the gold text only its end counts, before it only its beginning.
    assert overlap(gold, "нуль один два", before=False) == 0.0
    assert overlap(gold, "нуль один два", before=True) == pytest.approx(8 / 19)
    assert overlap(gold, f"нуль {gold} пять", before=True) == 1.0
    assert overlap("", "один", before=True) == 0.0
    # Line breaks of print are no difference.
    assert overlap(gold, "три\n  четыре пять", before=False) == pytest.approx(10 / 19)


def test_headings_are_no_overlap():
    assert body("Акт. Глава 1\nтекст\nещё") == "текст\nещё"
    assert body("без заголовка") == "без заголовка"


def places(*texts: str) -> pl.DataFrame:
    rows = [(f"p{n}", "d", n, text) for n, text in enumerate(texts) if text]
    schema = {"passage_id": pl.String, "document_id": pl.String, "position": pl.Int32, "text": pl.String}
    return pl.DataFrame(rows, schema, orient="row")


def gold(*pairs: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(pairs, {"query_id": pl.String, "passage_id": pl.String}, orient="row")


def test_the_threshold_is_inclusive_and_each_side_counts_for_itself():
    # Of the ten letters of p1, p0 holds the first three, p2 the last two.
    around = places("Г\nxxabc", "Г\nabcdefghij", "Г\nijyy")
    found = neighbours(gold(("q", "p1")), around, 0.3, headed=True)
    assert found.rows() == [("q", "p0", "p1", pytest.approx(0.3))]
    assert neighbours(gold(("q", "p1")), around, 0.31, headed=True).is_empty()
    assert neighbours(gold(("q", "p1")), around, 0.2, headed=True)["passage_id"].to_list() == ["p0", "p2"]


def test_only_what_stands_side_by_side_is_a_neighbour():
    """A passage that a filter took out parts the two; the passage after the next, and another document, are no neighbours."""
    same = "abcdefghij"
    assert neighbours(gold(("q", "p0")), places(same, "", same), 0.3, headed=False).is_empty()
    other = places(same).vstack(places(same).with_columns(document_id=pl.lit("e"), passage_id=pl.lit("x"), position=1))
    assert neighbours(
        gold(("q", "p0")), other.with_columns(pl.col("position").cast(pl.Int32)), 0.3, headed=False
    ).is_empty()


def test_of_two_gold_passages_the_one_it_holds_more_of_counts():
    # p1 holds 3 of the 10 letters of p0, and 5 of the 10 of p2.
    around = places("abcdefghij", "hijxxABCDE", "ABCDEFGHIJ")
    found = neighbours(gold(("q", "p0"), ("q", "p2"), ("r", "p0")), around, 0.3, headed=False)
    assert found.rows() == [("q", "p1", "p2", 0.5), ("r", "p1", "p0", pytest.approx(0.3))]
