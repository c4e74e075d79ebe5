"""A small rule-based detector of person names in German, French and Italian.

It needs a reason next to the name: a title ("Frau", "Mme", "Dott."), a label ("Kontaktperson:"), a closing formula or a
signature mark, or a common first name in front of another capitalised word. Titles and labels stay, the name is the
span. Words that are offices, roles or kinds of organisation end a name: "Herr Bauleiter" and "Kontakt: Tiefbauamt" hold
none.
"""

import re
from collections.abc import Iterator

from tendril_assets.corpus.personal_words import COMPOUND_ROLES, FIRST_NAMES, PLACES, ROLES, STOP_WORDS

PERSON_RULES_VERSION = "1"

_UPPER = "A-ZÀ-ÖØ-ÞŠŽ"
_LOWER = "a-zß-öø-ÿšž"
_WORD = rf"(?:[{_UPPER}]['’][{_UPPER}]?|[{_UPPER}])[{_LOWER}]+(?:['’-][{_UPPER}]?[{_LOWER}]+)*"
_CAPITALS = rf"[{_UPPER}]{{2,}}(?:-[{_UPPER}]{{2,}})*"
_TOKEN = rf"(?:{_WORD}|{_CAPITALS})"
_INITIAL = rf"[{_UPPER}]\.(?:-?[{_UPPER}]\.)*"
_PARTICLE = r"(?:von der|von den|van der|van den|de la|von|van|zur|zum|zu|de|di|da|del|della|dal|du|le|la|el|al|ten)"
_BLANK = r"[ \t\u00a0]+"
_JOIN = rf"(?:{_BLANK}|[ \t]*\n[ \t]*)"
_DEGREE = (
    r"(?:(?:Dr|Prof|Dipl|lic|iur|phil|med|rer|nat|oec|sc|Ing|Arch|dott|Dott|Avv|Me)\.(?:ssa)?"
    r"|ETH|EPFL|FH|HTL|HSG|MAS|MSc|BSc|PD)"
)
_TITLE = (
    r"(?:Herrn?|Herren|Frau|Hr\.|Fr\.|Mme|Madame|Mlle|Monsieur|MM?\.|Signora?|Signore|Sig\.(?:ra|na)?|Dr\.|Prof\.|Dott\.(?:ssa)?"
    r"|Dipl\.[ -]?(?:Ing|Arch)\.|[Ii]ng\.|[Aa]rch\.|[Aa]vv\.|dott\.)"
)
# Behind these stands a person, if anything that looks like a name ...
_LABEL = (
    r"(?:Kontaktpersone?n?|Ansprechperson(?:en)?|Ansprechpartner(?:in)?|Auskunftsperson|Referenzperson|Schlüsselperson"
    r"|Projektleit(?:er|erin|ung)|Bauleit(?:er|erin|ung)|Sachbearbeit(?:er|erin|ung)|Stellvertret(?:er|erin|ung)"
    r"|Verantwortliche?r?(?: Person)?|Zuständige?r?(?: Person)?|Vertreten durch|Bearbeiter(?:in)?|Unterzeichnet|Polier"
    r"|Personne de contact|Chef de projet|Représentée? par|Persona di contatto|Capoprogetto|Rappresentat[oa] da)"
)
# ... and behind these a person or a firm: only a known first name or an initial tells.
_WEAK_LABEL = (
    r"(?:Kontakt|Auskunft|Auskünfte|Name|Vorname|Nachname|Name,? Vorname|Vor- und Nachname|Verfasser(?:in)?"
    r"|Autor(?:in)?|Unterschrift|Contact|Responsable|Nom|Nom et prénom|Signature|Contatto|Responsabile|Nome"
    r"|Nome e cognome)"
)
_CLOSING = (
    r"(?:(?:Mit )?[Ff]reundlichen? Grüss?(?:en|e)|(?:Mit )?[Bb]esten? Grüss?(?:en|e)|Hochachtungsvoll"
    r"|Meilleures salutations|Salutations distinguées|Cordialement|[Cc]ordiali saluti|[Dd]istinti saluti)"
)
_SIGNED = r"(?:gez\.|sig\.|signé|i\. ?A\.|i\. ?V\.|ppa\.|f\.to)"

