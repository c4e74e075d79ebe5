"""Masking personal data: placeholders such as ``<PERSON_1>`` in place of what a detector finds.

One document is one session: a person, address or number has the same placeholder in all its passages, numbers count
in reading order, and nothing carries over to the next document. The mapping from placeholder to person exists only
while ``Anonymizer.document`` runs; no error message holds text.

Detection repeats on the masked text until nothing more is found. So masking a masked text changes nothing, and a
passage that a later check reads again with the same detector is clean. Placeholders are hidden from the detector
behind characters that belong to no name, number or address.

What stays: names of organisations (also "Peter Meier AG"), addresses of offices and sites, dates other than births,
numbers of norms, positions, products and projects, company numbers whose checksum fails. E-mail addresses and phone numbers
go even where an office owns them: the detector cannot tell whose they are, and no requirement hangs on them.

Texts are prepared first: NFC, soft hyphens out, e-mail and web addresses broken at a line end joined.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tendril_assets.corpus.first_names import FIRST_NAMES
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.names import LOWER, UPPER, is_noun, is_place
from tendril_assets.corpus.people import People, folded, joined, mention
from tendril_assets.corpus.person_reasons import FIRM_BEHIND
from tendril_assets.corpus.preparation import prepare
from tendril_assets.corpus.references import reference_spans

RULE_VERSION = "2"

# Label of a detector -> tag in the placeholder. What is not here is not masked: a tender's dates and the buyer's own
# addresses are part of its content, so of dates only births ("private_birth") count.
TAGS = {
    "private_person": "PERSON",
    "private_email": "EMAIL",
    "private_phone": "PHONE",
    "private_url": "URL",
    "private_address": "ADDRESS",
    "private_birth": "DATE",
    "account_number": "ACCOUNT",
    "secret": "SECRET",
}
# As issued: no leading zero, no blanks, at most six digits. Anything else that looks alike is text.
PLACEHOLDER = lazy_pattern(r"<(" + "|".join(sorted(set(TAGS.values()))) + r")_([1-9][0-9]{0,5})>")
# Hide placeholders from detectors: neither letter, digit nor blank, and in no address. Persons have their own, for an address
# behind a person is a home.
_HIDDEN, _HIDDEN_PERSON = ">", "<"


@dataclass(frozen=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a text, and what they are: a key of ``TAGS``."""

    start: int
    end: int
    label: str


class Detector(Protocol):
    """Finds personal data, on this machine."""

    @property
    def identity(self) -> str:
        """Name and version of everything that determines the spans; part of the cache key."""
        ...

    def detect(self, texts: Sequence[str]) -> list[list[Span]]:
        """Spans of each text, in any order, possibly overlapping; labels outside ``TAGS`` are ignored."""
        ...


@dataclass(frozen=True)
class AnonymizedDocument:
    """Masked texts in the given order, and how many occurrences were masked per tag."""

    texts: tuple[str, ...]
    counts: dict[str, int]


