"""The models fine-tuned on the training examples, and what training reported.

The warehouse is read and written before and after; a model's asset only sees the hand-over files, and its work runs in
a child process, so that a crash there takes no daemon down and the GPU pool never holds the database.
"""

import json
from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets import trained_passages
from tendril_assets.assets.common import Stage, asset_key, store, table_assets, table_check, work_asset
from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.stale_models import stale_models_check
from tendril_assets.assets.training_process import train
from tendril_assets.assets.training_watch import TrainingWatch, result_metadata
from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.model_state import tell_cut
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.events import Reused
from tendril_assets.training.installing import KEPT, RESULT, finished, harmed_files
from tendril_assets.training.job import JOB_FILE, TrainingJob, data_hash, read_exchange
from tendril_assets.training.record import reproduction
from tendril_assets.training.standing import settle

# Parts of a result that the table holds as JSON.
_DOCUMENTS = ("versions", "validation", "recipe")


def training_job(spec: CollectionSpec, artifacts: Artifacts, model: str) -> TrainingJob:
    """The job of one model of the specification, on the collection's hand-over files."""
    return TrainingJob(
        model=model,
        folder=artifacts.folder(spec.collection, "models", model),
        exchange=exchange_files(spec, artifacts),
        recipe=spec.training,
        spec=spec.models[model],
        subsets=spec.trained_subsets,
        seed=spec.seed,
        reach=spec.evaluation.scope,
    )


def read_results(spec: CollectionSpec, artifacts: Artifacts) -> dict[str, dict]:
    """``result.json`` of every model of the specification.

    Raises:
        TrainingError: a model has no finished training, or its result lacks what the tables hold.
    """
    results = {}
    for model in spec.models:
        path = artifacts.folder(spec.collection, "models", model) / RESULT
        if not path.is_file():
            raise TrainingError(f"{path} is missing: materialise {spec.collection}/models/{model} first")
        results[model] = json.loads(path.read_text(encoding="utf-8"))
        if lacking := sorted(TABLES["trained_models"].schema.keys() - {"path"} - results[model].keys()):
            raise TrainingError(
                f"{path} was written by an earlier version of this product, without {', '.join(lacking)}: materialise "
                f"{spec.collection}/models/{model} again"
            )
    return results


def training_assets(spec: CollectionSpec) -> Stage:
    """models/<model> -> trained_models, learning_curves, trained_passages."""
    models = [_model_asset(spec, model) for model in spec.models]
    return Stage([*models, _results_asset(spec)], _checks(spec))


def _model_asset(spec: CollectionSpec, model: str) -> dg.AssetsDefinition:
    base = spec.models[model].base_title

    @work_asset(
        spec,
        f"models/{model}",
        stage="training",
        description=f"{base} fine-tuned on the training examples: weights of the best step and the report of the run.",
        deps=["training_examples"],
        pool="gpu",
        kinds={"pytorch", "huggingface"},
    )
    def train_model(context: dg.AssetExecutionContext, artifacts: Artifacts) -> dg.MaterializeResult:
        job = training_job(spec, artifacts, model)
        watch = TrainingWatch(context)
        # The process would find it too; but to start one takes longer than to look.
        present = data_hash(read_exchange(job.exchange, job.recipe.n_negatives))
        result = finished(job.folder, job.config_hash, present)
        reused = result is not None
        if result is not None:
            try:
                settle(job.folder)
            except OSError as error:  # a display must not fail what is trained
                context.log.warning(f"the progress file in {job.folder} cannot be written: {error.strerror}")
            watch(Reused(model, result["best_step"]))
        else:
            tell_cut(job.spec, context.log)
            train(context, job, job.write(job.folder / JOB_FILE), watch)
            result = json.loads((job.folder / RESULT).read_text(encoding="utf-8"))
        trained_passages.keep(artifacts, spec.collection, model, result["data_hash"])
        return dg.MaterializeResult(
            data_version=dg.DataVersion(result["weights_sha256"]),
            metadata=result_metadata(model, result, job.folder, reused=reused),
        )

    return train_model


def _results_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    @table_assets(
        spec,
        ["trained_models", "learning_curves", trained_passages.TABLE],
        deps=[f"models/{model}" for model in spec.models],
    )
    def write_trained_models(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        results = read_results(spec, artifacts)
        columns = list(TABLES["trained_models"].schema)
        trained = [
            result
            | {
                "path": str(artifacts.folder(spec.collection, "models", model) / KEPT),
                **{name: json.dumps(result[name], sort_keys=True) for name in _DOCUMENTS},
            }
            for model, result in results.items()
        ]
        curves = [(model, *point) for model, result in results.items() for point in result["curve"]]
        frames = {
            "trained_models": TABLES["trained_models"].frame([{c: row[c] for c in columns} for row in trained]),
            "learning_curves": TABLES["learning_curves"].frame(curves),
            trained_passages.TABLE: trained_passages.table(artifacts, warehouse, spec, results),
        }
        gains = {f"gain_{model}": result["best_value"] - result["base_value"] for model, result in results.items()}
        yield from store(context, warehouse, spec, frames, {"trained_models": gains})

    return write_trained_models


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

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

    @dg.asset_check(
        asset=asset_key(spec, "trained_models"),
        name="weights_as_trained",
        description="The kept files of every model are there, with the bytes that training left.",
        blocking=True,
        pool="cpu",
    )
    def weights_as_trained(artifacts: Artifacts) -> dg.AssetCheckResult:
        harmed = [
            f"{model}/{KEPT}/{name}"
            for model, result in read_results(spec, artifacts).items()
            for name in harmed_files(artifacts.folder(collection, "models", model), result)
        ]
        return dg.AssetCheckResult(passed=not harmed, metadata={"entries": harmed})

    @table_check(
        spec,
        "trained_models",
        "kept_weights_give_the_best_value",
        description="The kept weights, loaded again, give the value that the best step was chosen by.",
        blocking=True,
    )
    def kept_weights_give_the_best_value(warehouse: Warehouse) -> dg.AssetCheckResult:
        failed, is_error, figures = [], False, {}
        for row in warehouse.load(collection, "trained_models").iter_rows(named=True):
            found = reproduction(row, json.loads(row["validation"]))
            figures[row["model"]] = (
                f"{row['best_value']:.8f} in training, {row['reproduced_value']:.8f} loaded again: {found.difference:.1e} apart, "
                f"{found.allowed:.1e} allowed, "
                + ("measured alike" if found.is_exact else "measured on a GPU or not at the same place")
            )
            if not found.holds:
                failed.append(row["model"])
                is_error |= found.is_exact
        return dg.AssetCheckResult(
            passed=not failed,
            severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
            metadata={"models": str(failed), **figures},
        )

    return [
        trained_on_present_examples,
        weights_as_trained,
        kept_weights_give_the_best_value,
        better_than_base,
        stale_models_check(spec, trained_passages.TABLE),
    ]
