"""The corpus stage: documents are read, filtered, masked; restricted projects and removed content stay out.

sampled_documents -> document_status, passages -> restricted_projects -> passage_decisions, anonymized_entities, corpus
-> project_status. Decisions and corpus are written together, because the length rule holds for the masked text too.
"""

from collections import Counter
from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, counts, store, table_assets
from tendril_assets.assets.corpus_checks import corpus_checks
from tendril_assets.assets.keys import keyed_hasher
from tendril_assets.assets.reading import SampledFile, delivered_texts, mask_documents, read_files
from tendril_assets.assets.sampling import removal_list, sampling_assets
from tendril_assets.corpus.anonymize import RULE_VERSION as MASKING_VERSION
from tendril_assets.corpus.anonymize import Anonymizer
from tendril_assets.corpus.chunking import CHUNKER_VERSION, passages_of
from tendril_assets.corpus.extract import EXTRACTOR_VERSION, WITH_TEXT
from tendril_assets.corpus.passages import (
    RULE_VERSION,
    bounded_after_masking,
    decide_passages,
    passage_rows,
    project_status,
    without_removed,
)
from tendril_assets.corpus.restrictions import RULE_VERSION as RESTRICTION_VERSION
from tendril_assets.corpus.restrictions import find_restrictions
from tendril_assets.corpus.textclean import clean
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.detector import build_detector
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

# A label whose share of all masked entities moves by more than this between two runs is worth a look.
LABEL_SHARE_JUMP = 0.1


