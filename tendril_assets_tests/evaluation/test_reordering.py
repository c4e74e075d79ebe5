"""The head of a ranking in a reranker's order, the rest as it was."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.ranking import RUN_SCHEMA, Scope
from tendril_assets.evaluation.reordering import reorder


class Length:
    """Scores a passage by the number at its end, and notes what it was asked."""

    def __init__(self, *, factor: float = 1.0) -> None:
        self.factor, self.asked = factor, []

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        self.asked.append((query, list(passages)))
        return np.array([self.factor * float(passage.rpartition(" ")[2]) for passage in passages])


def run_of(scores: dict[str, float], query: str = "q") -> pl.DataFrame:
    ordered = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
    rows = [(query, name, "g", rank, scores[name]) for rank, name in enumerate(ordered, start=1)]
    return pl.DataFrame(rows, schema=RUN_SCHEMA, orient="row")


def scope_of(values: dict[str, float], *queries: str) -> Scope:
    passages = pl.DataFrame(
        {"passage_id": list(values), "text": [f"text {value}" for value in values.values()]},
        schema={"passage_id": pl.String, "text": pl.String},
    ).sort("passage_id", descending=True)
    asked = pl.DataFrame({"query_id": queries, "group_id": ["g"] * len(queries), "text": [f"ask {q}" for q in queries]})
    return Scope(passages, asked)


SCORES = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.6, "f": 0.1}


def test_the_head_is_reordered_and_the_rest_keeps_its_order() -> None:
    judge = Length()
    found = reorder(run_of(SCORES), [scope_of(dict.fromkeys(SCORES, 0) | {"a": 1, "b": 3, "c": 2}, "q")], judge, 3)
    assert found["passage_id"].to_list() == ["b", "c", "a", "e", "d", "f"]
    assert found["rank"].to_list() == [1, 2, 3, 4, 5, 6]
    # Lowest of the head: 1. Below it whole steps; e and d were equal and stay so.
    assert found["score"].to_list() == [3.0, 2.0, 1.0, 0.0, 0.0, -1.0]
    assert judge.asked == [("ask q", ["text 1", "text 3", "text 2"])]


def test_equal_scores_go_by_id_and_noise_is_no_difference() -> None:
    found = reorder(run_of(SCORES), [scope_of(dict.fromkeys(SCORES, 1) | {"a": 1 + 1e-9}, "q")], Length(), 3)
    assert found["passage_id"].to_list()[:3] == ["c", "b", "a"]


def test_scores_of_any_size_keep_what_is_below_below() -> None:
    for factor in (-1e4, 1e-4, 1e4):
        values = {name: place for place, name in enumerate(SCORES)}
        found = reorder(run_of(SCORES), [scope_of(values, "q")], Length(factor=factor), 2)
        assert found["passage_id"].to_list()[2:] == ["c", "e", "d", "f"]
        assert found["score"].is_sorted(descending=True)


def test_a_short_ranking_and_several_queries() -> None:
    values = dict.fromkeys(SCORES, 1) | {"b": 2}
    runs = pl.concat([run_of({"a": 1.0, "b": 0.5}, "q1"), run_of({"c": 1.0}, "q2")])
    told = []
    found = reorder(
        runs, [scope_of(values, "q1"), scope_of(values, "q2")], Length(), 50, lambda *done: told.append(done)
    )
    assert found.select("query_id", "passage_id", "rank").rows() == [("q1", "b", 1), ("q1", "a", 2), ("q2", "c", 1)]
    assert told == [(1, 2), (2, 2)]
    empty = pl.DataFrame(schema=RUN_SCHEMA)
    assert reorder(empty, [scope_of(values, "q1")], Length(), 5).equals(empty)


def test_what_has_no_text_is_named() -> None:
    with pytest.raises(TendrilError, match=r"1 ranked passages have no text, among them \['f'\]"):
        reorder(run_of(SCORES), [scope_of({name: 0 for name in SCORES if name != "f"}, "q")], Length(), 6)
    with pytest.raises(TendrilError, match="1 of 1 queries of the ranking have no text"):
        reorder(run_of(SCORES), [scope_of(SCORES, "other")], Length(), 6)


def test_scores_that_are_none_are_refused() -> None:
    class Broken:
        def __init__(self, scored: np.ndarray) -> None:
            self.scored = scored

        def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
            return self.scored

    for scored in (np.array([1.0, np.nan]), np.array([1.0]), np.ones((2, 2))):
        with pytest.raises(TendrilError, match="for 2 passages of query 'q'"):
            reorder(run_of(SCORES), [scope_of(SCORES, "q")], Broken(scored), 2)


PLACES = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1)


@given(PLACES, st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-3, 3)), st.integers(1, 9))
def test_it_is_a_permutation_within_the_head(scores: dict[str, float], values: dict[str, int], depth: int) -> None:
    run = run_of(scores)
    told = dict.fromkeys(scores, 0) | values
    found = reorder(run, [scope_of(told, "q")], Length(), depth)
    before, after = run["passage_id"].to_list(), found["passage_id"].to_list()
    assert sorted(before[:depth]) == sorted(after[:depth])
    assert before[depth:] == after[depth:]
    assert after[:depth] == sorted(before[:depth], key=lambda name: (told[name], name), reverse=True)
    assert found["rank"].to_list() == list(range(1, len(after) + 1))
    # By score, then by id, descending: the order that every measure takes.
    by_score = found.sort("score", "passage_id", descending=True)["passage_id"].to_list()
    assert by_score == after
