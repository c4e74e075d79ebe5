"""The stand-in's answers: a deterministic judge and an extractive summariser, both working from the prompt alone.

The judge compares topic stems (``lexicon``) and shared word beginnings of query and passage, looks for the wording of a
requirement, and errs at a fixed rate by a hash of the pair. It is better than chance and worse than the sample's truth,
as a language model is; it is no stand-in for one on any other collection.
"""

import functools
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass

from tendril_assets.sandbox.lexicon import AREA_STEMS

SUMMARY_WORDS = 80
_TAG = re.compile(r"<(query|passage|area)>(.*)</\1>", re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:[-/][^\W_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")
_LEVEL_NAMES = re.compile(r"^(?:Basis|Gute Praxis|Vorbild): ", re.MULTILINE)
_STEM_LETTERS = 6
_MIN_LETTERS = 5
_COMMON = frozenset(
    "diese dieser dieses einem einen einer eines werden wurde können sollen müssen dürfen sowie oder nicht alle allen "
    "mindestens höchstens prozent anteil anbieterin anbieter auftraggeberin auftraggeber angebot angebote nachweis "
    "beschaffungsstelle ausschreibung anforderung anforderungen vertrag leistung leistungen lieferung erfüllt erfüllen "
    "besteht bestehen jeder jedes jeden ihrer ihren seine seiner zwischen während innert gemäss nach durch unter ohne "
    "должны должен может могут которые который также настоящего соответствии".split()
)
_REQUIREMENT = re.compile(
    r"\b(?:muss|müssen|darf|dürfen|sind|ist|wird|werden|hat|haben)\b.*\b(?:zu|nicht|ausgeschlossen|verlangt|zulässig|"
    r"zugelassen|vorgeschrieben|erforderlich|einzureichen|nachzuweisen|bewertet)\b|\b(?:mindestens|höchstens|punkte|abzug|"
    r"abzüge|gutgeschrieben|konventionalstrafe)\b|\d",
    re.IGNORECASE | re.DOTALL,
)
# Error rates, in thousandths of all pairs, by what the judge would have said without them.
_SLIPS = {0: 6, 1: 120, 2: 90}


@dataclass(frozen=True)
class Answer:
    """``text`` is the reply's content; ``kind`` is judge, summary or other."""

    text: str
    kind: str


def reply_to(prompt: str, wordy_share: float = 0.0) -> Answer:
    """The answer to a prompt, told by its own delimiters: query and passage, or area.

    ``wordy_share``: share of areas summarised at too great a length when first asked; an instruction after the area, as a
    second request has one, is always obeyed.
    """
    parts: dict[str, str] = {}
    for match in _TAG.finditer(_last_block(prompt)):
        parts[match[1]] = match[2]
    if "query" in parts and "passage" in parts:
        return Answer(_dressed(judge(parts["query"], parts["passage"]), parts["query"], parts["passage"]), "judge")
    if "area" in parts:
        asked_again = bool(prompt[prompt.rfind("</area>") + len("</area>") :].strip())
        wordy = not asked_again and _share("wordy", parts["area"]) < wordy_share
        return Answer(_wordy(parts["area"]) if wordy else summarise(parts["area"]), "summary")
    return Answer("Verstanden.", "other")


def judge(query: str, passage: str) -> int:
    """0, 1 or 2; the same on every call."""
    grade = _opinion(query, passage)
    draw = int(1000 * _share("slip", query, passage))
    if draw >= _SLIPS[grade]:
        return grade
    return {0: 1, 1: 0 if draw % 2 else 2, 2: 1 if draw % 3 else 0}[grade]


def summarise(area: str, words: int = SUMMARY_WORDS) -> str:
    """The sentences of the area that carry most of its own vocabulary, in their order, at most ``words`` words."""
    sentences = _sentences(area)
    frequency = Counter(stem for sentence in sentences for stem in _stems(sentence))
    weight = [sum(frequency[stem] for stem in _stems(sentence)) / (len(sentence.split()) or 1) for sentence in sentences]
    chosen: set[int] = set()
    left = words
    for index in sorted(range(len(sentences)), key=lambda i: (i != 0, -weight[i], i)):
        length = len(sentences[index].split())
        if length <= left:
            chosen.add(index)
            left -= length
    if not chosen:
        return " ".join(area.split()[:words])
    return " ".join(sentences[i] for i in sorted(chosen))


def _wordy(area: str) -> str:
    text = " ".join(_sentences(area))
    return text if len(text.split()) > 120 else " ".join([text] * (120 // max(1, len(text.split())) + 1))


def _opinion(query: str, passage: str) -> int:
    asked, said = _query_view(query), _passage_view(passage)
    topic = max((said.topics[area] for area in asked.areas), default=0)
    shared = len(asked.stems & said.stems)
    evidence = 2 * topic + shared
    if evidence < 2:
        return 0
    if asked.is_criterion:
        return 2 if shared >= 2 and evidence >= 4 and said.demands else (1 if shared and topic else 0)
    return 2 if evidence >= 4 and said.demands else 1


@dataclass(frozen=True)
class _View:
    areas: frozenset[str]
    topics: Counter[str]
    stems: frozenset[str]
    is_criterion: bool
    demands: bool


@functools.lru_cache(maxsize=256)
def _query_view(query: str) -> _View:
    topics = _topics(query)
    best = max(topics.values(), default=0)
    areas = frozenset(area for area, n in topics.items() if n == best)
    text = _LEVEL_NAMES.sub("", query)
    return _View(areas, topics, _stems(text), text != query, False)


@functools.lru_cache(maxsize=8192)
def _passage_view(passage: str) -> _View:
    return _View(frozenset(), _topics(passage), _stems(passage), False, _REQUIREMENT.search(passage) is not None)


def _by_length() -> tuple[dict[str, tuple[str, ...]], tuple[int, ...], tuple[tuple[str, str], ...]]:
    """Stem -> areas; the lengths that occur; stems of several words with their area."""
    areas: dict[str, list[str]] = {}
    phrases: list[tuple[str, str]] = []
    for area, stems in AREA_STEMS.items():
        for stem in stems:
            if " " in stem:
                phrases.append((stem, area))
            else:
                areas.setdefault(stem, []).append(area)
    return {s: tuple(a) for s, a in areas.items()}, tuple(sorted({len(s) for s in areas})), tuple(phrases)


_AREAS_OF, _LENGTHS, _PHRASES = _by_length()


def _topics(text: str) -> Counter[str]:
    """Area -> number of different topic stems of it in the text."""
    lowered = text.lower()
    found: set[tuple[str, str]] = {(area, phrase) for phrase, area in _PHRASES if phrase in lowered}
    for word in set(_WORD.findall(lowered)):
        for part in {word, *word.split("-")}:
            for length in _LENGTHS:
                if length > len(part):
                    break
                found.update((area, part[:length]) for area in _AREAS_OF.get(part[:length], ()))
    return Counter(area for area, _ in found)


def _stems(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text.lower()) if len(word) >= _MIN_LETTERS and word not in _COMMON)
    return frozenset(word[:_STEM_LETTERS] for word in words)


def _sentences(area: str) -> list[str]:
    """Sentences of the area's text; a title line in front is left out."""
    title, _, text = area.strip().partition("\n")
    body = " ".join((text or title).split())
    return [sentence for sentence in _SENTENCE.split(body) if sentence]


def _last_block(prompt: str) -> str:
    """From the last opening delimiter of a query or area on: a guideline may show the delimiters before."""
    start = max(prompt.rfind("<query>"), prompt.rfind("<area>"))
    return prompt[start:] if start >= 0 else ""


def _dressed(grade: int, *texts: str) -> str:
    """A bare digit mostly; JSON or a code fence in some replies, as models write them."""
    draw = _share("form", *texts)
    if draw < 0.03:
        return json.dumps({"relevanz": grade})
    if draw < 0.05:
        return f'```json\n{{"relevanz": {grade}}}\n```'
    return str(grade)


def _share(purpose: str, *texts: str) -> float:
    """A number in [0, 1) by hash."""
    digest = hashlib.blake2b(digest_size=6, person=b"stand-in")
    for text in (purpose, *texts):
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**48