# A run that may be a name: initials, particles and capitalised words on one line.
_NAME_RUN = rf"(?:(?:{_INITIAL}|{_PARTICLE}|{_TOKEN}){_BLANK}){{0,4}}{_TOKEN}"
_PREFIX = rf"(?:{_TITLE}|{_DEGREE})"
_TITLED = re.compile(rf"(?<!\w){_TITLE}{_JOIN}(?:{_PREFIX}{_BLANK})*(?P<name>{_NAME_RUN})")
_MORE = re.compile(rf"{_BLANK}(?:und|et|e|&){_BLANK}(?:{_PREFIX}{_BLANK})*(?P<name>{_NAME_RUN})")
_LABELLED = re.compile(
    rf"(?<!\w)(?:(?P<strong>{_LABEL})|{_WEAK_LABEL})[ \t]*:[.…_]*{_JOIN}?[.…_]*{_BLANK}?"
    rf"(?:{_PREFIX}{_BLANK})*(?P<name>{_NAME_RUN})"
)
_LAST_NAME_FIRST = re.compile(
    rf"(?<!\w)Name,? ?(?:und )?Vorname[ \t]*:{_JOIN}?(?P<name>{_TOKEN},?{_BLANK}(?P<first>{_WORD}))"
)
_SIGNED_BY = re.compile(rf"(?<!\w){_SIGNED}{_JOIN}(?:{_PREFIX}{_BLANK})*(?P<name>{_NAME_RUN})")
_CLOSED = re.compile(rf"{_CLOSING}[ \t]*[,.]?[ \t]*\n")
_NAME_LINE = re.compile(rf"[ \t]*(?:{_PREFIX}{_BLANK})*(?P<name>{_NAME_RUN})[ \t]*,?[ \t]*(?:\n|$)")
_LINES_OF_SIGNATURE = 4
_FIRST = re.compile(
    rf"(?<![\w-])(?P<name>{_WORD}(?:{_JOIN}(?:{_INITIAL}|{_WORD}))?{_JOIN}(?:{_PARTICLE}{_BLANK})?{_TOKEN})(?!\w)"
)
_PIECE = re.compile(rf"{_INITIAL}|{_PARTICLE}(?!\w)|{_TOKEN}")
_ROLE_ENDING = r"(?:in|innen|en|n)?"
_ROLE = re.compile(rf"(?:{ROLES}){_ROLE_ENDING}")
_ROLE_COMPOUND = re.compile(rf"\w{{3,}}(?:{ROLES}){_ROLE_ENDING}|\w{{4,}}(?:{COMPOUND_ROLES}){_ROLE_ENDING}")
_PLACE_COMPOUND = re.compile(rf"\w{{3,}}(?:{PLACES})|{PLACES}")


def find_persons(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each name. A name found by two rules comes twice."""
    yield from _titled(text)
    for match in _LABELLED.finditer(text):
        span = _name(text, *match.span("name"), enough=2)
        if span and (match["strong"] or _is_personal(text[slice(*span)])) and not _is_firm(text, span[1]):
            yield span
    for match in _LAST_NAME_FIRST.finditer(text):
        if _is_first_name(match["first"]):
            yield match.span("name")
    for match in _SIGNED_BY.finditer(text):
        if span := _name(text, *match.span("name"), enough=2):
            yield span
    yield from _closing(text)
    yield from _by_first_name(text)


def _titled(text: str) -> Iterator[tuple[int, int]]:
    for match in _TITLED.finditer(text):
        span = _name(text, *match.span("name"), enough=1)
        while span is not None:
            yield span
            # "Herren Meier und Müller": further names behind the first
            more = _MORE.match(text, span[1]) if match[0].startswith(("Herren", "MM")) else None
            span = _name(text, *more.span("name"), enough=1) if more else None


def _closing(text: str) -> Iterator[tuple[int, int]]:
    """The first line that is a name below a closing formula; the lines above it name the office."""
    for match in _CLOSED.finditer(text):
        at = match.end()
        for _ in range(_LINES_OF_SIGNATURE):
            line = _NAME_LINE.match(text, at)
            span = _name(text, *line.span("name"), enough=2) if line else None
            if span and line and span[1] == line.end("name"):
                yield span
                break
            at = text.find("\n", at) + 1
            if at == 0:
                break


def _by_first_name(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := _FIRST.search(text, at):
        first = _PIECE.match(text, match.start("name"))
        at = first.end() if first else match.start() + 1
        if first and _is_first_name(first[0]) and (span := _name(text, *match.span("name"), enough=2)):
            yield span
            at = max(at, span[1])


def _name(text: str, start: int, end: int, *, enough: int) -> tuple[int, int] | None:
    """The part of a run that is a name, if it has at least ``enough`` words.

    A role in front is skipped ("Frau Projektleiterin Muster"); any other word that belongs to no name ends it. At most
    two words besides particles, three where the first is a known first name or an initial.
    """
    words, last, allowed = 0, start, 2
    particle: int | None = None
    for piece in _PIECE.finditer(text, start, end):
        token = piece[0]
        if re.fullmatch(_PARTICLE, token):
            particle = piece.start()
            continue
        is_initial = token.endswith(".")
        if not is_initial and _is_role(token) and words == 0:
            start = last = piece.end()
            continue
        if not is_initial and (_is_role(token) or _is_place(token)):
            break
        if words == 0:
            start = piece.start() if particle is None else particle
            allowed = 3 if is_initial or _is_first_name(token) else 2
        if words == allowed:
            break
        words += 1
        last = piece.end()
    return (start, last) if words >= enough else None


def _is_first_name(token: str) -> bool:
    parts = token.casefold().split("-")
    return len(parts) <= 2 and parts[0] in FIRST_NAMES


def _is_personal(name: str) -> bool:
    return any(piece[0].endswith(".") or _is_first_name(piece[0]) for piece in _PIECE.finditer(name))


def _is_firm(text: str, end: int) -> bool:
    """A legal form stands behind the words on the same line."""
    return (
        re.match(r"[^\n,;]{0,40}?\b(?:AG|GmbH|SA|Sàrl|Sagl|KG|Genossenschaft|Stiftung|Verein)\b", text[end : end + 60])
        is not None
    )


def _is_role(token: str) -> bool:
    word = token.casefold()
    return _ROLE.fullmatch(word) is not None or _ROLE_COMPOUND.fullmatch(word) is not None


def _is_place(token: str) -> bool:
    word = token.casefold()
    return word in STOP_WORDS or _PLACE_COMPOUND.fullmatch(word) is not None
