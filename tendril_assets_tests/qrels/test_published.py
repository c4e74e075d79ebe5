"""A published pair stays, or the build stops and names it; only the removal list takes it out."""

import polars as pl
import pytest

from tendril_assets.errors import PublishedPairMissing
from tendril_assets.qrels.published import (
    missing,
    published_table,
    removed_pairs,
    require_published,
    standing,
    without_removed,
)
from tendril_assets.tables import TABLES

QUERIES = pl.DataFrame({"query_id": ["q1", "q2"]})
CHECKS = pl.DataFrame(
    [("1-П_01022020#0000", "aa"), ("1-П_01022020#0001", "bb"), ("2-У_01022021#0000", "cc")],
    schema=["passage_id", "content_check"],
    orient="row",
)


def published(*rows: tuple) -> pl.DataFrame:
    return TABLES["published_pairs"].frame(list(rows))


def pairs(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, {"query_id": pl.String, "passage_id": pl.String}, orient="row")


def test_what_stands_is_told_from_what_is_lost():
    history = published(
        ("q1", "1-П_01022020#0000", 2, "aa", "0.1.0"),
        ("q1", "1-П_01022020#0001", 1, None, "landed"),
        ("q1", "1-П_01022020#0009", 1, None, "landed"),
        ("q2", "2-У_01022021#0000", 2, "other", "0.2.0"),
        ("q3", "1-П_01022020#0000", 2, "aa", "0.1.0"),
    )
    assert standing(history, QUERIES, CHECKS)["lost"].to_list() == [None, None, "passage", "text", "query"]


def test_every_missing_pair_is_named_with_its_reason():
    history = published(
        ("q1", "1-П_01022020#0000", 2, "aa", "0.1.0"),
        ("q1", "1-П_01022020#0001", 1, None, "landed"),
        ("q2", "2-У_01022021#0000", 2, "other", "0.2.0"),
        ("q3", "1-П_01022020#0000", 2, "aa", "0.1.0"),
    )
    found = standing(history, QUERIES, CHECKS)
    qrels = pairs(("q1", "1-П_01022020#0000"), ("q2", "2-У_01022021#0000"))
    assert missing(found, qrels)["why"].to_list() == ["grade", "text", "query"]
    with pytest.raises(PublishedPairMissing) as raised:
        require_published(found, qrels, "toy")
    told = str(raised.value)
    assert "toy: 3 of 4 published pairs would vanish" in told
    assert "q1 / 1-П_01022020#0001 (grade 1, published in landed): nothing grades it" in told
    assert "q2 / 2-У_01022021#0000 (grade 2, published in 0.2.0): the passage's text is another one" in told
    assert "q3 / 1-П_01022020#0000 (grade 2, published in 0.1.0): the query is no longer there" in told
    assert "removal list" in told
    require_published(found.filter(pl.col("lost").is_null()).head(1), qrels, "toy")


def test_of_many_the_first_are_named_and_the_rest_counted():
    history = published(*((f"q{n:03}", "1-П_01022020#0000", 2, None, "landed") for n in range(50)))
    with pytest.raises(PublishedPairMissing, match=r"50 of 50 .*(?s:.*)q019 .*(?s:.*)and 30 more"):
        require_published(standing(history, QUERIES, CHECKS), pairs(), "toy")


@pytest.mark.parametrize(
    ("entry", "gone"),
    [
        (("act", "1-П_01022020"), {"1-П_01022020#0000", "1-П_01022020#0001"}),
        (("project", " 1-П_01022020 "), {"1-П_01022020#0000", "1-П_01022020#0001"}),
        (("passage", "1-П_01022020#0001"), {"1-П_01022020#0001"}),
        (("pair", "q1/1-П_01022020#0000"), {"1-П_01022020#0000"}),
        # The same passage for another question stays, and so does an act whose key only begins like a removed one.
        (("pair", "q2/1-П_01022020#0000"), set()),
        (("act", "1-П_0102202"), set()),
    ],
)
def test_the_removal_list_takes_out_acts_passages_and_pairs(entry, gone):
    rows = pairs(*(("q1", p) for p in CHECKS["passage_id"]))
    kept = without_removed(rows, [entry])
    assert set(rows["passage_id"]) - set(kept["passage_id"]) == gone


def test_what_the_list_once_hit_stays_out_also_under_hashed_ids():
    rows = pairs(("q1", "p-0123"), ("q1", "p-4567"))
    assert without_removed(rows, [], ["p-0123"])["passage_id"].to_list() == ["p-4567"]


def test_a_pair_is_cut_at_its_last_slash():
    assert removed_pairs([("pair", "a/b/1-П_01022020#0000"), ("passage", "x/y"), ("pair", "no")]) == {
        ("a/b", "1-П_01022020#0000")
    }


def test_a_pair_belongs_to_the_version_that_was_first_and_has_the_grade_of_the_last():
    landed = TABLES["landed_qrels"].frame([("q1", "p1", 1, "aa"), ("q1", "p2", 2, None)])
    graded = {"query_id": pl.String, "passage_id": pl.String, "score": pl.Int8, "content_check": pl.String}
    first = pl.DataFrame([("q1", "p1", 2, "bb"), ("q2", "p3", 1, "cc")], graded, orient="row")
    former = published(("q9", "p9", 1, "dd", "0.2.0"), ("q8", "p8", 1, "ee", "0.1.0"))
    found = published_table(landed, [("0.1.0", first), ("0.2.0", None)], former)
    assert found.rows() == [
        ("q1", "p1", 2, "bb", "landed"),
        ("q1", "p2", 2, None, "landed"),
        ("q2", "p3", 1, "cc", "0.1.0"),
        # Its folder is gone, so what the table knew of it stands; of 0.1.0 the folder decides.
        ("q9", "p9", 1, "dd", "0.2.0"),
    ]
    assert dict(found.schema) == TABLES["published_pairs"].schema
