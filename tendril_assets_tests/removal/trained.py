"""A training and an encoder without torch, for runs whose subject is what is left of the texts they are given.

``python -m tendril_assets_tests.removal.trained JOB.json PARENT`` is ``tendril_assets.training.child`` with ``fit`` in the
place of the real one: it reads the hand-over files, leaves the first inputs as training does, and installs weights that
are others for other data. ``Words`` ranks by words in common.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tendril_assets.evaluation.models import weights_name
from tendril_assets.spec import ModelSpec
from tendril_assets.training import child
from tendril_assets.training.events import Began, Report
from tendril_assets.training.first_inputs import tell_first_inputs
from tendril_assets.training.installing import install
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets.training.whole import seal
from tendril_assets_tests.release import toy, toy_models
from tendril_assets_tests.removal import landing

WIDTH, LENGTH = 384, 256


def base(folder: Path) -> Path:
    """The folder of the base model: all that is looked at before one is loaded."""
    toy_models.weights_folder(folder, width=WIDTH, length=LENGTH)
    for name in ("tokenizer.json", "config.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    return folder


def entry(folder: Path) -> dict[str, Any]:
    """Of a specification's models."""
    prompts = {"query_prompt": "query: ", "document_prompt": ""}
    return prompts | {"base": str(folder), "dimensions": WIDTH, "max_length": LENGTH, "batch": 4, "licence": "MIT"}


def fit(job: TrainingJob, report: Report) -> dict:
    exchange = read_exchange(job.exchange, job.recipe.n_negatives)
    found = data_hash(exchange)
    report(Began(job.steps(exchange.train.height), "cpu", "fp32", 1))
    # The first inputs show a marked passage, as those of any training may show one that is removed later.
    marked = pl.col("positive").str.starts_with(landing.OPENING)
    tell_first_inputs(job, exchange._replace(train=exchange.train.sort(marked, descending=True)), report)
    weights = base(job.folder / "made")
    (weights / "model.safetensors").write_bytes(toy.WEIGHTS + found.encode())
    seal(weights, {})
    recipe = {
        "training": job.recipe.model_dump(mode="json"),
        "model": job.spec.model_dump(mode="json"),
        "seed": job.seed,
    }
    told = toy.trained_model(
        model=job.model,
        base_weights=weights_name(job.spec),
        config_hash=job.config_hash,
        data_hash=found,
        examples=exchange.train.height,
    )
    documents = {name: json.loads(told[name]) for name in ("validation", "versions")} | {"recipe": recipe}
    curve = [[0, "loss", 0.9], [168, "loss", 0.5]]
    return install(job.folder, weights, told | documents | {"curve": curve, "base": job.spec.base})


class Words:
    """What ``dense.rank_dense`` needs of an ``Encoder``."""

    stores, encoded, reused = False, 0, 0

    def __init__(self, spec: ModelSpec, weights: Path | None = None, **_: object) -> None:
        self._spec = spec

    def prompt(self, kind: str) -> str:
        return self._spec.query_prompt if kind == "query" else self._spec.document_prompt

    def encode(self, texts: Sequence[str], kind: str, on_progress: object = None) -> np.ndarray:
        vectors = np.ones((len(texts), WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, hashlib.sha256(word.encode()).digest()[0]] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def keep_only(self, texts: Iterable[str]) -> int:
        return 0

    def truncated(self, texts: Sequence[str], kind: str) -> int:
        return 0


if __name__ == "__main__":
    child.fit = fit
    sys.exit(child.main(sys.argv[1:]))
