"""The list of acts of a landing folder, ``acts.jsonl``: every mistake with its row."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tendril_assets.corpus.acts import ListedAct, adopted, clean_title, kind_of, normal_kind, normal_number
from tendril_assets.corpus.identifiers import nfc
from tendril_assets.errors import LandingError
from tendril_assets.resources.landing import Problems, read_rows

LIST = "acts.jsonl"
TEXTS_FOLDER, ISSUES_FOLDER = "acts", "issues"
_STEM = frozenset("/\\\0")


class ListRow(NamedTuple):
    """An act as listed, the row of the file it stands in, and its text where the row has one."""

    row: int
    act: ListedAct
    text: str | None


def read_list(path: Path) -> list[ListRow]:
    """Rows of the list in their order.

    Columns: ``number``; ``date`` (2017-06-28 or 28.06.2017; empty, absent or a placeholder where there is none), ``title``,
    ``kind``, ``issue`` (stem of a file in ``issues/``) and ``text``, all of which may be empty or absent. Others are left
    alone.

    Raises LandingError: no file, not JSON, a number that is none, a day that is none, a value that is no text; up to five
    of them, each with its row.
    """
    if not path.is_file():
        raise LandingError(f"{path} is missing; it holds one act per line: number, date, title, kind, issue, text")
    problems = Problems(path)
    rows = []
    for place, (number, fields) in enumerate(read_rows(path), start=1):
        try:
            rows.append(ListRow(number, _act(place, fields), _text(fields, "text", plain=False)))
        except ValueError as error:
            problems.add(number, str(error))
    problems.raise_if_any()
    if not rows:
        raise LandingError(f"{path}: there is no act in it")
    return rows


def texts_of(path: Path) -> Iterator[tuple[ListedAct, str]]:
    """Acts of the list whose row has a text, one after the other. Raises what ``read_list`` raises for a row."""
    for place, (number, fields) in enumerate(read_rows(path), start=1):
        try:
            text = _text(fields, "text", plain=False)
            if text is not None:
                yield _act(place, fields), text
        except ValueError as error:
            raise LandingError(f"{path}: row {number}: {error}") from error


def _act(place: int, fields: dict[str, object]) -> ListedAct:
    printed = _text(fields, "number")
    if printed is None:
        raise ValueError("number is empty or missing")
    number = normal_number(printed)
    try:
        day = adopted(fields.get("date"))
    except ValueError as error:
        raise ValueError(f"date: {error}") from None
    title = clean_title(_text(fields, "title") or "")
    kind = _text(fields, "kind")
    issue = _text(fields, "issue")
    if issue is not None and (set(issue) & _STEM or issue.startswith(".")):
        raise ValueError(f"issue {issue[:40]!r} cannot be the stem of a file in {ISSUES_FOLDER}/")
    return ListedAct(place, printed, number, day, title, normal_kind(kind) if kind else kind_of(number, title), issue)


def _text(fields: dict[str, object], name: str, *, plain: bool = True) -> str | None:
    """A field as text, None where it is absent or blank. ``plain``: in NFC, without blanks around it."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool | list | dict | float):
        raise ValueError(f"{name} is no text")  # not quoted: it may be the text of an act
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    if plain:
        text = nfc(text).strip()
    return text if text.strip() else None
