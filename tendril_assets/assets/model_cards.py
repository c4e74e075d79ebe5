"""The folders of fine-tuned models: weights with a card whose every figure is from the tables."""

from pathlib import Path

import dagster as dg
import polars as pl

from tendril_assets.assets.common import work_asset
from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.figures import ROWS, figure_frame, figure_inputs, published
from tendril_assets.assets.released import former_releases
from tendril_assets.assets.stale_models import mark_stale_models, stale_metadata, stale_models
from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.folders import MODELS
from tendril_assets.release.model_folder import write_model
from tendril_assets.release.model_inputs import ModelInputs
from tendril_assets.release.publish import content_of
from tendril_assets.release.weights import read_weights_folder
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.job import data_hash, read_exchange

# What a collection that holds its own tests measures per register.
REGISTERS = "register_scores"
NO_SCORES = TABLES[REGISTERS].empty()


def model_cards_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    deps = {"trained_models", "system_scores", "comparisons", "judge_agreement", "training_examples", "releases"}
    deps |= {"trained_passages", "erased_ids"} | ({REGISTERS} if spec.evaluation.test == "held_out" else set())

    @work_asset(
        spec,
        "model_cards",
        stage="release",
        description="Each fine-tuned model as a folder to load or publish: weights, card, licence and notice. Every figure of "
        "the card is from the tables.",
        deps=sorted(deps | figure_inputs(spec, ("training_use", *ROWS))),
        pool="cpu",
        kinds={"markdown", "huggingface"},
    )
    def model_cards(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> dg.MaterializeResult:
        settings = Settings.from_env()
        root = settings.release / spec.collection / MODELS
        if not spec.models:
            return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(str(root)), "models": "none"})
        stale = mark_stale_models(warehouse, spec, settings)
        inputs = model_inputs(warehouse, artifacts, spec, settings)
        trained = dict(inputs.trained.select("model", "path").sort("model").iter_rows())
        rows, refused = [], []
        for model in sorted(trained.keys() & spec.models.keys()):
            try:
                folder = write_model(root, model, inputs, read_weights_folder(Path(trained[model])))
            except ExportInvariantError as error:
                refused.append(str(error))
                continue
            context.log.info(f"model {folder.path}: {folder.outcome}")
            if folder.lacking:
                context.log.warning(f"model {folder.path}: {folder.lacking}")
            rows.append((model, "; ".join(filter(None, (folder.outcome, folder.lacking))), f"`{folder.path}`"))
        names = {spec.release.published_model(model).name for model in spec.models}
        there = (path.name for path in root.iterdir() if not path.name.startswith(".")) if root.is_dir() else ()
        aside = {
            "not trained": sorted(spec.models.keys() - trained.keys()),
            "not in the specification": sorted(trained.keys() - spec.models.keys()),
            # Of models under a former name, or gone since.
            "other folders": sorted(set(there) - names),
        }
        for what, which in aside.items():
            if which:
                context.log.warning(f"models, {what}: {', '.join(which)}")
        if refused:
            raise ExportInvariantError("\n".join(refused))
        table = markdown_table(("model", "outcome", "folder"), rows, figures=False)
        return dg.MaterializeResult(
            metadata={
                "path": dg.MetadataValue.path(str(root)),
                "models": dg.MetadataValue.md(table),
                **{what: ", ".join(which) for what, which in aside.items() if which},
                **stale_metadata(stale),
            }
        )

    return model_cards


def model_inputs(warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, settings: Settings) -> ModelInputs:
    """Everything the model cards are made of, read from the warehouse and the hand-over files."""
    names = ("trained_models", "system_scores", "comparisons")
    trained, scores, comparisons = (warehouse.load(spec.collection, name) for name in names)
    return ModelInputs(
        spec=spec,
        trained=trained,
        scores=scores,
        comparisons=comparisons,
        training_use=figure_frame(warehouse, spec, "training_use"),
        agreement=warehouse.load(spec.collection, "judge_agreement"),
        present_data=data_hash(read_exchange(exchange_files(spec, artifacts))),
        released=_is_released(warehouse, spec),
        sandbox=settings.is_sandbox,
        registers=warehouse.load(spec.collection, REGISTERS) if spec.evaluation.test == "held_out" else NO_SCORES,
        stale={one.model: one.reason for one in stale_models(warehouse, spec.collection)},
    )


def _is_released(warehouse: Warehouse, spec: CollectionSpec) -> bool:
    """Whether the release of the specification's version holds the rows as they are now."""
    written = former_releases(warehouse, spec.collection)
    here = (pl.col("version") == spec.release.version) & pl.col("withdrawn_at").is_null()
    found = written.filter(here)["content_hash"].to_list()
    rows = published(warehouse, spec, {name: figure_frame(warehouse, spec, name) for name in ROWS})
    return bool(found) and found == [content_of(rows)]
