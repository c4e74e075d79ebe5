"""Masking personal data: placeholders such as ``<PERSON_1>`` in place of what a detector finds.

One document is one session: a person, address or number has the same placeholder in all its passages, numbers count
in reading order, and nothing carries over to the next document. The mapping from placeholder to person exists only
while ``Anonymizer.document`` runs.

Detection repeats on the masked text until nothing more is found. So masking a masked text changes nothing, and a
passage that a later check reads again with the same detector is clean. Placeholders are hidden from the detector
behind characters that belong to no name, number or address.

Texts are prepared first: NFC, soft hyphens out, e-mail and web addresses broken at a line end joined.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tendril_assets.corpus.personal_words import COMMON_WORDS

RULE_VERSION = "1"

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
PLACEHOLDER = re.compile(r"<(" + "|".join(sorted(set(TAGS.values()))) + r")_(\d+)>")
# Numbers of norms and positions (SN 640 480a, NPK 111.222.333, BKP 271.1) are content, whatever they look like.
REFERENCE = re.compile(
    r"\b(?:SN|SIA|NPK|CAN|BKP|CFC|CCC|eBKP(?:-[HT])?|EN|ISO|DIN|VSS|ASTRA|CPV|Pos(?:\.|ition(?:en)?)?|Art\.|Ziff\.)"
    r"(?:[ /-](?:EN|ISO|SN|SIA|VSS))*[ \u00a0-]?\d+(?:[.\-/:]\d+)*(?:[ \u00a0]\d{3})?[a-z]?(?![\w])"
)
# Hides placeholders from detectors: neither letter, digit nor blank, and not part of any address pattern.
_HIDDEN = ">"


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
            session.learn(masked, found)
            changed = []
            for i, text in enumerate(masked):
                spans = _resolve([*found.get(i, []), *session.repeats(text)], text)
                if spans:
                    masked[i] = session.mask(text, spans)
                    changed.append(i)
        return AnonymizedDocument(tuple(masked), dict(sorted(session.counts.items())))

    def _detect(self, texts: Sequence[str], which: Sequence[int]) -> dict[int, list[Span]]:
        hidden = [hide_placeholders(texts[i]) for i in which]
        return dict(zip(which, self._detector.detect(hidden), strict=True))


def residual(text: str, detector: Detector) -> list[Span]:
    """What ``detector`` still finds in a masked text, placeholders apart."""
    return _resolve(detector.detect([hide_placeholders(text)])[0], text)


def prepare(text: str) -> str:
    """NFC, soft hyphens removed, addresses broken at a line end joined. Applying it twice changes nothing."""
    text = unicodedata.normalize("NFC", text.replace("\u00ad", ""))
    if "\n" not in text or not any(sign in text for sign in ("@", "www.", "://")):
        return text
    before = None
    while text != before:
        before = text
        for broken in _BROKEN_ADDRESS:
            text = broken.sub(r"\1", text)
    return text


# E-mail and web addresses broken at a line end, with the hyphen of the break or without one. Whether a hyphen was part
# of the address cannot be told; the whole address is masked in either case.
_BREAK = r"[ \t]*\n[ \t]*"
_BROKEN_ADDRESS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![\w.%+-])([\w.%+-]+)-{_BREAK}(?=[\w.%+-]*@\w)",
        rf"(@[\w.-]*)-{_BREAK}(?=[\w.-]*\.[A-Za-z]{{2,}})",
        rf"(\w@){_BREAK}(?=[\w-]+\.[A-Za-z]{{2,}})",
        rf"(\w){_BREAK}(?=@[\w-]+\.[A-Za-z]{{2,}})",
        rf"((?:https?://|\bwww\.)[^\s<>()]*)-{_BREAK}(?=[^\s<>()]*[/.]\w)",
    )
)


def hide_placeholders(text: str) -> str:
    """``text`` with each placeholder overwritten; lengths stay."""
    return PLACEHOLDER.sub(lambda match: _HIDDEN * len(match[0]), text)


def _resolve(spans: Sequence[Span], text: str) -> list[Span]:
    """Spans that overlap become one, labelled as the longest of them; placeholders are cut out, references left."""
    if not spans:
        return []
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    references = [match.span() for match in REFERENCE.finditer(text)]
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
    pieces, start = [], max(span.start, 0)
    end = min(span.end, len(text))
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1  # never leave a mark behind that would join the placeholder
    for low, high in taken:
        if high <= start or low >= end:
            continue
        pieces.append((start, low))
        start = high
    pieces.append((start, end))
    return [Span(a, b, span.label) for a, b in pieces if any(c.isalnum() for c in text[a:b])]


class _Session:
    """The placeholders of one document. Lives as long as one call of ``Anonymizer.document``."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._placeholders: dict[tuple[str, str], str] = {}
        self._namesakes: dict[str, set[str]] = {}  # last name -> keys of the full names that end in it
        self._recognised: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._highest: Counter[str] = Counter()
        for text in texts:
            for tag, number in PLACEHOLDER.findall(text):
                self._highest[tag] = max(self._highest[tag], int(number))

    def learn(self, texts: Sequence[str], found: dict[int, list[Span]]) -> None:
        """Note the persons of this round before any is numbered, so that "Frau Muster" is "Anna Muster" everywhere."""
        for i, spans in found.items():
            for span in spans:
                if span.label == "private_person":
                    parts = texts[i][span.start : span.end].split()
                    if len(parts) > 1:
                        self._namesakes.setdefault(parts[-1].casefold(), set()).add(_key(" ".join(parts)))
                    self._recognised.update(_recognisable(parts))
        longest_first = sorted(self._recognised, key=lambda name: (-len(name), name))
        forms = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
        self._pattern = re.compile(rf"(?<!\w)(?:{forms})(?!\w)") if forms else None

    def repeats(self, text: str) -> list[Span]:
        """Other occurrences of persons found anywhere in the document."""
        if self._pattern is None:
            return []
        return [Span(*match.span(), "private_person") for match in self._pattern.finditer(hide_placeholders(text))]

    def mask(self, text: str, spans: Sequence[Span]) -> str:
        parts, at = [], 0
        for span in spans:
            tag = TAGS[span.label]
            parts += [text[at : span.start], self._placeholder(tag, text[span.start : span.end])]
            self.counts[tag] += 1
            at = span.end
        return "".join([*parts, text[at:]])

    def _placeholder(self, tag: str, surface: str) -> str:
        key = _key(surface)
        if tag == "PERSON" and " " not in key:
            namesakes = self._namesakes.get(key, set())
            if len(namesakes) == 1:
                key = next(iter(namesakes))
        if (tag, key) not in self._placeholders:
            self._highest[tag] += 1
            self._placeholders[tag, key] = f"<{tag}_{self._highest[tag]}>"
        return self._placeholders[tag, key]


def _key(surface: str) -> str:
    return " ".join(surface.casefold().split())


def _recognisable(parts: Sequence[str]) -> list[str]:
    """Forms of a name that are safe to look for elsewhere: the whole of it, and a last name that is no common word."""
    forms = [" ".join(parts)] if len(parts) > 1 else []
    last = parts[-1] if parts else ""
    if len(last) >= 4 and last.casefold() not in COMMON_WORDS:
        forms.append(last)
    return forms
