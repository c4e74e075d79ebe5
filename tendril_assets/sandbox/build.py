"""Writes the sample collections: ``python -m tendril_assets.sandbox.build [--missing] TARGET``.

Everything in them is invented and drawn by name, so each run writes the same bytes. A folder stands complete or not at
all: it is written beside its place and renamed. With ``--missing`` a collection that stands already is left as it is.
"""

import argparse
import csv
import io
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from tendril_assets.errors import LandingError
from tendril_assets.sandbox import COLLECTIONS
from tendril_assets.sandbox.benchmark import calibration_files, test_files
from tendril_assets.sandbox.layout import Document, documents_of
from tendril_assets.sandbox.office import docx_bytes, html_bytes, txt_bytes
from tendril_assets.sandbox.passages import Passage, passages_of
from tendril_assets.sandbox.pdf import pdf_bytes
from tendril_assets.sandbox.plan import REMOVED_DOCUMENT_OF, REMOVED_PROJECT, Project, projects
from tendril_assets.sandbox.regulations.landing import RegulationsSummary, regulations_files
from tendril_assets.sandbox.wording import catalog_sources

COLLECTION, REGULATIONS = COLLECTIONS
# Marks a folder this module wrote and may replace.
MARKER = "INVENTED.txt"
MARKER_TEXT = (
    b"Sample collection: projects, texts, persons and numbers are invented. Made by tendril_assets.sandbox.build.\n"
)
REMOVAL_DAY = "2026-10-01"


@dataclass(frozen=True)
class LandingSummary:
    """What was written. ``passages`` counts paragraphs in documents, repeats included; ``bytes`` all files."""

    folder: Path
    projects: int
    test_projects: int
    restricted_projects: int
    documents: int
    passages: int
    areas: int
    criteria: int
    test_queries: int
    test_passages: int
    test_judgments: int
    calibration_pairs: int
    bytes: int


def build_landing(target: Path) -> LandingSummary:
    """Write ``<target>/tenders``, replacing an earlier sample there.

    Raises:
        LandingError: ``<target>/tenders`` exists and is not a sample of ours, so it is left alone.
    """
    place = _place(target, COLLECTION)
    everything = projects()
    passages = {p.number: passages_of(p) for p in everything}
    documents = {p.number: documents_of(p, passages[p.number]) for p in everything}
    files = _files(everything, passages, documents)
    _write(place, files)
    sources = catalog_sources()
    return LandingSummary(
        folder=place,
        projects=len(everything),
        test_projects=sum(p.is_test for p in everything),
        restricted_projects=sum(p.restriction is not None for p in everything),
        documents=sum(len(found) for found in documents.values()),
        passages=sum(len(d.placed) for found in documents.values() for d in found),
        areas=sum(len(c["areas"]) for c in sources),
        criteria=sum(len(a["criteria"]) for c in sources for a in c["areas"]),
        test_queries=files["test/queries.jsonl"].count(b"\n"),
        test_passages=files["test/corpus.jsonl"].count(b"\n"),
        test_judgments=files["test/qrels.tsv"].count(b"\n") - 1,
        calibration_pairs=files["calibration/pairs.jsonl"].count(b"\n"),
        bytes=sum(len(data) for data in files.values()),
    )


def build_regulations(target: Path) -> RegulationsSummary:
    """Write ``<target>/regulations``, replacing an earlier sample there.

    Raises:
        LandingError: ``<target>/regulations`` exists and is not a sample of ours, so it is left alone.
    """
    place = _place(target, REGULATIONS)
    files, summary = regulations_files()
    _write(place, {MARKER: MARKER_TEXT, **files})
    return summary


BUILDERS = {COLLECTION: build_landing, REGULATIONS: build_regulations}


def missing(target: Path) -> list[str]:
    """The sample collections that ``target`` lacks."""
    return [collection for collection in BUILDERS if not (target / collection).exists()]


def _place(target: Path, collection: str) -> Path:
    place = target / collection
    if place.exists() and not (place / MARKER).is_file():
        raise LandingError(
            f"{place} exists and is not a sample made by this command; choose another folder or move it away"
        )
    return place


def _files(
    everything: list[Project], passages: dict[str, list[Passage]], documents: dict[str, list[Document]]
) -> dict[str, bytes]:
    """Path below the collection's folder -> content."""
    files = {MARKER: MARKER_TEXT}
    files["projects.csv"] = _csv(
        ("project", "title", "published", "language", "cpv"),
        [(p.number, p.title, p.published.isoformat(), p.language, p.cpv) for p in everything],
    )
    files["evidence.csv"] = _csv(
        ("project", "area", "tier"),
        [(p.number, area, tier) for p in everything for area, tier in sorted(p.tiers.items())],
    )
    partly = everything[REMOVED_DOCUMENT_OF].number
    files["removals.csv"] = _csv(
        ("kind", "id", "reason", "date"),
        [
            ("document", f"{partly}/{documents[partly][-1].name}", "Rückzug durch die Vergabestelle", REMOVAL_DAY),
            ("project", everything[REMOVED_PROJECT].number, "Begehren einer betroffenen Person", REMOVAL_DAY),
        ],
    )
    for source in catalog_sources():
        files[f"catalogs/{source['catalog']}.yaml"] = _catalog(source)
    for project in everything:
        header = f"{project.slots.raw['amt']} {project.slots.raw['ort']} | {project.title}"
        for document in documents[project.number]:
            files[f"documents/{project.number}/{document.name}"] = _document_bytes(document, header)
    files |= test_files([p for p in everything if p.is_test], documents)
    calibrated = [p for p in everything if not p.is_test and p.language == "de" and not p.restriction]
    files |= calibration_files(calibrated, passages)
    return files


def _document_bytes(document: Document, header: str) -> bytes:
    writers = {"pdf": pdf_bytes, "docx": docx_bytes, "html": html_bytes, "txt": txt_bytes}
    return writers[document.suffix](document, header)


def _catalog(source: dict) -> bytes:
    """The public part of a catalog: without the passage pools."""
    public = {
        "catalog": source["catalog"],
        "title": source["title"],
        "areas": [
            {
                "id": area["id"],
                "title": area["title"],
                "text": area["text"],
                "criteria": [{"id": c["id"], "text": c["text"], "levels": c["levels"]} for c in area["criteria"]],
            }
            for area in source["areas"]
        ],
    }
    return yaml.safe_dump(public, allow_unicode=True, sort_keys=False, width=110).encode()


def _csv(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()


def _write(place: Path, files: dict[str, bytes]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as scratch:
        fresh = Path(scratch) / "new"
        for name, data in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if place.exists():
            os.replace(place, Path(scratch) / "old")
        os.replace(fresh, place)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tendril_assets.sandbox.build", description=__doc__)
    parser.add_argument("target", type=Path, metavar="TARGET")
    parser.add_argument("--missing", action="store_true", help="leave the collections that are there as they are")
    given = parser.parse_args(arguments)
    target = given.target.absolute()
    for collection in missing(target) if given.missing else BUILDERS:
        sys.stdout.write(f"{BUILDERS[collection](target)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
