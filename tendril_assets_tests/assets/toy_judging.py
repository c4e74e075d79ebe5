"""A toy collection up to the corpus in a temporary warehouse, and its stages from queries to qrels."""

from pathlib import Path
from typing import Any

import dagster as dg

from tendril_assets.assets.calibration import calibration_assets
from tendril_assets.assets.common import Stage
from tendril_assets.assets.drift import drift_assets
from tendril_assets.assets.judging import judging_assets
from tendril_assets.assets.qrels import qrels_assets
from tendril_assets.assets.queries import queries_assets
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

SPEC: dict[str, Any] = {
    "collection": "toy",
    "group": "project",
    "subsets": ["area_of_action", "criterion"],
    "queries": {"summary": {"model": "toy/writer", "max_tokens": 200}, "summary_max_words": 10},
    "judge": {"llm": {"model": "toy/judge", "max_tokens": 16, "providers": ["stub"]}},
    "models": {},
    "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
}

# Passages p-1 and p-4 have one text; they belong to two groups that share the area "holz".
TABLES_BEFORE = {
    "areas": [("cat", "holz", "Holz", "Nachhaltiges Holz."), ("cat", "strom", "Strom", "Strom sparen.")],
    "criteria": [
        ("cat", "holz", "holz.1", "Nur FSC", "Basis-Text", None, None),
        ("cat", "strom", "strom.1", "Wenig Watt", None, None, None),
    ],
    "project_areas": [
        ("p1", "holz", "holz.1", "unsure", "quota"),
        ("p1", "strom", "strom.1", None, "coverage"),
        ("p2", "holz", "holz.1", None, "coverage"),
    ],
    "sampled_projects": [("p1", "g-1", 1), ("p2", "g-2", 2)],
    "corpus": [
        ("p-1", "Es wird FSC verlangt.", "g-1", "d-1", 1),
        ("p-2", "Höchstens 5 Watt {im} Betrieb.", "g-1", "d-1", 2),
        ("p-3", "Anreise", "g-1", "d-2", 1),
        ("p-4", "Es wird FSC verlangt.", "g-2", "d-3", 1),
    ],
    "calibration_pairs": [
        ("t1", "x1", "criterion", "Nur FSC", "Es wird FSC verlangt.", 2),
        ("t1", "x2", "criterion", "Nur FSC", "Ganz anderes", 0),
        ("t2", "x1", "area_of_action", "Strom", "Watt", 1),
    ],
    "calibration_annotations": [
        ("t1", "x1", "ann", 2),
        ("t1", "x1", "bea", 2),
        ("t1", "x2", "ann", 0),
        ("t1", "x2", "bea", 1),
    ],
}
# g-1: 3 passages x 4 queries, g-2: 1 passage x 2 queries. Of the two queries of g-2 both meet a text that g-1 has too.
CANDIDATES, REQUESTS = 14, 12
# Two summaries, and three calibration pairs none of which equals a judged prompt (there the query has its levels).
SUMMARIES, CALIBRATION = 2, 3
ALL_CALLS = SUMMARIES + REQUESTS + CALIBRATION


def spec(**changes: Any) -> CollectionSpec:
    return CollectionSpec.model_validate({**SPEC, **changes})


def resources_in(folder: Path, base_url: str, **gateway: Any) -> dict[str, Any]:
    """Resources over ``folder``; the first call writes the tables before the query stage."""
    path = folder / "warehouse.duckdb"
    fresh = not path.exists()
    warehouse = Warehouse(database=str(path), snapshot=str(folder / "snapshot.duckdb"), wait_s=60)
    if fresh:
        warehouse.replace("toy", {name: TABLES[name].frame(rows) for name, rows in TABLES_BEFORE.items()}, "test")
    return {
        "warehouse": warehouse,
        "artifacts": Artifacts(root=str(folder / "artifacts")),
        "gateway": Gateway(base_url=base_url, api_key="test-key", **{"concurrency": 2, **gateway}),
    }


def stages(chosen: CollectionSpec) -> Stage:
    factories = (queries_assets, judging_assets, calibration_assets, drift_assets, qrels_assets)
    parts = [factory(chosen) for factory in factories]
    return Stage([a for s in parts for a in s.assets], [c for s in parts for c in s.checks])


def run(
    chosen: CollectionSpec,
    resources: dict[str, Any],
    selection: str | None = None,
    *,
    raise_on_error: bool = False,
    storage: str | None = None,
) -> dg.ExecuteInProcessResult:
    """``storage``: the folder that Dagster keeps what it is told in, nothing where it is not named."""
    stage = stages(chosen)
    chosen_keys = dg.AssetSelection.assets(*(["toy", name] for name in (selection or "").split()))
    keys = selection and chosen_keys.required_multi_asset_neighbors()
    # Closed in the thread that opened it: SQLite insists.
    with dg.DagsterInstance.local_temp(storage) if storage else dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [*stage.assets, *stage.checks],
            resources=resources,
            selection=keys,
            instance=instance,
            raise_on_error=raise_on_error,
        )


def judge(query: str, passage: str) -> tuple[int, str, str]:
    """Grade 2 for a shared topic, 1 for the word Watt elsewhere, else 0; summaries are the first line of the area."""
    if not query:
        return 200, f"Zusammenfassung: {passage.removeprefix('<area>').splitlines()[0]}", "stop"
    topics = [{"FSC", "Holz"}, {"Watt", "Strom"}]
    if any(any(word in query for word in topic) and any(word in passage for word in topic) for topic in topics):
        return 200, "2", "stop"
    return 200, "1" if "Watt" in passage else "0", "stop"
