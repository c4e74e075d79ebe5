"""Documents cut along their clauses: texts of landed acts, and files of other documents, each cut once.

What was cut is kept under the content of the text, the title in its heading and the rule, in the document's own folder. So
a second run reads no text, and of several acts the changed one alone is cut. Of a document with removed passages nothing is
kept.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.assets.reading import PAGES, PROGRESS_EVERY_S, Rows, SampledFile, Tally, delivered_texts, read_files
from tendril_assets.corpus.acts import KEPT
from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.clause_chunks import CHUNKS_VERSION, Chunk, chunks_of
from tendril_assets.corpus.clause_passages import act_title, clause_rows
from tendril_assets.corpus.extract import EXTRACTOR_VERSION
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.textclean import clean
from tendril_assets.corpus.tokens import TokenCounter, token_counter
from tendril_assets.resources.act_texts import iter_acts
from tendril_assets.resources.artifacts import Artifacts, Owner
from tendril_assets.resources.delivered import read_again
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

CHUNKS = "chunks"
ACT_DATE = "%d.%m.%Y"


class Cut(NamedTuple):
    """Rows of ``document_status``; frames of ``passages`` and ``passage_clauses``, what is removed still among them."""

    status: list[tuple[Any, ...]]
    passages: pl.DataFrame
    clauses: pl.DataFrame


@dataclass(frozen=True)
class _Document:
    """``sha256``: of what landed, from which its text follows."""

    project: str
    document: str
    path: str
    sha256: str
    delivered: bool
    owner: Owner
    withheld: bool


@dataclass(frozen=True)
class _Text:
    """``page_starts``: where in ``text`` each of ``pages`` begins; ``figures``: what follows the outcome in its status."""

    text: str
    page_starts: Sequence[int] = (0,)
    pages: Sequence[int] = (1,)
    outcome: str = "ok"
    message: str | None = None
    figures: tuple[Any, ...] | None = None


class _Cutter:
    """Cuts texts and keeps what was cut."""

    def __init__(self, spec: CollectionSpec, titles: Mapping[str, str], artifacts: Artifacts) -> None:
        self._spec, self._titles, self._artifacts = spec.chunking, titles, artifacts
        self._counter: TokenCounter = token_counter(spec.chunking.tokenizer)

    def _key(self, document: _Document, content: str) -> str:
        rule = self._spec.model_dump(mode="json", exclude={"tokenizer"})
        return json.dumps([CHUNKS_VERSION, self._counter.identity, rule, self._titles[document.project], content])

    def kept(self, document: _Document, content: str) -> tuple[list[Chunk], int, float] | None:
        """Chunks, characters of the text and the seconds that cutting took, where they were kept."""
        stored = None
        if not document.withheld:
            stored = self._artifacts.cached(CHUNKS, document.owner, self._key(document, content))
        if stored is None:
            return None
        chunks, characters, seconds = json.loads(stored)
        return (
            [Chunk(text, section, tuple(clauses), *rest) for text, section, clauses, *rest in chunks],
            characters,
            seconds,
        )

    def cut(self, document: _Document, content: str, text: str) -> tuple[list[Chunk], int, float]:
        started = time.perf_counter()
        chunks = chunks_of(text, self._titles[document.project], self._spec, self._counter)
        made = chunks, len(text), round(time.perf_counter() - started, 3)
        if not document.withheld:
            data = json.dumps(made, ensure_ascii=False).encode()
            self._artifacts.put(CHUNKS, document.owner, self._key(document, content), data)
        return made


def cut_documents(
    warehouse: Warehouse,
    artifacts: Artifacts,
    spec: CollectionSpec,
    documents: pl.DataFrame,
    withheld: Collection[tuple[str, str]],
    identifiers: Identifiers,
    workers: int,
    log: Callable[[str], None],
    tally: Tally,
) -> Cut:
    """Every one of ``documents`` (project, document, path, sha256, delivered, group_id, document_id) cut along its clauses.

    Raises LandingError for a text that is not what was landed, TendrilError for a tokenizer that cannot be read.
    """
    everything = [
        _Document(
            project, document, path, sha256, delivered, (spec.collection, group, own), (project, document) in withheld
        )
        for project, document, path, sha256, delivered, group, own in documents.select(
            "project", "document", "path", "sha256", "delivered", "group_id", "document_id"
        ).iter_rows()
    ]
    acts = landed_acts(warehouse, spec)
    cutter = _Cutter(spec, titles(warehouse, spec), artifacts)
    status: list[tuple[Any, ...]] = []
    passages, clauses = Rows(TABLES["passages"]), Rows(TABLES["passage_clauses"])

    def add(document: _Document, made: tuple[list[Chunk], int, float], read: _Text) -> None:
        chunks, characters, seconds = made
        place = document.project, document.document
        rows = clause_rows(*place, chunks, identifiers, read.page_starts, read.pages)
        passages.add(rows.passages)
        clauses.add(rows.clauses)
        figures = read.figures or (1, [], [], characters, [], seconds, CHUNKS_VERSION)
        status.append((*place, read.outcome, read.message, *figures))

    waiting: list[_Document] = []
    for document in everything:
        if document.project not in acts:
            continue
        if kept := cutter.kept(document, document.sha256):
            tally.before += 1
            add(document, kept, _Text(""))
        else:
            waiting.append(document)
    log(f"{tally.before:,} of {len(acts):,} acts were cut before, {len(waiting):,} to read and to cut")
    by_place = {(document.project, document.document): document for document in waiting}
    told = time.monotonic()
    for project, name, text in iter_acts(_rows(waiting), spec.extraction):
        document = by_place[project, name]
        add(document, cutter.cut(document, document.sha256, text), _Text(text))
        tally.now += 1
        if time.monotonic() - told > PROGRESS_EVERY_S:
            told = time.monotonic()
            log(f"cut {tally.now:,} of {len(waiting):,} acts")
    others = [document for document in everything if document.project not in acts]
    for document, read in _other_texts(others, spec, workers, artifacts, log, tally):
        content = hashlib.sha256(read.text.encode()).hexdigest()
        add(document, cutter.kept(document, content) or cutter.cut(document, content, read.text), read)
    return Cut(status, passages.frame(), clauses.frame())


def landed_acts(warehouse: Warehouse, spec: CollectionSpec) -> frozenset[str]:
    """Projects that are acts of the landed list: their texts are read by ``act_texts``."""
    if not spec.registers:
        return frozenset()
    return frozenset(warehouse.load(spec.collection, "acts", ["project", "outcome"]).filter(outcome=KEPT)["project"])


def titles(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, str]:
    """What names each project in the heading line of its chunks."""
    named = dict(warehouse.load(spec.collection, "projects", ["project", "title"]).iter_rows())
    if spec.registers:
        acts = warehouse.load(spec.collection, "acts").filter(outcome=KEPT)
        for row in acts.iter_rows(named=True):
            named[row["project"]] = act_title(row["number"], row["date"].strftime(ACT_DATE), row["title"])
    return named


def _rows(documents: Sequence[_Document]) -> pl.DataFrame:
    schema = dict.fromkeys(("project", "document", "path", "sha256"), pl.String())
    rows = [(one.project, one.document, one.path, one.sha256) for one in documents]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _other_texts(
    documents: Sequence[_Document],
    spec: CollectionSpec,
    workers: int,
    artifacts: Artifacts,
    log: Callable[[str], None],
    tally: Tally,
) -> Iterator[tuple[_Document, _Text]]:
    """Whole texts of documents that are no landed acts: delivered ones, and files."""
    by_place = {(one.project, one.document): one for one in documents}
    delivered = read_again((one.project, one.document, one.path, one.sha256) for one in documents if one.delivered)
    for (project, name), part in delivered.group_by("project", "document", maintain_order=True):
        pages = delivered_texts(part.select("page", "position", "text").iter_rows(), clean)
        read = _joined(pages)
        figures = (len(set(read.pages)), [], [], len(read.text), [], 0.0, "delivered")
        yield by_place[str(project), str(name)], _Text(read.text, read.page_starts, read.pages, figures=figures)
    files = [
        SampledFile(one.project, one.document, one.path, one.sha256, one.owner, one.withheld)
        for one in documents
        if not one.delivered
    ]
    for file, reading in read_files(files, spec.extraction, workers, artifacts, log, tally, PAGES):
        extraction, read = reading.extraction, _joined(reading.passages)
        pages, lines = list(extraction.empty_pages), list(extraction.dropped_lines)
        figures = (extraction.page_count, pages, lines, extraction.characters, reading.page_characters, reading.seconds)
        yield (
            by_place[file.project, file.document],
            _Text(
                *(read.text, read.page_starts, read.pages, extraction.outcome, extraction.message),
                (*figures, EXTRACTOR_VERSION),
            ),
        )


def _joined(pages: Sequence[PassageText]) -> _Text:
    """One text of all pages, each on lines of its own."""
    starts = list(accumulate((len(page.text) + 1 for page in pages), initial=0))[:-1]
    return _Text("\n".join(page.text for page in pages), starts or (0,), [page.page for page in pages] or (1,))
