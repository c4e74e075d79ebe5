"""Landing: one step reads and checks every file of a collection and replaces all landing tables together."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.acts import acts_checks, acts_metadata
from tendril_assets.assets.common import Stage, store, table_assets, table_check
from tendril_assets.assets.keys import refuse_other_secret
from tendril_assets.assets.simap import PUBLICATIONS
from tendril_assets.corpus.named_identifiers import identifiers_of
from tendril_assets.corpus.removals import Removals
from tendril_assets.resources.removed_landing import REMOVED_DOCUMENTS, without_removed_projects
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import ACTS, LANDING

LandingReader = Callable[[Path, CollectionSpec], dict[str, pl.DataFrame]]


def landing_assets(spec: CollectionSpec, read: LandingReader) -> Stage:
    """``read`` is the collection's own ``sources.landing_tables``."""

    # Where it is in the run at all: only the job that goes online has it.
    mirror = [PUBLICATIONS] if spec.simap else []

    @table_assets(
        spec, [t.name for t in (*LANDING, *(ACTS if spec.registers else ()))], deps=mirror, kinds={"duckdb", "file"}
    )
    def land(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        # Another secret than the warehouse was built with is refused before anything is read, written or paid for.
        refuse_other_secret(warehouse, spec)
        folder = Settings.from_env().landing / spec.collection
        frames = read(folder, spec)
        context.log.info(f"read {folder}: {', '.join(f'{n} {f.height:,}' for n, f in frames.items())}")
        frames = keep_little_of_removed(warehouse, spec, frames)
        metadata: dict[str, dict[str, Any]] = {"projects": {"landing": dg.MetadataValue.path(str(folder))}}
        if spec.registers:
            metadata["acts"] = acts_metadata(frames["acts"])
        yield from store(context, warehouse, spec, frames, metadata)

    @table_check(
        spec,
        "documents",
        "every_project_has_documents",
        description="Projects without any document give no passages.",
        blocking=False,
    )
    def every_project_has_documents(warehouse: Warehouse) -> dg.AssetCheckResult:
        without = warehouse.frame(spec.collection, "SELECT project FROM projects ANTI JOIN documents USING (project)")
        return dg.AssetCheckResult(
            passed=without.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"projects": without["project"].sort().head(20).to_list(), "count": without.height},
        )

    return Stage([land], [every_project_has_documents, *(acts_checks(spec) if spec.registers else ())])


def keep_little_of_removed(
    warehouse: Warehouse, spec: CollectionSpec, frames: dict[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """``frames`` with no more of removed projects than says that they are landed and removed.

    Which documents an entry names by its published id only the secret tells: their places are noted for the snapshot,
    which has no secret.
    """
    collection = spec.collection
    removals = Removals.of(frames["removals"].select("kind", "id").iter_rows())
    hasher = identifiers_of(spec.identifiers.policy, Settings.from_env().hash_key)
    documents = frames["documents"].select("project", "document").iter_rows() if removals.documents else ()
    gone = sorted([p, d] for p, d in documents if removals.has_document(p, d, hasher.document(p, d)))
    known, now = warehouse.meta_get(collection, REMOVED_DOCUMENTS), json.dumps(gone, ensure_ascii=False)
    if known != now and (gone or known is not None):
        warehouse.meta_set(collection, REMOVED_DOCUMENTS, now)
    landed = frames["projects"]["project"] if removals.projects else ()
    return without_removed_projects(frames, [p for p in landed if removals.has_project(p, hasher.group(p))])
