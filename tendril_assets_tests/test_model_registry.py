"""The registry says what the model cards say, and a collection may take a model from it or write its own."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from tendril_assets import model_registry
from tendril_assets.errors import SpecError
from tendril_assets.model_registry import registered_models
from tendril_assets.spec import CollectionSpec, ModelSpec, TrainingSpec
from tendril_assets.training.job import TrainingJob
from tendril_assets_tests.test_spec import spec

SIX_LINES = """
base: org/multilingual
query_prompt: "query: "
document_prompt: "passage: "
dimensions: 768
max_length: 512
licence: MIT
"""


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        # Model card of TENDRIL most-embed-de: usage, hyperparameters (2 x 16), licence.
        (
            "most_embed_de",
            ("malteos/most-embed-de", "mean", "query: ", "passage: ", 2048, 32768, 2, 16, "CC-BY-NC-4.0", False),
        ),
        # Model card of TENDRIL Arctic-Embed-L v2.0: usage, hyperparameters (1 x 32), licence.
        (
            "arctic_embed_l",
            ("Snowflake/snowflake-arctic-embed-l-v2.0", "cls", "query: ", "", 1024, 8192, 1, 32, "Apache-2.0", True),
        ),
    ],
)
def test_the_published_models_are_as_their_cards_say(name: str, facts: tuple) -> None:
    model = registered_models()[name]
    accumulation = TrainingSpec().effective_batch // model.batch
    found = (
        *(model.base, model.pooling, model.query_prompt, model.document_prompt, model.dimensions, model.max_length),
        *(model.batch, accumulation, model.licence.id, model.licence.commercial),
    )
    assert found == facts
    assert model.batch * accumulation == 32


def test_what_a_base_rests_on_goes_along() -> None:
    (work,) = registered_models()["most_embed_de"].upstream
    assert (work.name, work.licence.name) == ("Nemotron-3-Embed-1B", "OpenMDW License v1.1")
    assert registered_models()["arctic_embed_l"].upstream == ()


def test_further_models_are_six_lines() -> None:
    written = yaml.safe_load((Path(model_registry.__file__).with_name("models.yaml")).read_text(encoding="utf-8"))
    for name in ("multilingual_e5_large", "qwen3_embedding_0_6b"):
        assert len(written[name]) == 6
        assert registered_models()[name].licence.commercial


def test_a_collection_takes_models_by_name_with_changes_or_writes_its_own() -> None:
    known = registered_models()
    given = {
        "arctic_embed_l": None,
        "most_embed_de": {"batch": 4},
        "short": {"registered": "arctic_embed_l", "max_length": 1024},
        "copied": {"registered": "arctic_embed_l", "base": "/models/arctic"},
        "other": {"registered": "arctic_embed_l", "base": "maker/arctic-further-trained"},
        "own": yaml.safe_load(SIX_LINES),
    }
    found = spec(models=given).models
    assert list(found) == list(given)
    assert found["arctic_embed_l"] == known["arctic_embed_l"]
    assert found["most_embed_de"] == known["most_embed_de"].model_copy(update={"batch": 4})
    assert found["short"] == known["arctic_embed_l"].model_copy(update={"max_length": 1024})
    assert found["copied"] == known["arctic_embed_l"].model_copy(
        update={"base": "/models/arctic", "origin": "Snowflake/snowflake-arctic-embed-l-v2.0"}
    )
    assert found["other"].origin is None
    assert found["own"].pooling == "mean"


def test_it_makes_no_difference_where_a_description_stands(tmp_path: Path) -> None:
    by_name = spec(models={"arctic_embed_l": {}})
    inline = spec(models={"arctic_embed_l": registered_models()["arctic_embed_l"].model_dump(mode="json")})
    written = spec(
        models={
            "arctic_embed_l": {
                "base": "Snowflake/snowflake-arctic-embed-l-v2.0",
                "pooling": "cls",
                "query_prompt": "query: ",
                "dimensions": 1024,
                "max_length": 8192,
                "batch": 1,
                "licence": "apache-2.0",
                "matryoshka": [256],
            }
        }
    )
    assert by_name == inline == written
    assert by_name.fingerprint() == inline.fingerprint() == written.fingerprint()

    def config_hash(found: CollectionSpec, **changes: object) -> str:
        model = found.models["arctic_embed_l"].model_copy(update={"revision": "a" * 40} | changes)
        return TrainingJob("m", tmp_path, {}, found.training, model, found.subsets, found.seed).config_hash

    assert config_hash(by_name) == config_hash(written)
    assert config_hash(by_name) != config_hash(written, max_length=4096)
    # What one may do with the weights changes no weight.
    other = registered_models()["most_embed_de"]
    assert config_hash(by_name) == config_hash(written, licence=other.licence, upstream=other.upstream)
    assert config_hash(by_name) == config_hash(written, origin="maker/model", native_code=True)
    assert config_hash(by_name) != config_hash(written, trust_remote_code=True)


def test_a_profile_replaces_the_models_and_may_take_them_by_name() -> None:
    base = spec(models={"most_embed_de": {}}, profiles={"small": {"models": {"arctic_embed_l": {"batch": 2}}}})
    assert base.with_profile("small").models["arctic_embed_l"].batch == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"unknown": {}}, r"no model 'unknown' is registered; registered are most_embed_de, arctic_embed_l, "),
        ({"mine": {"registered": "unknown"}}, r"models\.mine\n  registered: no model 'unknown' is registered"),
        ({"mine": {"registered": ["a"]}}, r"models\.mine\n  registered: no model \['a'\] is registered"),
        ({"mine": {"dimensions": 8}}, "or describe this one: base, query_prompt"),
        ({"arctic_embed_l": {"dimension": 8}}, r"arctic_embed_l\.dimension\n.*Extra inputs"),
        ({"mine": {"base": "a/b", "licence": "MIT"}}, r"mine\.dimensions\n.*Field required"),
        ({"mine": "arctic_embed_l"}, r"models\.mine\n"),
        (["arctic_embed_l"], "valid dictionary"),
    ],
)
def test_what_does_not_fit_is_told(given: object, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        spec(models=given)


def test_of_a_registered_model_that_is_cut_wider_cuts_are_none() -> None:
    known = registered_models()["arctic_embed_l"]
    assert (known.dimensions, known.matryoshka) == (1024, (256,))
    given = {f"to_{width}": {"registered": "arctic_embed_l", "dimensions": width} for width in (128, 256, 512)}
    assert [model.matryoshka for model in spec(models=given).models.values()] == [(), (256,), (256,)]
    quoted = spec(models={"arctic_embed_l": {"dimensions": "128"}}).models["arctic_embed_l"]
    assert (quoted.dimensions, quoted.matryoshka) == (128, ())
    with pytest.raises(ValidationError, match="true given; should be a whole number"):
        spec(models={"arctic_embed_l": {"dimensions": True}})


GOOD = {"base": "a/b", "dimensions": 8, "licence": "MIT"}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """``registry(text)``: models.yaml in place of ours."""
    file = tmp_path / "models.yaml"
    monkeypatch.setattr(model_registry, "_FILE", file)

    def write(text: str) -> Path:
        model_registry._entries.cache_clear()
        model_registry.registered_model.cache_clear()
        file.write_text(text, encoding="utf-8")
        return file

    yield write
    model_registry._entries.cache_clear()
    model_registry.registered_model.cache_clear()


def test_a_wrong_entry_is_told_of_the_registry_and_only_where_it_is_taken(registry) -> None:
    wrong = GOOD | {"max_lenght": 128, "batch": 0}
    file = registry(
        yaml.safe_dump({"good": GOOD, "tiny_xlmr": wrong, "cut": GOOD | {"matryoshka": [9]}}, sort_keys=False)
    )
    # Nobody asks for the wrong ones.
    assert list(spec(models={"good": {}, "mine": {"registered": "good", "batch": 4}}).models) == ["good", "mine"]
    for given in ({"tiny_xlmr": {}}, {"mine": {"registered": "tiny_xlmr"}}):
        with pytest.raises(SpecError) as caught:
            spec(models=given)
        assert caught.value.path == file
        assert caught.value.problems == (
            "tiny_xlmr.batch: 0 given; should be greater than or equal to 1",
            "tiny_xlmr.max_lenght: unknown; did you mean max_length?",
        )
    with pytest.raises(SpecError) as caught:
        registered_models()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        *("tiny_xlmr.batch", "tiny_xlmr.max_lenght"),
        "cut.matryoshka",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: {\n", "line 2, column 1: "),
        ("a: {}\na: {}\n", "line 2, column 1: 'a' occurs twice"),
        ("[a]", "a mapping of"),
    ],
)
def test_a_registry_that_cannot_be_read_is_told_where(registry, text: str, told: str) -> None:
    file = registry(text)
    with pytest.raises(SpecError, match=rf"models\.yaml: .*{told}") as caught:
        spec(models={"a": {}})
    assert caught.value.path == file
    assert list(spec().models) == ["m"]  # one that takes nothing from it


@pytest.mark.parametrize("revision", [None, "main", "0123456", "A" * 40])
def test_code_is_trusted_only_at_a_whole_commit(revision: str | None) -> None:
    for base in ("org/model", "/a/folder", "package:carrier"):
        given = {"base": base, "dimensions": 8, "licence": "MIT", "trust_remote_code": True}
        with pytest.raises(ValidationError, match="needs a pinned revision, the commit of 40 hex digits"):
            ModelSpec.model_validate(given | {"revision": revision})
        assert ModelSpec.model_validate(given | {"revision": "a" * 40}).trust_remote_code
        with pytest.raises(ValidationError, match="set one of them"):
            ModelSpec.model_validate(given | {"revision": "a" * 40, "native_code": True})


def test_editors_are_told_both_ways_of_writing_a_model() -> None:
    schema = CollectionSpec.model_json_schema()["properties"]["models"]
    (entry,) = schema["patternProperties"].values()
    assert entry["anyOf"] == [{"$ref": "#/$defs/ModelSpec"}, {"$ref": "#/$defs/RegisteredModel"}, {"type": "null"}]
