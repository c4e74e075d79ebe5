"""One training job as a file: everything the training process needs, so that it runs anywhere.

The identity of a trained model is two hashes. ``config_hash`` covers what the recipe and the model say and nothing
about where or how fast the work runs; ``data_hash`` covers the rows of the exchange files, not their bytes, so that
another Parquet writer makes nothing stale.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import polars as pl
from pydantic import ValidationError

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.collection import Reach
from tendril_assets.evaluation.models import model_identity
from tendril_assets.files import write_atomically
from tendril_assets.spec import ModelSpec, TrainingSpec
from tendril_assets.spec_training import NO_RECIPE_FIELDS
from tendril_assets.training.examples import ExchangeSet, text_columns

# Raised whenever the training process computes something else from the same recipe and data.
TRAINER_VERSION = "2"
JOB_FILE = "job.json"
_IDENTIFIERS = {"passage_id": "corpus", "query_id": "queries"}  # of the qrels, and the part that holds them
_NUMBERS = ("example", "score")  # the other columns hold text
_COLUMNS = {
    "train": ("example", "level", "query_id", "positive_id", "query", "positive", "negative_1"),
    "corpus": ("passage_id", "group_id", "text"),
    "queries": ("query_id", "level", "text"),
    "qrels": ("query_id", "passage_id", "group_id", "score"),
}
_AGAIN = "materialise training_examples again"


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
            told = self.spec.batch_problem(self.recipe.effective_batch, processes, f"models.{self.model}.batch")
            raise TrainingError(f"model {self.model}: {told}")
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
        """Raises TrainingError for a file that is missing, not JSON, or not a job; it names the field, without its content."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if wrong := [name for name, is_right in _FIELDS.items() if not is_right(raw[name])]:
                raise ValueError(f"{', '.join(wrong)} cannot be what it says")
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
        except ValidationError as error:
            told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise TrainingError(f"{path} is no training job: {told}. Materialise the model's asset again") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TrainingError(f"{path} is no training job: {error!r}. Materialise the model's asset again") from error


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


# What a job file must hold in the fields that no model of the specification reads.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "model": _is_name,
    "folder": _is_name,
    "subsets": lambda value: isinstance(value, list) and bool(value) and all(map(_is_name, value)),
    "seed": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "reach": lambda value: value in get_args(Reach),
}


def read_exchange(files: dict[str, Path], negatives: int | None = None) -> ExchangeSet:
    """The hand-over, checked before anything is loaded for it.

    Args:
        files: the parts of ``ExchangeSet`` as Parquet files.
        negatives: how many each example must have, where the recipe is known.

    Raises:
        TrainingError: names the file, column and row (the first is 1) of what is missing, unreadable, of another type or
            null, or names no query or passage of the hand-over. Or there is no training row.
    """
    frames = {}
    for name in ExchangeSet._fields:
        path = files.get(name)
        if path is None or not path.is_file():
            raise TrainingError(f"exchange file {name!r} is missing at {path}: materialise training_examples first")
        try:
            frames[name] = pl.read_parquet(path)
        except pl.exceptions.PolarsError as error:
            raise TrainingError(f"exchange file {path} cannot be read: {error}") from error
        _require_columns(name, path, frames[name])
    exchange = ExchangeSet(**frames)
    _require_examples(files["train"], exchange, negatives)
    _require_identifiers(files, exchange)
    return exchange


def _require_columns(part: str, path: Path, frame: pl.DataFrame) -> None:
    lacking = [column for column in _COLUMNS[part] if column not in frame.columns]
    if lacking:
        raise TrainingError(f"exchange file {path} has no column {', '.join(lacking)}: {_AGAIN}")
    for column, dtype in frame.schema.items():
        if not (dtype.is_integer() if column in _NUMBERS else dtype == pl.String):
            wanted = "whole numbers" if column in _NUMBERS else "text"
            raise TrainingError(f"exchange file {path}, column {column} holds {dtype}, not {wanted}: {_AGAIN}")
        if frame[column].null_count():
            row = frame[column].is_null().arg_true()[0] + 1
            raise TrainingError(f"exchange file {path}, column {column} is empty in row {row}: {_AGAIN}")


def _require_examples(path: Path, exchange: ExchangeSet, negatives: int | None) -> None:
    found = text_columns(exchange)
    count = len(found) - 2
    wanted = ["query", "positive", *(f"negative_{number + 1}" for number in range(count))]
    if found != wanted:
        raise TrainingError(f"exchange file {path} has the texts {', '.join(found)}, not {', '.join(wanted)}: {_AGAIN}")
    if negatives is not None and count != negatives:
        raise TrainingError(
            f"exchange file {path} ends with column {found[-1]}, the recipe has n_negatives {negatives}: {_AGAIN}"
        )
    if exchange.train.is_empty():
        raise TrainingError(f"exchange file {path} has no row, so there is nothing to train on: {_AGAIN}")


def _require_identifiers(files: dict[str, Path], exchange: ExchangeSet) -> None:
    for column, part in _IDENTIFIERS.items():
        unknown = (~exchange.qrels[column].is_in(getattr(exchange, part)[column].to_list())).arg_true()
        if len(unknown):
            value = exchange.qrels[column][unknown[0]]
            raise TrainingError(
                f"exchange file {files['qrels']}, column {column} names {value} in row {unknown[0] + 1}, which {files[part]} "
                f"does not have ({len(unknown)} such row(s)): {_AGAIN}"
            )


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
