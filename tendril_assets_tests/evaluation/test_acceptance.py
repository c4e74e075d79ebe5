"""A stage of a recipe is accepted where it raises nDCG@10 on the validation queries by more than chance."""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.acceptance import RecipeStage, recipe_stages, stage_acceptance
from tendril_assets.spec_evaluation import EvaluationSpec
from tendril_assets.tables import TABLES

RULES = EvaluationSpec.model_validate(
    {
        "scope": "collection",
        "resamples": 2000,
        "hybrids": {
            "hybrid_base": {"of": ["bm25", "mini_base"]},
            "hybrid": {"of": ["bm25", "mini_tuned"]},
            "both": {"of": ["mini_base", "bm25", "mini_tuned"]},
        },
        "reranked": {
            "hybrid_reranked": {"of": "hybrid", "reranker": "r"},
            "bm25_reranked": {"of": "bm25", "reranker": "r"},
        },
    }
)
# Of two passages one is relevant: at rank 1 nDCG@10 is 1, at rank 2 it is 1 / log2(3).
SECOND = 1 / math.log2(3)


def qrels(groups: int, queries: int = 1) -> pl.DataFrame:
    rows = [(f"q{g}-{n}", "good", f"g{g}", 2) for g in range(groups) for n in range(queries)]
    return pl.DataFrame(rows, schema=dict(TABLES["qrels"].schema), orient="row")


def run(system: str, ranks: list[int], queries: int = 1) -> pl.DataFrame:
    """``ranks``: of each group, the rank of the relevant passage for all its queries."""
    rows = []
    for group, rank in enumerate(ranks):
        for n in range(queries):
            order = ["good", "bad"] if rank == 1 else ["bad", "good"]
            rows += [(system, f"q{group}-{n}", p, f"g{group}", r, 1.0 / r) for r, p in enumerate(order, 1)]
    return TABLES["retrieval_runs"].frame(rows)


def accepted(stage: list[int], before: list[int]) -> dict:
    runs = pl.concat([run("new", stage), run("old", before)])
    made = stage_acceptance([RecipeStage("new", "tuned", ("old",))], runs, qrels(len(stage)), RULES, 42)
    assert made.schema == TABLES["stage_acceptance"].schema
    return made.row(0, named=True)


def test_what_each_system_is_made_of() -> None:
    assert recipe_stages(["mini"], RULES, "bm25") == [
        ("mini_base", "base", ("bm25",)),
        ("mini_tuned", "tuned", ("mini_base",)),
        ("hybrid_base", "hybrid", ("bm25", "mini_base")),
        ("hybrid", "hybrid", ("bm25", "mini_tuned")),
        ("both", "hybrid", ("mini_base", "bm25", "mini_tuned")),
        ("hybrid_reranked", "reranked", ("hybrid", "bm25", "mini_tuned")),
        ("bm25_reranked", "reranked", ("bm25",)),
    ]
    assert recipe_stages([], EvaluationSpec(), "bm25") == []


def test_a_stage_has_to_beat_the_best_system_it_is_made_of() -> None:
    """The fusion lifts a model that finds nothing, the reranker lifts the fusion, and all the while BM25 alone does better."""
    ranks = {"bm25": [1] * 8, "mini_tuned": [2] * 8, "hybrid": [1] * 4 + [2] * 4, "hybrid_reranked": [1] * 7 + [2]}
    runs = pl.concat([run(system, of_group) for system, of_group in ranks.items()])
    stages = [one for one in recipe_stages(["mini"], RULES, "bm25") if one.system in ("hybrid", "hybrid_reranked")]
    made = stage_acceptance(stages, runs, qrels(8), RULES, 42)
    assert made.select("system", "before", "before_value", "accepted").rows() == [
        ("hybrid", "bm25", 1.0, False),
        ("hybrid_reranked", "bm25", 1.0, False),
    ]
    # Where the fusion is the best of them, the reranker is measured against it.
    turned = pl.concat([run("bm25", [2] * 8), run("mini_tuned", [2] * 8), run("hybrid", [1] * 4 + [2] * 4)])
    again = stage_acceptance(stages, pl.concat([turned, run("hybrid_reranked", [1] * 8)]), qrels(8), RULES, 42)
    assert again.select("system", "before", "accepted").rows() == [
        ("hybrid", "bm25", True),
        ("hybrid_reranked", "hybrid", True),
    ]


