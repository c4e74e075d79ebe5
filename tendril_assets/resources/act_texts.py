"""Texts of acts, read again from the landing folder by the step that uses them.

The warehouse keeps where a text stands and its SHA-256; the text itself stays in the landing folder: in a row of the list,
in a file of its own, or in an issue of a bulletin. What is read again is proved to be what was landed.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tendril_assets.corpus.acts import act_text
from tendril_assets.corpus.bulletin import cut_issue
from tendril_assets.corpus.extract_text import decode
from tendril_assets.corpus.extraction import Limits
from tendril_assets.corpus.identifiers import nfc
from tendril_assets.errors import LandingError
from tendril_assets.resources.act_issues import issue_texts
from tendril_assets.resources.act_list import ISSUES_FOLDER, LIST, read_list, texts_of
from tendril_assets.spec_corpus import ExtractionSpec

TEXTS = {"project": pl.String(), "document": pl.String(), "text": pl.String()}
_AGAIN = "materialise the landing assets again. Nothing was written."
_DEFAULT_LIMITS = ExtractionSpec()

# Document of an act -> SHA-256 of its text as landed.
_Wanted = dict[tuple[str, str], str]


def read_acts(rows: pl.DataFrame, limits: Limits = _DEFAULT_LIMITS) -> pl.DataFrame:
    """Texts of landed acts: columns project, document, text, in the order of ``rows``.

    ``rows``: project, document, path and sha256 of table ``documents`` (other columns are ignored). ``limits``: the
    specification's ``extraction``, for issues that are no plain text.

    Raises LandingError for a text that is gone or is no longer what was landed, naming the first and how many.
    """
    texts = {(project, document): text for project, document, text in iter_acts(rows, limits)}
    named = list(rows.select("project", "document").iter_rows())
    return pl.DataFrame([(*name, texts[name]) for name in named], schema=TEXTS, orient="row")


def iter_acts(rows: pl.DataFrame, limits: Limits = _DEFAULT_LIMITS) -> Iterator[tuple[str, str, str]]:
    """As ``read_acts``, one (project, document, text) after the other, in any order: of one file after the other."""
    wanted: dict[Path, _Wanted] = defaultdict(dict)
    for project, document, path, sha256 in rows.select("project", "document", "path", "sha256").iter_rows():
        wanted[Path(path)][project, document] = sha256
    for path, documents in wanted.items():
        if not path.is_file():
            first = "/".join(min(documents))
            raise LandingError(
                f"{path}: {len(documents)} text(s) are gone since they were landed, {first} is one; {_AGAIN}"
            )
    issues = {path: documents for path, documents in wanted.items() if path.parent.name == ISSUES_FOLDER}
    for path, documents in wanted.items():
        if path.name == LIST and path not in issues:
            keys = {project for project, _ in documents}
            found = ((act.key, act_text(text)) for act, text in texts_of(path) if act.key in keys)
            yield from _proved(path, documents, found)
        elif path not in issues:
            text = own_text(path)
            yield from _proved(path, documents, ((project, text) for project, _ in documents))
    yield from _of_issues(issues, limits)


def own_text(path: Path) -> str:
    """The text of an act in a file of its own. Raises LandingError where it cannot be opened."""
    try:
        return act_text(decode(path.read_bytes()))
    except OSError as error:
        raise LandingError(f"{path} cannot be read: {error.strerror}; nothing was changed") from error


def _of_issues(issues: dict[Path, _Wanted], limits: Limits) -> Iterator[tuple[str, str, str]]:
    listed = {folder: read_list(folder / LIST) for folder in {path.parent.parent for path in issues}}
    for path, text, problem, _ in issue_texts(issues, limits):
        if text is None:
            raise LandingError(f"{path} could be read when it was landed, and cannot now ({problem}); {_AGAIN}")
        acts = [row.act for row in listed[path.parent.parent] if row.act.issue == nfc(path.stem)]
        pieces = cut_issue(text, acts).found
        found = (
            (act.key, text[pieces[act.place].start : pieces[act.place].end]) for act in acts if act.place in pieces
        )
        yield from _proved(path, issues[path], found)


def _proved(path: Path, documents: _Wanted, found: Iterator[tuple[str | None, str]]) -> Iterator[tuple[str, str, str]]:
    """The wanted texts among ``found`` (key, text). Raises LandingError where one is missing or another."""
    texts = {}
    for key, text in found:
        texts.setdefault(key, []).append(text)
    given = {}
    for (project, document), sha256 in documents.items():
        same = (t for t in texts.get(project, ()) if hashlib.sha256(t.encode()).hexdigest() == sha256)
        given[project, document] = next(same, None)
    changed = sorted("/".join(name) for name, text in given.items() if text is None)
    if changed:
        raise LandingError(
            f"{path}: {len(changed)} text(s) changed since they were landed, the first is {changed[0]}; {_AGAIN}"
        )
    yield from ((project, document, text) for (project, document), text in given.items() if text is not None)
