"""Cuts an issue of a Russian official bulletin into the acts that a list says stand in it.

An act starts only where kind and number stand together at the start of a line, as its heading prints them, and the list
has that number for this issue. A reference to an act that print broke over lines looks much the same ("... порядок,
установленный / Положение Банка России от 1 марта 2021 года № 77-П / ..."), and so does a table of contents: what stands
before and behind decides, then the form of the heading (capitals and day before small letters), then the length of what
follows. An act ends where the next one starts, where a document that is not on the list has its heading, or, once it is
signed, at a section of the bulletin; else with the issue.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from tendril_assets.corpus.acts import KINDS, ListedAct, in_cyrillic, normal_number

_MONTHS = ("января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября",
           "декабря")  # fmt: skip
_GAP = r"[ ]*\n{0,2}[ ]*"
_DAY = (
    rf"(?P<day>(?:\d{{1,2}}[ ]+(?:{'|'.join(_MONTHS)})[ ]+\d{{4}}(?:[ ]*(?:года|г\.|г))?)"
    r"|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})(?:[ ]*(?:года|г\.|г))?)"
)
_NUMBER = (
    r"№[ ]*(?P<number>(?:[А-ЯЁ]{1,3}-)?\d+[а-яё]?(?:[/.\-‐‑–][0-9А-Яа-яЁё]+)*"
    r"(?:[ ]?[-‐‑–][ ]?\n?[А-ЯЁ]{1,3}(?![А-Яа-яЁё]))?)"
)
# "№ 590-П от 28 июня 2017 года"
_DAY_BEHIND = rf"(?:[ ]*\n?[ ]*(?:от|ОТ)[ ]+{_DAY.replace('<day>', '<day_behind>')})?"
_PLACE = rf"(?:(?:г\.[ ]*)?(?:Москва|МОСКВА){_GAP})?"
_ISSUER = r"(?:БАНКА[ ]+РОССИИ|Банка[ ]+России|ЦБ[ ]+РФ|Центрального[ ]+банка[ ]+Российской[ ]+Федерации)"


def _alternatives(kinds: Iterable[str]) -> str:
    return "|".join(r"\s+".join(map(re.escape, kind.split())) for kind in sorted(kinds, key=len, reverse=True))


_CAPITALS = _alternatives(kind.upper() for kind in KINDS)
_SMALL = _alternatives(KINDS)
# "28 июня 2017 года № 590-П / ПОЛОЖЕНИЕ"
_NUMBER_FIRST = re.compile(
    rf"^[ ]*(?:{_DAY}{_GAP})?{_PLACE}{_NUMBER}{_DAY_BEHIND}(?:[ ]+|[ ]*\n{{1,2}}[ ]*){_PLACE}"
    rf"(?P<kind>{_CAPITALS})(?![А-Яа-яЁё])(?:\s+{_ISSUER})?(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
# "ПОЛОЖЕНИЕ / Банка России / от 28 июня 2017 года № 590-П"
_KIND_FIRST = re.compile(
    rf"^[ ]*(?P<kind>{_CAPITALS}|{_SMALL})(?![А-Яа-яЁё]){_GAP}(?:{_ISSUER}{_GAP})?{_PLACE}(?:(?:от|ОТ)[ ]*{_GAP})?"
    rf"(?:{_DAY}{_GAP})?{_PLACE}{_NUMBER}(?![0-9А-Яа-яЁё]){_DAY_BEHIND}(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_TITLE = re.compile(r"[ ]*(?:[\"«“„][ ]*)?(?:Об?|ОБ?)[ ]")
_LEADER = re.compile(r"(?:\.[ ]?){4,}[ ]*\d{1,4}[ ]*$|[ ]\.{3,}")
_ENDS_SENTENCE = re.compile(r"[.!?:;»”\"]\Z|\.\s?\d+\Z")
_OPENS_REFERENCE = re.compile(r"(?:^|\s)от\Z|\bк[ ]\w+(?:[ ]Банка[ ]России)?\Z|от[ ][\w. ]+(?:года|г\.)\Z")
_SIGNATURE = re.compile(
    r"^[ ]*(?:И\.\s?о\.[ ]+|Врио[ ]+)?(?:Председател[ья]|Первый[ ]+заместител|Заместител|Руководител|Директор)",
    re.MULTILINE,
)
_SECTION = re.compile(
    r"^[ ]*(?:ИНФОРМАЦИОННЫЕ СООБЩЕНИЯ|КРЕДИТНЫЕ ОРГАНИЗАЦИИ|НЕКРЕДИТНЫЕ ФИНАНСОВЫЕ ОРГАНИЗАЦИИ|ВНУТРЕННИЙ ФИНАНСОВЫЙ РЫНОК"
    r"|СТАВКИ ДЕНЕЖНОГО РЫНКА|ФИНАНСОВЫЕ РЫНКИ|ОФИЦИАЛЬНЫЕ ДОКУМЕНТЫ|ОФИЦИАЛЬНОЕ ОПУБЛИКОВАНИЕ|НОРМАТИВНЫЕ АКТЫ И ОПЕРАТИВНАЯ"
    r" ИНФОРМАЦИЯ|АНАЛИТИЧЕСКИЕ МАТЕРИАЛЫ|ПРЕСС-РЕЛИЗЫ?|СОДЕРЖАНИЕ)[ ]*$",
    re.MULTILINE,
)
# What a registry prints above a heading belongs to the act below it.
_REGISTERED = re.compile(r"\n[ ]*(?:Зарегистрирован|ЗАРЕГИСТРИРОВАН)[^\n]*(?:\n[^\n]+){0,4}\s*\Z")
_NEARBY = 2_000  # characters around a heading that are looked at; all of them, at each, would be quadratic
_END_OF_ISSUE, _NEXT, _OTHER, _SECTION_END = "end of issue", "next act", "other document", "section"
_KIND_BY_CAPITALS = {kind.upper(): kind for kind in KINDS}


class Piece(NamedTuple):
    """Where an act stands in the text of its issue, and what ended it. ``note``: what a person should look at."""

    start: int
    end: int
    ended_by: str
    note: str | None


@dataclass(frozen=True)
class Cut:
    """``found`` and ``missing`` by row of the list: the piece of each act, or why there is none."""

    found: dict[int, Piece]
    missing: dict[int, str]


@dataclass(frozen=True)
class _Heading:
    start: int
    number: str
    kind: str
    day: date | None
    capitals: bool

    @property
    def weight(self) -> int:
        return 2 * self.capitals + (self.day is not None)


def cut_issue(text: str, acts: Sequence[ListedAct]) -> Cut:
    """Every listed act of one issue in ``text`` (cleaned: plain line breaks, single blanks).

    ``acts``: all rows of the list that name the issue, those that will be left out too, for each ends the one before it.
    Rows of one number and day share a piece.
    """
    read = in_cyrillic(text)  # of equal length, so that places in it are places in the text
    headings = _headings(read)
    by_act: dict[tuple[str, date | None], list[_Heading]] = {}
    foreign: list[int] = []
    for heading in headings:
        act = _act_of(heading, acts)
        if act is not None:
            by_act.setdefault((act.number, act.date), []).append(heading)
        elif heading.capitals and heading.day is not None:
            foreign.append(heading.start)
    borders = sorted({heading.start for heading in headings} | {len(text)})
    reach = {start: end - start for start, end in pairwise(borders)}
    chosen = {
        name: max(found, key=lambda heading: (heading.weight, reach.get(heading.start, 0), -heading.start)).start
        for name, found in by_act.items()
    }
    starts = sorted(chosen.values())
    pieces = {name: _piece(read, start, starts, foreign) for name, start in chosen.items()}
    found, missing = {}, {}
    for act in acts:
        piece = pieces.get((act.number, act.date))
        if piece is not None:
            found[act.place] = piece
        else:
            missing[act.place] = _why_missing(act, headings, read, acts)
    return Cut(found, missing)


def _headings(text: str) -> list[_Heading]:
    found: dict[int, _Heading] = {}
    for pattern in (_NUMBER_FIRST, _KIND_FIRST):
        for match in pattern.finditer(text):
            heading = _heading(text, match, number_first=pattern is _NUMBER_FIRST)
            if heading is not None:
                former = found.get(heading.start)
                if former is None or heading.weight > former.weight:
                    found[heading.start] = heading
    return [found[start] for start in sorted(found)]


def _heading(text: str, match: re.Match[str], *, number_first: bool) -> _Heading | None:
    """The heading a match is, or None where it is a reference or an entry of a table of contents."""
    printed = " ".join(match["kind"].split())
    capitals = printed.upper() == printed
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    ahead = text[max(0, match.start() - _NEARBY) : match.start()]
    before = ahead.rstrip("\n ")
    line_before = before[before.rfind("\n") + 1 :].rstrip()
    rest, after = match["rest"].strip(), text[match.end() : match.end() + _NEARBY].lstrip("\n ")
    printed_day = match["day"] or match["day_behind"]
    day = _day(printed_day) if printed_day else None
    if _LEADER.search(rest) or _LEADER.search(after.split("\n\n", 1)[0][:400].split("\n")[0]):
        return None
    if rest and not (capitals and _TITLE.match(rest)):
        return None
    if number_first and _OPENS_REFERENCE.search(line_before):
        return None
    if not capitals:
        complete = not line_before or line_before.isupper() or _ENDS_SENTENCE.search(line_before)
        # Behind an empty line a title tells: print leaves none within a sentence, but some formats have one everywhere.
        parted = ahead.endswith("\n\n") and _TITLE.match(after)
        if not (complete or parted) or (after and not after[0].isupper()):
            return None
    elif after and after[0].islower() and not rest:
        return None
    try:
        number = normal_number(match["number"])
    except ValueError:  # a sign that only looks like a number: no heading then
        return None
    kind = _KIND_BY_CAPITALS[printed.upper()]
    return _Heading(start, number, kind, day, capitals)


def _day(printed: str) -> date | None:
    words = printed.split()
    try:
        if len(words) >= 3 and words[1] in _MONTHS:
            return date(int(words[2][:4]), _MONTHS.index(words[1]) + 1, int(words[0]))
        day, month, year = (int(part) for part in re.findall(r"\d+", printed)[:3])
        return date(year if year > 99 else 1900 + year if year > 50 else 2000 + year, month, day)
    except ValueError:  # 31 июня: a slip of print; the number still names the act
        return None


def _act_of(heading: _Heading, acts: Sequence[ListedAct]) -> ListedAct | None:
    same = [act for act in acts if act.number == heading.number and act.kind in (None, heading.kind)]
    if heading.day is None:
        return same[0] if len({act.date for act in same}) == 1 else None
    exact = [act for act in same if act.date == heading.day]
    return next(iter(exact or [act for act in same if act.date is None]), None)


def _piece(text: str, start: int, starts: Sequence[int], foreign: Sequence[int]) -> Piece:
    end, ended_by = len(text), _END_OF_ISSUE
    following = next((s for s in starts if s > start), None)
    if following is not None:
        end, ended_by = following, _NEXT
    other = next((s for s in foreign if start < s < end), None)
    if other is not None:
        end, ended_by = other, _OTHER
    signature = _SIGNATURE.search(text, start, end)
    section = _SECTION.search(text, signature.end(), end) if signature else None
    if section is not None:
        end, ended_by = section.start(), _SECTION_END
    body = text[start:end]
    if ended_by in (_NEXT, _OTHER) and (registered := _REGISTERED.search(body)):
        end = start + registered.start()
    end = start + len(text[start:end].rstrip())
    note = None
    if ended_by == _END_OF_ISSUE and signature is None and len(starts) > 1:
        note = "it runs to the end of the issue and has no signature: what stands behind it may be of another document"
    return Piece(start, end, ended_by, note)


def _why_missing(act: ListedAct, headings: Sequence[_Heading], text: str, acts: Sequence[ListedAct]) -> str:
    same = [heading for heading in headings if heading.number == act.number]
    days = sorted({f"{heading.day:%Y-%m-%d}" for heading in same if heading.day and heading.day != act.date})
    others = {other.date for other in acts if other.number == act.number} - {act.date}
    if days and act.date and not others:
        return f"the issue prints number {act.number} with the day {', '.join(days)}, the list {act.date:%Y-%m-%d}"
    kinds = sorted({heading.kind for heading in same if heading.kind != act.kind})
    if kinds and act.kind:
        return f"the issue prints number {act.number} as {', '.join(kinds)}, the list as {act.kind}"
    if same:
        return f"several acts of this issue have number {act.number}, and a heading without a day does not tell which"
    mentions = len(re.findall(rf"№[ ]*{re.escape(act.number)}(?![0-9А-Яа-яЁё])", text))
    if mentions:
        return f"the issue names number {act.number} {mentions} time(s), but never as the heading of an act"
    return f"number {act.number} does not occur in the issue"
