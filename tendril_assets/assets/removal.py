"""The removal list at work: what it takes out of the passages, what each entry hit, and whether anything is left."""

from datetime import UTC, datetime
from typing import NamedTuple

import dagster as dg
import polars as pl

from tendril_assets.assets.common import table_check
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.named_identifiers import named_passage
from tendril_assets.corpus.removal_effects import NO_MATCH, removal_effects
from tendril_assets.corpus.removals import Removals, is_address
from tendril_assets.corpus.removed_passages import REMEMBERED, take_out, taken_per_entry
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erased_rows import note_erased, stored
from tendril_assets.resources.erasing import erase_caches
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

SHOWN = 20


def removal_list(warehouse: Warehouse, collection: str) -> Removals:
    return Removals.of(warehouse.load(collection, "removals", ["kind", "id"]).iter_rows())


class Withheld(NamedTuple):
    """(project, document) of what nothing is kept of, for its pages hold a removed text: an entry took a passage from it in
    the last run (``known``), or names a place in it (``named``)."""

    known: set[tuple[str, str]]
    named: set[tuple[str, str]]


def withheld_documents(warehouse: Warehouse, collection: str) -> Withheld:
    listed = removal_list(warehouse, collection).passages
    found = Withheld(set(), set())
    if listed and warehouse.exists(collection, "removed_passages"):
        taken = warehouse.load(collection, "removed_passages", ["entry", "project", "document"])
        found.known.update(taken.filter(pl.col("entry").is_in(list(listed))).select("project", "document").iter_rows())
    places = {entry.rsplit("/", 2)[0] for entry in listed if is_address(entry)}
    if places:
        landed = warehouse.load(collection, "documents", ["project", "document"])
        found.named.update((project, name) for project, name in landed.iter_rows() if f"{project}/{name}" in places)
    groups = {group for entry in listed if (group := named_passage(entry))}
    if groups:
        landed = warehouse.load(collection, "documents", ["project", "document"])
        found.named.update((project, name) for project, name in landed.iter_rows() if project in groups)
    return found


def with_former_seconds(
    warehouse: Warehouse, collection: str, status: pl.DataFrame, documents: set[tuple[str, str]]
) -> pl.DataFrame:
    """``status`` (rows of document_status) with the time that reading one of ``documents`` took in the last run, where it
    gave the same: it is read anew each time, and a table in which nothing else has changed is to stay as it is."""
    if not documents or not warehouse.exists(collection, "document_status"):
        return status
    former = warehouse.load(collection, "document_status")
    # Lists compare as text: polars joins by no list.
    same = [pl.col(name).cast(pl.List(pl.String)).list.join("\x1f").alias(name) if kind == pl.List else pl.col(name)
            for name, kind in status.schema.items() if name != "seconds"]  # fmt: skip
    names = [name for name in status.columns if name != "seconds"]
    again = pl.DataFrame(sorted(documents), {"project": pl.String(), "document": pl.String()}, orient="row")
    before = former.select(*same, before="seconds").join(again, on=["project", "document"], how="semi")
    found = status.select(*same).join(before, on=names, how="left", nulls_equal=True, maintain_order="left")
    return status.with_columns(seconds=pl.coalesce(found["before"], status["seconds"]))


def taken_out(
    warehouse: Warehouse, spec: CollectionSpec, found: pl.DataFrame, hasher: Identifiers
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """``found`` without what is removed, and the tables ``removed_passages`` and ``removal_effects``.

    Both tables go on from their last state: a removed passage is known again under another id, and an entry that took
    effect once is no misspelt one.
    """
    collection = spec.collection
    former = {name: stored(warehouse, collection, name) for name in ("removed_passages", "removal_effects")}
    entries = warehouse.load(collection, "removals", ["kind", "id"]).rows()
    passages, removed = take_out(
        found, Removals.of(entries), former["removed_passages"], spec.filters.near_duplicate, hasher
    )
    landed = warehouse.load(collection, "projects", ["project"])["project"]
    documents = warehouse.load(collection, "documents", ["project", "document"]).rows()
    effects = removal_effects(
        entries,
        {project: hasher.group(project) for project in landed},
        {(project, document): hasher.document(project, document) for project, document in documents},
        taken_per_entry(removed),
        former["removal_effects"],
    )
    return passages, removed, effects


def erase_newly_hit(
    warehouse: Warehouse, artifacts: Artifacts, collection: str, removed: pl.DataFrame, hasher: Identifiers
) -> None:
    """Erase what was cached of the documents that ``removed``, the new rows of removed_passages, takes a passage from for
    the first time: it holds that passage. Call it before these rows are stored, so that a kill in between repeats it."""
    before = stored(warehouse, collection, "removed_passages")
    fresh = removed.join(before, on=["project", "document", "passage_id"], how="anti")
    hit = {hasher.document(*place) for place in fresh.select("project", "document").unique().iter_rows()}
    gone = erase_caches(artifacts, collection, hit)
    note_erased(warehouse, collection, datetime.now(UTC).replace(tzinfo=None), gone)


def removal_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "removal_effects",
        "every_removal_names_something",
        description="Entries of the removal list that never hit anything landed or read: most likely misspelt.",
        blocking=False,
    )
    def every_removal_names_something(warehouse: Warehouse) -> dg.AssetCheckResult:
        effects = warehouse.load(collection, "removal_effects")
        idle = effects.filter(pl.col("state") == NO_MATCH)
        entries = [
            f"{kind} {entry}" + (f" (did you mean {suggestion}?)" if suggestion else "")
            for kind, entry, suggestion in idle.select("kind", "id", "suggestion").head(SHOWN).iter_rows()
        ]
        return dg.AssetCheckResult(
            passed=idle.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"without_effect": idle.height, "entries": entries, "in_list": effects.height},
        )

    @table_check(
        spec,
        "corpus",
        "nothing_removed_is_left",
        description="No passage of the removal list, of its documents or projects.",
    )
    def nothing_removed_is_left(warehouse: Warehouse) -> dg.AssetCheckResult:
        out = warehouse.load(collection, "removed_passages", ["entry", "passage_id", "how"])
        # The place of a removed passage may be another one's by now; what stood there is known by its id.
        moved = {entry for entry in out["entry"] if is_address(entry)}
        removals = removal_list(warehouse, collection).without_passages(moved)
        gone = set(out.filter(pl.col("how") != REMEMBERED)["passage_id"])
        rows = warehouse.frame(
            collection,
            "SELECT c.passage_id, c.group_id, c.document_id, p.project, p.document, p.page, p.position "
            "FROM corpus c LEFT JOIN passages p USING (passage_id)",
        )
        left = [
            row["passage_id"]
            for row in rows.iter_rows(named=True)
            if row["passage_id"] in gone
            or removals.has_project(row["project"], row["group_id"])
            or removals.has_document(row["project"], row["document"], row["document_id"])
            or removals.has_passage(row["project"], row["document"], row["page"], row["position"], row["passage_id"])
        ]
        return dg.AssetCheckResult(passed=not left, metadata={"left": len(left), "passages": left[:SHOWN]})

    return [every_removal_names_something, nothing_removed_is_left]
