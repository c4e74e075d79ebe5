"""What is done with a document once: read, searched, masked, checked. Each is cached by the content it depends on.

Caches lie in the document's own folder (``resources.artifacts``), as UTF-8 whose texts stand as they are, so that whoever
looks for one finds it.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.child_pool import Job
from tendril_assets.corpus.anonymize import AnonymizedDocument
from tendril_assets.corpus.chunking import CHUNKER_VERSION, PassageText, passages_of
from tendril_assets.corpus.extract import EXTRACTOR_VERSION, Extraction, read_documents
from tendril_assets.corpus.extraction import PageText
from tendril_assets.errors import TendrilError
from tendril_assets.records import Table
from tendril_assets.resources.artifacts import Artifacts, Owner
from tendril_assets.resources.text_work import TextWork, done, restriction_search
from tendril_assets.spec_corpus import ExtractionSpec

EXTRACTIONS = "extractions"
READINGS = "readings"
MASKED = "masked"
SEARCHED = "searched"
RESIDUAL = "residual"
PROGRESS_EVERY_S = 10.0
ROWS_AT_ONCE = 4_000


@dataclass(frozen=True)
class SampledFile:
    """A document to read; ``sha256`` is the hash of its bytes, ``owner`` whose its caches are.

    One that is ``withheld`` has passages on the removal list: it is read anew each time, and nothing of it is stored.
    """

    project: str
    document: str
    path: str
    sha256: str
    owner: Owner
    withheld: bool = False


class Cutter(NamedTuple):
    """How pages become passages; ``version`` names the rule."""

    version: str
    cut: Callable[[Sequence[PageText]], list[PassageText]]


PARAGRAPHS = Cutter(CHUNKER_VERSION, passages_of)
# For a rule that wants the whole document: its pages as they are.
PAGES = Cutter("pages-1", lambda pages: [PassageText(page.number, n, page.text) for n, page in enumerate(pages)])


@dataclass(frozen=True)
class Reading:
    """What a document gave: its ``extraction`` without the pages, their lengths, and the ``passages`` cut from them.

    ``seconds``: wall time of the extraction.
    """

    extraction: Extraction
    page_characters: list[int]
    passages: list[PassageText]
    seconds: float

    @classmethod
    def of(cls, extraction: Extraction, seconds: float, cutter: Cutter = PARAGRAPHS) -> "Reading":
        passages = cutter.cut(extraction.pages)
        return cls(replace(extraction, pages=()), list(extraction.page_characters), passages, seconds)

    def to_bytes(self) -> bytes:
        return _plain([asdict(self.extraction), self.page_characters, self.passages, self.seconds])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Reading":
        extraction, page_characters, passages, seconds = json.loads(data)
        cut = [PassageText(*passage) for passage in passages]
        return cls(Extraction.from_bytes(_plain(extraction)), page_characters, cut, seconds)


@dataclass
class Tally:
    """How many documents came from the cache (``before``) and were done (``now``).

    ``failed`` maps a document to the error it raised. Only the kind of error and where in the code: its message may
    quote the text.
    """

    before: int = 0
    now: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def raise_if_any(self, what: str) -> None:
        """Raise TendrilError naming a document that failed, for work that may leave none out."""
        for name, told in self.failed.items():
            raise TendrilError(f"{len(self.failed)} document(s) could not be {what}; the first is {name}: {told}")


@dataclass(frozen=True)
class Texts:
    """Texts of documents: ``names`` in order, ``of_one`` the texts of one, made when they are needed, and ``owner_of``
    whose its caches are."""

    names: Sequence[str]
    of_one: Callable[[str], Sequence[Any]]
    owner_of: Callable[[str], Owner]

    @classmethod
    def of(cls, frame: pl.DataFrame, spans: Mapping[str, range], collection: str) -> "Texts":
        """The column ``text`` of ``frame``, which has group_id and document_id; ``spans`` are the rows of each document."""
        texts, groups, documents = frame["text"], frame["group_id"], frame["document_id"]
        return cls(
            list(spans),
            lambda name: texts.slice(spans[name].start, len(spans[name])).to_list(),
            lambda name: (collection, groups[spans[name].start], documents[spans[name].start]),
        )

    @classmethod
    def with_pages(cls, frame: pl.DataFrame, spans: Mapping[str, range], collection: str) -> "Texts":
        """(page, text) in place of the text alone."""
        texts, pages = cls.of(frame, spans, collection), frame["page"]

        def of_one(name: str) -> list[tuple[int, str]]:
            own = pages.slice(spans[name].start, len(spans[name])).to_list()
            return list(zip(own, texts.of_one(name), strict=True))

        return cls(texts.names, of_one, texts.owner_of)


def spans_of(frame: pl.DataFrame, *by: str) -> dict[str, range]:
    """Rows of each document, whose rows stand together in ``frame``, under the joined values of ``by``.

    A frame per document would cost more than all that is done with it where there are thousands.
    """
    spans: dict[str, range] = {}
    start = 0
    for *values, n in frame.group_by(by, maintain_order=True).len().iter_rows():
        name = plain = "/".join(values)
        while name in spans:  # "a/b" + "c" and "a" + "b/c"
            name = f"{name}+" if name != plain else f"{plain} +"
        spans[name] = range(start, start + n)
        start += n
    return spans


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
    tally: Tally,
    cutter: Cutter = PARAGRAPHS,
) -> Iterator[tuple[SampledFile, Reading]]:
    """Each file as it was read: first the ones read before, then the others as they end.

    What was read is stored as soon as it is there, so a stopped run goes on where it was: the pages, and the passages cut
    from them, so that another rule of cutting reads no file again and an unchanged one cuts nothing again. What failed
    for a reason of the machine, such as the time limit, is not stored: the next run may find it with less to do. Nor is
    what a removed passage was cut from.
    """
    waiting: dict[str, SampledFile] = {}
    for number, file in enumerate(files):
        stored = _stored(file, limits, artifacts, cutter)
        if stored is None:
            waiting[str(number)] = file
            continue
        tally.before += 1
        yield file, stored
    log(f"{tally.before:,} of {len(files):,} documents were read before, {len(waiting):,} to read")

    progress = _Progress(log, "read")
    jobs = [(job_id, file.path) for job_id, file in waiting.items()]
    for job_id, extraction, seconds in read_documents(jobs, limits, workers, progress):
        file = waiting[job_id]
        reading = Reading.of(extraction, seconds, cutter)
        if not extraction.transient and not file.withheld:
            key = extraction_key(file, limits)
            record = {"extraction": asdict(extraction), "seconds": seconds}
            artifacts.put(EXTRACTIONS, file.owner, key, _plain(record))
            artifacts.put(READINGS, file.owner, _cut_key(key, cutter), reading.to_bytes())
        tally.now += 1
        yield file, reading


def _stored(file: SampledFile, limits: ExtractionSpec, artifacts: Artifacts, cutter: Cutter) -> Reading | None:
    if file.withheld:
        return None
    key = extraction_key(file, limits)
    cut = artifacts.cached(READINGS, file.owner, _cut_key(key, cutter))
    if cut is not None:
        return Reading.from_bytes(cut)
    pages = artifacts.cached(EXTRACTIONS, file.owner, key)
    if pages is None:
        return None
    record = json.loads(pages)
    reading = Reading.of(Extraction.from_bytes(_plain(record["extraction"])), record["seconds"], cutter)
    artifacts.put(READINGS, file.owner, _cut_key(key, cutter), reading.to_bytes())
    return reading


def _cut_key(key: str, cutter: Cutter) -> str:
    return f"{cutter.version}|{key}"


def mask_documents(
    documents: Texts,
    work: TextWork,
    workers: int,
    artifacts: Artifacts,
    log: Callable[[str], None],
    tally: Tally,
) -> Iterator[tuple[str, AnonymizedDocument]]:
    """Documents masked one by one; the masked texts are cached, the mapping never is.

    A document whose masking raises is left out and noted in ``tally.failed``: unmasked it must not go on, and the
    others must not wait for it.
    """
    for name, (masked, found) in answered(MASKED, documents, work, workers, artifacts, log, "masked", tally):
        yield name, AnonymizedDocument(tuple(masked), found)


def restrictions_in_documents(
    documents: Texts, workers: int, artifacts: Artifacts, log: Callable[[str], None]
) -> Iterator[tuple[str, list[tuple[int, str, str, str]]]]:
    """Per document, given as its (page, text), the (page, language, rule, sentence) of its restricting clauses.

    Raises TendrilError for a document that cannot be searched: it might be restricted.
    """
    tally = Tally()
    work = restriction_search()
    yield from answered(SEARCHED, documents, work, workers, artifacts, log, "searched", tally)
    tally.raise_if_any("searched for restricting clauses")


def residual_in_documents(
    corpus: pl.DataFrame,
    work: TextWork,
    artifacts: Artifacts,
    collection: str,
    workers: int = 1,
    log: Callable[[str], None] = lambda _: None,
) -> dict[str, set[str]]:
    """Labels still found per passage of ``corpus`` (group_id, document_id, passage_id, text); empty where all is clean.

    What was found in a document is remembered by its texts and the detector, so that an unchanged corpus is not read
    again. Raises TendrilError for a document that cannot be checked.
    """
    ordered = corpus.select("group_id", "document_id", "passage_id", "text").sort("document_id", "passage_id")
    spans, passages = spans_of(ordered, "document_id"), ordered["passage_id"]
    tally = Tally()
    found: dict[str, set[str]] = {}
    texts = Texts.of(ordered, spans, collection)
    for name, labels in answered(RESIDUAL, texts, work, workers, artifacts, log, "checked", tally):
        left = zip(spans[name], labels, strict=True)
        found |= {passages[row]: set(of_one) for row, of_one in left if of_one}
    tally.raise_if_any("checked for personal data")
    return found


def answered(
    kind: str,
    documents: Texts,
    work: TextWork,
    workers: int,
    artifacts: Artifacts,
    log: Callable[[str], None],
    verb: str,
    tally: Tally,
) -> Iterator[tuple[str, Any]]:
    """(name, answer) of ``work`` for each document: those answered before first, then the others as they are finished.

    An answer is stored as soon as it is there, under the texts and the work's identity, so a stopped run goes on where
    it was. A document that fails is noted in ``tally.failed`` and left out.
    """
    waiting: dict[str, str] = {}
    characters = 0
    for name in documents.names:
        data = _data(documents.of_one(name))
        key = f"{work.identity}|{hashlib.sha256(data).hexdigest()}"
        stored = artifacts.cached(kind, documents.owner_of(name), key)
        if stored is None:
            waiting[name] = key
            characters += len(data)
            continue
        tally.before += 1
        yield name, json.loads(stored)
    if not waiting:
        return
    log(f"{tally.before:,} of {len(documents.names):,} documents were {verb} before, {len(waiting):,} are left")
    progress = _Progress(log, verb)
    jobs = (Job(name, _data(documents.of_one(name))) for name in waiting)
    results = done(work, jobs, characters, workers)
    for n, (name, data) in enumerate(results, start=1):
        answer = json.loads(data)
        if isinstance(answer, dict):
            tally.failed[name] = answer["failed"]
            log(f"{name} could not be {verb}: {answer['failed']}")
        else:
            artifacts.put(kind, documents.owner_of(name), waiting[name], _plain(answer))
            tally.now += 1
            yield name, answer
        progress(n, len(waiting))


def _data(texts: Sequence[Any]) -> bytes:
    return json.dumps(texts).encode()


def _plain(value: Any) -> bytes:
    """JSON whose texts stand in it as they are but for quotes, backslashes and line ends."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Rows:
    """Rows of a table on their way into a frame, which holds texts in a third of the memory of Python objects."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows: list[tuple[Any, ...]] = []
        self._frames = [table.empty()]

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._rows += rows
        if len(self._rows) >= ROWS_AT_ONCE:
            self._flush()

    def frame(self) -> pl.DataFrame:
        self._flush()
        return pl.concat(self._frames)

    def _flush(self) -> None:
        self._frames.append(self._table.frame(self._rows))
        self._rows = []


def delivered_texts(rows: Iterable[tuple[int, int, str]], clean: Callable[[str], str]) -> list[PassageText]:
    """Delivered (page, position, text) rows as passages; texts are cleaned like extracted ones, not cut anew."""
    return [PassageText(page, position, clean(text).strip()) for page, position, text in sorted(rows)]


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
