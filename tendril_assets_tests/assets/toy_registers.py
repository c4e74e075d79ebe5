"""A toy collection with registers, fixed splits and mined negatives: its tables up to the grades, and the stages after."""

from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, asset_key
from tendril_assets.assets.duplicates import duplicate_assets
from tendril_assets.assets.evaluation import evaluation_assets
from tendril_assets.assets.examples import examples_assets
from tendril_assets.assets.splits import splits_assets
from tendril_assets.assets.stages import stages_assets
from tendril_assets.assets.training import training_assets
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.training.toy import DIMENSIONS

COLLECTION = "toy"
TOPICS = 8
# Act -> split in the file. The first letter says which: train, dev, live, genre, unseen.
ACTS = {
    **{f"t{n}-У": "train" for n in range(8)},
    **{f"d{n}-П": "dev" for n in range(3)},
    **{f"l{n}-П": "test_live" for n in range(2)},
    "g0-И": "test_genre",
    "u0-У": "test_unseen",
}
KINDS = {"У": "Указание", "П": "Положение", "И": "Инструкция"}
TEST_LEAK = "банк w19 w27 w33 этот текст стоит слово в слово и в проверочном акте тоже"
DEV_REPEAT = "банк w18 w26 w34 а этот текст стоит слово в слово в двух удержанных актах сразу"
TWIN = "банк w17 w25 w35 одна и та же норма повторена в двух обучающих актах без изменений"
PLANTED = {
    ("t0-У", 3): TEST_LEAK,
    ("l0-П", 3): TEST_LEAK,
    ("d0-П", 2): DEV_REPEAT,
    ("u0-У", 2): DEV_REPEAT,
    ("t1-У", 1): TWIN,
    ("t2-У", 6): TWIN,
}


def passage_id(act: str, topic: int) -> str:
    return f"{act}#{topic:04d}"


def text(act: str, topic: int) -> str:
    """One word in common with every question, words of the topic, and words of its own: no two texts are alike."""
    own = " ".join(f"{act[:2]}х{topic}х{n}" for n in range(4))
    return PLANTED.get((act, topic), f"банк w{16 + topic} w{24 + topic % 4} w{32 + topic} {own}")


def question(act: str, topic: int) -> tuple[str, str, str]:
    """Id, level and wording of the question over one passage."""
    level = {"t": "synthetic", "d": "synthetic", "l": "live", "g": "unseen", "u": "unseen"}[act[0]]
    return f"q-{act[:2]}-{topic}", level, f"банк w{topic} w{topic + 8} {act[:2]}"


def tables() -> dict[str, pl.DataFrame]:
    pairs = [(act, topic) for act in ACTS for topic in range(TOPICS)]
    asked = [(*question(act, topic), act, topic) for act, topic in pairs]
    qrels = [(query, passage_id(act, topic), act, 2) for query, _, _, act, topic in asked]
    # The passage after the answer holds a part of it where the topic is the first one.
    qrels += [(query, passage_id(act, 1), act, 1) for query, _, _, act, topic in asked if topic == 0]
    rows: dict[str, list[tuple]] = {
        "landed_splits": list(ACTS.items()),
        "acts": [
            (n, act, act, None, KINDS[act[-1]], act, None, "kept", 1.0, 99, None) for n, act in enumerate(ACTS, 1)
        ],
        "sampled_projects": [(act, act, n) for n, act in enumerate(ACTS, 1)],
        "project_status": [(act, act, "in_corpus", None, "h", 1, 1, 0, TOPICS, TOPICS, 0, None) for act in ACTS],
        "removals": [],
        "erased_ids": [],
        "passages": [(passage_id(act, t), act, "act.txt", 1, t, text(act, t), len(text(act, t))) for act, t in pairs],
        "corpus": [(passage_id(act, t), text(act, t), act, act, 1) for act, t in pairs],
        "queries": [(query, words, level, KINDS[act[-1]], act) for query, level, words, act, _ in asked],
        "project_queries": [(act, act, query, level) for query, level, _, act, _ in asked],
        "qrels": qrels,
        "qrel_evidence": [
            (query, passage, "generated" if score == 2 else "neighbour", "e", "c") for query, passage, _, score in qrels
        ],
    }
    frames = {name: TABLES[name].frame(table) for name, table in rows.items()}
    attached = {"how": "section", "clauses": [], "found": [], "passages": [], "route": "pool"}
    frames["live_attachments"] = TABLES["live_attachments"].frame(
        [
            {"query_id": query, "project": act, "group_id": act, **attached}
            for query, level, _, act, _ in asked
            if level == "live"
        ]
    )
    return frames | {
        name: TABLES[name].empty() for name in ("test_corpus", "test_queries", "test_qrels", "test_projects")
    }


