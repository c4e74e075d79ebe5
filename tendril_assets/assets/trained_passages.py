"""The passages behind each model's weights: handed over with the examples, kept with the model, written as a table.

The hand-over file is of the present examples. A model's own copy, written by the step that trains it, stays with its
weights for as long as these are kept: also when a removal has changed the examples since. It holds ids, no text.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.errors import TrainingError
from tendril_assets.files import replacing
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.installing import KEPT

TABLE = "trained_passages"
HAND_OVER = "training_passages"
_FOLDER = "trained"
_DATA = "data_hash"
_COLUMNS = ["passage_id", "document_id", "group_id", "part"]


def hand_over(artifacts: Artifacts, collection: str, passages: pl.DataFrame, data_hash: str) -> None:
    """Write the passages (``training.trained_on``) of the examples whose ``job.data_hash`` this is."""
    artifacts.write_frame(collection, HAND_OVER, passages.with_columns(pl.lit(data_hash).alias(_DATA)))


def keep(artifacts: Artifacts, collection: str, model: str, data_hash: str) -> None:
    """Keep with a model what it was trained on, once it is; nothing is written where that is kept already.

    Where the hand-over file is missing or of other data nothing is kept, and ``table`` says so.
    """
    path, given = _path(artifacts, collection, model), artifacts.exchange(collection, HAND_OVER)
    if _of_data(path, data_hash) is None and (found := _of_data(given, data_hash)) is not None:
        with replacing(path) as partial:
            found.write_parquet(partial, statistics=False)


def table(
    artifacts: Artifacts, warehouse: Warehouse, spec: CollectionSpec, results: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """Table ``trained_passages``: of the models with these results (``result.json``), and, as the table has them, of those
    that left the specification for as long as their weights are there.

    Raises:
        TrainingError: what a model was trained on is not known; then nobody could tell whether a removal touches it.
    """
    collection = spec.collection
    former = warehouse.load(collection, TABLE) if warehouse.exists(collection, TABLE) else TABLES[TABLE].empty()
    left = [m for m in former["model"].unique() if m not in results and _kept(artifacts, collection, m).is_dir()]
    frames = [former.filter(pl.col("model").is_in(left))]
    for model, result in results.items():
        weights = result["weights_sha256"]
        known = _of_data(_path(artifacts, collection, model), result["data_hash"])
        if known is None:
            known = former.filter(pl.col("model") == model, pl.col("weights_sha256") == weights)
        if known.is_empty():
            raise TrainingError(
                f"{collection}: nothing says which passages {model} was trained on, as an earlier version of this product "
                f"kept no record: materialise {collection}/training_examples and {collection}/models/{model} again"
            )
        named = known.select(
            pl.lit(model).alias("model"), pl.lit(weights).alias("weights_sha256"), *(pl.col(c) for c in _COLUMNS)
        )
        frames.append(named)
    return pl.concat(frames)


def _kept(artifacts: Artifacts, collection: str, model: str) -> Path:
    return artifacts.folder(collection, "models", model) / KEPT


def _path(artifacts: Artifacts, collection: str, model: str) -> Path:
    return artifacts.folder(collection, _FOLDER, model).with_suffix(".parquet")


def _of_data(path: Path, data_hash: str) -> pl.DataFrame | None:
    """The file's rows where they are of these data; None where it is missing, damaged or of other data."""
    try:
        found = pl.read_parquet(path, columns=[*_COLUMNS, _DATA])
    except (FileNotFoundError, pl.exceptions.PolarsError):
        return None
    return found if set(found[_DATA]) == {data_hash} else None
