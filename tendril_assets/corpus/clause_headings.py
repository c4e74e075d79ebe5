"""Headings of an act: sections, chapters, paragraphs, articles, appendices, and titles broken over lines of print."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_ROMAN = r"[IVXLCХІ]{1,7}"  # Cyrillic letters are printed for Latin ones
# Inserted between two: 3.1, 3-1, 3(1), 3¹.
_ARABIC = r"\d{1,3}(?:[.-]\d{1,3}|\(\d{1,2}\)|[⁰¹²³⁴-⁹]{1,2})?"
_NUMBERED = re.compile(
    rf"(?P<word>Раздел|РАЗДЕЛ|Подраздел|ПОДРАЗДЕЛ|Глава|ГЛАВА|Часть|ЧАСТЬ|Статья|СТАТЬЯ|§)\s*"
    rf"(?P<number>{_ARABIC}|{_ROMAN}|[А-ЯЁ]{{3,}}(?:АЯ|ЫЙ|ОЙ|ИЙ|ЬЯ)|[а-яё]{{3,}}(?:ая|ый|ой|ий|ья))(?P<end>\.?)(?:\s+(?P<title>\S.*))?\Z"
)
_ROMAN_ALONE = re.compile(rf"(?P<number>{_ROMAN})\.\s+(?P<title>[А-ЯЁ«“].*)\Z")
_APPENDIX = re.compile(
    rf"(?:Приложение|ПРИЛОЖЕНИЕ)(?:\s*№?\s*(?P<number>{_ARABIC}|[А-Я]))?(?P<of>\.?\s+к\s+\S.*)?\.?\*?\Z"
)
_LEVELS = {"раздел": 1, "часть": 1, "подраздел": 2, "глава": 3, "§": 4, "статья": 5}
_GOES_ON = re.compile(
    r"(?:[,\-\u2013(]|\b(?:и|или|в|во|с|со|по|от|до|на|к|из|за|не|при|для|об|о|у|а|их|его))$", re.IGNORECASE
)
_ENDS = re.compile(r"[.;:!?]$")
_ROMAN_VALUES = {"I": 1, "І": 1, "V": 5, "X": 10, "Х": 10, "L": 50, "C": 100}
_MOST_LINES = 6
_LONGEST_LINE = 110


class Heading(NamedTuple):
    """``level``: 0 for an appendix, larger within it; ``chapter``: the number that the clauses behind it begin with, where
    it has one that is a number; ``title``: on one line."""

    level: int
    title: str
    chapter: int | None
    takes_more: bool


def heading_at(line: str, before: str) -> Heading | None:
    """The heading that ``line`` (without blanks around it) is or begins, or None. ``before``: the line above, if it has text."""
    if len(line) > 2 * _LONGEST_LINE or (before and _GOES_ON.search(before)):
        return None
    if found := _NUMBERED.match(line):
        word, title = found["word"].lower(), found["title"] or ""
        # A sentence that begins with the word: "Глава 3 настоящего Положения применяется".
        if title and (title[0].islower() or (not found["end"] and _ENDS.search(title))):
            return None
        return Heading(_LEVELS[word], line, _value(found["number"]) if word in ("глава", "раздел") else None, True)
    if found := _ROMAN_ALONE.match(line):
        return None if _ENDS.search(line) else Heading(3, line, _value(found["number"]), True)
    if found := _APPENDIX.match(line):
        number = f" {found['number']}" if found["number"] else ""
        return Heading(0, f"Приложение{number}", None, False)
    return None


def joined_heading(
    heading: Heading, lines: Sequence[str], at: int, begins_something: Callable[[str], bool]
) -> tuple[Heading, int]:
    """``heading`` of line ``at`` with the lines its title goes on in, and the first line behind it.

    It goes on up to a clause, an item, another heading or a blank line, where no line in between ends a sentence; else only
    while a line breaks off in the middle of a phrase.
    """
    after = at + 1
    if not heading.takes_more:
        return heading, after
    more: list[str] = []
    for n in range(after, min(len(lines), after + _MOST_LINES)):
        text = lines[n].strip()
        if begins_something(lines[n]):
            break
        if _ENDS.search(text) or len(text) > _LONGEST_LINE:
            more = _broken_off(heading.title, [one.strip() for one in lines[after:n]], text)
            break
        more.append(text)
    else:
        more = _broken_off(heading.title, more, "")
    title = " ".join([heading.title, *more])
    return heading._replace(title=re.sub(r"(?<=[а-яё])- (?=[а-яё])", "", title)), after + len(more)


def _broken_off(title: str, lines: list[str], behind: str) -> list[str]:
    """Of ``lines`` those up to the last that goes on: the text ``behind`` them is that of a paragraph."""
    taken: list[str] = []
    last = title
    for line in lines:
        if not (_GOES_ON.search(last) or line[:1].islower()):
            break
        taken.append(line)
        last = line
    return taken


def _value(number: str) -> int | None:
    if number.isdecimal():
        return int(number)
    if not set(number) <= set(_ROMAN_VALUES):
        return None
    values = [_ROMAN_VALUES[letter] for letter in number]
    return sum(-v if any(w > v for w in values[i + 1 : i + 2]) else v for i, v in enumerate(values))
