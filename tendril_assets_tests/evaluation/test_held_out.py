"""Which queries are under test where the test is held out of the collection itself, and in which group each counts."""

import polars as pl
import pytest

from tendril_assets.evaluation.collection import judged_collection, whole_scope
from tendril_assets.evaluation.held_out import HeldOut, held_out, under_test, under_validation
from tendril_assets.tables import TABLES

SPLITS = [("t1", "train"), ("v1", "validation"), ("a1", "test_live"), ("a2", "test_live"), ("n1", "test_unseen")]
CORPUS = [(f"{group}#{n}", f"text {n} of {group}", group, f"{group}.d", 1) for group, _ in SPLITS for n in (1, 2)]
LEVELS = {
    "live1": "live",
    "live2": "live",
    "free": "manual",
    "made": "unseen",
    "dev": "synthetic",
    "learn": "synthetic",
}
QUERIES = [(name, f"ask {name}", level, "-", "-") for name, level in LEVELS.items()]
GROUPS = {"live1": "a1", "live2": "a2", "made": "n1", "dev": "v1", "learn": "t1"}
QRELS = [
    ("live1", "a1#1", 2),
    ("live2", "a2#1", 0),
    ("free", "n1#1", 2),
    ("made", "n1#2", 2),
    ("dev", "v1#1", 2),
    ("learn", "t1#1", 2),
]


def found(
    groups: list[tuple[str, str]] | None = None,
    qrels: list[tuple[str, str, int]] = QRELS,
    queries: list[tuple] = QUERIES,
) -> HeldOut:
    rows = list(GROUPS.items()) if groups is None else groups
    own = pl.DataFrame(rows, schema={"query_id": pl.String, "group_id": pl.String}, orient="row")
    graded = TABLES["qrels"].frame(
        [(query, passage, passage.partition("#")[0], score) for query, passage, score in qrels]
    )
    splits = TABLES["splits"].frame(SPLITS)
    return held_out(
        TABLES["queries"].frame(queries), graded, own, splits, ["test_live", "test_unseen"], ["made", "dev", "learn"]
    )


def test_held_out_and_validation_queries_stay_and_training_ones_do_not() -> None:
    kept = found()
    assert dict(kept.queries.select("query_id", "split").iter_rows()) == {
        "live1": "test_live",
        "live2": "test_live",
        "free": None,
        "made": "test_unseen",
        "dev": "validation",
    }
    assert set(kept.qrels["query_id"]) == {"live1", "live2", "free", "made", "dev"}
    assert kept.queries.filter("generated")["query_id"].to_list() == ["made", "dev"]
    assert kept.mixed == []


def test_a_query_of_several_groups() -> None:
    """It counts where most of its answers are; where one of its groups is trained on, it is no test at all."""
    groups = [("live1", "a1"), ("live1", "a2"), ("live2", "a2"), ("live2", "t1")]
    kept = found(groups, [("live1", "a2#1", 2), ("live1", "a2#2", 1), ("live1", "a1#1", 2)])
    homes = dict(kept.queries.select("query_id", "group_id").iter_rows())
    assert homes["live1"] == "a2"
    assert "live2" not in homes
    assert kept.mixed == ["live2"]
    # Without an answer in either the lowest group decides.
    assert dict(found(groups, []).queries.select("query_id", "group_id").iter_rows())["live1"] == "a1"


@pytest.mark.parametrize("split", ["elsewhere", None])
def test_groups_of_no_known_split_are_not_ranked(split: str | None) -> None:
    assert "live1" not in found([("live1", "a9")], [])[0]["query_id"].to_list()


def test_figures_and_acceptance_are_over_different_queries() -> None:
    kept = found()
    qrels = kept.qrels.select("query_id", "passage_id", "score")
    test = judged_collection(TABLES["corpus"].frame(CORPUS), kept.queries, qrels, "collection")
    # Ranked is all that is judged; the query without a group counts where its answer is.
    assert test.units.rows() == [("dev", "v1"), ("free", "n1"), ("live1", "a1"), ("live2", "a2"), ("made", "n1")]
    assert under_test(test).units["query_id"].to_list() == ["free", "live1", "live2", "made"]
    assert under_validation(test).units["query_id"].to_list() == ["dev"]
    assert [scope.passages.height for scope in test.scopes] == [len(CORPUS)]
    # The hash of what is ranked is of all of it: acceptance and figures look at the same runs.
    assert under_test(test).ranked_hash == test.ranked_hash


def test_a_query_counts_in_its_own_group_wherever_its_answers_are() -> None:
    """A judge found more answers in other groups than in the one the question is about."""
    kept = found(qrels=[("live1", "a1#1", 2), ("live1", "n1#1", 2), ("live1", "n1#2", 2)])
    qrels = kept.qrels.select("query_id", "passage_id", "score")
    test = judged_collection(TABLES["corpus"].frame(CORPUS), kept.queries, qrels, "collection")
    assert test.units.rows() == [("live1", "a1")]
    assert test.qrels.height == 3


def test_a_landed_test_collection_is_as_it_was() -> None:
    queries = pl.DataFrame({"query_id": ["q"], "text": ["ask"], "level": ["live"]})
    qrels = pl.DataFrame({"query_id": ["q"], "passage_id": ["a1#1"], "score": [1]})
    test = judged_collection(TABLES["corpus"].frame(CORPUS), queries, qrels, "collection")
    assert under_test(test) is test
    assert test.units.rows() == [("q", "a1")]


def test_one_scope_over_everything() -> None:
    corpus = TABLES["corpus"].frame(CORPUS)
    queries = pl.DataFrame({"query_id": ["b", "a"], "group_id": ["g", "g"], "text": ["two", "one"]})
    (scope,) = whole_scope(corpus, queries)
    assert scope.passages["passage_id"].to_list() == sorted((row[0] for row in CORPUS), reverse=True)
    assert scope.queries["query_id"].to_list() == ["a", "b"]
    assert whole_scope(corpus.clear(), queries) == whole_scope(corpus, queries.clear()) == []
