"""Reading and masking documents once: both are cached by the content they depend on."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tendril_assets.corpus.anonymize import AnonymizedDocument, Anonymizer, Detector, residual
from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.extract import EXTRACTOR_VERSION, Extraction, read_documents
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.spec import ExtractionSpec

EXTRACTIONS = "extractions"
MASKED = "masked"
CLEAN = "found_clean"
PROGRESS_EVERY_S = 10.0


@dataclass(frozen=True)
class SampledFile:
    """A document to read; ``sha256`` is the hash of its bytes."""

    project: str
    document: str
    path: str
    sha256: str


def extraction_key(file: SampledFile, limits: ExtractionSpec) -> str:
    """Everything an extraction depends on. The suffix tells HTML from text."""
    reading = limits.model_dump(exclude={"max_failed_share"})
    return json.dumps([file.sha256, Path(file.document).suffix.lower(), EXTRACTOR_VERSION, reading], sort_keys=True)


def read_files(
    files: Sequence[SampledFile],
    limits: ExtractionSpec,
    workers: int,
    artifacts: Artifacts,
    log: Callable[[str], None],
) -> Iterator[tuple[SampledFile, Extraction, float]]:
    """Each file with its extraction and the seconds it took: first the ones read before, then the others as they end.

    An extraction is stored as soon as it is there, so a stopped run goes on where it was. What failed for a reason of
    the machine, such as the time limit, is not stored: the next run may find it with less to do.
    """
    waiting: dict[str, SampledFile] = {}
    for number, file in enumerate(files):
        stored = artifacts.cached(EXTRACTIONS, extraction_key(file, limits))
        if stored is None:
            waiting[str(number)] = file
            continue
        record = json.loads(stored)
        yield file, Extraction.from_bytes(record["extraction"].encode()), record["seconds"]
    log(f"{len(files) - len(waiting):,} of {len(files):,} documents were read before, {len(waiting):,} to read")

    progress = _Progress(log, "read")
    jobs = [(job_id, file.path) for job_id, file in waiting.items()]
    for job_id, extraction, seconds in read_documents(jobs, limits, workers, progress):
        file = waiting[job_id]
        if not extraction.transient:
            record = {"extraction": extraction.to_bytes().decode(), "seconds": seconds}
            artifacts.put(EXTRACTIONS, extraction_key(file, limits), json.dumps(record).encode())
        yield file, extraction, seconds


def mask_documents(
    documents: Iterable[tuple[str, Sequence[str]]],
    total: int,
    anonymizer: Anonymizer,
    artifacts: Artifacts,
    log: Callable[[str], None],
) -> Iterator[tuple[str, AnonymizedDocument]]:
    """(name, texts) pairs masked one document at a time; the masked texts are cached, the mapping never is."""
    progress = _Progress(log, "masked")
    for done, (name, texts) in enumerate(documents, start=1):
        key = _texts_key(texts, anonymizer.identity)
        stored = artifacts.cached(MASKED, key)
        if stored is None:
            document = anonymizer.document(texts)
            artifacts.put(MASKED, key, json.dumps([document.texts, document.counts]).encode())
        else:
            masked, found = json.loads(stored)
            document = AnonymizedDocument(tuple(masked), found)
        progress(done, total)
        yield name, document


def residual_in_documents(corpus: pl.DataFrame, detector: Detector, artifacts: Artifacts) -> dict[str, set[str]]:
    """Labels still found per passage of ``corpus`` (document_id, passage_id, text); empty where all is clean.

    A document found clean is remembered by its texts and the detector, so that an unchanged corpus is not read again.
    """
    found: dict[str, set[str]] = {}
    for _, part in corpus.sort("document_id", "passage_id").group_by("document_id", maintain_order=True):
        texts = part["text"].to_list()
        key = _texts_key(texts, detector.identity)
        if artifacts.cached(CLEAN, key) is not None:
            continue
        dirty = {
            passage_id: {span.label for span in spans}
            for passage_id, text in zip(part["passage_id"], texts, strict=True)
            if (spans := residual(text, detector))
        }
        found |= dirty
        if not dirty:
            artifacts.put(CLEAN, key, b"clean")
    return found


def delivered_texts(rows: Iterable[tuple[int, int, str]], clean: Callable[[str], str]) -> list[PassageText]:
    """Delivered (page, position, text) rows as passages; texts are cleaned like extracted ones, not cut anew."""
    return [PassageText(page, position, clean(text).strip()) for page, position, text in sorted(rows)]


def _texts_key(texts: Sequence[str], identity: str) -> str:
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return f"{identity}|{digest}"


class _Progress:
    """Logs done, total, rate and time left, at most every ten seconds and at the end."""

    def __init__(self, log: Callable[[str], None], verb: str) -> None:
        self._log, self._verb = log, verb
        self._started = self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < PROGRESS_EVERY_S and done != total:
            return
        self._last = now
        rate = done / max(now - self._started, 1e-9)
        left = f", about {(total - done) / rate:.0f} s left" if done < total else ""
        self._log(f"{self._verb} {done:,} of {total:,} documents, {rate:.1f}/s{left}")
