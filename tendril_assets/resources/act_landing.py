"""Landing of acts: the list, the text of each act, and what becomes of it."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.acts import (
    ACT_DOCUMENT,
    AMENDMENT,
    EMPTY,
    KEPT,
    LOW_CYRILLIC,
    MIN_CYRILLIC_SHARE,
    NO_DATE,
    NOT_FOUND,
    REPEATED,
    ListedAct,
    act_text,
    is_amendment,
    outcome_of,
)
from tendril_assets.corpus.identifiers import nfc
from tendril_assets.errors import LandingError
from tendril_assets.files import is_left_by_system
from tendril_assets.resources.act_issues import CutIssue, CutText, cut_issues, issue_files, text_facts
from tendril_assets.resources.act_list import ISSUES_FOLDER, LIST, TEXTS_FOLDER, ListRow, read_list
from tendril_assets.resources.act_texts import own_text
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets.tables import TABLES


class LandedActs(NamedTuple):
    """Rows of tables ``acts`` and ``documents``."""

    acts: pl.DataFrame
    documents: pl.DataFrame


class _Source(NamedTuple):
    """Where the text of an act stands, and what is known of it; ``facts`` is None where there is none, and ``why``."""

    path: Path | None
    facts: CutText | None
    why: str | None = None


class _Fate(NamedTuple):
    outcome: str
    source: _Source
    message: str | None


def landed_acts(folder: Path, limits: ExtractionSpec, hash_of: Callable[[Path], str], store: Path) -> LandedActs:
    """Every act of the list with its outcome, and the documents of those that are kept.

    The text of an act is that of its row, else ``acts/<key>.txt``, else what is cut from its issue. Of a number and day
    that are listed more than once, the first row with a text counts and the others are ``repeated``.

    Args:
        hash_of: SHA-256 of a file's bytes.
        store: file with what earlier cuts of issues gave; holds no text and may be lost.

    Raises:
        LandingError: a mistake of the list with its row, a text that belongs to no act of it, or nothing that is kept.
    """
    listed = read_list(folder / LIST)
    own = _own_files(folder, {row.act.key for row in listed if row.act.key})
    cuts, files = _cut(folder, listed, own, limits, hash_of, store)
    fates: dict[int, _Fate] = {}
    holder: dict[str, int] = {}
    for row in listed:
        fates[row.act.place] = _fate(row, own, cuts, files, folder)
    for row in sorted(listed, key=lambda row: fates[row.act.place].outcome != KEPT):
        if row.act.key is not None:
            holder.setdefault(row.act.key, row.act.place)
    acts, documents = [], []
    for row in listed:
        act, fate = row.act, fates[row.act.place]
        if act.key is not None and holder[act.key] != act.place:
            first = listed[holder[act.key] - 1].row
            theirs, own_facts = fates[holder[act.key]].source.facts, fate.source.facts
            differs = theirs and own_facts and theirs.sha256 != own_facts.sha256
            told = f"row {first} of {LIST} has the same number and day{', and another text' if differs else ''}"
            fate = _Fate(REPEATED, _Source(None, None), told)
        facts = fate.source.facts
        measured = (facts.cyrillic_share, facts.characters) if facts else (None, None)
        issue = act.issue if fate.source.path is None or fate.source.path.parent.name == ISSUES_FOLDER else None
        message = "; ".join(filter(None, (fate.message, act.note, facts.note if facts else None))) or None
        acts.append(
            (act.place, act.key, act.number, act.date, act.kind, act.title, issue, fate.outcome, *measured, message)
        )
        if fate.outcome == KEPT and facts is not None and fate.source.path is not None:
            # Not resolved: what a link leads to need not be called as what stands here, and the name tells what it is.
            path = str(fate.source.path.absolute())
            documents.append((act.key, ACT_DOCUMENT, path, facts.sha256, facts.size_bytes, False))
    landed = LandedActs(TABLES["acts"].frame(acts), TABLES["documents"].frame(documents))
    if landed.documents.is_empty():
        counted = ", ".join(f"{outcome} {n:,}" for outcome, n in landed.acts["outcome"].value_counts(sort=True).rows())
        raise LandingError(f"{folder / LIST}: no act is kept ({counted}); the messages of table acts would say why: "
                           f"{next((a[-1] for a in acts if a[-1]), 'none')}")  # fmt: skip
    return landed


def _own_files(folder: Path, keys: set[str]) -> dict[str, Path]:
    """Key -> ``acts/<key>.txt``. Raises LandingError for a file that is none of an act of the list."""
    root = folder / TEXTS_FOLDER
    found: dict[str, Path] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if is_left_by_system(path.name):
            continue
        key = nfc(path.stem)
        if not path.is_file() or path.suffix != ".txt" or key not in keys:
            nearest = get_close_matches(key, keys, 1)
            hint = f"; the nearest is {nearest[0]}.txt" if nearest and nearest[0] != key else ""
            raise LandingError(f"{path}: expected <key>.txt with the key of an act of {LIST}{hint}")
        if found.setdefault(key, path) != path:
            raise LandingError(
                f"{root}: two files have the name {key}.txt, in two spellings of Unicode; keep one of them"
            )
    return found


def _cut(
    folder: Path,
    listed: list[ListRow],
    own: Mapping[str, Path],
    limits: ExtractionSpec,
    hash_of: Callable[[Path], str],
    store: Path,
) -> tuple[dict[str, CutIssue], dict[str, Path]]:
    """What the issues gave, by stem, and all issues there are. An issue is cut where an act of it has no other text."""
    files = issue_files(folder)
    of_issue: dict[str, list[ListedAct]] = defaultdict(list)
    needed = set()
    for row in listed:
        if row.act.issue is not None:
            of_issue[row.act.issue].append(row.act)
            if row.text is None and row.act.key not in own and not _left_out(row.act):
                needed.add(row.act.issue)
    wanted = {files[stem]: of_issue[stem] for stem in sorted(needed) if stem in files}
    cuts = cut_issues(wanted, limits, hash_of, store) if wanted else {}
    return {nfc(path.stem): cut for path, cut in cuts.items()}, files


def _left_out(act: ListedAct) -> str | None:
    """The outcome of an act that nobody needs the text of."""
    return NO_DATE if act.key is None else AMENDMENT if is_amendment(act.title) else None


def _fate(
    row: ListRow, own: Mapping[str, Path], cuts: Mapping[str, CutIssue], files: Mapping[str, Path], folder: Path
) -> _Fate:
    act = row.act
    outcome = _left_out(act)
    if outcome is not None:
        told = (
            "the list has no day of adoption, or a placeholder" if outcome == NO_DATE else "it only changes other acts"
        )
        return _Fate(outcome, _Source(None, None), told)
    source = _source(row, own, cuts, files, folder)
    if source.facts is None:
        return _Fate(NOT_FOUND, source, source.why)
    if source.facts.characters == 0 or source.facts.cyrillic_share is None:
        return _Fate(EMPTY, source, "its text has no letters")
    share = source.facts.cyrillic_share
    outcome = outcome_of(share)
    if outcome == LOW_CYRILLIC:
        return _Fate(
            outcome, source, f"{share:.1%} of its letters are Cyrillic, at least {MIN_CYRILLIC_SHARE:.0%} should be"
        )
    return _Fate(outcome, source, None)


def _source(
    row: ListRow, own: Mapping[str, Path], cuts: Mapping[str, CutIssue], files: Mapping[str, Path], folder: Path
) -> _Source:
    act = row.act
    if row.text is not None:
        unread = f"{TEXTS_FOLDER}/{act.key}.txt is not read, for the list has its text" if act.key in own else None
        return _Source(folder / LIST, text_facts(act_text(row.text), unread))
    if act.key is not None and act.key in own:
        path = own[act.key]
        return _Source(path, text_facts(own_text(path)))
    if act.issue is None:
        return _Source(None, None, f"it has no text, no file {TEXTS_FOLDER}/{act.key}.txt and no issue")
    if act.issue not in files:
        nearest = get_close_matches(act.issue, files, 1, 0.8)
        hint = f"; the nearest is {files[nearest[0]].name}" if nearest else ""
        return _Source(None, None, f"{ISSUES_FOLDER}/ has no issue {act.issue}{hint}")
    cut = cuts[act.issue]
    if act.place in cut.found:
        return _Source(files[act.issue], cut.found[act.place])
    return _Source(None, None, cut.missing[act.place])
