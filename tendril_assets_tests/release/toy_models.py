"""The toy collection's model as cards see it."""

import json
from pathlib import Path
from typing import Any

import yaml

from tendril_assets.release.model_inputs import ModelInputs
from tendril_assets.release.weights import WeightsFolder, read_weights_folder
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy


def inputs(**changes: Any) -> ModelInputs:
    tables = toy.tables()
    made = ModelInputs(
        spec=toy.spec(),
        trained=tables["trained_models"],
        scores=tables["system_scores"],
        comparisons=tables["comparisons"],
        training_use=toy.reader(toy.database(tables))("training_use"),
        agreement=tables["judge_agreement"],
        present_data=toy.DATA_HASH,
        released=True,
        sandbox=False,
    )
    return made._replace(**changes)


def described(model: dict[str, Any], row: dict[str, Any] | None = None, **changes: Any) -> ModelInputs:
    """Inputs whose one model is another: fields of its entry, of its row, and of the specification."""
    entry = toy.spec().models["mini"].model_dump(mode="json") | model
    spec = toy.spec(models={"mini": entry}, **changes)
    recipe = {
        "training": spec.training.model_dump(mode="json"),
        "model": spec.models["mini"].model_dump(mode="json"),
        "seed": spec.seed,
    }
    made = toy.trained_model(recipe=json.dumps(recipe), **(row or {}))
    return inputs(spec=spec, trained=TABLES["trained_models"].frame([made]))


def published(**changes: Any) -> CollectionSpec:
    """The specification with an organisation, names, a test collection and a citation."""
    release = toy.spec().release.model_dump() | {
        "organisation": "Maker",
        "purpose": "finding toys",
        "queries": "Queries are wishes.",
        "example": {"query": 'ein "Würfel"', "passage": "Der Würfel ist aus Holz."},
        "test_collection": {"name": "Maker/Toy", "revision": "15eef0bc"},
        "models": {"mini": {"name": "Toy-mini", "title": "Toy mini"}},
        "citation": {"key": "maker2026toy", "title": "{TOY}", "authors": ["Maker, Ann", "Doe, Bea"], "year": 2026},
    }
    return toy.spec(release=release, **changes)


def weights_folder(folder: Path, **changes) -> Path:
    """A folder that describes itself as a kept model does; ``changes`` go to prompts, pooling, width, length, modules."""
    said = {"prompts": {"query": "query: ", "document": ""}, "pooling": "mean", "width": 384, "length": 256} | changes
    kinds = said.get("kinds", {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"})
    files = {
        "modules.json": [
            {"path": place, "type": f"sentence_transformers.modules.{kind}"} for place, kind in kinds.items()
        ],
        "config_sentence_transformers.json": {"prompts": said["prompts"]},
        "tokenizer_config.json": {"model_max_length": said["length"]},
        "1_Pooling/config.json": {"pooling_mode": said["pooling"], "embedding_dimension": said["width"]},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(toy.WEIGHTS)
    return folder


def folder(place: Path, **changes: Any) -> WeightsFolder:
    return read_weights_folder(weights_folder(place, **changes))


def front(card: str) -> dict[str, Any]:
    _, text, _ = card.split("---\n", 2)
    return yaml.safe_load(text)
