"""One training job as a file: everything the training process needs, so that it runs anywhere.

The identity of a trained model is two hashes. ``config_hash`` covers what the recipe and the model say and nothing
about where or how fast the work runs; ``data_hash`` covers the rows of the exchange files, not their bytes, so that
another Parquet writer makes nothing stale.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.collection import Reach
from tendril_assets.evaluation.models import model_identity
from tendril_assets.files import write_atomically
from tendril_assets.spec import ModelSpec, TrainingSpec
from tendril_assets.spec_training import NO_RECIPE_FIELDS
from tendril_assets.training.examples import ExchangeSet

# Raised whenever the training process computes something else from the same recipe and data.
TRAINER_VERSION = "2"
JOB_FILE = "job.json"


@dataclass(frozen=True)
class TrainingJob:
    """``folder`` receives the result; ``exchange`` maps the parts of ``ExchangeSet`` to Parquet files."""

    model: str
    folder: Path
    exchange: dict[str, Path]
    recipe: TrainingSpec
    spec: ModelSpec
    subsets: tuple[str, ...]
    seed: int
    reach: Reach = "group"

    @cached_property
    def config_hash(self) -> str:
        """SHA-256, hex, of the recipe, the model and how it is validated.

        The base enters by its content (a folder) or its revision (a hub id), not by where it lies. Licences are left
        out: they change what one may do with the weights, not the weights.
        """
        identity = {
            "trainer": TRAINER_VERSION,
            "recipe": self.recipe.model_dump(mode="json"),
            "base": model_identity(self.spec),
            "model": self.spec.model_dump(mode="json", exclude=set(NO_RECIPE_FIELDS)),
            "subsets": self.subsets,
            "seed": self.seed,
            "reach": self.reach,
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    @property
    def accumulation(self) -> int:
        """``accumulation_over`` the processes that the specification asks for."""
        return self.accumulation_over(self.spec.processes)

    def accumulation_over(self, processes: int) -> int:
        """Micro-batches per optimiser step on each of ``processes`` processes.

        Raises:
            TrainingError: batch x processes does not divide the recipe's effective batch.
        """
        steps = self.spec.accumulation(self.recipe.effective_batch, processes)
        if steps is None:
            together = f"batch {self.spec.batch}" + (f" on {processes} processes" if processes > 1 else "")
            raise TrainingError(
                f"model {self.model}: {together} does not divide the effective batch {self.recipe.effective_batch}; "
                f"change models.{self.model}.batch{' or processes' if processes > 1 else ''} in the specification"
            )
        return steps

    def steps(self, examples: int) -> int:
        """Optimiser steps of the whole recipe: the last one of an epoch may be short."""
        return self.recipe.max_epochs * math.ceil(examples / self.recipe.effective_batch)

    def write(self, path: Path) -> Path:
        """Write the job as JSON, atomically."""
        document = {
            "model": self.model,
            "folder": str(self.folder),
            "exchange": {name: str(file) for name, file in self.exchange.items()},
            "recipe": self.recipe.model_dump(mode="json"),
            "spec": self.spec.model_dump(mode="json"),
            "subsets": list(self.subsets),
            "seed": self.seed,
            "reach": self.reach,
        }
        return write_json(path, document)

    @classmethod
    def read(cls, path: Path) -> "TrainingJob":
        """Raises TrainingError for a file that is missing, not JSON, or not a job."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                model=raw["model"],
                folder=Path(raw["folder"]),
                exchange={name: Path(file) for name, file in raw["exchange"].items()},
                recipe=TrainingSpec.model_validate(raw["recipe"]),
                spec=ModelSpec.model_validate(raw["spec"]),
                subsets=tuple(raw["subsets"]),
                seed=raw["seed"],
                reach=raw["reach"],
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TrainingError(f"{path} is no training job: {error!r}. Materialise the model's asset again") from error


def read_exchange(files: dict[str, Path]) -> ExchangeSet:
    """Raises TrainingError naming the file that is missing or unreadable."""
    frames = {}
    for name in ExchangeSet._fields:
        path = files.get(name)
        if path is None or not path.is_file():
            raise TrainingError(f"exchange file {name!r} is missing at {path}: materialise training_examples first")
        try:
            frames[name] = pl.read_parquet(path)
        except pl.exceptions.PolarsError as error:
            raise TrainingError(f"exchange file {path} cannot be read: {error}") from error
    return ExchangeSet(**frames)


def data_hash(exchange: ExchangeSet) -> str:
    """SHA-256, hex, over the names, columns and rows of the exchange frames, in their order."""
    digest = hashlib.sha256()
    for name, frame in exchange._asdict().items():
        digest.update(json.dumps([name, frame.columns]).encode())
        digest.update(frame.write_ndjson().encode())
    return digest.hexdigest()


def write_json(path: Path, document: object) -> Path:
    """Write whole or not at all (``files.write_atomically``)."""
    write_atomically(path, json.dumps(document, ensure_ascii=False, indent=1).encode())
    return path
