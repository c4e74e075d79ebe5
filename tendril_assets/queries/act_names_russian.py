"""Names of acts in a Russian text: "Положение Банка России от 28.06.2017 № 590-П", "Указанию № 4892-У", "590-П".

An act is a number with the letters of its kind (590-П, 12/3-У, 11-МР), or any number behind a kind of document and the
sign № ("Постановление № 640"). A number behind the sign alone is none: accounts, forms and rates are numbered so too.
Which acts a collection holds is not known here, so laws and letters are found as well.
"""

import datetime as dt
import re

from tendril_assets.queries.references import NamedAct, plain_number

_I = re.IGNORECASE
# Kinds of documents, each in all its cases and numbers.
_KINDS = {
    "положение": r"положени(?:ями|ях|ям|ем|е|я|ю|и|й)",
    "указание": r"указани(?:ями|ях|ям|ем|е|я|ю|и|й)",
    "инструкция": r"инструкци(?:ями|ях|ям|ей|я|ю|и|й)",
    "методические рекомендации": r"методическ\w+\s+рекомендаци\w+",
    "официальное разъяснение": r"официальн\w+\s+разъяснени\w+",
    "информационное письмо": r"информационн\w+\s+пис(?:ем|ьм\w+)",
    "письмо": r"пис(?:ем|ьм\w+)",
    "закон": r"(?:федеральн\w+\s+)?(?:конституционн\w+\s+)?(?:закон(?:ами|ах|ам|ов|ом|а|у|е|ы)?(?!\w)|кодекс\w*)",
    "постановление": r"постановлени\w+",
    "приказ": r"приказ(?:ами|ах|ам|ов|ом|а|у|е|ы)?(?!\w)",
    "распоряжение": r"распоряжени\w+",
}
_PATTERNS = {name: re.compile(pattern, _I) for name, pattern in _KINDS.items()}
KIND = "|".join(f"(?:{pattern})" for pattern in _KINDS.values())

_DASH = "\\-\u2010\u2011\u2012\u2013\u2014\u2212"
MONTHS = ("январ", "феврал", "март", "апрел", "ма[йя]", "июн", "июл", "август", "сентябр", "октябр", "ноябр", "декабр")
_DAY = rf"\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}}|\d\d)(?!\d)|\d{{1,2}}\s+(?:{'|'.join(MONTHS)})[а-я]{{0,2}}\s+\d{{4}}"
_WRITTEN_DAY = re.compile(rf"(?P<day>\d{{1,2}})\s+(?P<month>{'|'.join(MONTHS)})[а-я]{{0,2}}\s+(?P<year>\d{{4}})", _I)
_QUOTED = r"(?:«[^»]{0,300}»|\"[^\"]{0,300}\"|“[^”]{0,300}”|„[^“”]{0,300}[“”])"
_ISSUER = (
    r"(?:Банка\s+России|ЦБ(?:\s*РФ)?(?!\w)|БР(?!\w)|Центральн\w+\s+банк\w*|Правительства|Мин\w+|Президента"
    r"|(?:РФ|Российской\s+Федерации|России)(?!\w))"
)


def _of(name: str) -> str:
    return rf"от\s+(?P<{name}>{_DAY})(?:\s*(?:г\.|года(?!\w)))?"


_LETTERED = rf"\d{{1,5}}[а-я]?(?:/\d{{1,5}})?\s?[{_DASH}]\s?"
_ACT = re.compile(
    rf"(?:(?<!\w)(?P<kind>{KIND})(?:\s+{_ISSUER})*(?:\s+{_of('before')})?(?:\s*{_QUOTED})?(?:\s+{_of('later')})?\s+)?"
    rf"(?:(?:№|(?<!\w)N[o\u00ba]?\.?)\s*(?P<signed>{_LETTERED}[^\W\d_]{{1,3}}(?!\w)|\w[\w/-]*)"
    rf"|(?<![\w№/.{_DASH}])(?P<bare>{_LETTERED}(?:(?-i:[МM][РP]|[ОO][РP]|ФЗ|[ПУИТYT])|[пуит])(?![\w{_DASH}])))"
    rf"(?:\s+{_of('after')})?",
    _I,
)
_LETTERED_NUMBER = re.compile(r"\d{1,5}[А-Я]?(?:/\d{1,5})?-[^\W\d_]{1,3}")
_CENTURY_TURN = 50


def kind_of(text: str) -> str | None:
    """Kind of document that ``text`` begins with, in its basic form; None for no such kind."""
    stripped = text.strip()
    return next((name for name, pattern in _PATTERNS.items() if pattern.match(stripped)), None)


def find_acts(text: str) -> list[NamedAct]:
    """Acts named in ``text``, in its order; a number that repeats is found each time."""
    found = []
    for match in _ACT.finditer(text):
        kind = kind_of(match["kind"]) if match["kind"] else None
        number = plain_number(match["signed"] or match["bare"])
        lettered = _LETTERED_NUMBER.fullmatch(number)
        if not (lettered or (kind and match["signed"] and any(c.isdigit() for c in number))):
            continue
        if match["bare"] and not kind and match["bare"][-1].islower():
            continue  # "20-и", "5-т": an ordinary word in figures
        written = match["before"] or match["later"] or match["after"]
        found.append(NamedAct(number, kind, _date(written) if written else None, match.start(), match.end()))
    return found


def _date(written: str) -> dt.date | None:
    """The day, or None where there is no such day."""
    if words := _WRITTEN_DAY.fullmatch(written):
        stems = enumerate(MONTHS, 1)
        month = next(place for place, stem in stems if re.match(stem, words["month"], _I))
        day, year = int(words["day"]), int(words["year"])
    else:
        day, month, year = (int(part) for part in written.split("."))
        year += 0 if year > 99 else 1900 if year >= _CENTURY_TURN else 2000
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None
