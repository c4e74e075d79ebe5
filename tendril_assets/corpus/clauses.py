"""The structure of an act's text: headings, clauses, their items and paragraphs, rows of tables, notes.

The text stays as it is: a part is a stretch of it, and the parts in their order are the whole text but for white space
between them. Chapters, sections and appendices say where a clause stands, for each appendix counts its clauses anew.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.clause_headings import Heading, heading_at, joined_heading
from tendril_assets.corpus.clause_numbers import ClauseReader, number_end

Kind = Literal["heading", "clause", "item", "paragraph", "row", "note"]

_ITEM = re.compile(r"[ \t\u00a0]*(?:\d{1,2}\)|[а-яёa-z]\)|[-\u2013\u2014\u2022•][ \t\u00a0])")
_NOTE = re.compile(
    r"[ \t\u00a0]*(?:\*{1,4}\s?(?=\S)|[¹²³⁴-⁹⁰]{1,2}\s?(?=[А-ЯЁ«“])|<\d{1,2}>\s|\d{1,2}\s(?=(?:Зарегистрирован|"
    r"Собрание законодательства|Опубликован|Официально опубликован|Вестник Банка|«Вестник|“Вестник|Российская газета)))"
)
_SENTENCE_END = re.compile(r"[.;:!?][»”\")\]]*[\d¹²³⁴-⁹*]{0,2}$")
_BEGINNING = re.compile(r"[ \t\u00a0]*[«“\"„(]?[А-ЯЁA-Z]")


class ClauseStart(NamedTuple):
    """``start``: of the number, in the text, from 0; ``text_start``: of what stands behind it; ``section``: the headings it
    stands under."""

    start: int
    text_start: int
    number: str
    section: str


class Part(NamedTuple):
    """A stretch ``[start, end)`` of the text; both ends stand at a character that is no white space.

    ``number``: of the clause that begins here, or in which the part stands; None before the first clause of a section.
    ``section``: the headings in force, joined, a heading's own among them.
    """

    start: int
    end: int
    kind: Kind
    number: str | None
    section: str


class _Line(NamedTuple):
    start: int
    end: int
    text: str


def clause_starts(text: str) -> list[ClauseStart]:
    """Every place where a numbered clause begins, in order. One number may come several times: in appendices, in tables."""
    return [
        ClauseStart(part.start, part.start + number_end(text[part.start : part.end]), part.number, part.section)
        for part in structure(text)
        if part.kind == "clause" and part.number
    ]


def structure(text: str) -> list[Part]:
    """The parts of ``text`` in their order. Without white space they are the text, nothing lost, repeated or moved."""
    found = list(_beginnings(text))
    ends = [*(after.start for _, after in pairwise(found)), len(text)][: len(found)]
    parts = []
    for part, end in zip(found, ends, strict=True):
        body = text[part.start : end].rstrip()
        if body:
            parts.append(part._replace(end=part.start + len(body)))
    return parts


def _beginnings(text: str) -> Iterator[Part]:
    """Where each part begins; the ends are those of the next beginnings."""
    lines, reader = _lines(text), ClauseReader()
    section: list[Heading] = []
    number: str | None = None
    before, blank, n = "", True, 0
    started = False
    while n < len(lines):
        line = lines[n]
        stripped = line.text.strip()
        if not stripped:
            before, blank, n = "", True, n + 1
            continue
        start = line.start + len(line.text) - len(line.text.lstrip())
        heading = heading_at(stripped, before)
        if heading:
            heading, n = joined_heading(heading, [one.text for one in lines], n, _begins_something)
            section = [*(one for one in section if one.level < heading.level), heading]
            reader.enter(heading.chapter)
            number = None
            yield Part(start, start, "heading", None, _label(section))
            before, blank, started = "", True, True
            continue
        kind: Kind | None = None
        following = _next_with_text(lines, n)
        after = lines[following].text if following < len(lines) else ""
        if clause := reader.number_at(line.text, before, after):
            kind, number = "clause", clause.number
        elif CELL_SEPARATOR in line.text:
            kind = "row"
        elif _NOTE.match(line.text):
            kind = "note"
        elif _ITEM.match(line.text):
            kind = "item"
        elif not started or blank or (_SENTENCE_END.search(before) and _BEGINNING.match(line.text)):
            kind = "paragraph"
        if kind:
            yield Part(start, start, kind, number, _label(section))
        before, blank, started, n = stripped, False, True, n + 1
        if clause and clause.end == len(line.text.rstrip()):
            before, n = "", following  # a number alone on its line: the text of the clause begins on another


def _next_with_text(lines: Sequence[_Line], n: int) -> int:
    """The first line behind ``n`` that is not blank, or the number of lines."""
    return next((at for at in range(n + 1, len(lines)) if lines[at].text.strip()), len(lines))


def _begins_something(line: str) -> bool:
    """Whether a line that stands below a heading is no more of it."""
    text = line.strip()
    return (
        not text
        or ClauseReader().number_at(line, "") is not None
        or heading_at(text, "") is not None
        or _ITEM.match(line) is not None
        or _NOTE.match(line) is not None
        or CELL_SEPARATOR in line
    )


def _label(section: list[Heading]) -> str:
    return " / ".join(one.title for one in section)


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for piece in text.split("\n"):
        lines.append(_Line(start, start + len(piece), piece))
        start += len(piece) + 1
    return lines
