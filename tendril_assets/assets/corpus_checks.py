"""What must hold of the corpus before anybody pays for judging it."""

import dagster as dg
import polars as pl

from tendril_assets.assets.common import asset_key, table_check
from tendril_assets.assets.reading import residual_in_documents
from tendril_assets.corpus.extract import WITH_TEXT
from tendril_assets.corpus.removals import Removals
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.detector import rule_detector
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

SHOWN = 20


def corpus_checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection, bounds = spec.collection, spec.filters

    @table_check(
        spec,
        "document_status",
        "most_documents_were_read",
        description="The share of sampled documents without text is within the limit of the specification.",
        blocking=False,
    )
    def most_documents_were_read(warehouse: Warehouse) -> dg.AssetCheckResult:
        status = warehouse.load(collection, "document_status", ["project", "document", "outcome", "message"])
        failed = status.filter(~pl.col("outcome").is_in(WITH_TEXT))
        share = failed.height / status.height if status.height else 0.0
        examples = [f"{p}/{d}: {outcome}, {message}" for p, d, outcome, message in failed.head(SHOWN).iter_rows()]
        return dg.AssetCheckResult(
            passed=share <= spec.extraction.max_failed_share,
            metadata={
                "share": share,
                "limit": spec.extraction.max_failed_share,
                "failed": failed.height,
                "examples": examples,
            },
        )

    @table_check(
        spec,
        "corpus",
        "ids_are_unique_and_texts_within_bounds",
        description="Passage ids are unique, and the published (masked) texts keep the length bounds.",
    )
    def ids_are_unique_and_texts_within_bounds(warehouse: Warehouse) -> dg.AssetCheckResult:
        corpus = warehouse.load(collection, "corpus", ["passage_id", "text"])
        length = pl.col("text").str.len_chars()
        outside = corpus.filter((length < bounds.min_characters) | (length > bounds.max_characters))
        repeated = corpus.height - corpus["passage_id"].n_unique()
        return dg.AssetCheckResult(
            passed=repeated == 0 and outside.is_empty(),
            metadata={
                "repeated_ids": repeated,
                "outside_bounds": outside.height,
                "passages": outside["passage_id"].head(SHOWN).to_list(),
            },
        )

    @dg.asset_check(
        asset=asset_key(spec, "corpus"),
        name="no_residual_personal_data",
        description="The rule detector finds nothing more in any text of the corpus.",
        blocking=True,
        pool="cpu",
    )
    def no_residual_personal_data(warehouse: Warehouse, artifacts: Artifacts) -> dg.AssetCheckResult:
        corpus = warehouse.load(collection, "corpus", ["document_id", "passage_id", "text"])
        found = residual_in_documents(corpus, rule_detector(), artifacts)
        # Ids and labels only: what was found is what must not be shown.
        return dg.AssetCheckResult(
            passed=not found,
            metadata={
                "passages": len(found),
                "examples": {i: sorted(labels) for i, labels in sorted(found.items())[:SHOWN]},
            },
        )

    @table_check(
        spec,
        "corpus",
        "nothing_removed_is_left",
        description="No passage of the removal list, of its documents or projects.",
    )
    def nothing_removed_is_left(warehouse: Warehouse) -> dg.AssetCheckResult:
        removals = Removals.of(warehouse.load(collection, "removals", ["kind", "id"]).iter_rows())
        rows = warehouse.frame(
            collection,
            "SELECT c.passage_id, c.group_id, c.document_id, p.project, p.document, p.page, p.position "
            "FROM corpus c LEFT JOIN passages p USING (passage_id)",
        )
        left = [
            row["passage_id"]
            for row in rows.iter_rows(named=True)
            if removals.has_project(row["project"], row["group_id"])
            or removals.has_document(row["project"], row["document"], row["document_id"])
            or removals.has_passage(row["project"], row["document"], row["page"], row["position"], row["passage_id"])
        ]
        return dg.AssetCheckResult(passed=not left, metadata={"left": len(left), "passages": left[:SHOWN]})

    return [
        most_documents_were_read,
        ids_are_unique_and_texts_within_bounds,
        no_residual_personal_data,
        nothing_removed_is_left,
    ]
