"""``project_status``: one row per landed project, from the tables of the run."""

import json
from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import counts, store, table_assets
from tendril_assets.assets.keys import published_identifiers
from tendril_assets.assets.removal import removal_list
from tendril_assets.corpus.anonymize import RULE_VERSION as MASKING_VERSION
from tendril_assets.corpus.chunking import CHUNKER_VERSION
from tendril_assets.corpus.clause_chunks import CHUNKS_VERSION
from tendril_assets.corpus.extract import EXTRACTOR_VERSION, WITH_TEXT
from tendril_assets.corpus.passages import RULE_VERSION
from tendril_assets.corpus.removal_effects import touching
from tendril_assets.corpus.removed_passages import REMOVAL_VERSION
from tendril_assets.corpus.restrictions import RULE_VERSION as RESTRICTION_VERSION
from tendril_assets.corpus.sampling import Standing
from tendril_assets.corpus.status import Outcomes, project_status
from tendril_assets.corpus.tokens import token_counter
from tendril_assets.resources.detector import rule_detector
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

# It also reads corpus and passage_decisions, which the step of anonymized_entities writes together with that table.
# It does not depend on them by name: a blocking check on them would keep this table from telling why.
INPUTS = (
    "projects",
    "documents",
    "test_projects",
    "removals",
    "sampled_projects",
    "sampled_documents",
    "document_status",
    "passages",
    "removed_passages",
    "restricted_projects",
    "anonymized_entities",
)


def status_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection

    @table_assets(spec, ["project_status"], deps=INPUTS, version="2")
    def status_of_projects(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        hasher = published_identifiers(warehouse, spec)
        removals = removal_list(warehouse, collection)
        outcomes = Outcomes(
            documents=warehouse.frame(
                collection,
                "SELECT d.project, d.document, d.sha256, s.rank "
                "FROM documents d LEFT JOIN sampled_documents s USING (project, document)",
            ),
            status=warehouse.load(collection, "document_status"),
            decisions=warehouse.frame(
                collection,
                "SELECT p.project, p.document, d.kept, d.reason FROM passage_decisions d JOIN passages p USING (passage_id)",
            ),
            restricted=warehouse.load(collection, "restricted_projects"),
            corpus=warehouse.load(collection, "corpus", ["group_id"]),
        )
        standing = Standing.of(
            warehouse.load(collection, "projects", ["project"])["project"],
            warehouse.load(collection, "test_projects")["project"],
            removals,
            hasher,
        )
        documents = {(p, d): hasher.document(p, d) for p, d in outcomes.documents.select("project", "document").rows()}
        frame = project_status(
            standing,
            warehouse.load(collection, "sampled_projects").sort("rank")["project"].to_list(),
            outcomes,
            with_text=WITH_TEXT,
            touching=touching(
                removals,
                standing.groups,
                documents,
                warehouse.load(collection, "removed_passages", ["project", "entry"]),
            ),
            rules=_rules(spec),
            seed=spec.seed,
        )
        figures = {"by_state": counts(frame, "state")}
        yield from store(context, warehouse, spec, {"project_status": frame}, {"project_status": figures})

    return status_of_projects


def _rules(spec: CollectionSpec) -> str:
    """Every rule a project's passages depend on, by version and parameters."""
    rules = [
        [EXTRACTOR_VERSION, CHUNKER_VERSION, REMOVAL_VERSION, RULE_VERSION, RESTRICTION_VERSION, MASKING_VERSION],
        rule_detector().identity,
        spec.extraction.model_dump(mode="json", exclude={"max_failed_share"}),
        spec.filters.fingerprint(),
        spec.anonymization.fingerprint(),
    ]
    if spec.chunking.policy == "clauses":
        rules += [CHUNKS_VERSION, token_counter(spec.chunking.tokenizer).identity, spec.chunking.fingerprint()]
    return json.dumps(rules, sort_keys=True)
