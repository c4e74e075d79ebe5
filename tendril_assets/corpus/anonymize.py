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
    while (joined := _BROKEN_ADDRESS.sub(_join, text)) != text:
        text = joined
    return text


# A token broken at a line end, one of whose halves shows that it is an e-mail or web address. The hyphen goes only
# where it was put in by the break; which one it was cannot be told, and the whole address is masked in either case.
_BROKEN_ADDRESS = re.compile(
    r"(?P<head>[\w.%+-]+@[\w.-]*|(?:https?://|www\.)[^\s<>()]*|[\w.%+]*)-[ \t]*\n[ \t]*(?P<tail>[\w.%+/-]*)(?P<at>@\w)?"
)


def _join(match: re.Match[str]) -> str:
    head, tail, at = match["head"], match["tail"], match["at"] or ""
    is_address = "@" in head or head.lower().startswith(("http", "www.")) or bool(at)
    if not is_address or not head or not (tail or at):
        return match[0]
    return head + tail + at


def hide_placeholders(text: str) -> str:
    """``text`` with each placeholder overwritten; lengths stay."""
    return PLACEHOLDER.sub(lambda match: _HIDDEN * len(match[0]), text)


def _resolve(spans: Sequence[Span], text: str) -> list[Span]:
    """Spans that overlap become one, labelled as the longest of them; placeholders are cut out."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    pieces: list[Span] = []
    for span in spans:
        if span.label in TAGS:
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
        self._persons: dict[str, set[str]] = {}  # last name -> normalised full names
        self._known: re.Pattern[str] | None = None
        self._highest: Counter[str] = Counter()
        for text in texts:
            for tag, number in PLACEHOLDER.findall(text):
                self._highest[tag] = max(self._highest[tag], int(number))

    def learn(self, texts: Sequence[str], found: dict[int, list[Span]]) -> None:
        """Note the persons of this round before any is numbered, so that "Frau Muster" is "Anna Muster" everywhere."""
        names: set[str] = set()
        for i, spans in found.items():
            for span in spans:
                if span.label == "private_person":
                    names.add(texts[i][span.start : span.end])
        for name in names:
            parts = name.split()
            if len(parts) > 1:
                self._persons.setdefault(parts[-1].casefold(), set()).add(_key(name))
        wanted = {part for name in names for part in _recognisable(name)}
        if self._known is not None:
            wanted |= self._wanted
        self._wanted = wanted
        if wanted:
            longest_first = sorted(wanted, key=lambda n: (-len(n), n))
            self._known = re.compile(r"(?<!\w)(?:" + "|".join(re.escape(n) for n in longest_first) + r")(?!\w)")

    def repeats(self, text: str) -> list[Span]:
        """Other occurrences of persons found anywhere in the document."""
        if self._known is None:
            return []
        hidden = hide_placeholders(text)
        return [Span(*match.span(), "private_person") for match in self._known.finditer(hidden)]

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
            namesakes = self._persons.get(key, set())
            if len(namesakes) == 1:
                key = next(iter(namesakes))
        if (tag, key) not in self._placeholders:
            self._highest[tag] += 1
            self._placeholders[tag, key] = f"<{tag}_{self._highest[tag]}>"
        return self._placeholders[tag, key]


def _key(surface: str) -> str:
    return " ".join(surface.casefold().split())


def _recognisable(name: str) -> list[str]:
    """Forms of a name that are safe to look for elsewhere: the whole of it, and a last name that is no common word."""
    parts = name.split()
    forms = [name] if len(parts) > 1 else []
    last = parts[-1] if parts else ""
    if len(last) >= 4 and last.casefold() not in COMMON_WORDS:
        forms.append(last)
    return forms


# Last names that are also words of tender documents; alone, without title or first name, they are left as words.
COMMON_WORDS = frozenset(
    """acker amann ammann bach bauer baum baumann beck berg bergmann binder bischof boden brand braun brunnen brunner
    burg busch dach decker dietrich eisen engel ernst fach feld fenster fischer fleischer forst förster frank frei
    frey fried fuchs furrer gärtner garten gerber glas glaser graf grau gross grün gut haas haase hafner hahn hammer
    hart haus heim herzog hof hofer holz huber hirsch horn hut jäger junge jung kaiser kalt kamm kanton keller kern
    kirch klein klinge koch kohl könig korn kraft krämer kranz kreis krug kuhn kunz küng kunst kurz lager land lang
    lange lehmann lehner leiter licht linde linden lindner maler markt maurer mauer meister meier metz metzger mohr
    moos moser müller münster nagel neu neumann nord nuss ofen ost otto park pfeifer pfister platz preis rasen raum
    rein reich richter riedel ring ritter rohr rose roth sand sattler schäfer schenk schild schloss schlosser schmid
    schmidt schmied schneider schreiber schreiner schule schulz schumacher schuster schwarz seiler senn sommer sonne
    spengler stadler stahl stark staub steiger stein steiner stern stock stoll storch strasse straub strom stucki süss
    tanner taube teich thal ton tor trost turm vogel vogt voll wagner wahl wald walter wand weber weg weiss wenger
    werk werner west wind winkel winkler winter wirt wirth wolf wolff wüest zaun zeller ziegler zimmer zimmermann zingg
    zoll zug bureau service maison bois pont place ville dubois dupont fontaine fleur jardin marchand meunier boulanger
    berger bosco casa chiesa conti costa ferrari ferro fiore fontana legno monte ponte prato riva rossi bianchi villa
    test muster beispiel""".split()  # noqa: SIM905
)
