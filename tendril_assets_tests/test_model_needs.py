"""Which models and rerankers the steps of a job need before anything is paid."""

import pytest

from tendril_assets import defs
from tendril_assets.definitions import definitions
from tendril_assets.defs import collection_spec
from tendril_assets.model_needs import needed_models, needed_rerankers
from tendril_assets.spec import CollectionSpec

MODELS = {"multilingual_e5_large"}


@pytest.fixture(scope="module")
def spec() -> CollectionSpec:
    return collection_spec("regulations", None)


@pytest.fixture(scope="module")
def steps() -> dict[str, set[tuple[str, ...]]]:
    jobs = [job for job in definitions().resolve_all_job_defs() if not job.name.startswith("__")]
    return {job.name: {tuple(key.path[1:]) for key in job.asset_layer.executable_asset_keys} for job in jobs}


def test_a_pool_and_a_teacher_need_theirs_long_before_training(spec: CollectionSpec, steps: dict) -> None:
    for job in ("regulations", "regulations_judging", "regulations_candidates", "regulations_training"):
        assert needed_models(spec, steps[job]) == MODELS, job
        assert needed_rerankers(spec, steps[job]) == {"bge_m3"}, job
    assert needed_models(spec, steps["regulations_corpus"]) == set()
    assert needed_rerankers(spec, steps["regulations_corpus"]) == set()


def test_a_pool_without_a_model_needs_none(spec: CollectionSpec, steps: dict) -> None:
    plain = spec.model_copy(update={"candidates": spec.candidates.model_copy(update={"systems": ("bm25",)})})
    assert needed_models(plain, steps["regulations_judging"]) == set()
    fused = spec.model_copy(update={"candidates": spec.candidates.model_copy(update={"systems": ("hybrid_base",)})})
    assert needed_models(fused, steps["regulations_judging"]) == MODELS


def test_judging_of_a_collection_without_a_pool_needs_no_model(steps: dict) -> None:
    tenders = collection_spec("tenders", None)
    assert needed_models(tenders, steps["tenders_judging"]) == set()
    assert needed_models(tenders, steps["tenders"]) == {"most_embed_de", "arctic_embed_l"}


def test_a_job_is_of_the_longest_name_it_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defs, "collection_files", lambda: dict.fromkeys(("acts", "acts_old")))
    assert [defs.collection_of(job) for job in ("acts", "acts_corpus", "acts_old", "acts_old_corpus")] == [
        *("acts", "acts", "acts_old", "acts_old"),
    ]
