"""The pool is the union of rankings to a depth, in an order that tells nothing of where a passage came from."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.pool import pool_sizes, pool_table, pooled_queries
from tendril_assets.tables import TABLES

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), max_size=4)


def run(**by_query: str) -> pl.DataFrame:
    """Each letter of a query's ranking is a passage, best first."""
    rows = [(q, p, n) for q, passages in by_query.items() for n, p in enumerate(passages, start=1)]
    return pl.DataFrame(rows, {"query_id": pl.String, "passage_id": pl.String, "rank": pl.Int32}, orient="row")


GROUPS = pl.DataFrame({"passage_id": list("abcdefgh"), "group_id": list("AABBCCDD")})


def test_the_pool_is_the_union_to_the_depth_with_its_origin_beside_it():
    pool = pool_table({"bm25": run(q="abcd", r="a"), "dense": run(q="cx", r="")}, GROUPS.vstack(
        pl.DataFrame({"passage_id": ["x"], "group_id": ["X"]})), depth=3, seed=1)  # fmt: skip
    found = {(q, p): (g, systems, rank) for q, p, g, _, systems, rank in pool.iter_rows()}
    assert found == {
        ("q", "a"): ("A", ["bm25"], 1),
        ("q", "b"): ("A", ["bm25"], 2),
        ("q", "c"): ("B", ["bm25", "dense"], 1),
        ("q", "x"): ("X", ["dense"], 2),
        ("r", "a"): ("A", ["bm25"], 1),
    }
    assert dict(pool.schema) == TABLES["pool"].schema
    assert sorted(pool.filter(query_id="q")["place"]) == [1, 2, 3, 4]
    # bm25 ranked a, b, c of q and a of r; dense c and x, of which x nobody else.
    assert pool_sizes(pool, ["bm25", "dense"]).rows() == [("bm25", 4, 3), ("dense", 2, 1)]


@settings(deadline=None)
@given(RANKINGS.filter(any), st.integers(0, 9))
def test_the_order_shown_is_one_of_names_alone(rankings, seed):
    """Whatever ranked a passage, and wherever: the places of the passages are the same, and a newcomer moves none."""
    runs = {f"s{n}": run(q="".join(ranking)) for n, ranking in enumerate(rankings)}
    passages = sorted({p for ranking in rankings for p in ranking})
    order = pool_table(runs, GROUPS, 8, seed).sort("place")["passage_id"].to_list()
    assert pool_table({"one": run(q="".join(passages))}, GROUPS, 8, seed).sort("place")["passage_id"].to_list() == order
    whole = pool_table({**runs, "new": run(q="abcdefgh")}, GROUPS, 8, seed).sort("place")["passage_id"].to_list()
    assert [p for p in whole if p in order] == order


def test_the_order_shown_is_not_the_order_of_ranks():
    ranked = [f"p{n:03}" for n in range(200)]
    groups = pl.DataFrame({"passage_id": ranked, "group_id": ["g"] * 200})
    rows = [("q", p, n) for n, p in enumerate(ranked, start=1)]
    ranking = pl.DataFrame(rows, {"query_id": pl.String, "passage_id": pl.String, "rank": pl.Int32}, orient="row")
    pool = pool_table({"bm25": ranking}, groups, 200, 42)
    # Rank correlation of 200 shuffled places has a standard error of 0.07.
    assert abs(pool.select(pl.corr("place", "best_rank", method="spearman")).item()) < 0.25


def test_a_removed_pair_is_shown_to_nobody_and_a_passage_without_group_is_refused():
    pool = pool_table({"bm25": run(q="ab", r="a")}, GROUPS, 3, 1, frozenset({("q", "a")}))
    assert pool.select("query_id", "passage_id", "place").rows() == [("q", "b", 1), ("r", "a", 1)]
    with pytest.raises(ValueError, match=r"1 ranked passage.*\['z'\]"):
        pool_table({"bm25": run(q="z")}, GROUPS, 3, 1)
    assert pool_table({"bm25": run()}, GROUPS, 3, 1).is_empty()


def test_only_queries_without_a_gold_of_their_own_are_pooled():
    queries = pl.DataFrame({"query_id": ["g", "l1", "l2", "l3", "m"], "text": list("vwxyz")})
    routes = [("l1", "clauses"), ("l2", "pool"), ("l3", "dropped"), ("l4", "pool")]
    attachments = pl.DataFrame(routes, {"query_id": pl.String, "route": pl.String}, orient="row")
    manual = pl.DataFrame({"query_id": ["m", "gone"]})
    assert pooled_queries(queries, attachments, manual)["query_id"].to_list() == ["l2", "m"]
