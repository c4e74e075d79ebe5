"""What rests on the tenders collection keeps its identity: its specification, requests, models and tables.

The values were computed with commit c670082, the last with one collection. Another value would ask and pay for every request
again, train every model again, or refuse every warehouse.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tendril_assets.defs import collection_spec
from tendril_assets.judging.request import RequestFactory
from tendril_assets.judging.systems import systems_of
from tendril_assets.tables import OF_REGISTERS, TABLES
from tendril_assets.training.job import TrainingJob

COMMIT = "a" * 40
PAIR = {"query_text": "Frage", "passage_text": "Text"}


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("profile", "said", "judged", "summarised", "trained"),
    [
        (
            None,
            "e7f347f450ecc7f0",
            "e304a170071851de",
            "91b8dc26c39725a7",
            {
                "most_embed_de": "a45595c5ac199f0be2f523590959e4138db04b577883116ace4e9849f05fa041",
                "arctic_embed_l": "03f7d5e8de0d7ba0930c6323954b930bece62ace46562a43dee836baa25d16f7",
            },
        ),
        (
            "sandbox",
            "2906cd6ad57c9db5",
            "05ace656c8daa83c",
            "666accd4e5e7545d",
            {"minilm": "cc79f7c94c925684971d6d03cb3eadcda622949ffb08addeb8c835fce93e75d9"},
        ),
    ],
)
def test_specification_requests_and_models(
    profile: str | None, said: str, judged: str, summarised: str, trained: dict[str, str]
) -> None:
    spec = collection_spec("tenders", profile)
    assert digest(spec.model_dump(mode="json", exclude_defaults=True, exclude={"profiles"})) == said
    assert digest({one.name: one.factory.key(one.messages(PAIR)) for one in systems_of(spec.judge)}) == judged
    key = RequestFactory(spec.wording.summary).key([{"role": "user", "content": "x"}])
    assert key.startswith(summarised)
    found = {}
    for name, model in spec.models.items():
        # A base of the hub has an identity without its files only where a commit pins it.
        model = model.model_copy(update={"revision": COMMIT}) if model.is_hub_id else model
        found[name] = TrainingJob(name, Path("x"), {}, spec.training, model, spec.subsets, spec.seed).config_hash
    assert found == trained


def test_tables() -> None:
    former = sorted(TABLES.keys() - {table.name for table in OF_REGISTERS})
    assert len(former) == 62
    shapes = {
        name: [
            *([column.name, str(column.type), column.nullable, column.private] for column in TABLES[name].columns),
            list(TABLES[name].key),
        ]
        for name in former
    }
    assert digest(shapes) == "d0bd0ee1eb53a682"
