"""What a specification may say of the pool, of published pairs and of stacks, and what would mean nothing there."""

import pytest
from pydantic import ValidationError

from tendril_assets.spec import CollectionSpec
from tendril_assets_tests.assets.toy_judging import SPEC as CATALOGS
from tendril_assets_tests.assets.toy_pool import SPEC, spec

STACK = {"quantization": "fp16", "libraries": {"vllm": "0.6.3", "torch": "2.4.0"}, "hardware": "2 x Tesla T4"}
MODEL = {"base": "maker/model", "dimensions": 2, "licence": "MIT"}
HYBRIDS = {
    "plain": {"of": ["bm25", "one_base"]},
    "learnt": {"of": ["bm25", "one_tuned"]},
}
RERANKED = {"second": {"of": "learnt", "reranker": "words"}, "first": {"of": "plain", "reranker": "words"}}


def pooling(*systems: str) -> CollectionSpec:
    return spec(
        models={"one": MODEL},
        rerankers={"words": {"base": "lexical"}},
        evaluation={**SPEC["evaluation"], "hybrids": HYBRIDS, "reranked": RERANKED},
        candidates={"policy": "pooled", "systems": list(systems)},
    )


def test_a_pool_is_of_systems_that_are_there_before_any_training():
    assert pooling("bm25", "one_base", "plain", "first").candidates.systems == ("bm25", "one_base", "plain", "first")
    for system in ("one_tuned", "learnt", "second"):
        with pytest.raises(ValidationError, match=f"candidates.systems.1: {system} rests on a model that is trained"):
            pooling("bm25", system)
    with pytest.raises(ValidationError, match="name the systems whose rankings are pooled"):
        pooling()


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"candidates": {"policy": "pooled", "systems": ["bm25"]}}, "candidates.policy"),
        ({"qrels": {"append_only": True}}, "qrels.append_only"),
        ({"qrels": {"neighbour_overlap": 0.3}}, "qrels.neighbour_overlap"),
        (
            {
                "judge": {
                    **CATALOGS["judge"],
                    "calibration": {"acceptance": {}, "apply": "chosen", "none_accepted": "without"},
                }
            },
            "judge.calibration.none_accepted",
        ),
    ],
)
def test_what_only_registers_have_is_no_silent_wish_elsewhere(changes, place):
    with pytest.raises(ValidationError, match=f"{place}: is for collections with registers"):
        CollectionSpec.model_validate({**CATALOGS, **changes})


def test_a_stack_is_of_a_judge_that_is_there_and_says_all_three_things():
    judged = SPEC["judge"]
    declared = spec(judge={**judged, "stacks": {"toy/judge": STACK}}).judge.stacks["toy/judge"]
    assert declared.in_words == "fp16; torch 2.4.0, vllm 0.6.3; 2 x Tesla T4"
    with pytest.raises(ValidationError, match=r"stacks.toy/gudge.*toy/judge"):
        spec(judge={**judged, "stacks": {"toy/gudge": STACK}})
    for missing in STACK:
        part = {name: value for name, value in STACK.items() if name != missing}
        with pytest.raises(ValidationError, match=missing):
            spec(judge={**judged, "stacks": {"toy/judge": part}})
