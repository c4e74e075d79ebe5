"""What the tenders collection lands: documented tables from files, nothing else.

The engine calls ``landing_tables``; it reads everything, checks everything, and only then is anything written.
"""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tendril_assets.corpus.restriction_reviews import VERDICTS
from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash, is_left_by_system
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.records import GRADES, TIERS
from tendril_assets.resources.annotations import read_annotations
from tendril_assets.resources.delivered import DocumentRow, landed_rows, read_delivered
from tendril_assets.resources.landing import (
    Faults,
    find,
    find_optional,
    read_removals,
    read_rows,
    read_table,
    read_yaml,
)
from tendril_assets.resources.simap_landing import mirrored_projects, mirrored_texts
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

REMOVAL_KINDS = ("project", "document", "passage")
LANGUAGES = ("de", "fr", "it", "en")


def _publishable(value: str) -> str:
    """Query ids are made from these, later and after paid requests; what ``query_id`` refuses is refused here."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise ValueError(
            f"{value!r} should have 1 to 100 ASCII letters, digits, '.', '_' and '-', and begin with a letter or digit"
        )
    return value


Identifier = Annotated[str, AfterValidator(_publishable)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Levels(_Part):
    basis: str | None = None
    gute_praxis: str | None = None
    vorbild: str | None = None


class Criterion(_Part):
    id: Identifier
    text: str = Field(min_length=1)
    levels: Levels = Levels()


class Area(_Part):
    id: Identifier
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    criteria: list[Criterion] = Field(min_length=1)


class Catalog(_Part):
    catalog: Identifier
    title: str
    areas: list[Area] = Field(min_length=1)


def landing_tables(
    folder: Path, spec: CollectionSpec, hash_of: Callable[[Path], str] = file_hash
) -> dict[str, pl.DataFrame]:
    """All landing tables of ``folder``; ``hash_of`` gives the SHA-256 of a document's bytes.

    Raises:
        LandingError: every part with mistakes (projects, catalogs, documents, evidence, ...), each with the rows of its
            first wrong file; nothing is written before all files are read.
    """
    if not folder.is_dir():
        raise LandingError(
            f"landing folder {folder} does not exist. Set TENDRIL_LANDING to its parent, or run `tendril sandbox` for the sample."
        )
    faults = Faults()
    tables: dict[str, pl.DataFrame] = {}
    own_list = True
    with faults.noted():
        tables["projects"], own_list = _projects(folder)
    with faults.noted():
        tables |= _catalogs(folder / "catalogs")
    # What names projects or areas waits until those are right: their own fault would be told once per row.
    if "projects" in tables:
        known_projects = set(tables["projects"]["project"])
        with faults.noted():
            tables |= _documents(folder, known_projects, hash_of)
        with faults.noted():
            tables["restriction_reviews"] = _reviews(folder, known_projects)
        if "areas" in tables:
            with faults.noted():
                tables["evidence"] = _evidence(folder, known_projects, set(tables["areas"]["area"]))
    with faults.noted():
        tables["removals"] = read_removals(folder, REMOVAL_KINDS)
    with faults.noted():
        tables |= _test_collection(folder / "test", spec)
    with faults.noted():
        tables |= _calibration(folder / "calibration", spec)
    faults.raise_if_any()
    if not own_list:
        # Of all that a search finds, only what there is something of.
        used = pl.concat([tables["documents"]["project"], tables["evidence"]["project"]]).unique()
        tables["projects"] = tables["projects"].filter(pl.col("project").is_in(used.implode()))
    return tables


def _projects(folder: Path) -> tuple[pl.DataFrame, bool]:
    """Rows of ``projects``, and whether they are the folder's own list and not the mirror's of SIMAP."""
    formats = ("csv", "jsonl", "parquet")
    path = find_optional(folder, "projects", formats)
    if path is None:
        mirrored = mirrored_projects(folder, LANGUAGES)
        if mirrored is not None:
            return mirrored, False
        path = find(folder, "projects", formats)
    projects = read_table(path, TABLES["projects"], choices={"language": LANGUAGES})
    if projects.is_empty():
        raise LandingError(f"{path}: there is no project below the header")
    return projects, True


def _reviews(folder: Path, known_projects: set[str]) -> pl.DataFrame:
    """Verdicts on restrictions; one on an unknown project is a mistake, for it would have no effect."""
    path = find_optional(folder, "restriction_reviews", ("csv",))
    if path is None:
        return TABLES["restriction_reviews"].empty()
    return read_table(
        path,
        TABLES["restriction_reviews"],
        choices={"verdict": VERDICTS},
        known={"project": (known_projects, "project of projects")},
    )


def _evidence(folder: Path, known_projects: set[str], known_areas: set[str]) -> pl.DataFrame:
    return read_table(
        find(folder, "evidence", ("csv", "parquet")),
        TABLES["evidence"],
        choices={"tier": TIERS},
        known={"project": (known_projects, "project of projects"), "area": (known_areas, "area of the catalogs")},
    )


def _catalogs(folder: Path) -> dict[str, pl.DataFrame]:
    files = sorted((*folder.glob("*.yaml"), *folder.glob("*.yml")))
    if not files:
        raise LandingError(f"{folder}: no catalog (*.yaml) found")
    areas: dict[str, tuple[str, ...]] = {}
    criteria: dict[str, tuple[str | None, ...]] = {}
    for path in files:
        catalog = read_yaml(path, Catalog)
        for area in catalog.areas:
            if area.id in areas:
                raise LandingError(f"{path}: area {area.id} occurs twice; area ids are unique over all catalogs")
            areas[area.id] = (catalog.catalog, area.id, area.title, area.text)
            for criterion in area.criteria:
                if criterion.id in criteria:
                    raise LandingError(
                        f"{path}: criterion {criterion.id} occurs twice; ids are unique over all catalogs"
                    )
                levels = criterion.levels
                criteria[criterion.id] = (
                    *(catalog.catalog, area.id, criterion.id, criterion.text),
                    *(levels.basis, levels.gute_praxis, levels.vorbild),
                )
    return {
        "areas": TABLES["areas"].frame(list(areas.values())),
        "criteria": TABLES["criteria"].frame(list(criteria.values())),
    }


def _documents(folder: Path, known_projects: set[str], hash_of: Callable[[Path], str]) -> dict[str, pl.DataFrame]:
    rows: list[DocumentRow] = []
    root = folder / "documents"
    for project_folder in _visible(root) if root.is_dir() else []:
        if not project_folder.is_dir():
            raise LandingError(f"{project_folder} is in no project's folder; move it to {root}/<project>/")
        project = unicodedata.normalize("NFC", project_folder.name)
        if project not in known_projects:
            raise LandingError(
                f"{project_folder}: {project!r} is no project of projects; add its row or remove the folder"
            )
        for path in _visible(project_folder):
            if path.is_dir():
                raise LandingError(f"{path} is a folder; put its files into {project_folder} itself")
            name = unicodedata.normalize("NFC", path.name)
            if any("\ud800" <= sign <= "\udfff" for sign in name):
                raise LandingError(
                    f"{project_folder}: the name of file {name!a} is not UTF-8, as in archives made on Windows; rename it"
                )
            try:
                rows.append((project, name, str(path.resolve()), hash_of(path), path.stat().st_size, False))
            except OSError as error:
                raise LandingError(f"{path} cannot be read: {error.strerror}; nothing was changed") from error
    for text in mirrored_texts(folder, known_projects, hash_of):
        size = text.path.stat().st_size
        rows.append((text.project, text.document, str(text.path.resolve()), text.sha256, size, False))
    delivered, delivered_documents = _delivered(folder, known_projects)
    documents = TABLES["documents"].frame(rows + delivered_documents)
    if documents.is_empty():
        raise LandingError(
            f"{folder}: there is no file in documents/<project>/, nor passages.jsonl, passages.parquet or a text in simap/"
        )
    twice = documents.filter(pl.struct("project", "document").is_duplicated())
    if twice.height:
        project, document = twice.row(0)[:2]
        raise LandingError(
            f"{folder}: {project}/{document} is there twice (as two files, or as a file and delivered passages)"
        )
    return {"documents": documents, "delivered_passages": delivered}


def _visible(folder: Path) -> list[Path]:
    """Sorted entries, without what the system that made the folder keeps in it for itself."""
    return sorted(p for p in folder.iterdir() if not is_left_by_system(p.name))


def _delivered(folder: Path, known_projects: set[str]) -> tuple[pl.DataFrame, list[DocumentRow]]:
    path = find_optional(folder, "passages", ("jsonl", "parquet"))
    if path is None:
        return TABLES["delivered_passages"].empty(), []
    return landed_rows(read_delivered(path, known_projects), path)


def _test_collection(folder: Path, spec: CollectionSpec) -> dict[str, pl.DataFrame]:
    """The external test collection; without the folder its tables are empty and nothing can be evaluated."""
    names = ("test_projects", "test_corpus", "test_queries", "test_qrels")
    if not folder.is_dir():
        return {name: TABLES[name].empty() for name in names}
    corpus = read_table(
        find(folder, "corpus", ("jsonl", "parquet")),
        TABLES["test_corpus"],
        names={"passage_id": "id", "group_id": spec.release.group_column, "document_id": "document"},
    )
    queries = read_table(
        find(folder, "queries", ("jsonl", "parquet")),
        TABLES["test_queries"],
        names={"query_id": "id"},
        choices={"level": spec.subsets},
    )
    qrels = read_table(
        find(folder, "qrels", ("tsv", "parquet")),
        TABLES["test_qrels"],
        names={"query_id": "query-id", "passage_id": "corpus-id"},
        choices={"score": GRADES},
        known={
            "query_id": (set(queries["query_id"]), "query of test/queries"),
            "passage_id": (set(corpus["passage_id"]), "passage of test/corpus"),
        },
    )
    projects = read_table(find(folder, "projects", ("csv", "jsonl", "parquet")), TABLES["test_projects"])
    return dict(zip(names, (projects, corpus, queries, qrels), strict=True))


def _calibration(folder: Path, spec: CollectionSpec) -> dict[str, pl.DataFrame]:
    if not folder.is_dir():
        return {name: TABLES[name].empty() for name in ("calibration_pairs", "calibration_annotations")}
    pairs = read_table(
        find(folder, "pairs", ("jsonl", "parquet")),
        TABLES["calibration_pairs"],
        choices={"level": spec.subsets, "curated_grade": GRADES},
    )
    annotations_file = find(folder, "annotations", ("csv", "parquet"))
    annotations = read_annotations(annotations_file, load_guideline(spec.judge.guideline))
    known = set(pairs.select("query_id", "passage_id").iter_rows())
    for number, row in read_rows(annotations_file):
        if (str(row["query_id"]).strip(), str(row["passage_id"]).strip()) not in known:
            raise LandingError(
                f"{annotations_file}: row {number}: {row['query_id']} / {row['passage_id']} is no pair of calibration/pairs"
            )
    return {"calibration_pairs": pairs, "calibration_annotations": annotations}
