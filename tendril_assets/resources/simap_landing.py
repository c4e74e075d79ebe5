"""What a landing folder's mirror of SIMAP lands: its list of projects, and its texts as documents of their projects."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.files import is_left_by_system
from tendril_assets.resources.landing import read_table
from tendril_assets.resources.simap_store import PROJECTS, STATE, Store
from tendril_assets.tables import TABLES

_AGAIN = "run `tendril simap`, which makes it anew; nothing was changed"


class MirroredText(NamedTuple):
    project: str
    document: str
    path: Path
    sha256: str


def mirrored_projects(folder: Path, languages: Collection[str]) -> pl.DataFrame | None:
    """Rows of ``projects`` from the mirror in ``folder``; None where nothing is mirrored.

    Raises LandingError with the row.
    """
    root = Store(folder).root
    if not root.is_dir():
        return None
    path = root / PROJECTS
    if not path.is_file():
        raise LandingError(f"{path} is missing: the mirror was stopped before its first list; {_AGAIN}")
    try:
        return read_table(path, TABLES["projects"], choices={"language": languages})
    except LandingError as error:
        raise LandingError(f"{error} This file is the mirror's own: {_AGAIN}") from error


def mirrored_texts(folder: Path, projects: Collection[str], hash_of: Callable[[Path], str]) -> Iterator[MirroredText]:
    """Texts of these projects, as ``simap-<publication number>.txt``.

    A text that is not noted yet is not finished and is left out. Raises LandingError for one that is missing or is not
    the one that was noted, for notes that cannot be read, and for files that are not the mirror's.
    """
    store = Store(folder)
    for project in store.projects():
        if project not in projects or not (store.root / project / STATE).exists():
            continue
        try:
            state = store.load(project)
        except ValueError as error:
            first = str(error).splitlines()[0]
            raise LandingError(f"{store.root / project / STATE}: {first}; {_AGAIN}") from error
        for publication in sorted(state.publications.values(), key=lambda p: p.number):
            if publication.text is None:
                continue
            path = store.text(project, publication.number)
            try:
                sha256 = hash_of(path)
            except OSError as error:
                raise LandingError(f"{path} cannot be read: {error.strerror}; {_AGAIN}") from error
            if sha256 != publication.text:
                raise LandingError(f"{path} is not the text that was mirrored; {_AGAIN}")
            yield MirroredText(project, f"simap-{publication.number}.txt", path, sha256)
        own = {path.name for p in state.publications for path in (store.raw(project, p), store.text(project, p))}
        for path in sorted((store.root / project).iterdir()):
            if path.name not in own and not is_left_by_system(path.name):
                raise LandingError(f"{path} is no file of the mirror; put it into {folder}/documents/{project}/")
