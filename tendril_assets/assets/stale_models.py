"""Models trained on passages that are removed since: told wherever a model is, until it is trained again."""

from typing import Any, NamedTuple

import dagster as dg

from tendril_assets.assets.common import table_check
from tendril_assets.release.folders import MODELS
from tendril_assets.release.model_stale import mark
from tendril_assets.release.wording import markdown_table, plural
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec

CHECK = "not_trained_on_removed_passages"
_MODELS, _SYSTEMS = "views/models_on_removed", "views/stale_systems"


class StaleModel(NamedTuple):
    """``passages`` of which the model was ``trained_on`` and its step ``chosen_by``; ``since``: day of the first removal."""

    model: str
    passages: int
    trained_on: int
    chosen_by: int
    since: str
    entries: tuple[str, ...]

    @property
    def reason(self) -> str:
        parts = [f"trained on {plural(self.trained_on, 'passage')}"] if self.trained_on else []
        parts += [f"chosen by {plural(self.chosen_by, 'passage')}"] if self.chosen_by else []
        return f"{' and '.join(parts)} removed since {self.since}"


def stale_models(warehouse: Warehouse, collection: str) -> list[StaleModel]:
    """By name; none where nothing was trained or erased yet."""
    if not _present(warehouse, collection, _MODELS):
        return []
    found = warehouse.frame(collection, sql.query(_MODELS), "look for models trained on removed passages")
    return [
        StaleModel(
            row["model"],
            row["passages"],
            row["trained_on"],
            row["chosen_by"],
            f"{row['since']:%Y-%m-%d}",
            tuple(row["entries"]),
        )
        for row in found.iter_rows(named=True)
    ]


def stale_systems(warehouse: Warehouse, collection: str) -> dict[str, str]:
    """System -> why its measures no longer hold, as the views ``stale_systems`` and ``results`` say it."""
    if not _present(warehouse, collection, _SYSTEMS):
        return {}
    found = warehouse.frame(collection, sql.query(_SYSTEMS), "look for stale measures")
    return dict(found.select("system", "stale").iter_rows())


def stale_metadata(found: list[StaleModel]) -> dict[str, Any]:
    """For an asset's page; nothing where no model is stale."""
    if not found:
        return {}
    rows = [(one.model, one.trained_on, one.chosen_by, one.since, ", ".join(one.entries[:5])) for one in found]
    heads = ("model", "trained on", "chosen by", "removed since", "entries")
    return {"stale_models": dg.MetadataValue.md(markdown_table(heads, rows, figures=False))}


def mark_stale_models(warehouse: Warehouse, spec: CollectionSpec, settings: Settings) -> list[StaleModel]:
    """Put a notice on the released folder of each stale model; returns the stale models."""
    found = stale_models(warehouse, spec.collection)
    for one in found:
        name = spec.release.published_model(one.model).name
        mark(settings.release / spec.collection / MODELS / name, f"{one.reason}: train it again")
    return found


def stale_models_check(spec: CollectionSpec, table: str) -> dg.AssetChecksDefinition:
    """The warning, on a table: on what is erased it comes at once, on what is trained it goes once that is made again."""

    @table_check(
        spec,
        table,
        CHECK,
        description="No model's kept weights were trained on, or chosen by, a passage that is removed. Train such a model "
        "again: its measures are stale, and it gets no card.",
        blocking=False,
    )
    def not_trained_on_removed_passages(warehouse: Warehouse) -> dg.AssetCheckResult:
        found = stale_models(warehouse, spec.collection)
        return dg.AssetCheckResult(
            passed=not found,
            severity=dg.AssetCheckSeverity.WARN,
            description="; ".join(f"{one.model} was {one.reason}: {_advice(one, spec)}" for one in found) or None,
            metadata={"models": len(found), **stale_metadata(found)},
        )

    return not_trained_on_removed_passages


def _advice(one: StaleModel, spec: CollectionSpec) -> str:
    return "train it again" if one.model in spec.models else "delete its weights, for it left the specification"


def _present(warehouse: Warehouse, collection: str, query: str) -> bool:
    return all(warehouse.exists(collection, table) for table in sql.inputs(query))