def test_a_gain_in_every_group_is_accepted() -> None:
    row = accepted([1] * 8, [2] * 8)
    assert row["value"] == 1.0
    assert row["before_value"] == pytest.approx(SECOND)
    assert row["difference"] == pytest.approx(1 - SECOND)
    assert (row["low"], row["high"]) == (pytest.approx(1 - SECOND), pytest.approx(1 - SECOND))
    assert (row["groups"], row["queries"], row["accepted"]) == (8, 8, True)
    # All 256 ways to sign eight equal differences: two of them are as extreme.
    assert row["p_permutation"] == pytest.approx(2 / 256)
    assert row["reason"].startswith("raises ndcg@10 of old by 0.3691")


def test_a_gain_in_one_group_of_eight_is_not_shown() -> None:
    row = accepted([1, 2, 2, 2, 2, 2, 2, 2], [2] * 8)
    assert row["difference"] == pytest.approx((1 - SECOND) / 8)
    # A resample without that group has probability (7/8)**8 = 0.34: the lower end is zero.
    assert row["low"] == 0.0
    assert not row["accepted"]
    assert row["reason"].startswith("is not shown to raise")


def test_equal_and_worse_stages_are_not_accepted() -> None:
    equal, worse = accepted([1] * 8, [1] * 8), accepted([2] * 8, [1] * 8)
    assert (equal["difference"], equal["accepted"], equal["p"]) == (0.0, False, 1.0)
    assert (worse["accepted"], worse["reason"].startswith("does not raise")) == (False, True)


def test_one_group_is_no_evidence_and_none_has_no_figure() -> None:
    one = accepted([1], [2])
    assert (one["low"], one["p"], one["accepted"]) == (None, None, False)
    assert "single group" in one["reason"]
    none = accepted([], [])
    assert (none["value"], none["difference"], none["groups"], none["accepted"]) == (None, None, 0, False)
    assert none["reason"] == "no validation query has a relevant passage"


def test_few_groups_are_told_with_their_exact_test() -> None:
    """Of the eight ways to sign three equal differences two are as extreme: a quarter, whatever the interval says."""
    row = accepted([1] * 3, [2] * 3)
    assert row["accepted"]
    assert row["p_permutation"] == pytest.approx(0.25)
    assert row["reason"].endswith("only 3 groups, by sign flips p = 0.250")


def test_queries_are_averaged_in_their_group_first() -> None:
    """g0 has four queries that gain, g1 has one that loses as much: the groups cancel out, the queries would not."""
    runs = pl.concat(
        [
            run("new", [1], 4),
            run("old", [2], 4),
            *(run(s, [1, r]).filter(group_id="g1") for s, r in (("new", 2), ("old", 1))),
        ]
    )
    judged = pl.concat([qrels(1, 4), qrels(2).filter(group_id="g1")])
    row = stage_acceptance([RecipeStage("new", "hybrid", ("old",))], runs, judged, RULES, 42).row(0, named=True)
    assert (row["groups"], row["queries"]) == (2, 5)
    assert row["difference"] == pytest.approx(0.0, abs=1e-12)


def test_a_query_that_a_system_does_not_rank_counts_zero() -> None:
    runs = pl.concat([run("new", [1, 1]), run("old", [1, 1]).filter(group_id="g0")])
    row = stage_acceptance([RecipeStage("new", "base", ("old",))], runs, qrels(2), RULES, 42).row(0, named=True)
    assert (row["value"], row["before_value"]) == (1.0, 0.5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=2, max_size=9))
def test_accepted_only_with_the_whole_interval_above_zero(ranks: list[tuple[int, int]]) -> None:
    row = accepted([new for new, _ in ranks], [old for _, old in ranks])
    assert row["accepted"] == (row["low"] > 0)
    assert row["low"] <= row["difference"] + 1e-9 <= row["high"] + 2e-9
    assert row["difference"] == pytest.approx(row["value"] - row["before_value"], abs=1e-9)
    if row["accepted"]:
        assert row["difference"] > 0
