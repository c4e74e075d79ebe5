"""A landing folder of the published size: ``python -m tendril_assets_tests.published_landing FOLDER [--projects N]``.

With the default of 800 sampled projects: 2,892 sampled documents that give about 110,000 raw passages and about 86,000
kept ones, 169 restricted projects, 14 catalogs, 413 areas and 628 criteria; fewer projects scale the rest. Besides,
projects beyond the sample, projects of the test collection and removals. Texts, persons and numbers are invented; every
draw is named, so each run writes the same bytes, with any number of processes.
"""

import argparse
import csv
import io
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.sampling import sample_areas, sample_documents, sample_projects
from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.spec_corpus import SamplingSpec
from tendril_assets_tests.published_catalogs import TEST_PROJECTS, areas, catalog_files, evidence, test_files
from tendril_assets_tests.published_files import WRITERS, Sheet, broken_bytes, pdf_bytes
from tendril_assets_tests.published_passages import LOOKALIKES, RESTRICTIONS, Writing
from tendril_assets_tests.published_words import SEED, generator, item

PROJECTS, DOCUMENTS, PASSAGES, RESTRICTED = 800, 2_892, 110_000, 169
# Blocks to write for one raw passage, as measured: title lines and page breaks give some more, unreadable documents none.
BLOCKS_PER_PASSAGE = 0.953
# Documents of a restricted project are half as long, so that the published share of passages is kept.
RESTRICTED_LENGTH = 0.5
SPREAD_FROM_PROJECTS = 40
MARKER = "INVENTED_PUBLISHED_SIZE.txt"
KINDS = (("pdf", 0.60), ("delivered", 0.16), ("docx", 0.14), ("html", 0.05), ("txt", 0.05))
STYLES = (("plain", 0.83), ("columns", 0.14), ("scan", 0.012), ("encrypted", 0.008), ("broken", 0.01))
LANGUAGES = (("de", 0.86), ("fr", 0.10), ("it", 0.04))
OFFICES = 60
# So many projects have one document more, which the removal list takes out.
WITHDRAWN, WITHDRAWN_NAME = 2, "zurückgezogen"
NAMES = {
    "de": "Ausschreibung Pflichtenheft Leistungen Eignungskriterien Vertragsentwurf Beilage Terminplan Projektbeschrieb",
    "fr": "Appel Cahier Descriptif Critères Contrat Annexe Calendrier Notice",
    "it": "Bando Capitolato Descrizione Criteri Contratto Allegato Programma Relazione",
}
_TOWN_FIRST = ["Ober", "Unter", "Nieder", "Hinter", "Vorder", "Neu", "Alt", "Gross", "Klein", "Mittel"]
_TOWN_LAST = ["wilen", "ikon", "achberg", "dorfen", "husen", "seebach", "matten", "brugg", "felden", "steinen"]
_AUTHORITIES = ["Tiefbauamt", "Hochbauamt", "Gemeindewerke", "Schulverwaltung", "Beschaffungsstelle", "Liegenschaften"]


@dataclass(frozen=True)
class Document:
    """One document to write; ``blocks`` besides its headings."""

    name: str
    kind: str
    style: str
    blocks: int
    clause: str | None


@dataclass(frozen=True)
class Project:
    number: str
    title: str
    published: str
    language: str
    office: str
    host: str
    restricted: bool
    documents: tuple[Document, ...]
    topics: tuple[tuple[str, ...], ...]


class Summary(NamedTuple):
    projects: int
    sampled_documents: int
    files: int
    delivered_passages: int
    restricted: int
    areas: int
    criteria: int
    areas_per_project: float
    bytes: int
    seconds: float


def _weighted(rng: Random, options: Sequence[tuple[str, float]]) -> str:
    names, weights = zip(*options, strict=True)
    return rng.choices(names, weights)[0]


