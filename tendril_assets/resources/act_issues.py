"""Issues of a bulletin: their text, and where the listed acts stand in it.

A plain text is decoded and freed of running headers; PDF, Word and HTML go through the extraction, in child processes with
its limits. What cutting an issue gave is remembered without any text (places and hashes), under the issue's bytes, the rows
of the list that name it and the rules, so that an unchanged issue is not read again to see that it is unchanged.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tendril_assets.corpus.acts import ListedAct, act_text, cyrillic_share
from tendril_assets.corpus.bulletin import cut_issue
from tendril_assets.corpus.extract_text import decode
from tendril_assets.corpus.extraction import WITH_TEXT, Limits
from tendril_assets.corpus.identifiers import nfc
from tendril_assets.corpus.page_edges import repeated_edges
from tendril_assets.corpus.print_columns import columns_apart
from tendril_assets.errors import LandingError
from tendril_assets.files import is_left_by_system, write_atomically
from tendril_assets.resources.act_list import ISSUES_FOLDER
from tendril_assets.spec_corpus import ExtractionSpec

SUFFIXES = ("txt", "pdf", "docx", "html")
RULES = "issue-1"
WORKERS = 2
_FORMAT = 1
_KEPT_EVERY_S = 20.0


class CutText(NamedTuple):
    """What the warehouse may know of an act's text, and what a person should look at."""

    sha256: str
    size_bytes: int
    characters: int
    cyrillic_share: float | None
    note: str | None


class IssueText(NamedTuple):
    """``text`` is None where the issue cannot be read; ``problem`` is why, or what is missing of the text. ``passing``: another
    run may do better."""

    path: Path
    text: str | None
    problem: str | None = None
    passing: bool = False


class CutIssue(NamedTuple):
    """Facts by row of the list: the text of each act that was found, or why there is none."""

    found: dict[int, CutText]
    missing: dict[int, str]


def text_facts(text: str, note: str | None = None) -> CutText:
    """Facts of the text of an act, which is in its normal form (``acts.act_text``)."""
    data = text.encode()
    return CutText(hashlib.sha256(data).hexdigest(), len(data), len(text), cyrillic_share(text), note)


def issue_files(folder: Path) -> dict[str, Path]:
    """Stem, in NFC -> file, of every issue of a landing folder.

    Raises LandingError for one that is there in several formats, and for a format that no reader takes.
    """
    root = folder / ISSUES_FOLDER
    found: dict[str, Path] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if is_left_by_system(path.name):
            continue
        if not path.is_file() or path.suffix.removeprefix(".") not in SUFFIXES:
            wanted = ", ".join(f".{suffix}" for suffix in SUFFIXES)
            raise LandingError(
                f"{path}: an issue is a file whose name ends in one of {wanted}; convert it or take it away"
            )
        other = found.setdefault(nfc(path.stem), path)
        if other != path:
            raise LandingError(f"{root}: found {other.name}, {path.name}; keep exactly one of them")
    return found


def cut_issues(
    issues: Mapping[Path, Sequence[ListedAct]],
    limits: ExtractionSpec,
    hash_of: Callable[[Path], str],
    store: Path,
) -> dict[Path, CutIssue]:
    """Facts of every issue, those of unchanged ones from ``store``; it may be lost without harm.

    Raises LandingError for a file that cannot be opened. One that cannot be read is no error: none of its acts is found,
    and each says why.
    """
    known = _stored(store)
    facts: dict[str, CutIssue] = {}
    keys: dict[Path, str] = {}
    for path, acts in issues.items():
        keys[path] = _key(hash_of(path), path, acts, limits)
        if keys[path] in known:
            facts[keys[path]] = known[keys[path]]
    waiting = {path: acts for path, acts in issues.items() if keys[path] not in facts}
    lasting = set(facts)
    stored, kept_at = set(known), time.monotonic()
    try:
        for read in issue_texts(waiting, limits):
            facts[keys[read.path]] = _cut(read, waiting[read.path])
            if not read.passing:
                lasting.add(keys[read.path])
            # Hundreds of printed issues take an hour: a run that is killed must not have read them for nothing.
            if time.monotonic() - kept_at > _KEPT_EVERY_S:
                stored = _keep(store, facts, lasting, stored)
                kept_at = time.monotonic()
    finally:
        # What is read is kept though a later issue fails, and nothing of issues that are gone.
        _keep(store, facts, lasting, stored)
    return {path: facts[keys[path]] for path in issues}


