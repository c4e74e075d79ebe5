"""Numbers of the clauses of an act: which line of print begins a clause, and which only looks like it.

A clause begins a line with its number: ``3.9.``, ``1.``, ``2.14.2.``, ``3.1-1.``. Much else begins a line with digits, for
acts are printed in narrow columns: a reference that goes on ("в пункте / 3.9. настоящего Положения"), a date, a decimal, a
sum, a quantity, the number of a law, a note, a row or cell of a table. The line, the line before it and the clauses found
so far decide together (``ClauseReader.number_at``).
"""

import re
from typing import NamedTuple

from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.textclean import SUPERSCRIPTS

CLAUSE_VERSION = "clauses-2"

_RAISED = dict(zip(SUPERSCRIPTS.values(), SUPERSCRIPTS, strict=True))
_SUPER = "".join(_RAISED)
_PART = r"[1-9]\d{0,2}"
NUMBER = rf"{_PART}(?:\.{_PART}){{0,6}}(?:[-\u2013]{_PART}|\({_PART}\)|[{_SUPER}]{{1,2}})?(?:\.{_PART}){{0,3}}"
# A blank before the dot, and none behind it, are slips of print.
_LINE = re.compile(rf"[ \t\u00a0]*(?P<number>{NUMBER})(?P<dot>\.|[ \u00a0]\.)?(?P<gap>[ \t\u00a0]+|(?=[А-ЯЁ«“\"])|$)")
_NUMBER_ALONE = re.compile(rf"{NUMBER}(?:\.|[ \u00a0]\.)?\s*")

# What a line ends with where the number on the next one is that of a reference.
_REFERS = re.compile(
    r"(?:^|[\s(«“\"])(?:(?:п|пп|подп|ст|ч|гл|абз|разд|прил|стр|гр|табл|рис)\.?|пункт\w*|подпункт\w*|стать\w+|статей|част[ьиюя]\w*|"
    r"глав\w*|абзац\w*|раздел\w*|подраздел\w*|приложени\w+|строк\w*|граф\w*|столб\w+|показател\w+|символ\w*|счет\w*|код\w*|"
    r"форм\w+|таблиц\w*|рисун\w+|№|N|и|или|либо|а|в|во|с|со|по|от|до|на|к|ко|из|за|не|при|для|об|о|у|том|числе|более|менее|"
    r"свыше|около|равн\w+|указанн\w+|предусмотренн\w+|установленн\w+|определенн\w+|кроме|соответстви\w+|согласно|это)$",
    re.IGNORECASE,
)
# A note of a revision ends where the number of the amending act does, and nothing goes on behind it.
_REVISED = re.compile(r"№\s?[\w/-]+\)$")
_GOES_ON = re.compile(r"[,\-\u2013\u2014(«“/+×=]$")
_ENDS = re.compile(r"[.;:!?…][»”\"')\]]*[\d¹²³⁴-⁹*]{0,2}$")
# What follows a number that is a quantity, a date or a reference, and never begins a clause.
_NEVER = re.compile(
    r"(?:настоящ\w+|год[аыуе]?\b|г\.|гг\.|лет\b|млн|млрд|трлн|тыс|миллион\w*|миллиард\w*|тысяч\w*|руб\w*|коп\w*|процент\w*|%|‰|"
    r"п\.\s?п\.|базисн\w+|долл\w*|евро\b|доли|раз[а]?\b|календарн\w+|рабоч\w+|месяц\w*|дн(?:я|ей)\b|час\w*|минут\w*|"
    r"январ|феврал|март[а]?\b|апрел|ма[йя]\b|июн|июл|август|сентябр|октябр|ноябр|декабр|"
    r"и\b|или\b|либо\b|а\s+также|к\b|от\b|по\b|до\b|стать\w+|част\w+|пункт\w*|подпункт\w*|глав\w+|приложени\w+|"
    r"№|[-\u2013\u2014=<>≤≥×+/*,;:.)\]])",
)
# The genitive of what has clauses: "3.9 Положения Банка России".
_OF_AN_ACT = re.compile(
    r"(?:Положени[яй]|Указани[яй]|Инструкци[ий]|Правил|Порядка|Методик[и]?|Рекомендаций|Федерального|Федеральных|Закона|Кодекса|"
    r"Приложени[яй]|Стандарта|Устава|Договора|Отчета|Таблицы|Раздела|Главы)\b"
)
_BEGINS = re.compile(r"[А-ЯЁA-Z«“\"„(\[]")
_SMALL = re.compile(r"[а-яёa-z]")
# A date in two digits each that no leading zero gives away.
_DATE = re.compile(r"(?:[12]?\d|3[01])\.1[0-2]\.\d\d\Z")
# "3.1-3.5": a range, which a reference names; "3.9-1.2" is a clause that was inserted.
_RANGE = re.compile(r"(\d[\d.]*)[-\u2013](\d+\.[\d.]*\d)\.?\Z")
_LONGEST_CELL = 60
# How many numbers an act may have lost since it was adopted, between one clause and the next.
_GAP = 3


