"""Which projects are left out because their documents restrict their own use: the rules' finds and a person's verdicts.

The sample is drawn first and the areas with it; what is restricted leaves afterwards and is not replaced, as in the
published collection (800 projects drawn, 169 excluded, 631 left). So an area may end up in fewer projects than the
sample promised: ``areas_keep_their_projects`` counts them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.reading import Texts, restrictions_in_documents, spans_of
from tendril_assets.corpus.removed_passages import withheld_restrictions
from tendril_assets.corpus.restriction_reviews import REVIEW_FILE, Reviewed, apply_reviews
from tendril_assets.corpus.restrictions import RULE_VERSION
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

WITHHELD = "(the passage is on the removal list)"
SHOWN = 50


def restriction_assets(spec: CollectionSpec) -> Stage:
    """restricted_projects, cleared_restrictions, and the check on what is left of the areas."""
    collection = spec.collection

    @table_assets(
        spec,
        ["restricted_projects", "cleared_restrictions"],
        deps=[
            "document_status",
            "passages",
            "removed_passages",
            "projects",
            "sampled_projects",
            "sampled_documents",
            "restriction_reviews",
        ],
        pool="cpu",
        version=RULE_VERSION,
    )
    def restrict(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        rows: set[tuple[Any, ...]] = set()
        if spec.restrictions.policy == "rules":
            rows = _found_by_rules(warehouse, collection, artifacts, context.log.info)
        reviewed = _reviewed(warehouse, collection, TABLES["restricted_projects"].frame(sorted(rows)))
        for project, document, page, rule in reviewed.unseen.select("project", "document", "page", "rule").iter_rows():
            context.log.warning(
                f"{project} was declared free before this was found: {rule} in {document}, page {page}. Look at it, and "
                f"change the verdict in {REVIEW_FILE} if it restricts"
            )
        frames = {"restricted_projects": reviewed.restricted, "cleared_restrictions": reviewed.cleared}
        metadata = {
            "restricted_projects": {
                "projects": reviewed.restricted["project"].n_unique(),
                "by_rule": counts(reviewed.restricted, "rule"),
                "by_language": counts(reviewed.restricted, "language"),
            },
            "cleared_restrictions": {
                "projects": reviewed.cleared["project"].n_unique(),
                "found_after_the_verdict": reviewed.unseen.height,
            },
        }
        yield from store(context, warehouse, spec, frames, metadata)

    @table_check(
        spec,
        "restricted_projects",
        "areas_keep_their_projects",
        description="Areas that restricted projects leave with fewer projects than the specification asks for.",
        blocking=False,
    )
    def areas_keep_their_projects(warehouse: Warehouse) -> dg.AssetCheckResult:
        least = spec.sampling.min_projects_per_area
        left = warehouse.frame(
            collection,
            "SELECT area, count(*) AS drawn, count(*) FILTER (project NOT IN (SELECT project FROM restricted_projects)) "
            "AS left_over FROM project_areas GROUP BY area ORDER BY area",
        )
        short = left.filter((pl.col("left_over") < least) & (pl.col("drawn") >= least))
        return dg.AssetCheckResult(
            passed=short.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "areas": short.height,
                "without_any_project": short.filter(pl.col("left_over") == 0).height,
                "least": least,
                "projects_left": dict(short.select("area", "left_over").head(SHOWN).iter_rows()),
            },
        )

    return Stage([restrict], [areas_keep_their_projects])


def _found_by_rules(
    warehouse: Warehouse, collection: str, artifacts: Artifacts, log: Callable[[str], None]
) -> set[tuple[Any, ...]]:
    """Rows of ``restricted_projects`` that the rules find, and those of removed passages."""
    passages = warehouse.load(collection, "passages", ["project", "document", "page", "position", "text"])
    edges = page_edges(warehouse.load(collection, "document_status", ["project", "document", "dropped_lines"]))
    owners = warehouse.frame(
        collection,
        "SELECT project, document, group_id, document_id FROM sampled_documents JOIN sampled_projects USING (project)",
    )
    texts = (
        pl.concat([passages, edges]).join(owners, on=["project", "document"]).sort("project", "document", "position")
    )
    spans = spans_of(texts, "project", "document")
    found = restrictions_in_documents(
        Texts.with_pages(texts, spans, collection), Settings.from_env().workers, artifacts, log
    )
    rows = {(*texts.row(spans[name].start)[:2], *clause) for name, clauses in found for clause in clauses}
    rows |= {(*place, WITHHELD) for place in withheld_restrictions(warehouse.load(collection, "removed_passages"))}
    return rows


def page_edges(status: pl.DataFrame) -> pl.DataFrame:
    """The repeated headers and footers of each document as one more text on page 1, behind its passages.

    They are no passages, but "only for the preparation of offers" often stands nowhere else. ``status`` has project,
    document and dropped_lines; the columns of the result are those the search reads.
    """
    lines = pl.col("dropped_lines").list.unique(maintain_order=True).list.join("\n")
    return status.filter(pl.col("dropped_lines").list.len() > 0).select(
        "project",
        "document",
        page=pl.lit(1, pl.Int32),
        position=pl.lit(2**31 - 1, pl.Int32),
        text=lines,
    )


def _reviewed(warehouse: Warehouse, collection: str, found: pl.DataFrame) -> Reviewed:
    """``found`` by rule after the verdicts in the landing folder."""
    languages = warehouse.load(collection, "projects", ["project", "language"])
    sampled = languages.join(warehouse.load(collection, "sampled_projects", ["project"]), on="project", how="semi")
    before = TABLES["cleared_restrictions"].empty()
    if warehouse.exists(collection, "cleared_restrictions"):
        before = warehouse.load(collection, "cleared_restrictions")
    return apply_reviews(found, warehouse.load(collection, "restriction_reviews"), sampled, before)
