"""What must hold of the corpus before anybody pays for judging it."""

import dagster as dg
import polars as pl

from tendril_assets.assets.common import asset_key, table_check
from tendril_assets.assets.reading import residual_in_documents
from tendril_assets.corpus.extract import WITH_TEXT
from tendril_assets.corpus.passages import MASKING_FAILED
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.text_work import residual_search
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
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
        # Behind the colon stands what a library said, which may quote the document; the table has it whole.
        examples = [
            f"{project}/{document}: {outcome}, {message.partition(':')[0]}"
            for project, document, outcome, message in failed.head(SHOWN).iter_rows()
        ]
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
        corpus = warehouse.load(collection, "corpus", ["group_id", "document_id", "passage_id", "text"])
        workers, log = Settings.from_env().workers, dg.get_dagster_logger().info
        found = residual_in_documents(corpus, residual_search(), artifacts, collection, workers, log)
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
        "passage_decisions",
        "every_document_was_masked",
        description="Documents left out because masking raised an error; an error of its own above the limit for reading.",
    )
    def every_document_was_masked(warehouse: Warehouse) -> dg.AssetCheckResult:
        documents = warehouse.frame(
            collection,
            "SELECT p.project, p.document, bool_or(d.reason = $failed) AS failed "
            "FROM passage_decisions d JOIN passages p USING (passage_id) WHERE d.kept OR d.reason = $failed "
            "GROUP BY p.project, p.document ORDER BY ALL",
            failed=MASKING_FAILED,
        )
        failed = documents.filter("failed")
        share = failed.height / documents.height if documents.height else 0.0
        # One document stops nothing; many mean that something is wrong with the rules or the model.
        too_many = share > spec.extraction.max_failed_share
        return dg.AssetCheckResult(
            passed=failed.is_empty(),
            severity=dg.AssetCheckSeverity.ERROR if too_many else dg.AssetCheckSeverity.WARN,
            metadata={
                "failed": failed.height,
                "share": share,
                "examples": [f"{project}/{document}" for project, document, _ in failed.head(SHOWN).iter_rows()],
            },
        )

    checks = [most_documents_were_read, ids_are_unique_and_texts_within_bounds]
    if spec.anonymization.detector != "none":
        checks += [no_residual_personal_data, every_document_was_masked]
    return checks
