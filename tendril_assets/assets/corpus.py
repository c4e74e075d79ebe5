"""The corpus stage: documents are read, filtered, masked; restricted projects and removed content stay out.

sampled_documents -> document_status, passages -> restricted_projects -> passage_decisions, guarded_pairs,
anonymized_entities, masked_samples, corpus -> passage_texts, similar_texts, project_status. Decisions and corpus are
written together, because the length rule holds for the masked text too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.clause_checks import clause_checks
from tendril_assets.assets.clause_reading import cut_documents
from tendril_assets.assets.common import Stage, counts, store, table_assets
from tendril_assets.assets.corpus_checks import corpus_checks
from tendril_assets.assets.decisions import decide_all, decision_checks, drop_report
from tendril_assets.assets.duplicates import duplicate_assets
from tendril_assets.assets.keys import published_identifiers
from tendril_assets.assets.reading import (
    Rows,
    SampledFile,
    Tally,
    Texts,
    delivered_texts,
    mask_documents,
    read_files,
    spans_of,
)
from tendril_assets.assets.removal import (
    erase_newly_hit,
    removal_checks,
    taken_out,
    with_former_seconds,
    withheld_documents,
)
from tendril_assets.assets.restrictions import restriction_assets
from tendril_assets.assets.sampling import sampling_assets
from tendril_assets.assets.shown import passage_fates
from tendril_assets.assets.status import status_asset
from tendril_assets.corpus.anonymize import RULE_VERSION as MASKING_VERSION
from tendril_assets.corpus.anonymize import Anonymizer
from tendril_assets.corpus.audit import audit_of, audit_table
from tendril_assets.corpus.chunking import CHUNKER_VERSION
from tendril_assets.corpus.clause_chunks import CHUNKS_VERSION
from tendril_assets.corpus.clause_passages import bodies, overlapping_removed
from tendril_assets.corpus.extract import EXTRACTOR_VERSION
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.passages import (
    RULE_VERSION,
    bounded_after_masking,
    passage_rows,
    without_unmasked,
)
from tendril_assets.corpus.removed_passages import REMOVAL_VERSION
from tendril_assets.corpus.textclean import clean
from tendril_assets.release.wording import plural
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.delivered import read_again
from tendril_assets.resources.detector import build_detector
from tendril_assets.resources.text_work import masking_work
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

# A label whose share of all masked entities moves by more than this between two runs is worth a look.
LABEL_SHARE_JUMP = 0.1
SHOWN = 20


def corpus_assets(spec: CollectionSpec) -> Stage:
    """Everything from the sample to the corpus and the status of each project."""
    collection = spec.collection
    sampling, restrictions = sampling_assets(spec), restriction_assets(spec)
    clause_tables = ["passage_clauses"] if spec.chunking.policy == "clauses" else []
    acts = ["acts"] if clause_tables and spec.registers else []

    @table_assets(
        spec,
        ["document_status", "passages", "removed_passages", "removal_effects", *clause_tables],
        deps=["projects", "documents", "delivered_passages", "sampled_documents", "removals", *acts],
        pool="cpu",
        version=f"{EXTRACTOR_VERSION}+{CHUNKS_VERSION if clause_tables else CHUNKER_VERSION}+{REMOVAL_VERSION}",
    )
    def read(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        hasher = published_identifiers(warehouse, spec)
        documents = _sampled_documents(warehouse, collection)
        known, named = withheld_documents(warehouse, collection)
        withheld = known | named
        tally, workers = Tally(), Settings.from_env().workers
        clauses = None
        if spec.chunking.policy == "clauses":
            status, found, clauses = cut_documents(
                warehouse, artifacts, spec, documents, withheld, hasher, workers, context.log.info, tally
            )
        else:
            status, found = _read_paragraphs(
                spec, documents, withheld, hasher, workers, artifacts, context.log.info, tally
            )
        compared = found if clauses is None else bodies(found, clauses)
        passages, removed, effects = taken_out(warehouse, spec, compared, hasher)
        erase_newly_hit(warehouse, artifacts, collection, removed, hasher)
        outcomes = TABLES["document_status"].frame(status).sort("project", "document")
        frames = {
            "document_status": with_former_seconds(warehouse, collection, outcomes, withheld),
            "passages": passages.sort("project", "document", "position"),
            "removed_passages": removed,
            "removal_effects": effects,
        }
        told = {}
        if clauses is not None:
            kept = passages.select("passage_id")
            frames["passages"] = found.join(kept, on="passage_id", how="semi").sort("project", "document", "position")
            left = clauses.join(kept, on="passage_id", how="semi")
            frames["passage_clauses"] = left.sort("project", "starts_at", "passage_id")
            overlapping = overlapping_removed(clauses, removed["passage_id"], left["passage_id"])
            told = {"overlapping": len(overlapping), "overlapping_ids": overlapping[:SHOWN]}
            if overlapping:
                context.log.warning(
                    f"{plural(len(overlapping), 'passage')} of the corpus share a part of their text with a removed one: "
                    f"{', '.join(overlapping[:SHOWN])}. They stay; put them on the removal list too if it has to go"
                )
        metadata = {
            "document_status": {
                "by_outcome": counts(frames["document_status"], "outcome"),
                "read_now": tally.now,
                "read_before": tally.before,
            },
            "passages": {"removed": found.height - passages.height, "characters": int(passages["characters"].sum())},
            "removed_passages": told,
            "removal_effects": {"by_state": counts(effects, "state")},
        }
        yield from store(context, warehouse, spec, frames, metadata)

    @table_assets(
        spec,
        ["corpus", "passage_decisions", "guarded_pairs", "anonymized_entities", "masked_samples"],
        deps=[
            "passages",
            "sampled_projects",
            "sampled_documents",
            "restricted_projects",
            "project_areas",
            "areas",
        ],
        pool="cpu",
        version=f"{RULE_VERSION}+mask-{MASKING_VERSION}",
    )
    def build_corpus(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        near = spec.filters.near_duplicate
        passages = warehouse.load(collection, "passages")
        documents = warehouse.load(collection, "sampled_documents")
        decisions, guarded = decide_all(warehouse, artifacts, spec, passages, documents)
        kept = (
            passages.join(decisions.filter("kept"), on="passage_id", how="semi")
            .join(documents, on=["project", "document"])
            .join(warehouse.load(collection, "sampled_projects", ["project", "group_id"]), on="project")
            .sort("group_id", "document_id", "position")
        )
        entities, masking = [], Tally()
        detector = "none"
        if spec.anonymization.detector == "none":
            texts = kept["text"]
        else:
            anonymizer = Anonymizer(build_detector(spec.anonymization))
            detector = anonymizer.identity
            texts, entities = _masked(spec, anonymizer, kept, artifacts, context.log.info, masking)
        failed = pl.col("document_id").is_in(list(masking.failed))
        corpus = kept.filter(~failed).with_columns(text=texts)
        decisions = bounded_after_masking(decisions, corpus, spec.filters)
        decisions = without_unmasked(decisions, kept.filter(failed))
        frames = {
            "corpus": corpus.join(decisions.filter("kept"), on="passage_id", how="semi").select(
                list(TABLES["corpus"].schema)
            ),
            "passage_decisions": decisions,
            "guarded_pairs": guarded,
            "anonymized_entities": TABLES["anonymized_entities"].frame(sorted(entities)),
        }
        audit = audit_of(frames["corpus"].select("passage_id", "text").iter_rows())
        samples = [(tag.tag, *sample) for tag in audit for sample in tag.samples]
        frames["masked_samples"] = TABLES["masked_samples"].frame(samples)
        shares = label_shares(frames["anonymized_entities"])
        jumps = share_jumps(_shares_of_last_run(warehouse, collection), shares)
        if jumps:
            context.log.warning(
                f"shares of masked labels jumped since the last run, look at a sample of texts: {jumps}"
            )
        metadata = {
            "corpus": {
                "groups": frames["corpus"]["group_id"].n_unique(),
                "detector": detector,
                "masked_now": masking.now,
                "masked_before": masking.before,
                "not_masked": masking.failed,
            },
            "passage_decisions": drop_report(warehouse, collection, decisions),
            "guarded_pairs": {"by_difference": counts(guarded, "difference"), "kept_apart": near.guard},
            "anonymized_entities": {
                "label_shares": shares,
                "label_share_jumps": jumps,
                "by_tag": dg.MetadataValue.md(audit_table(audit)),
            },
        }
        yield from store(context, warehouse, spec, frames, metadata, {"passage_decisions": passage_fates})

    duplicates = duplicate_assets(spec)
    assets = [*sampling.assets, read, *restrictions.assets, build_corpus, *duplicates.assets, status_asset(spec)]
    checks = [
        *sampling.checks,
        *restrictions.checks,
        *corpus_checks(spec),
        *clause_checks(spec),
        *decision_checks(spec),
        *removal_checks(spec),
    ]
    return Stage(assets, checks)


def _read_paragraphs(
    spec: CollectionSpec,
    documents: pl.DataFrame,
    withheld: Collection[tuple[str, str]],
    identifiers: Identifiers,
    workers: int,
    artifacts: Artifacts,
    log: Callable[[str], None],
    tally: Tally,
) -> tuple[list[tuple[Any, ...]], pl.DataFrame]:
    """Rows of ``document_status``, and ``passages``: the paragraphs of each document."""
    status, rows = [], Rows(TABLES["passages"])
    sampled = read_again(documents.filter("delivered").select("project", "document", "path", "sha256").iter_rows())
    # One pass over sorted rows: polars' own groups cost more than all the rest where there are thousands of them.
    of_document = groupby(sampled.sort("project", "document").iter_rows(), key=itemgetter(0, 1))
    for (project, document), group in of_document:
        texts = delivered_texts((row[2:5] for row in group), clean)
        rows.add(passage_rows(project, document, texts, identifiers))
        pages = len({text.page for text in texts})
        figures = (pages, [], [], sum(len(text.text) for text in texts), [], 0.0, "delivered")
        status.append((project, document, "ok", None, *figures))
    files = [
        SampledFile(*row, (spec.collection, *owner), withheld=tuple(row[:2]) in withheld)
        for *row, owner in documents.filter(~pl.col("delivered"))
        .select("project", "document", "path", "sha256", pl.concat_list("group_id", "document_id"))
        .iter_rows()
    ]
    for file, reading in read_files(files, spec.extraction, workers, artifacts, log, tally):
        extraction = reading.extraction
        rows.add(passage_rows(file.project, file.document, reading.passages, identifiers))
        figures = (
            extraction.page_count,
            list(extraction.empty_pages),
            list(extraction.dropped_lines),
            extraction.characters,
            reading.page_characters,
            reading.seconds,
            EXTRACTOR_VERSION,
        )
        status.append((file.project, file.document, extraction.outcome, extraction.message, *figures))
    return status, rows.frame()


def _masked(
    spec: CollectionSpec,
    anonymizer: Anonymizer,
    kept: pl.DataFrame,
    artifacts: Artifacts,
    log: Callable[[str], None],
    masking: Tally,
) -> tuple[pl.Series, list[tuple[str, str, str, int]]]:
    """The texts of ``kept`` masked, without those of documents that failed, and rows of ``anonymized_entities``."""
    spans = spans_of(kept, "document_id")
    work, workers = masking_work(anonymizer, spec.anonymization), Settings.from_env().workers
    masked: dict[str, pl.Series] = {}
    entities = []
    documents = Texts.of(kept, spans, spec.collection)
    for name, document in mask_documents(documents, work, workers, artifacts, log, masking):
        masked[name] = pl.Series(document.texts, dtype=pl.String)
        place = kept["project"][spans[name].start], kept["document"][spans[name].start]
        entities += [(*place, tag, n) for tag, n in document.counts.items()]
    # They come as they are finished; the table has the order of the sample.
    return pl.concat([pl.Series([], dtype=pl.String), *(masked[name] for name in spans if name in masked)]), entities


def label_shares(entities: pl.DataFrame) -> dict[str, float]:
    """Share of each label among all masked occurrences."""
    totals: Counter[str] = Counter()
    for label, n in entities.select("label", "entities").iter_rows():
        totals[label] += n
    return {label: n / totals.total() for label, n in sorted(totals.items())}


def _sampled_documents(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Sampled documents with their published ids, path, content hash and whether they were delivered as passages."""
    return warehouse.frame(
        collection,
        "SELECT s.project, s.document, s.rank, d.path, d.sha256, d.delivered, p.group_id, s.document_id "
        "FROM sampled_documents s JOIN documents d USING (project, document) JOIN sampled_projects p USING (project) "
        "ORDER BY s.project, s.rank",
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
