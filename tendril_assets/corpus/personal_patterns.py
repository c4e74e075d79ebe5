"""Patterns for personal data that gheim's checksum rules leave out, as plain (label, pattern, group) entries.

What gheim masks already is left to it: Swiss phones, AHV numbers and IBAN with valid checksums, card numbers, e-mail
addresses, URLs with a scheme, API tokens. Its dates are not used; only births count.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

PATTERN_VERSION = "1"


# Punctuation of the sentence behind a match. "!" and "?" may belong to a password and stay with it.
_TRAILING = ".,;:"


@dataclass(frozen=True)
class Pattern:
    """``group`` is the part that is masked; ``accept`` gets the text, its start and its end, and may refuse it.

    A text is searched only where one of ``hints`` (lower case) occurs in it: nearly all texts hold none.
    """

    label: str
    hints: tuple[str, ...]
    regex: re.Pattern[str]
    group: str | int = 0
    accept: Callable[[str, int, int], bool] | None = None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        for match in self.regex.finditer(text):
            start, end = match.span(self.group)
            while end > start and text[end - 1] in _TRAILING:
                end -= 1
            if end > start and (self.accept is None or self.accept(text, start, end)):
                yield start, end


def find_patterns(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and label of each match; matches of different patterns may overlap."""
    lowered = text.lower()
    for pattern in PATTERNS:
        if any(hint in lowered for hint in pattern.hints):
            for start, end in pattern.find(text):
                yield start, end, pattern.label


def _looks_secret(text: str, start: int, end: int) -> bool:
    """A value, not the next word of a sentence: digits, symbols or mixed case in it, or nothing behind it."""
    value = text[start:end]
    if value.startswith((">", "<")):
        return False
    mixed = any(c.isupper() for c in value[1:]) and any(c.islower() for c in value)
    if mixed or any(not c.isalpha() for c in value.strip("'\"«»„“”-/")):
        return True
    return re.match(r"[.]?[ \t]*(?:[,;)\n]|$)", text[end:]) is not None


def _iban_ok(text: str, start: int, end: int) -> bool:
    """ISO 13616: the first four characters moved to the end, letters as 10 to 35, the number is 1 modulo 97."""
    value = re.sub(r"[\s-]", "", text[start:end])
    if not 15 <= len(value) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


_SECRET_WORD = (
    r"(?:pass(?:wort|word|wd|phrase)|kennwort|zugangs(?:code|wort|daten|kennung)|einwahlcode|pin(?:-?code)?|login|log-in"
    r"|benutzer(?:name|kennung)?|user(?:name|-?id)?|meeting-?id|mot\s+de\s+passe|code\s+d['’]accès|identifiant"
    r"|nom\s+d['’]utilisateur|parola\s+d['’]ordine|codice\s+d['’]accesso|nome\s+utente|api[- ]?key|token)"
)
_SECRET_HINTS = (
    "pass",
    "wort",
    "zugang",
    "einwahl",
    "pin",
    "log",
    "benutzer",
    "user",
    "meeting",
    "accès",
    "identifiant",
)
_SECRET_HINTS += ("utilisateur", "parola", "codice", "utente", "key", "token")
_TLD = ("ch", "com", "org", "net", "eu", "li", "swiss", "info", "io")
_LANGUAGE_TLD = ("de", "fr", "it", "at")
_PHONE_WORD = (
    r"(?:Tel(?:efon|\.)?|Telefax|Fax|Mobile?|Natel|Handy|Phone|Téléphone|Tél\.|Telefono|Direkt(?:wahl)?)"
    r"[ \t]*(?:Nr\.?|no)?[.:]?"
)
_POST_ACCOUNT = (
    r"(?:PC|PK|CCP|Post(?:check|cheque|finance)?|compte\s+postal|conto\s+postale|Konto)"
    r"(?:[- ]?(?:Konto|Kto\.?|Nr\.?|No\.?))?"
)
_ACCOUNT = (
    r"(?:Bank)?(?:(?:Konto|Kto\.?|compte|conto)[ \t]*:|(?:Konto|Kto\.?|compte|conto)"
    r"(?:nummer|[- ]?Nr\.?|\s+n[o°]\.?)[ \t]*:?)"
)
_BIRTH = (
    r"(?:\bgeb(?:oren(?:\s+am)?|\.)|\bGeburtsdatum|\bnée?\s+le|\bdate\s+de\s+naissance|\bnat[oa]\s+il"
    r"|\bdata\s+di\s+nascita|\*)"
)


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


