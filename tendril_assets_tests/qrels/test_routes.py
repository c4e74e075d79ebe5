"""Each grade has one route; where several speak of a pair, the strongest evidence wins, whatever the order of rows."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import TendrilError
from tendril_assets.qrels.routes import (
    ROUTES,
    by_clauses,
    by_generation,
    by_judge,
    by_neighbours,
    by_publication,
    qrel_tables,
    strongest,
)
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_pool import attachment, question

CLAUSES = pl.DataFrame(
    [("p1", ["3.1", "3.1.3"], None), ("p2", ["3.2"], "3.1.3"), ("p3", [], None)],
    {"passage_id": pl.String, "clauses": pl.List(pl.String), "continues": pl.String},
    orient="row",
)


def graded(route: str, *rows: tuple[str, str, int, str]) -> pl.DataFrame:
    schema = {"query_id": pl.String, "passage_id": pl.String, "score": pl.Int8, "evidence": pl.String}
    frame = pl.DataFrame(rows, schema, orient="row")
    return frame.select("query_id", "passage_id", "score", pl.lit(route).alias("route"), "evidence")


def test_named_clauses_give_gold_with_the_clause_that_stands_in_the_passage():
    rows = [
        attachment("l1", "clauses", clauses=["3.1.3", "3.2"], found=["3.1.3", "3.2"], passages=["p1", "p2", "p3"]),
        attachment("l2", "pool", passages=[]),
        attachment("l3", "dropped", clauses=["9"], found=[]),
    ]
    found = by_clauses(TABLES["live_attachments"].frame(rows), CLAUSES)
    assert found.rows() == [
        ("l1", "p1", 2, "clauses", "clause 3.1.3"),
        ("l1", "p2", 2, "clauses", "clause 3.1.3, 3.2"),
        # None of them begins there: all that were found stand for it.
        ("l1", "p3", 2, "clauses", "clause 3.1.3, 3.2"),
    ]


def test_a_generated_question_is_answered_by_what_it_was_written_from_if_it_passed_the_filters():
    questions = TABLES["generated_questions"].frame(
        [
            question("p1", status="accepted", query_id="q-1", text="a?"),
            question("p2", status="verbatim", query_id=None, text="b?"),
            question("p3", status="open"),
        ]
    )
    assert by_generation(questions).rows() == [("q-1", "p1", 2, "generated", "written from it, request key of p1")]


def test_a_failed_verdict_and_a_lost_pair_become_no_grade():
    judgments = TABLES["judgments"].frame(
        [
            ("m", "p1", "g", "k1", "ok", 0, None, "1"),
            ("m", "p2", "g", "k2", "contradiction", None, None, "1"),
            ("m", "p3", "g", "k3", "truncated", None, None, "1"),
        ]
    )
    assert by_judge(judgments).rows() == [("m", "p1", 0, "judge", "request k1")]
    standing = pl.DataFrame(
        [("m", "p1", 1, None, "landed", None), ("m", "p2", 2, None, "0.1.0", "text")],
        schema=["query_id", "passage_id", "score", "content_check", "version", "lost"],
        orient="row",
    )
    share = pl.DataFrame(
        [("m", "p4", "p1", 0.429)], schema=["query_id", "passage_id", "gold_id", "share"], orient="row"
    )
    beside = by_neighbours(share)
    assert beside.rows() == [("m", "p4", 1, "neighbour", "holds 42 % of p1")]
    kept = [("m", "p1", 1, "published", "version landed")]
    assert by_publication(standing, beside).rows() == kept
    # A pair whose grade the rule for neighbours still gives stands on that; another grade is history's.
    again = standing.head(1).with_columns(passage_id=pl.lit("p4"), lost=pl.lit(None, pl.String))
    assert by_publication(pl.concat([standing, again]), beside).rows() == kept
    other = again.with_columns(score=pl.lit(2, standing["score"].dtype))
    assert by_publication(other, beside).rows() == [("m", "p4", 2, "published", "version landed")]


def test_the_strongest_evidence_wins():
    parts = {route: graded(route, ("q", "p", n % 3, f"by {route}")) for n, route in enumerate(ROUTES)}
    for n, route in enumerate(ROUTES):
        weaker = dict(list(parts.items())[n:])
        assert strongest(weaker).rows() == [("q", "p", n % 3, route, f"by {route}")]
    # The order that is stated: outside evidence, its own passage, an accepted judge, history, a rule of thumb.
    assert ROUTES == ("clauses", "generated", "judge", "published", "neighbour")


ROW = st.tuples(st.sampled_from("qr"), st.sampled_from("abc"), st.sampled_from([0, 1, 2]), st.sampled_from("xyz"))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ROUTES), ROW), max_size=25), st.randoms(use_true_random=False))
def test_each_pair_once_and_the_order_of_rows_decides_nothing(rows, chance: random.Random):
    def result(given_rows):
        parts = {r: graded(r, *(row for route, row in given_rows if route == r)) for r in ROUTES}
        return strongest(parts).rows()

    shuffled = list(rows)
    chance.shuffle(shuffled)
    found = result(rows)
    assert result(shuffled) == found
    assert [row[:2] for row in found] == sorted({row[:2] for _, row in rows})
    for q, p, score, route, _ in found:
        of_pair = [(ROUTES.index(r), -row[2]) for r, row in rows if row[:2] == (q, p)]
        assert (ROUTES.index(route), -score) == min(of_pair)


def test_the_tables_have_the_passages_group_and_check_and_refuse_what_is_not_there():
    corpus = pl.DataFrame(
        [("p", "g", "0123456789abcdef")], schema=["passage_id", "group_id", "content_check"], orient="row"
    )
    queries = pl.DataFrame({"query_id": ["q"]})
    tables = qrel_tables(graded("judge", ("q", "p", 1, "request k")), corpus, queries)
    assert tables["qrels"].rows() == [("q", "p", "g", 1)]
    assert tables["qrel_evidence"].rows() == [("q", "p", "judge", "request k", "0123456789abcdef")]
    assert dict(tables["qrels"].schema) == TABLES["qrels"].schema
    with pytest.raises(TendrilError, match=r"1 grades name a passage_id that is not there: q / z \(clauses\)"):
        qrel_tables(graded("clauses", ("q", "z", 2, "clause 1")), corpus, queries)
    with pytest.raises(TendrilError, match=r"1 grades name a query_id that is not there: x / p \(judge\)"):
        qrel_tables(graded("judge", ("x", "p", 2, "request k")), corpus, queries)