def _cut(read: IssueText, acts: Sequence[ListedAct]) -> CutIssue:
    if read.text is None:
        return CutIssue({}, {act.place: f"{read.path.name} cannot be read: {read.problem}" for act in acts})
    incomplete = (
        f"{read.path.name} was not read whole ({read.problem}), so a part may be missing" if read.problem else None
    )
    places = cut_issue(read.text, acts)
    found = {
        place: text_facts(read.text[piece.start : piece.end], "; ".join(filter(None, (piece.note, incomplete))) or None)
        for place, piece in places.found.items()
    }
    return CutIssue(found, places.missing)


def _keep(store: Path, facts: Mapping[str, CutIssue], lasting: set[str], stored: set[str]) -> set[str]:
    """Write the facts of ``lasting`` where those ``stored`` are others; returns what is stored now."""
    if lasting != stored:
        kept = {key: facts[key] for key in sorted(lasting)}
        write_atomically(store, json.dumps([_FORMAT, kept], ensure_ascii=False).encode())
    return set(lasting)


def issue_texts(paths: Iterable[Path], limits: Limits) -> Iterator[IssueText]:
    """The text of each issue, in any order."""
    others = []
    for path in paths:
        if path.suffix != ".txt":
            others.append(path)
        elif path.stat().st_size > limits.max_bytes:
            yield IssueText(path, None, f"too_large: {path.stat().st_size} bytes, limit {limits.max_bytes}")
        else:
            yield IssueText(path, plain_issue(path))
    if not others:
        return
    # At the first issue that needs it: the readers take long to import.
    from tendril_assets.corpus.extract import read_documents

    for job_id, read, _ in read_documents(((str(path), path) for path in others), limits, WORKERS):
        if read.outcome in WITH_TEXT:
            problem = None if read.outcome == "ok" else f"{read.outcome}: {read.message}"
            yield IssueText(Path(job_id), joined([page.text for page in read.pages]), problem)
        else:
            yield IssueText(Path(job_id), None, f"{read.outcome}: {read.message}", read.transient)


def plain_issue(path: Path) -> str:
    """The text of a plain-text issue: columns one after the other, a form feed as a new page, no running headers."""
    try:
        printed = [page.splitlines() for page in decode(path.read_bytes()).split("\f")]
    except OSError as error:
        raise LandingError(f"{path} cannot be read: {error.strerror}; nothing was changed") from error
    # Layout is kept with blanks; a tab parts the cells of a table.
    pages = [lines if any("\t" in line for line in lines) else columns_apart(lines) for lines in printed]
    filled = [[line.strip() for line in lines if line.strip()] for lines in pages]
    texts = []
    for lines, full, (top, bottom) in zip(pages, filled, repeated_edges(filled), strict=True):
        places = [number for number, line in enumerate(lines) if line.strip()]
        kept = places[top : len(full) - bottom]
        texts.append(act_text("\n".join(lines[kept[0] : kept[-1] + 1])) if kept else "")
    return joined(texts)


def joined(pages: Sequence[str]) -> str:
    """Pages as one text: a sentence that goes on over the page's end goes on after a line break, else an empty line."""
    text = ""
    for page in pages:
        page_text = act_text(page)
        if not page_text:
            continue
        goes_on = text and text[-1] not in '.!?:;»”"' and page_text[0].islower()
        text += ("\n" if goes_on else "\n\n" if text else "") + page_text
    return text


def _key(sha256: str, path: Path, acts: Sequence[ListedAct], limits: ExtractionSpec) -> str:
    """Everything a cut depends on, as a hash."""
    version = f"{RULES}|{limits.model_dump_json(exclude={'max_failed_share'})}"
    if path.suffix != ".txt":
        from tendril_assets.corpus.extract import EXTRACTOR_VERSION

        version = f"{version}|{EXTRACTOR_VERSION}"
    listed = [[a.place, a.number, a.kind, a.date.isoformat() if a.date else None] for a in acts]
    named = json.dumps([sha256, path.suffix, version, listed], ensure_ascii=False)
    return hashlib.sha256(named.encode()).hexdigest()


def _stored(store: Path) -> dict[str, CutIssue]:
    """What was cut before; nothing where the file is missing or damaged, which costs reading the issues again."""
    try:
        version, issues = json.loads(store.read_bytes())
        if version != _FORMAT:
            return {}
        return {
            key: CutIssue(
                {int(place): CutText(*fields) for place, fields in found.items()},
                {int(place): str(why) for place, why in missing.items()},
            )
            for key, (found, missing) in issues.items()
        }
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}
