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
    """``group`` is the part that is masked; ``accept`` gets the text, its start and its end, and may refuse it."""

    label: str
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
    for pattern in PATTERNS:
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
    r"(?:pass(?:wort|word|wd|phrase)|kennwort|zugangs(?:code|wort|daten)|einwahlcode|pin(?:-?code)?|login|log-in|benutzer(?:name|kennung)?"
    r"|user(?:name|-?id)?|zugangskennung|meeting-?id|mot\s+de\s+passe|code\s+d['’]accès|identifiant|nom\s+d['’]utilisateur"
    r"|parola\s+d['’]ordine|codice\s+d['’]accesso|nome\s+utente|api[- ]?key|token)"
)
_TLD = r"(?:ch|com|org|net|eu|li|swiss|info|io)"

PATTERNS = (
    Pattern(
        "secret",
        re.compile(
            rf"\b{_SECRET_WORD}\b[ \t]*(?::|=|\blautet\b:?)\s*(?P<value>[\"«„“][^\"»“”\n]{{1,60}}[\"»“”]|[^\s,;]+)",
            re.IGNORECASE,
        ),
        "value",
        _looks_secret,
    ),
    Pattern("private_url", re.compile(r"(?<![\w@.])www\.[\w-]+(?:\.[\w-]+)+(?:[/?#][^\s)>\]»\"]*)?", re.IGNORECASE)),
    Pattern("private_url", re.compile(r"\bftps?://[^\s)>\]]+", re.IGNORECASE)),
    Pattern(
        "private_url",
        re.compile(
            rf"(?<![\w@./-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)*\.{_TLD}\b(?![\w@-])(?:/[^\s)>\]»\"]*)?"
        ),
    ),
    Pattern(
        "private_url", re.compile(r"(?<![\w@./-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:de|fr|it|at)/[^\s)>\]»\"]*")
    ),
    Pattern(
        "private_email",  # anna.muster (at) bsp.ch, anna.muster [at] bsp [punkt] ch
        re.compile(
            r"(?<![\w.%+-])[\w.%+-]+\s?[(\[{]\s?(?:at|ät|arobase|chiocciola|a|@)\s?[)\]}]\s?[\w-]+"
            r"(?:\s?(?:\.|[(\[{]\s?(?:dot|punkt|point|punto|\.)\s?[)\]}])\s?[\w-]+)+",
            re.IGNORECASE,
        ),
    ),
    Pattern("private_email", re.compile(r"(?<![\w.%+-])[\w%+-]+(?:\.[\w%+-]+)+ at [\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b")),
    Pattern(
        "private_email", re.compile(r"(?<![\w.%+-])[\w.%+-]+[ \u00a0]?@[ \u00a0]?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b")
    ),
    Pattern(
        "private_phone",  # foreign numbers; Swiss ones with an unusual grouping behind a label
        re.compile(r"(?<![\w+])(?:\+|00)(?:49|43|33|39|423|44)[\s./-]?(?:\(0\)\s?)?\d(?:[\s./-]?\d){6,12}(?!\d)"),
    ),
    Pattern(
        "private_phone",
        re.compile(
            r"\b(?:Tel(?:efon|\.)?|Telefax|Fax|Mobile?|Natel|Handy|Phone|Téléphone|Tél\.|Telefono|Direkt(?:wahl)?)"
            r"[ \t]*(?:Nr\.?|no)?[.:]?\s*"
            r"(?P<number>(?:\+\d{2}|0)[\d \u00a0()./'’-]{6,18}\d)",
            re.IGNORECASE,
        ),
        "number",
    ),
    Pattern("account_number", re.compile(r"\b[A-Z]{2}\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}\b"), 0, _iban_ok),
    Pattern(
        "account_number",  # a labelled IBAN counts without its checksum: a misread digit does not make it public
        re.compile(r"\bIBAN(?:[- ]?(?:Nr|No)\.?)?[ \t]*:?\s*(?P<number>[A-Z]{2}\d{2}(?:[ \u00a0-]?\d){10,26})"),
        "number",
    ),
    Pattern(
        "account_number",  # post accounts: PC-Konto 80-2-2
        re.compile(
            r"\b(?:PC|PK|CCP|Post(?:check|cheque|finance)?|compte\s+postal|conto\s+postale|Konto)"
            r"(?:[- ]?(?:Konto|Kto\.?|Nr\.?|No\.?))?[ \t]*:?\s*(?P<number>\d{2}-\d{1,6}-\d)(?![\d-])",
            re.IGNORECASE,
        ),
        "number",
    ),
    Pattern(
        "account_number",
        re.compile(
            r"\b(?:Bank)?(?:Konto|Kto\.?|compte|conto)(?:nummer|[- ]?Nr\.?|\s+n[o°]\.?)?[ \t]*:"
            r"\s*(?P<number>\d(?:[ .\u00a0-]?\d){6,20})",
            re.IGNORECASE,
        ),
        "number",
    ),
    Pattern(
        "account_number",
        re.compile(
            r"\b(?:AHV|AVS)(?:[- ]?(?:Nr|No)\.?|-Nummer)?[ \t]*:?\s*(?P<number>756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2})\b"
        ),
        "number",
    ),
    Pattern(
        "private_birth",
        re.compile(
            r"(?:\bgeb(?:oren(?:\s+am)?|\.)|\bGeburtsdatum|\bné(?:e)?\s+le|\bdate\s+de\s+naissance|\bnat[oa]\s+il|\bdata\s+di\s+nascita|\*)"
            r"[ \t]*:?\s*(?P<date>\d{1,2}\.\s?(?:\d{1,2}\.|[A-Za-zäéû]+)\s?\d{4})",
            re.IGNORECASE,
        ),
        "date",
    ),
)
