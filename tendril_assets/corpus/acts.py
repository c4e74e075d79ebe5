"""Acts of a Russian regulator: number, day, kind and key, and what makes one no act of the corpus.

An act is named by its number and the day of its adoption together: numbers begin anew, and one may stand for four acts.
The key is ``<number>_<DDMMYYYY>``; a slash of the number is written ``~``, so that a key can name a file.

Lists of acts come from indexes with dirt in them: an empty title, a day that stands for none, one act twice, Latin letters
that look like Cyrillic ones. What is read otherwise than printed is told.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from tendril_assets.corpus.identifiers import nfc
from tendril_assets.corpus.textclean import clean, closed_up, squeeze

# The one document of an act, however its text was delivered.
ACT_DOCUMENT = "act.txt"
MIN_CYRILLIC_SHARE = 0.9
KEPT, AMENDMENT, LOW_CYRILLIC, NOT_FOUND = "kept", "amendment", "low_cyrillic", "not_found"
NO_DATE, REPEATED, EMPTY = "no_date", "repeated", "empty"
OUTCOMES = (KEPT, AMENDMENT, LOW_CYRILLIC, NOT_FOUND, NO_DATE, REPEATED, EMPTY)

# Kind of document by the letters behind the number.
KIND_OF_LETTERS = {
    "П": "Положение",
    "У": "Указание",
    "И": "Инструкция",
    "МР": "Методические рекомендации",
    "ОР": "Официальное разъяснение",
    "Т": "Письмо",
    "ФЗ": "Федеральный закон",
    "ОД": "Приказ",
    "Р": "Распоряжение",
}
KINDS = (*dict.fromkeys(KIND_OF_LETTERS.values()), "Информационное письмо", "Решение")

# Where systems put what has no day: the zeros of spreadsheets, databases and clocks.
_NO_DAY = frozenset((date(1, 1, 1), date(1899, 12, 30), date(1899, 12, 31), date(1900, 1, 1), date(1970, 1, 1)))
_DASHES = str.maketrans("‐‑‒–—―−", "-------")
# Latin letters that look like a Cyrillic capital; numbers of acts have Cyrillic letters alone.
_CYRILLIC_FOR = str.maketrans("ABEKMHOPCTYXaeopcyx", "АВЕКМНОРСТУХаеорсух")
_NUMBER_SIGN = re.compile(r"^(?:№|N[oº°]?\.?)\s*(?=[\dА-ЯЁA-Z])")
_NUMBER = re.compile(r"(?=[^0-9]*[0-9])[0-9A-Za-zА-Яа-яЁё]+(?:[./-]+[0-9A-Za-zА-Яа-яЁё]+)*")
_AROUND = re.compile(r"\s*([-/])\s*")
_LETTERS = re.compile(r"-\s*([А-ЯЁ]{1,3})\Z")
_KEY = re.compile(r"(?P<number>[0-9A-Za-zА-Яа-яЁё.~-]+)_(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{4})")
_QUOTES = "\"'«»“”„‟‘’"
_ISSUER = r"(?:Банка России|ЦБ РФ|Центрального банка Российской Федерации)"
_KIND = "|".join(re.escape(kind) for kind in sorted(KINDS, key=len, reverse=True))
_PRINTED_KIND = re.compile(rf"(?P<kind>{_KIND})(?:\s+{_ISSUER})?", re.IGNORECASE)
# "Указание Банка России от 1 февраля 2003 года № 5-У", day and number in either order.
_KIND_AHEAD = re.compile(
    rf"(?:{_KIND})(?:\s+{_ISSUER})?(?:\s+от\s+(?:\d{{1,2}}\s+[а-я]+\s+\d{{4}}|[\d.]+)(?:\s*г(?:\.|ода))?|\s*(?:№|\bN)\s*\S+)*"
    r"\s*[:.-]?\s*",
    re.IGNORECASE,
)
_ADJECTIVE = r"(?:[а-яё]+(?:их|ых|ые|ого|его|ой|ей|ое|ее)\s+(?:и\s+)?)"
_CHANGES = r"(?:изменени|дополнени|поправ|уточнени|исправлени)[а-яё]*"
_ACT_WORD = r"(?:положени|указани|инструкци|методическ|нормативн|отдельн|приказ|правил|официальн|письм)"
_AMENDS = re.compile(
    rf"(?:об?\s+)?внесени[ие]\s+{_ADJECTIVE}{{0,3}}{_CHANGES}"
    rf"|(?:об?\s+)?внесени[ие]\s+в\s+{_ADJECTIVE}{{0,2}}(?:положени|указани|инструкци|приказ|акт).*\b{_CHANGES}"
    r"|(?:об\s+)?изменени[а-яё]+,?\s+(?:которые\s+)?(?:вносятся|вносимы[ехм])\s+в"
    rf"|(?:об\s+)?изменени(?:ях?|и|ие)\s+(?:и\s+дополнени(?:ях?|и|ие)\s+)?(?:(?:в|к|во)\s+)?(?:{_ADJECTIVE}){{0,2}}{_ACT_WORD}"
    rf"|(?:о\s+)?дополнени(?:ях?|и|ие)\s+(?:и\s+изменени(?:ях?|и|ие)\s+)?(?:(?:в|к|во)\s+)?(?:{_ADJECTIVE}){{0,2}}{_ACT_WORD}"
)
_LATIN_TITLE = str.maketrans("ABEKMHOPCTXaeopcxy", "АВЕКМНОРСТХаеорсху")
_DAY = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_TAB = re.compile(r"[^\S\n]*\t[^\S\n]*")


@dataclass(frozen=True)
class ListedAct:
    """One row of a list of acts.

    ``number`` in normal form, with the letters it should have; ``printed`` as the list has it. ``date`` is None where the
    list has none, or one that stands for none. ``place`` counts rows from 1. ``issue``: stem of the bulletin it stands in.
    """

    place: int
    printed: str
    number: str
    date: date | None
    title: str
    kind: str | None
    issue: str | None = None

    @property
    def key(self) -> str | None:
        return act_key(self.number, self.date) if self.date else None

    @property
    def note(self) -> str | None:
        """What was read otherwise than printed."""
        if self.number == normal_number(self.printed, repair=False):
            return None
        return f"the list prints {self.printed!r}, with Latin letters; read as {self.number}"


def normal_number(raw: str, *, repair: bool = True) -> str:
    """The number of an act in normal form: NFC, no number sign, plain hyphens without blanks around them, Cyrillic letters.

    ``repair``: Latin letters that look like Cyrillic ones become these. Raises ValueError for what is no number: without a
    digit, or with other signs than letters, digits, ``.``, ``-`` and ``/``.
    """
    text = _AROUND.sub(r"\1", _NUMBER_SIGN.sub("", nfc(raw).strip()).translate(_DASHES))
    if repair:
        text = text.translate(_CYRILLIC_FOR)
    if not _NUMBER.fullmatch(text) or len(text) > 60:
        raise ValueError(f"{raw!r} is no number of an act, such as 590-П or 18н/4-П")
    return text


def act_key(number: str, day: date) -> str:
    """``590-П`` of 28 June 2017 -> ``590-П_28062017``; a slash becomes ``~``."""
    return f"{number.replace('/', '~')}_{day:%d%m}{day.year:04d}"


def read_key(key: str) -> tuple[str, date]:
    """Number and day of a key. Raises ValueError for what is none."""
    found = _KEY.fullmatch(key)
    if found is None:
        raise ValueError(f"{key!r} is no key of an act, such as 590-П_28062017")
    try:
        day = date(int(found["year"]), int(found["month"]), int(found["day"]))
    except ValueError:
        raise ValueError(f"{key!r}: there is no day {found['day']}.{found['month']}.{found['year']}") from None
    return found["number"].replace("~", "/"), day


def in_cyrillic(text: str) -> str:
    """``text`` with Cyrillic letters for the Latin ones that look like them, of the same length."""
    return text.translate(_CYRILLIC_FOR)


def adopted(raw: object) -> date | None:
    """Day of adoption as an index has it: ``2017-06-28`` or ``28.06.2017``; None where it is empty or stands for none.

    Raises ValueError for anything else.
    """
    if raw is None or (text := str(raw).strip()) == "":
        return None
    try:
        if printed := _DAY.fullmatch(text):
            day = date(int(printed[3]), int(printed[2]), int(printed[1]))
        else:
            day = datetime.fromisoformat(text).date()
    except ValueError:
        raise ValueError(f"{text!r} is no day such as 2017-06-28") from None
    return None if day in _NO_DAY else day


def clean_title(raw: str) -> str:
    """A title on one line, in NFC, without quotation marks around all of it."""
    text = " ".join(clean(raw).split())
    while len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES and not set(text[1:-1]) & set(_QUOTES):
        text = text[1:-1].strip()
    return text


def kind_of(number: str, title: str) -> str | None:
    """Kind of document by the letters behind the number, else by the title's first words; None where neither tells."""
    letters = _LETTERS.search(number)
    if letters and letters[1] in KIND_OF_LETTERS:
        return KIND_OF_LETTERS[letters[1]]
    begins = title.lstrip(_QUOTES + " ").casefold()
    return next((kind for kind in sorted(KINDS, key=len, reverse=True) if begins.startswith(kind.casefold())), None)