def spec_of(encoder: Path | None, **changes: Any) -> CollectionSpec:
    model = {"base": str(encoder), "dimensions": DIMENSIONS, "max_length": 32, "batch": 4, "licence": "MIT"}
    hybrid = {"hybrid": {"of": ["bm25", "tiny_tuned"]}}
    evaluation: dict[str, Any] = {"test": "held_out", "scope": "collection", "resamples": 200}
    if encoder:
        evaluation |= {
            "hybrids": hybrid,
            "reranked": {"reordered": {"of": "hybrid", "reranker": "lexical", "depth": 5}},
        }
    described = {
        "collection": COLLECTION,
        "group": "act",
        "subsets": ["live", "unseen", "synthetic"],
        "identifiers": {"policy": "named"},
        "sampling": {"n_projects": None, "documents_per_project": 1},
        "registers": {"live": {"level": "live"}},
        "judge": {"llm": {"model": "toy/judge"}},
        "qrels": {"neighbour_overlap": 0.3},
        "splits": {
            "policy": "file",
            "test": ["test_live", "test_genre", "test_unseen"],
            "live": "test_live",
            "held_out_kinds": ["Инструкция"],
        },
        "examples": {"levels": ["synthetic"], "negatives": "mined", "mined_depth": 64},
        "training": {"learning_rate": 5e-3, "effective_batch": 8, "evaluate_every": 4, "max_epochs": 1},
        "models": {"tiny": model} if encoder else {},
        "rerankers": {"lexical": {"base": "lexical"}},
        "evaluation": evaluation,
        "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
    }
    return CollectionSpec.model_validate(described | changes)


class Home:
    def __init__(self, folder: Path, spec: CollectionSpec) -> None:
        self.spec = spec
        self.warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
        self.artifacts = Artifacts(root=str(folder / "artifacts"))
        self.write(**tables())

    def write(self, **frames: pl.DataFrame) -> None:
        self.warehouse.replace(COLLECTION, frames, purpose="test")

    def load(self, table: str) -> pl.DataFrame:
        return self.warehouse.load(COLLECTION, table)

    @cached_property
    def stages(self) -> list[Stage]:
        made = (duplicate_assets, splits_assets, examples_assets, training_assets, evaluation_assets, stages_assets)
        return [stage(self.spec) for stage in made]

    def run(self, *names: str) -> dg.ExecuteInProcessResult:
        """The named assets with their checks; all of them where none is named."""
        stages = self.stages
        chosen = dg.AssetSelection.assets(*(asset_key(self.spec, name) for name in names)) if names else None
        live = dg.AssetSpec(asset_key(self.spec, "live_attachments"))
        return dg.materialize(
            [live, *(asset for s in stages for asset in s.assets), *(check for s in stages for check in s.checks)],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            selection=chosen.required_multi_asset_neighbors() if chosen else None,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )

    @cached_property
    def checks(self) -> dict[str, dg.AssetChecksDefinition]:
        return {next(iter(check.check_specs)).name: check for stage in self.stages for check in stage.checks}

    def check(self, name: str) -> dg.AssetCheckResult:
        """What one check says of the tables as they are."""
        return self.checks[name](warehouse=self.warehouse)

    def blocks(self, name: str) -> bool:
        return next(iter(self.checks[name].check_specs)).blocking


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
