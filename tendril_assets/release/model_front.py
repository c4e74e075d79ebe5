"""A model card's front matter: what the Hugging Face hub reads, built and written with the hub's own library."""

from typing import Any

import polars as pl

from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.release.model_inputs import CardModel, ModelInputs
from tendril_assets.release.model_results import reported, shown_levels
from tendril_assets.release.wording import named

_DECIMALS = 6


def model_front_matter(known: CardModel, inputs: ModelInputs) -> str:
    """YAML between two ``---`` lines, with a model index where the model has scores.

    Only what the hub can resolve is named: a base by hub id, data by an id with an owner where it is released.
    """
    from huggingface_hub import ModelCardData

    release = inputs.spec.release
    hub_id = known.entry.published_base
    base: dict[str, Any] = {"base_model": hub_id, "base_model_relation": "finetune"} if hub_id else {}
    data: dict[str, Any] = (
        {"datasets": [release.hub_id(release.name)]}
        if release.organisation and inputs.released and not inputs.sandbox
        else {}
    )
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "retrieval"]
    licence: dict[str, Any] = {**known.entry.licence.front_matter}
    found = _evaluations(known, inputs)
    index: dict[str, Any] = (
        {"model_name": release.published_model(known.name).name, "eval_results": found} if found else {}
    )
    card = ModelCardData(
        language=[release.language],
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=[*tags, "sandbox"] if inputs.sandbox else tags,
        **licence,
        **base,
        **data,
        **index,
    )
    return f"---\n{card.to_yaml()}\n---\n"


def _evaluations(known: CardModel, inputs: ModelInputs) -> list:
    """One result per level and measure; a level is told by name and argument, for the hub groups by data set alone. Of
    registers none is over all of them, for there is no room here to say what it is made of."""
    from huggingface_hub import EvalResult

    release = inputs.spec.release
    test = None if inputs.sandbox else release.test_collection
    held, levels = "external test collection", [ALL, *inputs.spec.subsets]
    if inputs.holds_tests:
        test, held, levels = None, f"held-out {inputs.spec.group}s", shown_levels(known, inputs)
    own = inputs.scores.filter(pl.col("system") == known.tuned_system)
    values = {(r["level"], r["measure"]): r["value"] for r in own.iter_rows(named=True)}
    return [
        EvalResult(
            task_type="information-retrieval",
            task_name="Information retrieval",
            dataset_type=test.name if test else f"{release.name}-test",
            dataset_name=test.name if test else f"{release.name}, {held}",
            dataset_revision=test.revision if test else None,
            metric_type=measure.replace("@", "_at_"),
            metric_name=named(measure) if level == ALL else f"{named(measure)}, {named(level).lower()}",
            metric_value=round(values[level, measure], _DECIMALS),
            metric_args={"level": level},
        )
        for level in levels
        for measure in reported(inputs)
        if (level, measure) in values
    ]