class Anonymizer:
    """Masks document by document with one detector; holds no state between documents."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector

    @property
    def identity(self) -> str:
        """Everything but the texts that determines the result."""
        return f"{self._detector.identity}|rules-{RULE_VERSION}"

    def document(self, texts: Sequence[str]) -> AnonymizedDocument:
        """Mask the passages of one document, given in reading order."""
        masked = [prepare(text) for text in texts]
        session = _Session(masked)
        changed = list(range(len(masked)))
        while changed:
            found = self._detect(masked, changed)
            # New names are looked for everywhere; without any, only what changed is of interest.
            news = session.learn(masked, found)
            changed = []
            for i in range(len(masked)) if news else list(found):
                spans = _resolve([*found.get(i, []), *session.repeats(masked[i])], masked[i])
                if spans:
                    masked[i] = session.mask(masked[i], spans)
                    changed.append(i)
        return AnonymizedDocument(tuple(masked), dict(sorted(session.counts.items())))

    def _detect(self, texts: Sequence[str], which: Sequence[int]) -> dict[int, list[Span]]:
        spans = self._detector.detect([hide_placeholders(texts[i]) for i in which])
        return {i: _resolve(found, texts[i]) for i, found in zip(which, spans, strict=True)}


def residual(text: str, detector: Detector) -> list[Span]:
    """What ``detector`` still finds in a masked text, placeholders apart."""
    return _resolve(detector.detect([hide_placeholders(text)])[0], text)


def hide_placeholders(text: str) -> str:
    """``text`` with each placeholder overwritten; lengths stay."""
    if "<" not in text:
        return text
    return PLACEHOLDER.sub(lambda m: (_HIDDEN_PERSON if m[1] == "PERSON" else _HIDDEN) * len(m[0]), text)


def _resolve(spans: Sequence[Span], text: str) -> list[Span]:
    """Spans that overlap become one, labelled as the longest of them; placeholders are cut out, references left."""
    if not spans:
        return []
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    references = reference_spans(text)
    pieces: list[Span] = []
    for span in spans:
        within = any(low <= span.start and span.end <= high for low, high in references)
        if span.label in TAGS and not within:
            pieces += _outside(span, taken, text)
    pieces.sort(key=lambda s: (s.start, -s.end))
    merged: list[Span] = []
    longest = 0
    for span in pieces:
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            label = span.label if span.end - span.start > longest else last.label
            longest = max(longest, span.end - span.start)
            merged[-1] = Span(last.start, max(last.end, span.end), label)
        else:
            merged.append(span)
            longest = span.end - span.start
    return merged


def _outside(span: Span, taken: Sequence[tuple[int, int]], text: str) -> list[Span]:
    pieces, (start, end) = [], _whole(span, text)
    for low, high in taken:
        if high <= start or low >= end:
            continue
        pieces.append((start, low))
        start = high
    pieces.append((start, end))
    return [Span(a, b, span.label) for a, b in pieces if any(c.isalnum() for c in text[a:b])]


_HYPHEN_BEHIND = lazy_pattern(rf"(?:-(?:[ \t]*\n[ \t]*)?[{UPPER}][{UPPER}{LOWER}'’]+)+(?!\w)")
_HYPHEN_BEFORE = lazy_pattern(rf"(?<![\w-])(?:[{UPPER}][{UPPER}{LOWER}'’]+-)+$")


def _whole(span: Span, text: str) -> tuple[int, int]:
    """Ends of a span that leave nothing half: no mark that would join the placeholder, no part of a (double) name."""
    start, end = max(span.start, 0), min(span.end, len(text))
    if span.label == "private_person" and start < end:
        while start and text[start].isalnum() and text[start - 1].isalnum():
            start -= 1
        while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
            end += 1
        if behind := _HYPHEN_BEHIND.match(text, end):
            end = behind.end()
        if before := _HYPHEN_BEFORE.search(text, max(0, start - 60), start):
            start = before.start()
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return start, end


class _Session:
    """The placeholders of one document. Lives as long as one call of ``Anonymizer.document``."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._placeholders: dict[tuple[str, object], str] = {}
        self._people = People()
        self._recognised: set[str] = set()
        self._highest: Counter[str] = Counter()
        for text in texts:
            for tag, number in PLACEHOLDER.findall(text):
                self._highest[tag] = max(self._highest[tag], int(number))

    def learn(self, texts: Sequence[str], found: dict[int, list[Span]]) -> bool:
        """Note the persons of this round before any is numbered, so that "Frau Muster" is "Anna Muster" everywhere.

        True where there are names to look for that were not known before.
        """
        surfaces = [
            texts[i][span.start : span.end]
            for i, spans in found.items()
            for span in spans
            if span.label == "private_person"
        ]
        self._people.learn(surfaces)
        new = {form for surface in surfaces for form in _recognisable(surface)} - self._recognised
        self._recognised |= new
        return bool(new)

    def repeats(self, text: str) -> list[Span]:
        """Other occurrences of persons found anywhere in the document."""
        hidden = hide_placeholders(text)
        # A name may go on in the next line. No patterns here: Python would keep them, and the names in them, in its cache.
        flat = _flat(hidden)
        spans = []
        for form in self._recognised:
            at = flat.find(form)
            while at >= 0:
                end = _end_of_word(flat, at + len(form))
                if end and not _in_word(flat[at - 1 : at]) and _is_person_again(hidden, at, end):
                    spans.append(Span(at, end, "private_person"))
                at = flat.find(form, at + 1)
        return spans

    def mask(self, text: str, spans: Sequence[Span]) -> str:
        parts, at = [], 0
        for span in spans:
            tag = TAGS[span.label]
            parts += [text[at : span.start], self._placeholder(tag, text[span.start : span.end])]
            self.counts[tag] += 1
            at = span.end
        return "".join([*parts, text[at:]])

    def _placeholder(self, tag: str, surface: str) -> str:
        key = (tag, self._people.key(surface) if tag == "PERSON" else _key(tag, surface))
        if key not in self._placeholders:
            self._highest[tag] += 1
            self._placeholders[key] = f"<{tag}_{self._highest[tag]}>"
        return self._placeholders[key]