def write_landing(target: Path, projects: int = PROJECTS, workers: int | None = None) -> Summary:
    """Write ``target/<collection>``, in place of an earlier folder of this module there.

    Raises FileExistsError where a folder stands there that this module did not write.
    """
    begin = time.monotonic()
    place = target / DEFAULT_COLLECTION
    if place.exists() and not (place / MARKER).is_file():
        raise FileExistsError(f"{place} was not written by this module: choose another folder")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / MARKER).write_text("Invented throughout; made for benchmarks.\n", "utf-8")
    share = projects / PROJECTS
    found = areas(share)
    nouns = {a.area: a.nouns for a in found}
    sampled, others, tested, removed = project_numbers(projects)
    proof = {number: evidence(number, found) for number in (*sampled, *others)}
    topics = {
        number: tuple(nouns[area] for area, tier in rows if tier.startswith(("validated", "unvalidated")))
        for number, rows in proof.items()
    }
    planned = plan(sampled, [*others, *tested, *removed], topics, share)
    rows = _write_documents(place, planned, workers or os.cpu_count() or 1)
    schema = {"project": pl.String, "document": pl.String, "page": pl.Int32, "text": pl.String}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(place / "passages.parquet")
    files = {
        "projects.csv": _csv(
            ("project", "title", "published", "language", "cpv"),
            [(p.number, p.title, p.published, p.language, "45000000") for p in planned],
        ),
        "evidence.csv": _csv(("project", "area", "tier"), [(n, *row) for n, found_ in proof.items() for row in found_]),
        "removals.csv": _csv(
            ("kind", "id", "reason", "date"),
            [("project", number, "Begehren", "2026-05-01") for number in removed]
            + [
                ("document", f"{p.number}/{d.name}", "Rückzug", "2026-05-02")
                for p in planned
                for d in p.documents
                if WITHDRAWN_NAME in d.name
            ],
        ),
        **catalog_files(found),
        **test_files(tested, found, share),
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    quotas = SamplingSpec()
    drawn = sample_areas(
        sampled,
        sorted(nouns),
        {n: dict(r) for n, r in proof.items()},
        quotas.quotas,
        quotas.min_projects_per_area,
        SEED,
    )
    written = [path for path in place.rglob("*") if path.is_file()]
    return Summary(
        projects=len(planned),
        sampled_documents=sum(
            min(quotas.documents_per_project, sum(WITHDRAWN_NAME not in d.name for d in p.documents))
            for p in planned[: len(sampled)]
        ),
        files=sum(1 for path in written if path.parent.parent.name == "documents"),
        delivered_passages=len(rows),
        restricted=sum(p.restricted for p in planned[: len(sampled)]),
        areas=len(found),
        criteria=sum(len(a.criteria) for a in found),
        areas_per_project=len(drawn.selected) / len(sampled),
        bytes=sum(path.stat().st_size for path in written),
        seconds=time.monotonic() - begin,
    )


def project_numbers(n: int) -> tuple[list[str], list[str], list[str], list[str]]:
    """Numbers of the projects that are sampled, landed beyond the sample, of the test collection, and removed."""
    n_tested = max(1, round(TEST_PROJECTS * n / PROJECTS))
    n_removed = max(1, n // 200)
    beyond = n // 40 if n >= SamplingSpec().n_projects else 0
    rng = generator("numbers", "all")
    numbers = rng.sample(range(100_000, 400_000), n + n_tested + n_removed + beyond)
    tested, removed = ([str(numbers.pop()) for _ in range(k)] for k in (n_tested, n_removed))
    eligible = [str(number) for number in numbers]
    sampled = sample_projects(eligible, n, SEED)
    return sampled, sorted(set(eligible) - set(sampled)), tested, removed


def plan(
    sampled: Sequence[str], others: Sequence[str], topics: dict[str, tuple[tuple[str, ...], ...]], share: float
) -> list[Project]:
    """All projects, the sampled ones first; their documents and blocks add up to the wanted numbers."""
    most = SamplingSpec().documents_per_project
    wanted = round(DOCUMENTS * share)
    counts = {number: generator("documents", number).choice((2, 2, 3, 3, 4, 5, 5, 7)) for number in (*sampled, *others)}
    missing = wanted - sum(min(most, counts[number]) for number in sampled)
    order = sorted(sampled, key=lambda number: generator("fit", number).random())
    while missing:
        for number in order:
            step = 1 if missing > 0 else -1
            if missing and 1 <= counts[number] + step <= most and counts[number] <= most:
                counts[number] += step
                missing -= step
    restricted = set(sample_projects(sampled, round(RESTRICTED * share), SEED + 1))
    drafts = {number: _draft(number, counts[number], number in restricted) for number in (*sampled, *others)}
    weights = 0.0
    for number in sampled:
        read = set(sample_documents(number, [d.name for d in drafts[number]], most, SEED))
        weights += sum(d.blocks for d in drafts[number] if d.name in read)
    scale = PASSAGES * share * BLOCKS_PER_PASSAGE / weights
    for number in sampled[:WITHDRAWN]:
        drafts[number].append(
            replace(drafts[number][0], name=f"{number} {WITHDRAWN_NAME}.pdf", kind="pdf", style="plain")
        )
    return [_project(number, drafts[number], number in restricted, topics.get(number, ()), scale) for number in drafts]


def _language(number: str) -> str:
    return _weighted(generator("language", number), LANGUAGES)


def _draft(number: str, n: int, restricted: bool) -> list[Document]:
    """The documents of a project with their relative lengths in ``blocks``."""
    rng = generator("draft", number)
    language = _language(number)
    words = NAMES[language].split()
    documents = []
    for i in range(n):
        kind = _weighted(rng, KINDS)
        style = _weighted(rng, STYLES)
        clause = rng.choice(LOOKALIKES[language]) if rng.random() < 0.2 else None
        suffix = {"delivered": "pdf"}.get(kind, kind)
        length = rng.lognormvariate(0, 0.8) * (RESTRICTED_LENGTH if restricted else 1.0)
        blocks = max(100, round(1000 * length))
        documents.append(
            Document(f"{words[i % len(words)]} {number[-3:]}-{i + 1}.{suffix}", kind, style, blocks, clause)
        )
    if restricted:
        # In one that is drawn and read, whatever its kind.
        read = sample_documents(number, [d.name for d in documents], SamplingSpec().documents_per_project, SEED)
        at = next(i for i, d in enumerate(documents) if d.name == read[0])
        documents[at] = replace(documents[at], style="plain", clause=rng.choice(RESTRICTIONS[language]))
    return documents


def _project(
    number: str, drafts: list[Document], restricted: bool, topics: tuple[tuple[str, ...], ...], scale: float
) -> Project:
    rng = generator("project", number)
    office = rng.randrange(OFFICES)
    town = f"{_TOWN_FIRST[office % 10]}{_TOWN_LAST[office // 10]}"
    authority = f"{_AUTHORITIES[office % len(_AUTHORITIES)]} {town}"
    language = _language(number)
    documents = tuple(replace(d, blocks=max(3, round(d.blocks * scale))) for d in drafts)
    return Project(
        number=number,
        title=item(rng, language),
        published=f"202{rng.randint(2, 5)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        language=language,
        office=authority,
        host=town.lower(),
        restricted=restricted,
        documents=documents,
        topics=topics,
    )


Rows = list[tuple[str, str, int, str]]


def _write_documents(place: Path, planned: Sequence[Project], workers: int) -> Rows:
    """Write the files of all projects; rows of the delivered passages, in the order of ``planned``."""
    jobs = [(place, project) for project in planned]
    if workers == 1 or len(planned) < SPREAD_FROM_PROJECTS:
        return [row for job in jobs for row in write_project(job)]
    # A fresh interpreter each: the parent has the threads of polars.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return [row for rows in pool.map(write_project, jobs, chunksize=8) for row in rows]


def write_project(job: tuple[Path, Project]) -> Rows:
    place, project = job
    folder = place / "documents" / project.number
    rows: Rows = []
    writing = Writing(project.number, project.office, project.host, project.language, project.topics)
    for document in project.documents:
        blocks = writing.document(document.blocks, document.clause)
        if document.kind == "delivered":
            rows += _delivered(project, document, [b.text for b in blocks if b.kind != "heading"])
            continue
        sheet = Sheet(project.title, f"{project.office} - {project.number}", project.language, document.style, blocks)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / document.name).write_bytes(_bytes(document, sheet))
    return rows


def _bytes(document: Document, sheet: Sheet) -> bytes:
    if document.kind == "pdf":
        return broken_bytes(sheet) if document.style == "broken" else pdf_bytes(sheet)
    return WRITERS[document.kind](sheet)


def _delivered(project: Project, document: Document, texts: list[str]) -> Iterator[tuple[str, str, int, str]]:
    for i, text in enumerate(texts):
        yield project.number, document.name, 1 + i // 5, text


def _csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--workers", type=int, default=None, help="processes; default the number of cores")
    arguments = parser.parse_args()
    summary = write_landing(arguments.folder.absolute(), arguments.projects, arguments.workers)
    for name, value in summary._asdict().items():
        sys.stdout.write(f"{name:<20}{value:>16,.1f}\n" if isinstance(value, float) else f"{name:<20}{value:>16,}\n")


if __name__ == "__main__":
    main()
