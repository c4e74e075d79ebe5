"""What a specification says of the evaluation, refused while it is read where it cannot be done."""

import pytest
from pydantic import ValidationError

from tendril_assets.spec_evaluation import Bm25Spec, EvaluationSpec, Measure, parse_measure


def test_measures_are_a_kind_and_a_cutoff() -> None:
    assert parse_measure("ndcg@10") == Measure("ndcg", 10)
    assert parse_measure("recall@100").name == "recall@100"
    assert EvaluationSpec().cutoffs == [10, 100]


@pytest.mark.parametrize(
    "name", ["ndcg", "ndcg@0", "map@10", "NDCG@10", "p@-1", "ndcg@10 ", "p@1.5", "p@9999999", "p@١"]
)
def test_unknown_measures_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown measure"):
        parse_measure(name)
    with pytest.raises(ValidationError, match=r"measures\.1: unknown measure"):
        EvaluationSpec(measures=("ndcg@10", name))


def test_measures_twice_or_none_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"measures\.2: p@5 is there twice"):
        EvaluationSpec(measures=("p@5", "ndcg@10", "p@5"))
    with pytest.raises(ValidationError):
        EvaluationSpec(measures=())


@pytest.mark.parametrize(("depth", "fits"), [(100, False), (101, True), (10, False)])
def test_a_ranking_goes_beyond_every_cutoff(depth: int, fits: bool) -> None:
    """At 100 recall@100 would see the whole ranking, but not whether the next passage ties with its last."""
    if fits:
        assert EvaluationSpec(depth=depth).depth == depth
        return
    with pytest.raises(ValidationError, match=f"depth: {depth} is not above the largest cutoff of the measures, 100"):
        EvaluationSpec(depth=depth)


@pytest.mark.parametrize(
    "wrong", [{"k1": -1}, {"k1": float("inf")}, {"b": 1.5}, {"stemmer": "klingon"}, {"min_token_length": 0}]
)
def test_parameters_of_bm25_have_bounds(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        Bm25Spec.model_validate(wrong)


def test_tokens_are_part_of_the_identity_of_results() -> None:
    plain = EvaluationSpec().fingerprint()
    for changed in ({"stemmer": "german"}, {"stop_words": "german"}, {"min_token_length": 2}):
        assert EvaluationSpec(bm25=Bm25Spec.model_validate(changed)).fingerprint() != plain


def test_a_held_out_test_needs_splits_and_subsets_that_there_are() -> None:
    rules = EvaluationSpec(test="held_out", without_dominant=("live",))
    assert rules.held_out_problems(["live"], ["test_live"]) == []
    assert rules.held_out_problems(["manual"], []) == [
        (("evaluation", "test"), "held_out needs splits of policy file, with test splits named"),
        (("evaluation", "without_dominant", 0), "'live' is no subset; there are manual"),
    ]
    landed = EvaluationSpec(without_dominant=("live",))
    assert landed.held_out_problems(["live"], []) == [
        (("evaluation", "without_dominant"), "is for a test that is held_out")
    ]
    assert EvaluationSpec().held_out_problems(["live"], []) == []


def test_systems_made_of_others_are_named_apart_and_made_of_what_there_is() -> None:
    rules = EvaluationSpec.model_validate(
        {
            "hybrids": {"bm25": {"of": ["bm25", "m_base"]}, "h": {"of": ["bm25", "bm25"]}},
            "reranked": {"h": {"of": "h", "reranker": "x"}, "r": {"of": "nothing", "reranker": "words"}},
        }
    )
    places = [place[1:] for place, _ in rules.system_problems(["bm25", "m_base"], ["words"])]
    assert places == [
        ("hybrids", "bm25"),
        ("hybrids", "h", "of", 1),
        ("reranked", "h"),
        ("reranked", "h", "reranker"),
        ("reranked", "r", "of"),
    ]
