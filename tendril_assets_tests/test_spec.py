import pytest
from pydantic import ValidationError

from tendril_assets.spec import CollectionSpec

MINIMAL = {
    "collection": "toy",
    "group": "project",
    "subsets": ["a"],
    "queries": {"summary": {"model": "writer"}},
    "judge": {"llm": {"model": "judge"}},
    "models": {"m": {"base": "x/y", "dimensions": 8, "licence": "MIT"}},
    "release": {"name": "Toy", "version": "0.1.0", "title": "Toy", "licence_name": "mit"},
}


def spec(**changes: object) -> CollectionSpec:
    return CollectionSpec.model_validate({**MINIMAL, **changes})


def test_systems_are_bm25_and_each_model_before_and_after() -> None:
    assert spec().systems == ("bm25", "m_base", "m_tuned")


@pytest.mark.parametrize(
    "changes",
    [
        {"sede": 42},
        {"sampling": {"n_project": 3}},
        {"collection": "To y"},
        {"models": {"m": {**MINIMAL["models"]["m"], "trust_remote_code": True}}},
        {"anonymization": {"detector": "model"}},
        {"release": {**MINIMAL["release"], "version": "1"}},
        {"subsets": []},
        {"subsets": ["a", "all"]},  # the name of all together: each query would count twice
        {"subsets": ["a", "b", "a"]},
    ],
)
def test_what_does_not_fit_is_refused(changes: dict) -> None:
    with pytest.raises(ValidationError):
        spec(**changes)


def test_a_profile_overlays_deeply_but_replaces_models() -> None:
    base = spec(
        training={"learning_rate": 1e-5, "max_epochs": 2},
        profiles={
            "small": {"training": {"max_epochs": 1}, "models": {"n": {**MINIMAL["models"]["m"], "dimensions": 4}}}
        },
    )
    small = base.with_profile("small")
    assert small.training.max_epochs == 1
    assert small.training.learning_rate == 1e-5
    assert list(small.models) == ["n"]
    assert base.with_profile(None) is base
    with pytest.raises(ValueError, match="unknown profile 'big'; toy has: small"):
        base.with_profile("big")


def test_a_fingerprint_changes_with_every_field_and_only_then() -> None:
    assert spec().judge.fingerprint() == spec().judge.fingerprint()
    changed = spec(judge={"llm": {"model": "judge", "temperature": 0.1}})
    assert changed.judge.fingerprint() != spec().judge.fingerprint()


def test_the_former_name_of_a_policy_says_what_it_is_called_now() -> None:
    with pytest.raises(ValidationError, match=r"sampled is now exact, with the same splits. The default, independent"):
        spec(splits={"policy": "sampled"})


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"same_document_negatives": 5}, "same_document_negatives 5 is above n_negatives 3"),
        ({"n_negatives": 1}, "same_document_negatives 2 is above n_negatives 1"),
        ({"positive_grade": 3}, "less than or equal to 2"),
        ({"positive_grade": 0}, "greater than or equal to 1"),
    ],
)
def test_a_recipe_that_contradicts_itself_is_refused(training: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        spec(training=training)
    assert spec(training={"n_negatives": 1, "same_document_negatives": 1}).training.n_negatives == 1
