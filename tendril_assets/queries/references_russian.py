"""Acts and clauses named in a Russian text: "абз. 5 пп. 3.9.2 Положения № 590-П", "пунктами 6.2 и 19.2 данного Положения".

A clause is a number behind a word for clause or sub-clause, alone, in a list or in a range; in a heading also a list of
bare numbers in brackets. What looks like one and is none: dates ("09.12.2019"), years, decimals ("0,5 процентного
пункта"), sums and percents at the end of a list ("п. 3.1, 20 %"), numbers of acts and laws ("п. 590-П"), articles and
chapters ("п. 1 ст. 5"). No part of a clause number begins with a zero.

Whose clause it is stands behind it, past the larger units around it ("пункт 17.12 главы 17 «...» Положения № 446-П"), or
in a word that points back ("данного Положения": the nearest act of that kind before it), or right before it in brackets.
A list of clauses that is joined to another one ("пп. 3.9.2 и п.п. 3.3 - 3.5 Положения") shares its owner.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tendril_assets.corpus.clause_numbers import clause_number
from tendril_assets.queries.act_names_russian import KIND, MONTHS, find_acts, kind_of
from tendril_assets.queries.references import Binding, NamedAct, NamedClause, References

__all__ = ["appendix_of", "heading_clauses", "kind_of", "references"]

_I = re.IGNORECASE
_DASH = "\\-\u2010\u2011\u2012\u2013\u2014\u2212"
_RAISED = "\u00b9\u00b2\u00b3\u2070\u2074-\u2079"
_PART = r"[1-9]\d{0,2}"
# No digit, decimal or letters of an act's number go on behind it; a point may, at the end of a sentence.
_NUMBER = re.compile(
    rf"(?P<number>{_PART}(?:\.{_PART})*(?:[{_RAISED}]+|\(\d{{1,2}}\))?(?:(?<=[{_RAISED})])\.{_PART})*)(?![\w{_RAISED}]|\.\d|\s?[{_DASH}]\s?(?-i:[А-ЯЁA-Z]){{1,3}}(?!\w))",
    _I,
)
_MARK = re.compile(
    r"(?<![\w.])(?:(?:под)?пункт(?:а|у|е|ом|ы|ов|ам|ами|ах)?\b|п\.\s?п\.|пп\.?|п\.|п(?=\s\d))\s*(?:№\s*)?(?:с\s+)?(?=\d)",
    _I,
)
# "на 2 процентных пункта 5", "населенный пункт 3", "и т. п. 3".
_NO_MARK = re.compile(r"(?:(?:процентн|базисн|насел[её]нн|обменн|пропускн|контрольн|пограничн)\w*|\bт\.)\s*$", _I)
_BEHIND_HYPHEN = re.compile(rf"-({_PART})(?![\w]|\.\d|\s*(?:руб|дн|%))")
_SEPARATOR = re.compile(
    rf"\s*(?:(?P<range>[{_DASH}])|(?P<until>\bпо\b)|,\s*(?:и|или|а\s+также)\b|[,;]|\b(?:и/или|или|и|а\s+также|либо)\b)\s*",
    _I,
)
_FROM = re.compile(r"\bс\s+$", _I)
# Behind a number: what it counts. A decimal with a point counts money and percents; days and years have whole numbers.
_MONEY = re.compile(
    r"\s*(?:%|(?:процент(?:а|ов|у|ам|ами|ах)?|руб\w*|млн|млрд|трлн|тыс|миллион\w*|миллиард\w*|тысяч\w*|долл\w*|евро|юан\w*)\b)",
    _I,
)
_COUNTED = re.compile(
    r"\s*(?:дн(?:я|ей)|день|рабоч\w+\s+д\w+|календарн\w+\s+\w+|год(?:а|у|ом|ы|ов|ах)?|лет|г\.|месяц\w*|квартал\w*|час(?:а|ов|ы)?"
    r"|минут\w*|раза?|балл\w*|базисн\w+|п\.\s?п\.?(?!\s?\d))(?!\w)",
    _I,
)
_MONTH = re.compile(rf"\s+(?:{'|'.join(MONTHS)})[а-я]{{0,2}}(?!\w)", _I)
_QUOTED = r"(?:\s*(?:«[^»]{0,300}»|\"[^\"]{0,300}\"|“[^”]{0,300}”|„[^“”]{0,300}[“”]))?"
_LARGER = re.compile(
    r"\s*,?\s+(?:(?P<law>стат\w+|ст\.|част(?:и|ью|ь|ей|ям)|ч\.)|(?P<appendix>приложени\w+|прил\.)"
    r"|глав\w+|гл\.|раздел\w*|разд\.|подраздел\w*|таблиц\w*|табл\.|граф\w*|строк\w*)"
    rf"(?:\s*(?:№\s*)?(?P<number>[\d.]*\d|[IVXLC]+\b))?(?:\s*(?:,|и|или)\s*\d[\d.]*\b)*{_QUOTED}(?:\s+к(?=\s))?",
    _I,
)
_POINTING = re.compile(
    r"\s*,?\s*(?:(?:данн|указанн|эт|настоящ|названн|упомянут|вышеуказанн|вышеназванн|упомянут)\w*|(?:т\w{1,2}|то)\s+же)\s+",
    _I,
)
_KIND_HERE = re.compile(rf"\s*(?P<kind>{KIND})(?!\w)", _I)
# What has clauses and is no numbered act.
_FOREIGN = re.compile(
    r"\s+(?:(?:ГК|НК|УК|ТК|БК|АПК|ГПК|КоАП|МСФО|РСБУ|ПБУ|ФЗ)\b|(?:порядк|правил|договор|соглашени|устав|стандарт|методик|форм"
    r"|отч[её]т|программ|анкет|рекомендаци|разъяснени|перечн|оферт|услови|регламент|политик|план)\w*)",
    _I,
)
_FOREIGN_KINDS = {"закон", "постановление", "приказ", "распоряжение", "письмо", "информационное письмо"}
_JOINT = re.compile(r"\s*(?:,\s*(?:и|а\s+также)?|;|и/или|и|или|а\s+также|либо)\s+$", _I)
_BEFORE = re.compile(rf"{_QUOTED}\s*\)?\s*[(,:]?\s*(?:см\.|в\s+частности,?|а\s+именно,?)?\s*", _I)
_OF_ARTICLE = re.compile(r"(?<!\w)(?:стат\w+|ст\.|част(?:и|ью|ь|ей|ям)|ч\.)\s*[\d.]+\s*,?\s*$", _I)
_ORDINALS = (
    "перв", "втор", "трет", "четв[её]рт", "пят", "шест", "седьм", "восьм", "девят", "десят", "одиннадцат", "двенадцат",
    "тринадцат", "четырнадцат", "пятнадцат", "шестнадцат", "семнадцат", "восемнадцат", "девятнадцат", "двадцат",
)  # fmt: skip
_ORDINAL_WORDS = [re.compile(rf"{stem}[а-яё]*", _I) for stem in _ORDINALS]
_ANY_ORDINAL = rf"(?:\d{{1,3}}|(?:{'|'.join(_ORDINALS)})[а-яё]*)"
_PARAGRAPHS = re.compile(
    rf"(?<!\w)абз(?:ац\w*|\.)\s*(?P<which>{_ANY_ORDINAL}(?:\s*(?:,|и|или|[{_DASH}])\s*{_ANY_ORDINAL})*)\s+$", _I
)
_ITEM_LETTER = re.compile(r"(?:подпункт\w*|пп\.)\s*[«\"„“]?(?P<letter>[а-я])[»\"“”]?\s+$", _I)
_LIST_GOES_ON = re.compile(r"\s*[.,;]|\s*$")
_BRACKETS = re.compile(r"\(([^()]*)\)")
# "3.12.20" is a clause; "10.12.19", every part of two digits, is a day.
_DAY_LIKE = re.compile(
    r"(?<![\d.])(?:\d{1,2}\.\d{1,2}\.\d{4}|(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.\d\d)(?!\d|\.\d)"
)
_APPENDIX = re.compile(r"(?:^|/)\s*приложение(?:\s*(?:№\s*)?(?P<number>\d{1,3}(?:[.-]\d{1,3})?|[А-Я](?!\w)))?", _I)
_LONGEST_RANGE = 60
_LOOK_BACK = 90
_SPACES = {ord(c): " " for c in "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\n\r\t"}


class _Number(NamedTuple):
    text: str
    start: int
    end: int
    implied: bool = False
    item: str | None = None

    @property
    def parts(self) -> list[str]:
        return self.text.split(".")


class _Owner(NamedTuple):
    binding: Binding = "open"
    act: NamedAct | None = None
    kind: str | None = None
    appendix: str | None = None


@dataclass
class _Group:
    """The numbers behind one word for clause; ``start`` is where that word begins."""

    start: int
    end: int
    numbers: list[_Number]
    paragraphs: tuple[int, ...]
    letter: str | None
    owner: _Owner = field(default_factory=_Owner)


def references(text: str) -> References:
    """Acts and clauses that running text names, in its order."""
    plain = text.translate(_SPACES)
    acts = find_acts(plain)
    return References(tuple(acts), tuple(_clauses(plain, acts)))


def heading_clauses(heading: str) -> list[NamedClause]:
    """Clauses that a heading names: as running text does, and as numbers alone in brackets, "(3.1.3, 3.1.5)".

    A bare number must have two parts or more; brackets that hold a date or an amount name no clause at all.
    """
    plain = heading.translate(_SPACES)
    found = list(references(heading).clauses)
    acts = find_acts(plain)
    for brackets in _BRACKETS.finditer(plain):
        start, end = brackets.span(1)
        if any(start <= clause.start < end for clause in found):
            continue
        start += len(plain[start:end]) - len(plain[start:end].lstrip())
        numbers = list(_numbers(plain[:end], start))
        if not numbers or any("." not in number.text for number in numbers):
            continue
        group = _Group(start, max(number.end for number in numbers), numbers, (), None)
        group.owner = _owner(plain[:end], group, acts)
        # A list may go on with what is no clause, such as an appendix; not with digits that are something else.
        is_list = group.owner.binding in ("act", "document") or _LIST_GOES_ON.match(plain[group.end : end])
        if is_list and not _DAY_LIKE.search(plain[start:end]):
            found += _named(group)
    return sorted(found, key=lambda clause: clause.start)


def appendix_of(section: str) -> str | None:
    """Number of the appendix in the heading of a section ("Приложение 2 / Глава 1"), empty for one without; else None."""
    found = _APPENDIX.search(section)
    return (found["number"] or "") if found else None


def _clauses(text: str, acts: list[NamedAct]) -> list[NamedClause]:
    groups = list(_groups(text))
    for place in reversed(range(len(groups))):
        group, following = groups[place], groups[place + 1] if place + 1 < len(groups) else None
        between = text[group.end : following.start] if following else None
        if following and between is not None and between.isspace():
            group.owner = following.owner
            _nest(group, following)
            continue
        group.owner = _owner(text, group, acts)
        if group.owner.binding == "open" and following and between is not None and _joined(between):
            group.owner = following.owner
    return [clause for group in groups for clause in _named(group)]


def _groups(text: str) -> Iterator[_Group]:
    for mark in _MARK.finditer(text):
        if _NO_MARK.search(text, max(0, mark.start() - _LOOK_BACK), mark.start()):
            continue
        numbers = list(_numbers(text, mark.end()))
        if not numbers:
            continue
        start = mark.start()
        before = text[max(0, start - _LOOK_BACK) : start]
        letter = _ITEM_LETTER.search(before)
        if letter:
            before = before[: letter.start()]
        paragraphs = _PARAGRAPHS.search(before)
        begin = start - (len(text[max(0, start - _LOOK_BACK) : start]) - len(before))
        if paragraphs:
            begin -= len(before) - paragraphs.start()
        yield _Group(
            begin,
            max(number.end for number in numbers),
            numbers,
            _ordinals(paragraphs["which"]) if paragraphs else (),
            letter["letter"].lower() if letter else None,
        )


def _numbers(text: str, start: int) -> Iterator[_Number]:
    """Numbers of a list that begins at ``start``, the members of ranges among them."""
    first = _NUMBER.match(text, start)
    if not first or _MONEY.match(text, first.end()) or _is_day(text, first):
        return
    last = _inserted(text, _Number(first["number"], first.start(), first.end()))
    yield last
    while separator := _SEPARATOR.match(text, last.end):
        found = _NUMBER.match(text, separator.end())
        if not found or _is_amount(text, found) or _is_day(text, found):
            return
        number = _inserted(text, _Number(found["number"], found.start(), found.end()))
        if separator["until"] and not _FROM.search(text, max(0, start - 5), start):
            return
        is_range = bool(separator["range"] or separator["until"])
        if not _belongs(text, last, number, is_range):
            return
        if is_range:
            yield from _between(last, number)
        last = number
        yield last


def _is_day(text: str, number: re.Match[str]) -> bool:
    """Whether the number begins a day, written in digits or with the month in words."""
    return bool(_DAY_LIKE.match(text, number.start()) or _MONTH.match(text, number.end()))


def _is_amount(text: str, number: re.Match[str]) -> bool:
    whole = "." not in number["number"]
    return bool(_MONEY.match(text, number.end()) or (whole and _COUNTED.match(text, number.end())))


def _inserted(text: str, number: _Number) -> _Number:
    """``3.1-1`` and ``5-1`` are clauses put in later; ``3.1-3.5`` and ``3-5`` are ranges."""
    found = _BEHIND_HYPHEN.match(text, number.end)
    if not found or (len(number.parts) == 1 and number.text.isdecimal() and int(found[1]) > int(number.text)):
        return number
    return number._replace(text=number.text + found.group(), end=found.end())


def _belongs(text: str, former: _Number, number: _Number, is_range: bool) -> bool:
    """Whether a further number is one of the list: a whole number behind ``3.1`` may count something else."""
    if is_range:
        return len(former.parts) == len(number.parts) or ("." in former.text and "." in number.text)
    if "." in number.text or "." not in former.text:
        return True
    return bool(
        re.match(r"\s*(?:[,;.)]|$|(?:и|или)\b)", text[number.end :], _I)
        or _KIND_HERE.match(text, number.end)
        or _POINTING.match(text, number.end)
        or _LARGER.match(text, number.end)
        or _MARK.match(text, number.end + 1)
    )


def _between(first: _Number, last: _Number) -> Iterator[_Number]:
    """Numbers inside a range whose ends differ in the last part alone; of another range only its ends are known."""
    *head, low = first.parts
    *other, high = last.parts
    if head == other and low.isdecimal() and high.isdecimal() and 0 < int(high) - int(low) <= _LONGEST_RANGE:
        for number in range(int(low) + 1, int(high)):
            yield _Number(".".join([*head, str(number)]), first.start, last.end, implied=True)


def _nest(group: _Group, outer: _Group) -> None:
    """``подпункт 2.1.2 пункта 2.1``: the outer clause says nothing more; ``подпункт 3 пункта 2.1``: an item of it."""
    whole, *outer.numbers = outer.numbers
    if all(number.text.startswith(whole.text + ".") for number in group.numbers):
        return
    group.numbers = [number._replace(text=whole.text, item=number.text) for number in group.numbers]


def _owner(text: str, group: _Group, acts: list[NamedAct]) -> _Owner:
    """Whose clauses the group's are: what stands behind them, else an act right before them."""
    at, appendix = group.end, None
    while larger := _LARGER.match(text, at):
        if larger["law"] and not larger["number"]:
            break
        if larger["law"]:
            return _Owner("other")
        if larger["appendix"]:
            appendix = larger["number"] or ""
        at = larger.end()
    pointing = _POINTING.match(text, at)
    begin = pointing.end() if pointing else at
    if act := _act_at(acts, text, begin):
        return _Owner("act", act, act.kind, appendix)
    if here := _KIND_HERE.match(text, begin):
        kind = kind_of(here["kind"])
        before = [act for act in acts if act.end <= group.start and act.kind == kind]
        if before:
            return _Owner("act", before[-1], kind, appendix)
        return _Owner("other" if kind in _FOREIGN_KINDS else "document", None, kind, appendix)
    if _FOREIGN.match(text, begin - 1 if pointing else begin):
        return _Owner("other", None, None, appendix)
    if _OF_ARTICLE.search(text, max(0, group.start - _LOOK_BACK), group.start):
        return _Owner("other")
    former = [act for act in acts if act.end <= group.start]
    if former and _BEFORE.fullmatch(text[former[-1].end : group.start]):
        return _Owner("act", former[-1], former[-1].kind, appendix)
    return _Owner("open", None, None, appendix)


