"""Training examples, the models fine-tuned on them, and what training reported.

The warehouse is read and written before and after; a model's asset only sees the hand-over files, and its work runs in
a child process, so that a crash there takes no daemon down and the GPU pool never holds the database.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, asset_key, counts, store, table_assets, table_check, work_asset
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.leakage import leaks_left
from tendril_assets.qrels.splits import TRAIN, groups_of
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.lock import exclusive
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.checkpoints import KEPT, RESULT
from tendril_assets.training.examples import ExchangeSet, build_examples, exchange_set
from tendril_assets.training.job import JOB_FILE, TrainingJob, data_hash, read_exchange
from tendril_assets.training.validation import require_levels

_CHILD = "tendril_assets.training.child"


def _exchange_name(part: str) -> str:
    return f"training_{part}"


def exchange_files(spec: CollectionSpec, artifacts: Artifacts) -> dict[str, Path]:
    """Hand-over file of each part of ``ExchangeSet``."""
    return {part: artifacts.exchange(spec.collection, _exchange_name(part)) for part in ExchangeSet._fields}


def training_job(spec: CollectionSpec, artifacts: Artifacts, model: str) -> TrainingJob:
    """The job of one model of the specification, on the collection's hand-over files."""
    return TrainingJob(
        model=model,
        folder=artifacts.folder(spec.collection, "models", model),
        exchange=exchange_files(spec, artifacts),
        recipe=spec.training,
        spec=spec.models[model],
        subsets=spec.subsets,
        seed=spec.seed,
        reach=spec.evaluation.scope,
    )


def read_results(spec: CollectionSpec, artifacts: Artifacts) -> dict[str, dict]:
    """``result.json`` of every model of the specification.

    Raises:
        TrainingError: a model has no finished training.
    """
    results = {}
    for model in spec.models:
        path = artifacts.folder(spec.collection, "models", model) / RESULT
        if not path.is_file():
            raise TrainingError(f"{path} is missing: materialise {spec.collection}/models/{model} first")
        results[model] = json.loads(path.read_text(encoding="utf-8"))
    return results


def training_assets(spec: CollectionSpec) -> Stage:
    """training_examples -> models/<model> -> trained_models, learning_curves."""
    models = [_model_asset(spec, model) for model in spec.models]
    return Stage([_examples_asset(spec), *models, _results_asset(spec)], _checks(spec))


