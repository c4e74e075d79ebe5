import itertools

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.collection import labelled, scopes
from tendril_assets.evaluation.ranking import (
    RUN_SCHEMA,
    Scope,
    TopK,
    descending_bits,
    rounded,
    scores_of_bits,
    top,
    whole_run,
)

QUERIES = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["eins", "zwei"]})
CORPUS = pl.DataFrame(
    {"passage_id": ["a", "b", "c"], "group_id": ["g1", "g1", "g2"], "text": ["A", "B", "C"]},
)
QRELS = pl.DataFrame(
    {"query_id": ["q1", "q1", "q1", "q2"], "passage_id": ["a", "b", "c", "c"], "score": [1, 0, 2, 0]},
    schema_overrides={"score": pl.Int8},
)


def test_rounding_makes_ties_of_noise_and_drops_the_sign_of_zero() -> None:
    values = rounded(np.array([0.12345649, 0.1234564, -1e-9, 0.3]))
    assert values.tolist() == np.array([0.123456, 0.123456, 0.0, 0.3], dtype=np.float32).tolist()
    assert not np.signbit(values[2])


def test_top_is_exact_at_a_tie_on_the_cut() -> None:
    scores = np.array([[0.5, 0.9, 0.5, 0.5, -1.0], [0.0, 0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    assert top(scores, 3).tolist() == [[1, 0, 2], [0, 1, 2]]  # of the tied, the first columns
    assert top(scores, 10).tolist() == [[1, 0, 2, 3, 4], [0, 1, 2, 3, 4]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.5, 3.0]), min_size=1, max_size=30), st.integers(1, 31))
def test_top_equals_a_stable_sort(scores: list[float], depth: int) -> None:
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:depth]
    assert top(np.array([scores], dtype=np.float32), depth).tolist() == [expected]


FLOATS = st.floats(-4, 4, width=32) | st.sampled_from([-1.0, -0.0, 0.0, 0.5])


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    depth=st.integers(1, 12),
    backwards=st.booleans(),
)
def test_blocks_give_what_one_sort_of_everything_gives(
    scores: list[tuple[float, float]], cuts: list[int], depth: int, backwards: bool
) -> None:
    table = np.array(scores, dtype=np.float32).T + np.float32(0.0)  # two queries; no negative zero
    edges = sorted({0, len(scores), *(cut for cut in cuts if cut < len(scores))})
    blocks = list(itertools.pairwise(edges))
    best = TopK(2, depth)
    for start, end in reversed(blocks) if backwards else blocks:
        best.add(table[:, start:end], start)
    for row, own in enumerate(table):
        expected = sorted(range(len(own)), key=lambda column: (-own[column], column))[:depth]
        assert best.columns()[row].tolist() == expected
        assert best.scores()[row].tolist() == own[expected].tolist()


def test_scores_come_back_from_their_bits() -> None:
    scores = np.array([3.4e38, 1.0, 1e-45, 0.0, -1e-45, -2.5, -3.4e38], dtype=np.float32)
    bits = descending_bits(scores)
    assert bits.tolist() == sorted(bits.tolist())
    assert scores_of_bits(bits).tolist() == scores.tolist()


def test_scopes_rank_each_judged_group_alone() -> None:
    found = scopes(QUERIES, CORPUS, labelled(QRELS, CORPUS, "group"), "group")
    assert [s.passages["passage_id"].to_list() for s in found] == [["b", "a"], ["c"]]  # id descending
    assert [s.queries.select("query_id", "group_id").rows() for s in found] == [
        [("q1", "g1")],
        [("q1", "g2"), ("q2", "g2")],
    ]


def test_collection_scope_ranks_everything_under_one_group_per_query() -> None:
    judged = labelled(QRELS, CORPUS, "collection")
    # q1 has one relevant passage in g1 and one in g2, but two judged ones in g1; q2 has only g2.
    assert judged.select("query_id", "group_id").unique().sort("query_id").rows() == [("q1", "g1"), ("q2", "g2")]
    (scope,) = scopes(QUERIES, CORPUS, judged, "collection")
    assert scope.passages["passage_id"].to_list() == ["c", "b", "a"]
    assert scope.queries["query_id"].to_list() == ["q1", "q2"]


def test_no_qrels_or_no_passages_give_no_scope_and_an_empty_run() -> None:
    empty = QRELS.clear()
    for scope in ("group", "collection"):
        assert scopes(QUERIES, CORPUS, labelled(empty, CORPUS, scope), scope) == []
    assert whole_run([]).schema == pl.Schema(RUN_SCHEMA)


def test_a_run_is_in_the_order_of_the_tie_rule() -> None:
    scope = Scope(
        pl.DataFrame({"passage_id": ["d", "c", "b", "a"], "text": ["", "", "", ""]}),
        pl.DataFrame({"query_id": ["q1", "q2"], "group_id": ["g", "g"], "text": ["", ""]}),
    )
    scores = np.array([[0.1, 0.7, 0.1, 0.7], [0.0, 0.0, 0.0, 1.0]])
    best = TopK(2, 3)
    best.add(rounded(scores), 0)
    run = whole_run([(scope, best)])
    assert run["passage_id"].to_list() == ["c", "a", "d", "a", "d", "c"]
    assert run["rank"].to_list() == [1, 2, 3, 1, 2, 3]
    assert run.schema == pl.Schema(RUN_SCHEMA)
    assert run.equals(run.sort("query_id", "score", "passage_id", descending=[False, True, True]))