def _act_at(acts: list[NamedAct], text: str, at: int) -> NamedAct | None:
    """The act whose name begins at ``at``, blanks aside."""
    begin = at + len(text[at:]) - len(text[at:].lstrip())
    place = bisect_left([act.start for act in acts], begin)
    return acts[place] if place < len(acts) and acts[place].start == begin else None


def _joined(between: str) -> bool:
    return bool(_JOINT.fullmatch(between))


def _ordinals(which: str) -> tuple[int, ...]:
    """Numbers of paragraphs, written in digits or in words, those inside a range among them."""
    found: list[int] = []
    in_range = False
    for word in re.findall(rf"\d+|[а-яё]+|[{_DASH}]", which, _I):
        if word.isdigit():
            number = int(word)
        elif places := [place for place, ordinal in enumerate(_ORDINAL_WORDS, 1) if ordinal.fullmatch(word)]:
            number = places[0]
        else:
            in_range = not word[0].isalpha()
            continue
        found += range(found[-1] + 1, number + 1) if in_range and found[-1] < number else [number]
        in_range = False
    return tuple(found)


def _named(group: _Group) -> Iterator[NamedClause]:
    for number in group.numbers:
        yield NamedClause(
            clause_number(number.text),
            group.start,
            number.end,
            part=number.item or group.letter,
            appendix=group.owner.appendix,
            paragraphs=group.paragraphs,
            implied=number.implied,
            binding=group.owner.binding,
            act=group.owner.act,
            kind=group.owner.kind,
        )
