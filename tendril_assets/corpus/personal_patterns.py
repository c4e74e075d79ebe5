"""Patterns for personal data that gheim's checksum rules leave out, as plain (label, pattern, group) entries.

What gheim masks already is left to it: Swiss phones, AHV numbers and IBAN with valid checksums, card numbers, company
numbers (CHE-) with a valid checksum, e-mail addresses, URLs with a scheme, API tokens. Its dates are not used; only
births count. Credentials have a module of their own.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tendril_assets.corpus.checksums import ahv_ok, digits_of, iban_ok, recursive_ok
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.signs import Signs, signs_of, starts

PATTERN_VERSION = "2"

# Punctuation of the sentence behind a match. "!" and "?" may belong to a password and stay with it.
_TRAILING = ".,;:"


@dataclass(frozen=True)
class Pattern:
    """``group`` is the part that is masked; ``accept`` gets the text, its start and its end, and may refuse it.

    A text is searched only where it holds one of ``marks`` (as written) or a word of ``starts``, where there are any, and a
    ``long_number`` where that is asked for.
    """

    label: str
    regex: re.Pattern[str]
    group: str | int = 0
    accept: Callable[[str, int, int], bool] | None = None
    marks: tuple[str, ...] = ()
    starts: frozenset[str] = frozenset()
    long_number: bool = False

    def is_worth_trying(self, text: str, signs: Signs) -> bool:
        if self.long_number and not signs.long_number:
            return False
        if not self.starts.isdisjoint(signs.starts):
            return True
        for mark in self.marks:  # no any(): this runs for every pattern and passage
            if mark in text:
                return True
        return not self.marks and not self.starts

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        for match in self.regex.finditer(text):
            start, end = match.span(self.group)
            while end > start and text[end - 1] in _TRAILING:
                end -= 1
            if end > start and (self.accept is None or self.accept(text, start, end)):
                yield start, end


def _phone_length(text: str, start: int, end: int) -> bool:
    """Nine to fifteen digits with the country code (ITU-T E.164), and no amount of money."""
    return 9 <= len(digits_of(text, start, end)) <= 15 and not re.match(
        r"[.,]\d|[ ]?(?:CHF|EUR|Fr\.|m[²³2]?\b|kg|%)", text[end:]
    )


def _short_number(text: str, start: int, end: int) -> bool:
    """Emergency and service numbers of three digits belong to nobody."""
    return len(digits_of(text, start, end)) != 3


def _re(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE)


_TLD = ("ch", "com", "org", "net", "eu", "li", "swiss", "info", "io", "app", "cloud", "biz")
_LANGUAGE_TLD = ("de", "fr", "it", "at")
_PATH = r"(?:[/?#][^\s<>)\]»\"“”]*)"
_PHONE_WORD = (
    r"(?:Tel(?:efon(?:nummer)?|ephon|\.)?|Telefax|Fax|Mobil(?:e|telefon|nummer)?|Natel|Handy|Phone|Téléphone|Tél\.?"
    r"|Telefono|Cellulare"
    r"|Cell\.|Direkt(?:wahl)?|Direct|Hotline|Pikett|Zentrale|Rufnummer|Portable)"
)
_PHONE_NOTE = r"(?:[- ]?(?:Nr|no|n°|Nummer)\.?|[ ](?:direkt|privat|Geschäft|G|P|D|M|mobile?|prof\.|privé|dir\.|int\.))?"
# Blanks, dots, slashes, hyphens between the groups of a number, one of them with a blank on either side.
_GAP = r"[ \u00a0]?[./'’–-]?[ \u00a0]?"
_INTERN = (
    r"(?:intern(?:e|er|o|a)?|int\.|Durchwahl|Nebenstelle|DW|Kurzwahl|interne Nummer|numéro interne|numero interno"
    r"|Int\.)"
)
_POST_ACCOUNT = (
    r"(?:PC|PK|CCP|Post(?:check|cheque|finance)?|compte\s{1,12}postal|conto\s{1,12}postale"
    r"|compte\s{1,12}de\s{1,12}chèques|\w*Konto)"
    r"(?:[- ]?(?:Konto|Kto\.?|Nr\.?|No\.?))?"
)
_ACCOUNT = (
    r"(?:Bank|Post)?(?:(?:Konto|Kto\.?|compte|conto)[ \t]{0,12}:|(?:Konto|Kto\.?|compte|conto)"
    r"(?:nummer|[- ]?Nr\.?|\s{1,12}n[o°]\.?)[ \t]{0,12}:?)"
)
_AHV = (
    r"(?:AHV|AVS|NAVS(?:13)?|Versicherten(?:nummer|-?Nr\.?)|Sozialversicherungs(?:nummer|-?Nr\.?)|N° (?:d['’])?(?:AVS"
    r"|assuré))"
)
_BIRTH = (
    r"(?:\bgeb(?:oren(?:e[rn]?)?(?:\s{1,12}am)?|\.(?:\s{1,12}am)?)|\bGeburts(?:datum|tag)(?:[ ][\w ]{1,25}(?=:))?"
    r"|\bnée?s?\s{1,12}le"
    r"|\bdate\s{1,12}de\s{1,12}naissance|\bnat[oaie]\s{1,12}il"
    r"|\bdata\s{1,12}di\s{1,12}nascita|\*)"
)
_MONTH = (
    r"(?:jan(?:uar|vier|\.)?|feb(?:ruar|braio|\.)?|févr(?:ier|\.)|mär(?:z|\.)|mars|marzo|apr(?:il|ile|\.)?|avr(?:il"
    r"|\.)|mai|maggio|mag\."
    r"|juni?|juin|giu(?:gno|\.)|juli?|juil(?:let|\.)|lug(?:lio|\.)|aug(?:ust|\.)?|août|ago(?:sto|\.)|sep(?:t(?:ember"
    r"|embre|\.)?|\.)"
    r"|set(?:tembre|\.)|o[kct]t(?:ober|obre|\.)?|nov(?:ember|embre|\.)?|de[zc](?:ember|embre|\.)?|déc(?:embre|\.)"
    r"|dic(?:embre|\.)|gen(?:naio|\.))"
)
_DAY = rf"(?:\d{{1,2}}(?:\.|er|º|°)?\s?(?:[./-]\s?\d{{1,2}}[./-]|\d{{1,2}}\.|{_MONTH})\s?\d{{2,4}}|\d{{4}}-\d\d-\d\d)"
_SIGN_AT = (
    r"(?:[(\[{<]\s?(?:at|AT|ät|ÄT|arobase|arrobase|chiocciola|a|@)\s?[)\]}>]|\s(?:AT|at|ät|arobase|chiocciola)\s)"
)
_SIGN_DOT = (
    r"(?:\s?[(\[{<]\s?(?:dot|DOT|punkt|PUNKT|point|punto|\.)\s?[)\]}>]\s?|\s(?:DOT|PUNKT|POINT|PUNTO|dot|punkt|point"
    r"|punto)\s|\.)"
)
_ENDS_IN_TLD = r"(?:ch|com|org|net|eu|li|de|fr|it|at|swiss|info|io)"

PATTERNS = (
    Pattern("private_url", _re(rf"(?<![\w@.])www\.[\w-]+(?:\.[\w-]+)+{_PATH}?"), starts=starts("www")),
    Pattern(
        "private_url",
        _re(rf"(?<![\w@.])www\d\.[\w-]+(?:\.[\w-]+)+{_PATH}?"),
        starts=starts("www1 www2 www3 www4 www5 www6"),
    ),
    Pattern("private_url", _re(r"\b(?:s?ftps?|file)://[^\s<>)\]]+"), marks=("://",)),
    # \\server\folder, P:\Projekte
    Pattern(
        "private_url", lazy_pattern(r"(?<![\w\\])(?:\\\\[\w.-]+(?:\\[^\s<>|\"]+)+|[A-Z]:\\[^\s<>|\"]+)"), marks=("\\",)
    ),
    Pattern(
        "private_url", _re(rf"(?<![\w@./-])(?:intra|extra)net(?:\.[\w-]+)*{_PATH}"), starts=starts("intranet extranet")
    ),
    # bsp.ch, mail.bsp.ch/x: lower case only, for "Bauplatz.In" is a missing blank
    Pattern(
        "private_url",
        lazy_pattern(
            r"(?<![\w@./-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)*"
            rf"\.(?:{'|'.join(_TLD)})\b(?![\w@-])(?!\.[a-z])(?::\d+)?{_PATH}?"
        ),
        starts=starts(" ".join(_TLD)),
    ),
    Pattern(
        "private_url",
        lazy_pattern(
            r"(?<![\w@./-])[a-z0-9][a-z0-9-]{2,}(?:\.[a-z0-9-]{2,})*"
            rf"\.(?:{'|'.join(_LANGUAGE_TLD)})\b(?![\w@-])(?!\.[a-z]){_PATH}?"
        ),
        marks=tuple(f".{tld}" for tld in _LANGUAGE_TLD),
    ),
    # anna.muster (at) bsp.ch, anna.muster [at] bsp [punkt] ch, anna.muster AT bsp PUNKT ch
    Pattern(
        "private_email",
        lazy_pattern(
            rf"(?<![\w.%+-])[\w%+-]+(?:{_SIGN_DOT}[\w%+-]+)*\s?{_SIGN_AT}\s?[\w-]+(?:{_SIGN_DOT}[\w-]+)*"
            rf"{_SIGN_DOT}{_ENDS_IN_TLD}\b"
        ),
        marks=("(@", "[@", "{@", "<@", "( @"),
        starts=starts("at ät arobase arrobase chiocciola a"),
    ),
    Pattern(
        "private_email",
        lazy_pattern(r"(?<![\w.%+-])[\w.%+'’-]+[ \u00a0]?@[ \u00a0]?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b"),
        marks=("@",),
    ),
    # Swiss numbers in groupings gheim does not read: (044) 123 45 67, 044 / 123 45 67, +41-79-..., 0800 123 456
    Pattern(
        "private_phone",
        lazy_pattern(
            rf"(?<![\w+.,/'’-])(?<!\d )(?:(?:\+|00)41{_GAP}(?:\(0\))?{_GAP}(?:\(0?[1-9]\d\)|0?[1-9]\d)|\(0[1-9]\d\)"
            rf"|0[1-9]\d){_GAP}\d{{3}}{_GAP}\d\d{_GAP}\d\d"
            r"(?:[ ]?/[ ]?\d\d)?(?![\d'’]|[.,-]\d)"
        ),
        long_number=True,
    ),
    Pattern(
        "private_phone",
        lazy_pattern(
            r"(?<![\w+.,/'’-])(?<!\d )0(?:800|84[0248]|878|90[016])[ .-]?(?:\d{3}[ .-]?\d{3}"
            r"|\d\d[ .-]?\d\d[ .-]?\d\d)(?![\d.,'’-])"
        ),
        long_number=True,
    ),
    # any country, written with its code
    Pattern(
        "private_phone",
        lazy_pattern(r"(?<![\w+.])\+[1-9]\d{0,2}(?:[ \u00a0./–-]{0,3}(?:\(\d{1,5}\)|\d+)){1,6}(?!\d)"),
        accept=_phone_length,
        marks=("+",),
    ),
    Pattern(
        "private_phone",
        lazy_pattern(
            r"(?<![\w+.,'’])(?<!\d[ .,'’])00(?:49|43|33|39|423|44)[\s./-]?(?:\(0\)\s?)?\d(?:[\s./-]?\d){6,12}(?!\d)"
        ),
        long_number=True,
    ),
    Pattern(
        "private_phone",
        _re(
            rf"\b{_PHONE_WORD}{_PHONE_NOTE}[ \t]{{0,12}}[.:]?\s{{0,12}}(?P<number>(?:\+\d{{2,3}}"
            rf"|\(?0)[\d \u00a0()./'’–-]{{5,18}}\d"
            r"|\d{3}[ .]\d\d[ .]\d\d)(?![\d.,]\d)"
        ),
        group="number",
        starts=starts(
            "tel telefon telefonnummer telephon telefax fax mobil mobile mobiltelefon mobilnummer natel handy phone "
            "téléphone tél telefono "
            "cellulare cell direkt direktwahl direct hotline pikett zentrale rufnummer portable"
        ),
    ),
    # internal numbers: Tel. intern 4711, Durchwahl -12
    Pattern(
        "private_phone",
        _re(
            rf"(?:\b(?:Tel\.?|Telefon|Tél\.?|Telefono|Fax|Nr\.?|Nummer|Apparat)[ ]?\(?{_INTERN}\)?|\b(?:interne"
            rf"|kurze)[ ](?:Nummer|Telefonnummer|Tel\.?)"
            r"|(?<=[,;/][ ])intern(?=[ ]\d\d[ ]\d\d)|\b(?:Durchwahl|Nebenstelle|Kurzwahl)|\bnuméro interne"
            r"|\bnumero interno|\bDW)"
            r"[ \t]{0,12}:?[ \t]{0,12}(?P<number>-?\d{1,2}(?:[ ]?\d{2}){0,2}|-?\d{2,5})(?![\d.,]\d|\w)"
        ),
        group="number",
        accept=_short_number,
        starts=starts("intern interne interner interno interna int durchwahl nebenstelle dw kurzwahl kurze"),
    ),
    Pattern(
        "account_number",
        lazy_pattern(r"\b(?:CH|LI|DE|FR|IT|AT|GB|LU|NL|BE|ES|PL)\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}\b"),
        accept=iban_ok,
        long_number=True,
    ),
    # a labelled IBAN counts without its checksum: a misread digit does not make it public
    Pattern(
        "account_number",
        lazy_pattern(
            r"\b(?:QR-)?IBAN(?:[- ]?(?:Nr|No"
            r"|n°)\.?)?[ \t]{0,12}:?\s{0,12}(?P<number>[A-Z]{2}\d{2}(?:[ \u00a0-]?(?=[A-Z0-9]*\d)[A-Z0-9]{1,4}){3,9}"
            r"(?:[ \u00a0-][A-Z0-9]{1,3}(?![A-Za-z]))?)"
        ),
        group="number",
        starts=starts("iban"),
    ),
    # PC-Konto 80-2-2
    Pattern(
        "account_number",
        _re(rf"\b{_POST_ACCOUNT}[ \t]{{0,12}}:?\s{{0,12}}(?P<number>\d{{2}}-\d{{1,6}}-\d)(?![\d-])"),
        group="number",
        marks=("konto",),
        starts=starts("pc pk ccp post postkonto postcheck postcheckkonto postcheque postfinance konto compte conto"),
    ),
    Pattern(
        "account_number",
        _re(rf"\b{_ACCOUNT}\s{{0,12}}(?P<number>\d(?:[ .\u00a0-]?\d){{6,20}})"),
        group="number",
        starts=starts(
            "konto kontonummer bankkonto postkonto kto bankkto compte conto postcompte bankcompte bankconto postconto"
        ),
    ),
    # 27 digits of a payment slip, in groups of five from the right
    Pattern(
        "account_number",
        lazy_pattern(r"(?<![\d.,-])(?<!\d )\d{2}(?:[ \u00a0]?\d{5}){5}(?![\d.,-]|[ ]\d)"),
        accept=recursive_ok,
        long_number=True,
    ),
    Pattern(
        "account_number",
        lazy_pattern(r"(?<![\d.])756[ .\u00a0]\d{4}[ .\u00a0]\d{4}[ .\u00a0]\d{2}(?![\d.]\d)"),
        accept=ahv_ok,
        marks=("756",),
        long_number=True,
    ),
    Pattern(
        "account_number",
        _re(
            rf"\b{_AHV}(?:[- ]?(?:Nr|No|n°)\.?"
            rf"|-?Nummer)?[ \t]{{0,12}}:?\s{{0,12}}(?P<number>756[. ]?\d{{4}}[. ]?\d{{4}}[. ]?\d{{2}})\b"
        ),
        group="number",
        marks=("756",),
        long_number=True,
    ),
    # passports and identity cards
    Pattern(
        "account_number",
        lazy_pattern(
            r"\b(?:Pass|Reisepass|Ausweis|ID|Identitätskarte|passeport|carte d['’]identité|passaporto"
            r"|carta d['’]identità)"
            r"(?:[- ]?(?:Nr\.?|Nummer|n[o°]\.?))?[ \t]{0,12}:?[ \t]{0,12}(?P<number>[A-Z]\d{7})\b"
        ),
        group="number",
        starts=starts(
            "pass reisepass ausweis ausweisnummer passnummer id identitätskarte passeport identité passaporto identità"
        ),
    ),
    Pattern(
        "private_birth",
        _re(rf"{_BIRTH}[ \t]{{0,12}}:?\s{{0,12}}(?P<date>{_DAY}|(?:19|20)\d\d\b(?![.\d]))"),
        group="date",
        marks=("*",),
        starts=starts(
            "geb geboren geborene geborener geborenen geburtsdatum geburtstag né née nés nées naissance nato nata "
            "nati nate nascita"
        ),
    ),
)


def find_patterns(text: str, signs: Signs | None = None) -> Iterator[tuple[int, int, str]]:
    """Start, end and label of each match; matches of different patterns may overlap."""
    signs = signs or signs_of(text)
    for pattern in PATTERNS:
        if pattern.is_worth_trying(text, signs):
            for start, end in pattern.find(text):
                yield start, end, pattern.label
