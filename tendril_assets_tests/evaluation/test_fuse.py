"""Reciprocal rank fusion: sums by hand, ties, depth, and the formula again in exact fractions."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.fuse import fuse
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.evaluation.ranking import RUN_SCHEMA


def run_of(scores: dict[str, float], query: str = "q") -> pl.DataFrame:
    ordered = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
    rows = [(query, name, "g", rank, scores[name]) for rank, name in enumerate(ordered, start=1)]
    return pl.DataFrame(rows, schema=RUN_SCHEMA, orient="row")


def fused(*runs: dict[str, float], k: int = 60, depth: int = 100) -> list[tuple[str, int, float]]:
    return fuse([run_of(run) for run in runs], k, depth).select("passage_id", "rank", "score").rows()


def test_sums_by_hand() -> None:
    found = fused({"x": 9.0, "y": 8.0, "z": 7.0}, {"y": 0.3, "w": 0.2})
    # y: 1/62 + 1/61; x: 1/61; w: 1/62; z: 1/63.
    assert [(name, rank) for name, rank, _ in found] == [("y", 1), ("x", 2), ("w", 3), ("z", 4)]
    assert [score for *_, score in found] == pytest.approx([0.0325225, 0.0163934, 0.0161290, 0.0158730], abs=5e-8)


def test_ranks_count_not_scores() -> None:
    assert fused({"x": 1e6, "y": 1.0}, {"y": 0.2, "x": 0.1}) == fused({"x": 2.0, "y": 1.0}, {"y": 9.0, "x": 8.0})
    # Both have ranks 1 and 2: equal, so the higher id is first.
    assert [name for name, *_ in fused({"x": 2.0, "y": 1.0}, {"y": 2.0, "x": 1.0})] == ["y", "x"]


def test_equal_scores_share_the_best_rank() -> None:
    """Two equal texts, a and b, on top of both rankings: neither gains by its id, and the third has rank 3, not 2."""
    found = fused({"a": 5.0, "b": 5.0, "c": 1.0}, {"a": 0.5, "b": 0.5, "c": 0.1})
    assert found[0][2] == found[1][2] == pytest.approx(2 / 61, abs=1e-8)
    assert [name for name, *_ in found] == ["b", "a", "c"]
    assert found[2][2] == pytest.approx(2 / 63, abs=1e-8)


def test_scores_that_differ_below_32_bits_are_equal() -> None:
    found = fused({"a": 1.0 + 1e-12, "b": 1.0}, {"a": 1.0, "b": 1.0})
    assert found[0][2] == found[1][2]


def test_neighbours_far_down_do_not_tie() -> None:
    """1/1059 and 1/1060 are equal to six decimals; a fused ranking keeps them apart."""
    deep = {f"p{place:04d}": float(-place) for place in range(1000)}
    found = fused(deep, {"p0000": 1.0}, depth=1000)
    assert [name for name, *_ in found] == list(deep)
    assert len({score for *_, score in found}) == 1000


def test_depth_and_queries_of_one_run_only() -> None:
    assert len(fused({"x": 3.0, "y": 2.0, "z": 1.0}, {"v": 1.0}, depth=2)) == 2
    both = fuse([run_of({"x": 1.0}, "q1"), run_of({"y": 1.0}, "q2")], 60, 5)
    assert both.select("query_id", "passage_id", "rank").rows() == [("q1", "x", 1), ("q2", "y", 1)]
    assert both.schema == pl.Schema(RUN_SCHEMA)
    nothing = pl.DataFrame(schema=RUN_SCHEMA)
    assert fuse([nothing, nothing], 60, 5).is_empty()
    assert fuse([nothing, run_of({"x": 1.0})], 60, 5).height == 1


def test_what_cannot_be_fused_is_refused() -> None:
    one = run_of({"x": 1.0})
    for runs, k, depth in (([one], 60, 5), ([one, one], 0, 5), ([one, one], 60, 0)):
        with pytest.raises(ValueError, match="two runs or more, k >= 1 and depth >= 1"):
            fuse(runs, k, depth)
    with pytest.raises(ValueError, match=r"run 2 has a pair twice: \('q', 'g', 'x'\)"):
        fuse([one, pl.concat([one, one])], 60, 5)


RUNS = st.lists(
    st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0]), max_size=10),
    min_size=2,
    max_size=4,
)


def exact(runs: list[dict[str, float]], k: int) -> dict[str, Fraction]:
    """The formula in fractions; a rank is one more than the passages with a higher score."""
    total: dict[str, Fraction] = {}
    for run in runs:
        for name, score in run.items():
            rank = 1 + sum(other > score for other in run.values())
            total[name] = total.get(name, Fraction(0)) + Fraction(1, k + rank)
    return total


@given(RUNS, st.integers(1, 100), st.integers(1, 12), st.randoms())
def test_equals_the_formula_in_exact_fractions_in_any_order(runs: list[dict], k: int, depth: int, random) -> None:
    found = fused(*runs, k=k, depth=depth)
    total = exact(runs, k)
    ordered = sorted(total, key=lambda name: (total[name], name), reverse=True)[:depth]
    # Sums that differ in 32 bits keep their order; only such as do not may be told apart by the id alone.
    bits = {name: np.float32(round(float(value), 12)) for name, value in total.items()}
    assert [bits[name] for name, *_ in found] == [bits[name] for name in ordered]
    for name, _, score in found:
        assert score == pytest.approx(float(total[name]), rel=1e-7)
    assert [rank for _, rank, _ in found] == list(range(1, len(found) + 1))
    shuffled = random.sample(runs, len(runs))
    assert fused(*shuffled, k=k, depth=depth) == found


@settings(max_examples=25)
@given(RUNS)
def test_the_order_is_what_the_measures_see(runs: list[dict]) -> None:
    """Measures order by score, ties by id: the fused ranks say the same."""
    run = fuse([run_of(one) for one in runs], 60, 100)
    for row in run.iter_rows(named=True):
        qrels = pl.DataFrame({"query_id": ["q"], "passage_id": [row["passage_id"]], "group_id": ["g"], "score": [1]})
        assert score_queries(run, qrels, ["mrr@100"])["value"].item() == pytest.approx(1 / row["rank"])
