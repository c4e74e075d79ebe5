"""Passages that an upstream pipeline delivers in place of files: read, checked, and read again by the step that uses them.

The texts stay in the landed file. The warehouse keeps where they stand and a hash per document, so a removed text has no
second copy there, and what is read again is proved to be what was landed.
"""

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.records import declare
from tendril_assets.resources.landing import read_table
from tendril_assets.tables import TABLES

# What a row of the landed file holds; ``position`` follows from the order of the rows.
FILE_ROWS = declare(
    "delivered_file",
    "landing",
    "Rows of passages.jsonl or passages.parquet.",
    "project document page position",
    """
    project VARCHAR project
    document VARCHAR document
    page INTEGER page of the source document, from 1
    position INTEGER order within the document, from 0
    text VARCHAR! delivered raw text""",
)

# (project, document, path, sha256, size_bytes, delivered), a row of table ``documents``.
DocumentRow = tuple[str, str, str, str, int, bool]


def read_delivered(path: Path, known_projects: Collection[str] | None = None) -> pl.DataFrame:
    """Rows of the landed file with their ``position``: columns of ``FILE_ROWS``.

    Raises LandingError as ``landing.read_table`` does, and for a page before the first.
    """
    known = {} if known_projects is None else {"project": (known_projects, "project of projects")}
    read = read_table(path, FILE_ROWS, known=known, skip={"position"})
    before_first = read.filter(pl.col("page") < 1)
    if before_first.height:
        project, document = before_first.select("project", "document").row(0)
        raise LandingError(f"{path}: {project}/{document} has page {before_first['page'][0]}; pages count from 1")
    position = pl.int_range(pl.len(), dtype=pl.Int32).over("project", "document")
    return read.with_columns(position=position).select(list(FILE_ROWS.schema))


def landed_rows(frame: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, list[DocumentRow]]:
    """What the warehouse keeps of ``read_delivered``: rows of ``delivered_passages``, and of ``documents``."""
    documents: list[DocumentRow] = []
    for (project, document), part in frame.group_by("project", "document", maintain_order=True):
        digest, size = _content(part)
        documents.append((str(project), str(document), str(path.resolve()), digest, size, True))
    kept = frame.with_columns(characters=pl.col("text").str.len_chars().cast(pl.Int32))
    return kept.select(list(TABLES["delivered_passages"].schema)), documents


def read_again(documents: Iterable[tuple[str, str, str, str]]) -> pl.DataFrame:
    """The rows (columns of ``FILE_ROWS``) of delivered documents, given as (project, document, path, sha256) as landed.

    Raises LandingError for a file that is gone, or that holds other texts of a document than were landed: nothing may be
    made from a text that the landing step has not seen.
    """
    wanted: dict[str, dict[tuple[str, str], str]] = {}
    for project, document, path, sha256 in documents:
        wanted.setdefault(path, {})[project, document] = sha256
    frames = [pl.DataFrame(schema=FILE_ROWS.schema)]
    for path, hashes in wanted.items():
        if not Path(path).is_file():
            raise LandingError(f"{path}: the delivered passages are gone since they were landed; {_AGAIN}")
        chosen = pl.DataFrame(list(hashes), schema={"project": pl.String(), "document": pl.String()}, orient="row")
        frame = read_delivered(Path(path)).join(chosen, on=["project", "document"], how="semi", maintain_order="left")
        found = {
            (str(project), str(document)): _content(part)[0]
            for (project, document), part in frame.group_by("project", "document", maintain_order=True)
        }
        changed = sorted("/".join(name) for name, sha256 in hashes.items() if found.get(name) != sha256)
        if changed:
            raise LandingError(
                f"{path}: {len(changed)} document(s) changed since they were landed, the first is {changed[0]}; {_AGAIN}"
            )
        frames.append(frame)
    return pl.concat(frames)


_AGAIN = "materialise the landing assets again. Nothing was written."


def _content(part: pl.DataFrame) -> tuple[str, int]:
    """SHA-256 over the pages and texts of one document in their order, and the bytes of its texts."""
    digest, size = hashlib.sha256(), 0
    for page, text in part.select("page", "text").iter_rows():
        piece = text.encode()
        digest.update(f"{page}:{len(piece)}:".encode() + piece)
        size += len(piece)
    return digest.hexdigest(), size