def normal_kind(printed: str) -> str:
    """A kind as lists print it ("ИНСТРУКЦИЯ", "указание Банка России") in the one form that splits compare; another than
    ``KINDS`` as it is."""
    text = " ".join(printed.split())
    found = _PRINTED_KIND.fullmatch(text.translate(_LATIN_TITLE))
    return next(kind for kind in KINDS if kind.casefold() == found["kind"].casefold()) if found else text


def is_amendment(title: str) -> bool:
    """Whether an act of this title only changes others, and so carries no text of its own.

    "О внесении изменений в ..." does, with the kind ahead of it and in quotation marks too; "О порядке внесения
    изменений ..." does not: it is about how that is done.
    """
    text = " ".join(clean(title).split()).translate(_LATIN_TITLE).lstrip(_QUOTES + " ")
    text = _KIND_AHEAD.sub("", text, count=1) if _KIND_AHEAD.match(text) else text
    return _AMENDS.match(text.lstrip(_QUOTES + " ").casefold()) is not None


def act_text(raw: str) -> str:
    """The text of an act as every step sees it: cleaned (``textclean``), tabs as cell borders, line breaks as they are."""
    return squeeze(closed_up(clean(_TAB.sub(" | ", raw.replace("\r\n", "\n")))))


def cyrillic_share(text: str) -> float | None:
    """Share of Cyrillic letters among the Latin, Greek and Cyrillic ones; None where there is no letter.

    Scans read in a Latin mode have Latin look-alikes for most Cyrillic letters, and nothing brings those back.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), dtype="<u4")
    cyrillic = int(np.count_nonzero((codes >= 0x400) & (codes <= 0x52F) & ~((codes >= 0x482) & (codes <= 0x489))))
    basic = codes | 0x20
    latin = int(np.count_nonzero((basic >= 0x61) & (basic <= 0x7A) & (codes < 0x80)))
    wider = (
        (codes >= 0xC0) & (codes <= 0x3FF) & (codes != 0xD7) & (codes != 0xF7) & ~((codes >= 0x2B0) & (codes < 0x370))
    )
    other = latin + int(np.count_nonzero(wider))
    return cyrillic / (cyrillic + other) if cyrillic + other else None


def outcome_of(share: float) -> str:
    """kept or low_cyrillic, by the share of Cyrillic letters."""
    return KEPT if share >= MIN_CYRILLIC_SHARE else LOW_CYRILLIC