def corpus_assets(spec: CollectionSpec) -> Stage:
    """Everything from the sample to the corpus and the status of each project."""
    collection = spec.collection
    sampling = sampling_assets(spec)

    @table_assets(
        spec,
        ["document_status", "passages"],
        deps=["documents", "delivered_passages", "sampled_documents", "removals"],
        pool="cpu",
        version=f"{EXTRACTOR_VERSION}+{CHUNKER_VERSION}",
    )
    def read(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        hasher = keyed_hasher(warehouse, collection)
        documents = _sampled_documents(warehouse, collection)
        delivered = warehouse.load(collection, "delivered_passages")
        status, rows = [], []
        for (project, document), part in delivered.join(
            documents.filter("delivered"), on=["project", "document"], how="semi"
        ).group_by("project", "document", maintain_order=True):
            texts = delivered_texts(part.select("page", "position", "text").iter_rows(), clean)
            rows += passage_rows(str(project), str(document), texts, hasher)
            figures = (part["page"].n_unique(), [], [], sum(len(t.text) for t in texts), 0.0, "delivered")
            status.append((project, document, "ok", None, *figures))
        files = [
            SampledFile(*row)
            for row in documents.filter(~pl.col("delivered"))
            .select("project", "document", "path", "sha256")
            .iter_rows()
        ]
        for file, read, seconds in read_files(
            files, spec.extraction, Settings.from_env().workers, artifacts, context.log.info
        ):
            rows += passage_rows(file.project, file.document, passages_of(read.pages), hasher)
            figures = (
                read.page_count,
                list(read.empty_pages),
                list(read.dropped_lines),
                read.characters,
                seconds,
                EXTRACTOR_VERSION,
            )
            status.append((file.project, file.document, read.outcome, read.message, *figures))
        found = TABLES["passages"].frame(rows)
        passages = without_removed(found, removal_list(warehouse, collection), spec.filters.near_duplicate)
        frames = {
            "document_status": TABLES["document_status"].frame(status).sort("project", "document"),
            "passages": passages.sort("project", "document", "position"),
        }
        metadata = {
            "document_status": {"by_outcome": counts(frames["document_status"], "outcome")},
            "passages": {"removed": found.height - passages.height, "characters": int(passages["characters"].sum())},
        }
        yield from store(context, warehouse, spec, frames, metadata)

    @table_assets(spec, ["restricted_projects"], deps=["passages"], pool="cpu", version=RESTRICTION_VERSION)
    def restrict(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        passages = warehouse.load(collection, "passages", ["project", "document", "page", "text"])
        rows = {
            (project, document, page, found.language, found.rule, found.sentence)
            for project, document, page, text in passages.iter_rows()
            for found in find_restrictions(text)
        }
        frame = TABLES["restricted_projects"].frame(sorted(rows))
        figures = {
            "projects": frame["project"].n_unique(),
            "by_rule": counts(frame, "rule"),
            "by_language": counts(frame, "language"),
        }
        yield from store(context, warehouse, spec, {"restricted_projects": frame}, {"restricted_projects": figures})

    @table_assets(
        spec,
        ["corpus", "passage_decisions", "anonymized_entities"],
        deps=["passages", "sampled_projects", "sampled_documents", "restricted_projects"],
        pool="cpu",
        version=f"{RULE_VERSION}+mask-{MASKING_VERSION}",
    )
    def build_corpus(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        anonymizer = Anonymizer(build_detector(spec.anonymization))
        passages = warehouse.load(collection, "passages")
        documents = warehouse.load(collection, "sampled_documents")
        decisions = decide_passages(passages, documents, spec.filters)
        kept = (
            passages.join(decisions.filter("kept"), on="passage_id", how="semi")
            .join(warehouse.load(collection, "restricted_projects"), on="project", how="anti")
            .join(documents, on=["project", "document"])
            .join(warehouse.load(collection, "sampled_projects", ["project", "group_id"]), on="project")
            .sort("group_id", "document_id", "position")
        )
        parts = {str(name): part for (name,), part in kept.group_by("document_id", maintain_order=True)}
        texts = ((name, part["text"].to_list()) for name, part in parts.items())
        masked, entities = [], []
        for name, document in mask_documents(texts, len(parts), anonymizer, artifacts, context.log.info):
            masked.append(parts[name].with_columns(text=pl.Series(document.texts, dtype=pl.String)))
            entities += [
                (*parts[name].select("project", "document").row(0), tag, n) for tag, n in document.counts.items()
            ]
        corpus = pl.concat(masked) if masked else kept
        decisions = bounded_after_masking(decisions, corpus, spec.filters)
        frames = {
            "corpus": corpus.join(decisions.filter("kept"), on="passage_id", how="semi").select(
                list(TABLES["corpus"].schema)
            ),
            "passage_decisions": decisions,
            "anonymized_entities": TABLES["anonymized_entities"].frame(entities),
        }
        shares = label_shares(frames["anonymized_entities"])
        jumps = share_jumps(_shares_of_last_run(warehouse, collection), shares)
        if jumps:
            context.log.warning(
                f"shares of masked labels jumped since the last run, look at a sample of texts: {jumps}"
            )
        metadata = {
            "corpus": {"groups": frames["corpus"]["group_id"].n_unique(), "detector": anonymizer.identity},
            "passage_decisions": {"by_reason": counts(decisions, "reason")},
            "anonymized_entities": {"label_shares": shares, "label_share_jumps": jumps},
        }
        yield from store(context, warehouse, spec, frames, metadata)

    @table_assets(
        spec,
        ["project_status"],
        deps=["sampled_projects", "sampled_documents", "document_status", "passages", "restricted_projects", "corpus"],
    )
    def status_of_projects(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        frame = project_status(
            warehouse.load(collection, "sampled_projects"),
            _sampled_documents(warehouse, collection),
            warehouse.load(collection, "document_status"),
            warehouse.load(collection, "passages", ["project"]),
            warehouse.load(collection, "restricted_projects"),
            warehouse.load(collection, "corpus", ["group_id"]),
            WITH_TEXT,
        )
        figures = {"by_state": counts(frame, "state")}
        yield from store(context, warehouse, spec, {"project_status": frame}, {"project_status": figures})

    assets = [*sampling.assets, read, restrict, build_corpus, status_of_projects]
    return Stage(assets, [*sampling.checks, *corpus_checks(spec)])


def label_shares(entities: pl.DataFrame) -> dict[str, float]:
    """Share of each label among all masked occurrences."""
    totals: Counter[str] = Counter()
    for label, n in entities.select("label", "entities").iter_rows():
        totals[label] += n
    return {label: n / totals.total() for label, n in sorted(totals.items())}


def _sampled_documents(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Sampled documents with path, content hash and whether they were delivered as passages."""
    return warehouse.frame(
        collection,
        "SELECT s.project, s.document, s.rank, d.path, d.sha256, d.delivered "
        "FROM sampled_documents s JOIN documents d USING (project, document) ORDER BY s.project, s.rank",
    )


def share_jumps(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Labels whose share moved by more than ``LABEL_SHARE_JUMP``, with the change; none on a first run."""
    if not before:
        return {}
    changes = {label: after.get(label, 0.0) - before.get(label, 0.0) for label in sorted({*after, *before})}
    return {label: change for label, change in changes.items() if abs(change) > LABEL_SHARE_JUMP}


def _shares_of_last_run(warehouse: Warehouse, collection: str) -> dict[str, float]:
    if not warehouse.exists(collection, "anonymized_entities"):
        return {}
    return label_shares(warehouse.load(collection, "anonymized_entities"))