PATTERNS = (
    # Passwort: Sommer2024!, PIN = 4711; "Benutzer:innen" has no blank behind its colon
    Pattern(
        "secret",
        _SECRET_HINTS,
        _re(
            rf"\b{_SECRET_WORD}\b[ \t]*(?::(?!innen|in\b)|=|\blautet\b:?)\s*"
            r"(?P<value>[\"«„“][^\"»“”\n]{1,60}[\"»“”]|[^\s,;]+)"
        ),
        "value",
        _looks_secret,
    ),
    Pattern("private_url", ("www.",), _re(r"(?<![\w@.])www\.[\w-]+(?:\.[\w-]+)+(?:[/?#][^\s)>\]»\"]*)?")),
    Pattern("private_url", ("ftp",), _re(r"\bftps?://[^\s)>\]]+")),
    # bsp.ch, mail.bsp.ch/x: lower case only, for "Bauplatz.In" is a missing blank
    Pattern(
        "private_url",
        tuple(f".{tld}" for tld in _TLD),
        re.compile(
            r"(?<![\w@./-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)*"
            rf"\.(?:{'|'.join(_TLD)})\b(?![\w@-])(?:/[^\s)>\]»\"]*)?"
        ),
    ),
    Pattern(
        "private_url",
        tuple(f".{tld}/" for tld in _LANGUAGE_TLD),
        re.compile(rf"(?<![\w@./-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:{'|'.join(_LANGUAGE_TLD)})/[^\s)>\]»\"]*"),
    ),
    # anna.muster (at) bsp.ch, anna.muster [at] bsp [punkt] ch
    Pattern(
        "private_email",
        ("at)", "at]", "at}", "ät", "arobase", "chiocciola", "a)", "a]", "@", "at )", "at ]"),
        _re(
            r"(?<![\w.%+-])[\w.%+-]+\s?[(\[{]\s?(?:at|ät|arobase|chiocciola|a|@)\s?[)\]}]\s?[\w-]+"
            r"(?:\s?(?:\.|[(\[{]\s?(?:dot|punkt|point|punto|\.)\s?[)\]}])\s?[\w-]+)+"
        ),
    ),
    Pattern(
        "private_email",
        (" at ",),
        re.compile(r"(?<![\w.%+-])[\w%+-]+(?:\.[\w%+-]+)+ at [\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b"),
    ),
    Pattern(
        "private_email",
        ("@",),
        re.compile(r"(?<![\w.%+-])[\w.%+-]+[ \u00a0]?@[ \u00a0]?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b"),
    ),
    # foreign numbers; Swiss ones in an unusual grouping behind a label
    Pattern(
        "private_phone",
        ("+", "00"),
        re.compile(r"(?<![\w+])(?:\+|00)(?:49|43|33|39|423|44)[\s./-]?(?:\(0\)\s?)?\d(?:[\s./-]?\d){6,12}(?!\d)"),
    ),
    Pattern(
        "private_phone",
        ("tel", "fax", "mobil", "natel", "handy", "phone", "tél", "direkt"),
        _re(rf"\b{_PHONE_WORD}\s*(?P<number>(?:\+\d{{2}}|0)[\d \u00a0()./'’-]{{6,18}}\d)"),
        "number",
    ),
    Pattern(
        "account_number",
        ("ch", "li", "de", "fr", "it", "at"),
        re.compile(r"\b(?:CH|LI|DE|FR|IT|AT)\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}\b"),
        0,
        _iban_ok,
    ),
    # a labelled IBAN counts without its checksum: a misread digit does not make it public
    Pattern(
        "account_number",
        ("iban",),
        re.compile(r"\bIBAN(?:[- ]?(?:Nr|No)\.?)?[ \t]*:?\s*(?P<number>[A-Z]{2}\d{2}(?:[ \u00a0-]?\d){10,26})"),
        "number",
    ),
    # PC-Konto 80-2-2
    Pattern(
        "account_number",
        ("pc", "pk", "ccp", "post", "konto"),
        _re(rf"\b{_POST_ACCOUNT}[ \t]*:?\s*(?P<number>\d{{2}}-\d{{1,6}}-\d)(?![\d-])"),
        "number",
    ),
    Pattern(
        "account_number",
        ("konto", "kto", "compte", "conto"),
        _re(rf"\b{_ACCOUNT}\s*(?P<number>\d(?:[ .\u00a0-]?\d){{6,20}})"),
        "number",
    ),
    Pattern(
        "account_number",
        ("ahv", "avs"),
        re.compile(
            r"\b(?:AHV|AVS)(?:[- ]?(?:Nr|No)\.?|-Nummer)?[ \t]*:?\s*(?P<number>756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2})\b"
        ),
        "number",
    ),
    Pattern(
        "private_birth",
        ("geb", "né", "naissance", "nat", "nascita", "*"),
        _re(rf"{_BIRTH}[ \t]*:?\s*(?P<date>\d{{1,2}}\.\s?(?:\d{{1,2}}\.|[a-zäéû]+)\s?\d{{4}})"),
        "date",
    ),
)