def clause_number(raw: str) -> str:
    """A clause's number in one form: no final dot; an inserted clause (3.9¹, 3.9(1), 3.9-1) as ``3.9-1``."""
    text = raw.strip(" \t\u00a0.")
    raised = re.sub(rf"[{_SUPER}]+", lambda found: "-" + "".join(_RAISED[c] for c in found[0]), text)
    return re.sub(rf"\(({_PART})\)", r"-\1", raised).replace("\u2013", "-").replace(" ", "").replace("\u00a0", "")


def number_path(number: str) -> tuple[int, ...]:
    """``3.9-1.2`` -> (3, 9, 1, 2): the numbers of which it is made, an inserted one among them."""
    return tuple(int(part) for part in re.split(r"[.-]", number))


def number_end(clause: str) -> int:
    """Characters of the number that ``clause`` begins with, of its dot and the white space behind it."""
    found = _NUMBER_ALONE.match(clause)
    return found.end() if found else 0


def _is_range(number: str) -> bool:
    """3.1-3.5 goes up; 3.3-3.1 is the first clause below 3.3-3, which was inserted."""
    found = _RANGE.match(number)
    if found is None:
        return False
    low, high = (tuple(map(int, one.split("."))) for one in (found[1].strip("."), found[2]))
    return low[0] == high[0] and low < high


class Numbered(NamedTuple):
    """``start`` and ``end``: characters of the number and its dot in the line; ``number`` in normal form."""

    start: int
    end: int
    number: str


class ClauseReader:
    """Reads an act line by line, from its beginning or from the middle, and knows the last clause it met."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] | None = None

    def enter(self, chapter: int | None) -> None:
        """A heading: the clauses behind it are numbered anew (None) or within the chapter of this number."""
        self._last = None if chapter is None else (chapter,)

    def number_at(self, line: str, before: str, after: str = "") -> Numbered | None:
        """The clause that ``line`` begins, or None. ``before``: the last line above it with text; empty where a blank line,
        a heading or nothing stands above. ``after``: the next line, on which a clause goes on whose number stands alone.
        """
        found = _LINE.match(line)
        if found is None or CELL_SEPARATOR in line:
            return None
        rest = line[found.end() :].strip()
        number = clause_number(found["number"])
        path = number_path(number)
        dotted, sure = found["dot"] is not None, self._ends(before)
        if sure is None or _is_range(found["number"]):
            return None
        if not rest:
            # Alone on its line it may be a code or the number of a table's row: only the clause that is due begins there,
            # and with more than the few words of a cell.
            is_due = dotted and sure and self._follows(path) and (self._last is not None or path[-1] == 1)
            text = after.strip()
            is_text = len(text) >= _LONGEST_CELL or _ENDS.search(text) is not None
            rest = text if is_due and is_text and _BEGINS.match(text) else ""
        if not rest or _NEVER.match(rest):
            return None
        if _DATE.match(number) and (self._last is None or not self._follows(path)):
            return None
        if _BEGINS.match(rest):
            is_start = self._with_capital(path, rest, dotted, sure)
        elif _SMALL.match(rest):
            # Clauses that list things begin with a small letter: "6.2.9. поручительства юридических лиц".
            is_start = dotted and sure and (len(path) > 2 or self._follows(path))
        else:
            is_start = dotted and sure and self._follows(path)
        if not is_start:
            return None
        self._last = path
        return Numbered(found.start("number"), found.end("dot") if dotted else found.end("number"), number)

    def _with_capital(self, path: tuple[int, ...], rest: str, dotted: bool, sure: bool) -> bool:
        if dotted:
            return sure or self._follows(path)
        # Without a dot it is a note or a row of a table, unless it is the clause that is due.
        return len(path) > 1 and sure and self._follows(path) and _OF_AN_ACT.match(rest) is None

    @staticmethod
    def _ends(before: str) -> bool | None:
        """Whether the line above ends a sentence or an item; None where it cannot be the end of anything."""
        text = before.rstrip()
        if not text:
            return True
        if _REFERS.search(text) or _GOES_ON.search(text):
            return None
        return _ENDS.search(text) is not None or _REVISED.search(text) is not None

    def _follows(self, path: tuple[int, ...]) -> bool:
        """Whether ``path`` is the next clause: a first child of the last one, or the next of it or of one above it."""
        last = self._last
        if last is None:
            return path[-1] == 1 or len(path) > 1
        if path == (*last, 1):
            return True
        n = len(path)
        return n <= len(last) and path[:-1] == last[: n - 1] and 1 <= path[-1] - last[n - 1] <= _GAP