def _key(tag: str, surface: str) -> str:
    """What makes two ways of writing one thing: a phone number with and without its country code, an IBAN with blanks."""
    if tag == "PHONE":
        number = "".join(c for c in surface.replace("(0)", "") if c.isdigit() or c == "+")
        return re.sub(r"^(?:\+|00)41", "0", number)
    text = surface.casefold()
    return "".join(text.split()) if tag in ("ACCOUNT", "EMAIL") else " ".join(text.split())


def _flat(text: str) -> str:
    return text.replace("\n", " ").replace("\u00a0", " ")


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _end_of_word(text: str, end: int) -> int | None:
    """The end of a word that ends at ``end``, or there but for a possessive s; None inside of a word."""
    for ending in ("", "s", "'s", "’s"):
        behind = end + len(ending)
        if text.startswith(ending, end) and not _in_word(text[behind : behind + 1]):
            return behind
    return None


_SAINT = lazy_pattern(r"(?:St\.|Ste\.|Sankt|Saint|Sainte|San|Santa|Santo)[ -]$")
_CAPITAL_BEHIND = lazy_pattern(rf"[ \u00a0][{UPPER}]")


def _is_person_again(text: str, start: int, end: int) -> bool:
    """False where a known name is part of a firm ("Odermatt AG"), a place ("Odermatt-Areal") or a saint."""
    if FIRM_BEHIND.match(text, end) or _SAINT.search(text, max(0, start - 7), start):
        return False
    for other in (_HYPHEN_BEHIND.match(text, end), _HYPHEN_BEFORE.search(text, max(0, start - 60), start)):
        if other and any(is_place(part) or is_noun(part) for part in other[0].strip("-").split("-")):
            return False
    alone = text[start:end].casefold()
    return alone not in FIRST_NAMES or _CAPITAL_BEHIND.match(text, end) is None


def _recognisable(surface: str) -> set[str]:
    """Forms of a name that are safe to look for elsewhere: the whole of it, a last name that is no common word, a first name
    that is no word either."""
    whole = joined(surface)
    parts = whole.replace(",", " ").split()
    last = mention(whole).last
    names = {part for part in parts if folded(part) == last or (len(parts) > 1 and part.casefold() in FIRST_NAMES)}
    names |= {part[:-1] for part in names if part.endswith("s") and len(part) > 5}  # "Peter Müllers Büro"
    forms = {part for part in names if len(part) >= 4 and not is_noun(part)}
    if len(parts) > 1 or whole != surface:
        forms |= {whole, _flat(surface)}
    return forms | {form.upper() for form in forms}
