"""Case 45 and the checks that are repeated at the export: each broken rule is named, with the ids that break it."""

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError, IncompleteJudgments
from tendril_assets.release.invariants import (
    SHOWN,
    Breach,
    personal_breaches,
    published_breaches,
    require_complete,
    require_none,
)


def corpus(*ids: str, text: str = "Holz aus FSC-Wald") -> pl.DataFrame:
    return pl.DataFrame(
        [(i, text, "g1", "doc1", 1) for i in ids],
        schema=["id", "text", "project", "document", "page"],
        orient="row",
    )


def queries(*ids: str) -> pl.DataFrame:
    return pl.DataFrame(
        [(i, "Holz", "criterion", "c", "a") for i in ids],
        schema=["id", "text", "level", "catalog", "area"],
        orient="row",
    )


def qrels(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        list(rows), schema={"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}, orient="row"
    )


def test_consistent_rows_have_no_breach() -> None:
    assert published_breaches(corpus("d1", "d2"), queries("q1"), qrels(("q1", "d1", 2), ("q1", "d2", 0))) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (((("q1", "d9", 1)),), [Breach("judgment_of_unknown_passage", "d9")]),
        ((("q1", "d1", 1), ("q1", "d1", 2)), [Breach("pair_with_two_scores", "q1/d1")]),
        ((("q1", "d1", 1), ("q1", "d1", 1)), [Breach("pair_twice", "q1/d1")]),
        (((("q7", "d1", 1)),), [Breach("judgment_of_unknown_query", "q7")]),
        (((("q1", "d1", 3)),), [Breach("score_out_of_range", "q1/d1=3")]),
    ],
)
def test_judgments_that_contradict(rows: tuple, expected: list[Breach]) -> None:
    assert published_breaches(corpus("d1"), queries("q1"), qrels(*rows)) == expected


def test_ids_are_unique_unshared_and_without_white_space() -> None:
    found = published_breaches(corpus("d1", "d1", "x", "a\tb"), queries("q1", "x"), qrels(("q1", "d1", 1)))
    assert found == [
        Breach("duplicate_id_in_corpus", "d1"),
        Breach("id_with_whitespace_in_corpus", "a\tb"),
        Breach("id_of_query_and_passage", "x"),
    ]


def test_empty_texts_values_and_tables() -> None:
    assert Breach("empty_text_in_corpus", "d1") in published_breaches(
        corpus("d1", text=" \n"), queries("q1"), qrels(("q1", "d1", 1))
    )
    holes = corpus("d1").with_columns(pl.lit(None, pl.String).alias("document"))
    assert published_breaches(holes, queries("q1"), qrels(("q1", "d1", 1))) == [
        Breach("empty_value", "corpus.document")
    ]
    assert Breach("no_rows", "qrels") in published_breaches(corpus("d1"), queries("q1"), qrels())


def test_ids_must_be_strings() -> None:
    numbers = corpus("d1").with_columns(pl.lit(7).alias("id"))
    assert Breach("id_is_no_string", "corpus.id") in published_breaches(numbers, queries("q1"), qrels(("q1", "d1", 1)))


def test_the_error_lists_at_most_twenty_ids_and_counts_all() -> None:
    found = [Breach("judgment_of_unknown_passage", f"d{i:02d}") for i in range(25)]
    with pytest.raises(ExportInvariantError) as caught:
        require_none(found)
    message = str(caught.value)
    assert "judgment_of_unknown_passage 25" in message
    assert message.count("judgment_of_unknown_passage: d") == SHOWN == 20
    assert "and 5 more" in message
    require_none([])


def verdicts(*rows: tuple[str, int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["status", "pairs", "requests", "accepted"], orient="row")


def test_a_failed_verdict_is_counted_and_does_not_block() -> None:
    require_complete(verdicts(("ok", 10, 9, 10), ("parse_error", 2, 1, 0)), 0, allow_incomplete=False)


def test_open_requests_block_unless_allowed() -> None:
    for table, n_open in ((verdicts(("ok", 10, 9, 10)), 3), (verdicts(("ok", 10, 9, 10), ("open", 5, 3, 0)), 0)):
        with pytest.raises(IncompleteJudgments) as caught:
            require_complete(table, n_open, allow_incomplete=False)
        assert caught.value.n_open == 3
        require_complete(table, n_open, allow_incomplete=True)


@pytest.mark.parametrize("row", [("ok", 10, 9, 9), ("parse_error", 2, 1, 1)])
def test_verdicts_and_judgments_that_disagree_block_in_any_case(row: tuple[str, int, int, int]) -> None:
    with pytest.raises(ExportInvariantError, match=row[0]):
        require_complete(verdicts(row), 0, allow_incomplete=True)


def test_personal_data_is_named_by_passage_and_label() -> None:
    assert personal_breaches({"p-2": {"phone", "email"}, "p-1": {"email"}}) == [
        Breach("personal_data_email", "p-1"),
        Breach("personal_data_email", "p-2"),
        Breach("personal_data_phone", "p-2"),
    ]