def _examples_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(spec, ["training_examples"], deps=["qrels", "corpus", "queries", "splits", "leakage"])
    def write_training_examples(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        qrels, corpus, queries, splits = (
            warehouse.load(collection, table) for table in ("qrels", "corpus", "queries", "splits")
        )
        leaked = set(warehouse.load(collection, "leakage", ["passage_id"])["passage_id"])
        examples = build_examples(qrels, corpus, queries, splits, leaked, spec.training, spec.seed)
        metadata: dict[str, Any] = {
            "used_by_level": counts(examples.filter("used"), "level"),
            "by_reason": counts(examples, "reason"),
        }
        if spec.models:  # a collection that only publishes data needs no validation set
            exchange = exchange_set(
                examples, qrels, corpus, queries, splits, whole_corpus=spec.evaluation.scope == "collection"
            )
            require_levels(exchange, spec.subsets)
            for part, frame in exchange._asdict().items():
                artifacts.write_frame(collection, _exchange_name(part), frame)
            metadata |= {
                "validation_queries": exchange.queries.height,
                "validation_passages": exchange.corpus.height,
                "data_hash": data_hash(exchange),
            }
        yield from store(context, warehouse, spec, {"training_examples": examples}, {"training_examples": metadata})

    return write_training_examples


def _model_asset(spec: CollectionSpec, model: str) -> dg.AssetsDefinition:
    base = spec.models[model].base

    @work_asset(
        spec,
        f"models/{model}",
        stage="training",
        description=f"{base} fine-tuned on the training examples: weights of the best step and the report of the run.",
        deps=["training_examples"],
        pool="gpu",
        kinds={"pytorch", "huggingface"},
    )
    def train_model(
        context: dg.AssetExecutionContext, artifacts: Artifacts, pipes: dg.PipesSubprocessClient
    ) -> dg.MaterializeResult:
        job = training_job(spec, artifacts, model)
        path = job.write(job.folder / JOB_FILE)
        command = [sys.executable, "-m", _CHILD, str(path), str(os.getpid())]
        # Pools serialise the runs of one Dagster instance; another instance must not write the same checkpoints.
        with exclusive(job.folder / ".training", f"train {model}", 30.0):
            return pipes.run(context=context, command=command).get_materialize_result()

    return train_model


def _results_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    @table_assets(spec, ["trained_models", "learning_curves"], deps=[f"models/{model}" for model in spec.models])
    def write_trained_models(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        results = read_results(spec, artifacts)
        columns = list(TABLES["trained_models"].schema)
        trained = [
            result
            | {
                "path": str(artifacts.folder(spec.collection, "models", model) / KEPT),
                "versions": json.dumps(result["versions"], sort_keys=True),
            }
            for model, result in results.items()
        ]
        curves = [(model, *point) for model, result in results.items() for point in result["curve"]]
        frames = {
            "trained_models": TABLES["trained_models"].frame([{c: row[c] for c in columns} for row in trained]),
            "learning_curves": TABLES["learning_curves"].frame(curves),
        }
        gains = {f"gain_{model}": result["best_value"] - result["base_value"] for model, result in results.items()}
        yield from store(context, warehouse, spec, frames, {"trained_models": gains})

    return write_trained_models


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "training_examples",
        "no_leak_in_training",
        description="No example in use holds a passage that repeats validation or test text.",
    )
    def no_leak_in_training(warehouse: Warehouse) -> dg.AssetCheckResult:
        left = leaks_left(warehouse.load(collection, "training_examples"), warehouse.load(collection, "leakage"))
        return dg.AssetCheckResult(
            passed=left.is_empty(), metadata={"examples_with_leak": left.height, "first": str(left.head(20).rows())}
        )

    @table_check(
        spec,
        "training_examples",
        "only_training_groups",
        description="Every example comes from a group of the training split.",
    )
    def only_training_groups(warehouse: Warehouse) -> dg.AssetCheckResult:
        train = groups_of(warehouse.load(collection, "splits"), TRAIN)
        foreign = warehouse.load(collection, "training_examples", ["group_id"]).filter(~pl.col("group_id").is_in(train))
        return dg.AssetCheckResult(
            passed=foreign.is_empty(), metadata={"groups": str(foreign["group_id"].unique().sort().head(20).to_list())}
        )

    @dg.asset_check(
        asset=asset_key(spec, "trained_models"),
        name="trained_on_present_examples",
        description="Every model was trained on the examples as they are now.",
        blocking=True,
        pool="duckdb",
    )
    def trained_on_present_examples(warehouse: Warehouse, artifacts: Artifacts) -> dg.AssetCheckResult:
        trained = warehouse.load(collection, "trained_models", ["model", "data_hash"])
        if trained.is_empty():
            return dg.AssetCheckResult(passed=not spec.models, metadata={"stale": str(list(spec.models))})
        present = data_hash(read_exchange(exchange_files(spec, artifacts)))
        stale = trained.filter(pl.col("data_hash") != present)["model"].to_list()
        return dg.AssetCheckResult(passed=not stale, metadata={"stale": str(stale), "data_hash": present})

    @table_check(
        spec,
        "trained_models",
        "better_than_base",
        description="The kept step ranks the validation groups better than the base model.",
        blocking=False,
    )
    def better_than_base(warehouse: Warehouse) -> dg.AssetCheckResult:
        trained = warehouse.load(collection, "trained_models", ["model", "best_value", "base_value"])
        worse = trained.filter(pl.col("best_value") <= pl.col("base_value"))["model"].to_list()
        return dg.AssetCheckResult(
            passed=not worse, severity=dg.AssetCheckSeverity.WARN, metadata={"without_gain": str(worse)}
        )

    return [no_leak_in_training, only_training_groups, trained_on_present_examples, better_than_base]
