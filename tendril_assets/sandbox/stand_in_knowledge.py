"""What the stand-in judge knows of the subject: the sample's areas and criteria, and some of the words around them.

Its vocabulary comes from the topic lexicon and from the sample's own wordings, of which it knows a keyed part only, so
that it misses some passages. A query is recognised by the catalogs' words; one of another collection is not, and the
judge then has nothing but shared words to go by.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.sandbox.lexicon import AREA_STEMS
from tendril_assets.sandbox.wording import areas, general

SEED = 42
# Share of the sample's wordings whose words the judge has met.
KNOWN_SHARE = 0.7
_STEM_LETTERS = 6
_MIN_LETTERS = 4
# Letters by which the stems of the lexicon are looked up; the shortest has as many.
_START = 3
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_COMMON_WORDS = """
aber alle allen aller alles auch auf bei bis dass dem den denen der deren des dessen die dies diese diesem
diesen dieser dieses durch ein eine einem einen einer eines für gegen gemäss haben hat hier ihre ihrem ihren
ihrer innert jede jedem jeden jeder jedes kann kein keine keinem keinen können mehr mindestens höchstens mit
muss müssen nach nicht noch nur ob oder ohne sein seine seiner sich sie sind sollen soll sowie über und unter
vom von vor wenn werden wird wie wurde zum zur zwei zwischen anbieterin angebot auftraggeberin unternehmerin
prozent
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True)
class Criterion:
    """``asked``: stems of its catalog text; ``said``: of the requirements that answer it."""

    asked: frozenset[str]
    said: frozenset[str]


@dataclass(frozen=True)
class Area:
    """``around``: stems of passages that touch the area without answering a criterion."""

    name: str
    asked: frozenset[str]
    around: frozenset[str]
    criteria: tuple[Criterion, ...] = field(repr=False)


@dataclass(frozen=True)
class Knowledge:
    """Areas, and how telling each stem of the catalogs is (the logarithm of areas per area that has it)."""

    areas: tuple[Area, ...]
    weight: dict[str, float] = field(repr=False)


def stems(text: str) -> frozenset[str]:
    """Beginnings of the longer words, lower case."""
    words = (w for w in _WORD.findall(text.lower()) if len(w) >= _MIN_LETTERS and w not in _COMMON)
    return frozenset(word[:_STEM_LETTERS] for word in words)


def topics_in(text: str) -> Counter[str]:
    """Area -> number of different topic stems of the lexicon with which words of the text begin."""
    by_start, phrases = _lexicon()
    lowered = text.lower()
    found = {(area, phrase) for phrase, area in phrases if phrase in lowered}
    words = set(_TOKEN.findall(lowered))
    words.update(*[word.split("-") for word in words if "-" in word])
    for word in words:
        for stem, area in by_start.get(word[:_START], ()):
            if word.startswith(stem):
                found.add((area, stem))
    return Counter(area for area, _ in found)


@functools.cache
def _lexicon() -> tuple[dict[str, list[tuple[str, str]]], list[tuple[str, str]]]:
    """First letters of a stem -> the stems that begin so, with their area; stems of several words with theirs."""
    by_start: dict[str, list[tuple[str, str]]] = {}
    phrases = []
    for area, topics in AREA_STEMS.items():
        for topic in topics:
            if " " in topic:
                phrases.append((topic, area))
            else:
                by_start.setdefault(topic[:_START], []).append((topic, area))
    return by_start, phrases


@functools.cache
def knowledge() -> Knowledge:
    """Read from the sample's sources once per process."""
    sources = areas()
    prose = stems(" ".join(_texts(general()[pool] for pool in ("prose", "leads", "tails", "boilerplate"))))
    said = {
        (area, c["id"]): _known(c["id"], c["relevant"] + c["held_out"])
        for area, a in sources.items()
        for c in a["criteria"]
    }
    around = {area: _known(area, a["partial"]) for area, a in sources.items()}
    common = _shared_by_many([*said.values(), *around.values()], limit=3) | prose
    found = []
    asked_in: Counter[str] = Counter()
    for area, source in sources.items():
        criteria = tuple(
            Criterion(stems(" ".join([c["text"], *c["levels"].values()])), said[area, c["id"]] - common)
            for c in source["criteria"]
        )
        asked = stems(f"{source['title']} {source['text']}").union(*(c.asked for c in criteria))
        asked_in.update(asked)
        found.append(Area(area, asked, around[area] - common, criteria))
    weight = {stem: log(len(found) / n) for stem, n in asked_in.items()}
    return Knowledge(tuple(found), weight)


def _known(entity: str, templates: list[str]) -> frozenset[str]:
    known = [t for i, t in enumerate(templates) if keyed_order(SEED, "stand_in", f"{entity}/{i}") < KNOWN_SHARE * 2**63]
    return stems(re.sub(r"\{\w+\}|[\[\]|]", " ", " ".join(known)))


def _shared_by_many(sets: list[frozenset[str]], limit: int) -> frozenset[str]:
    counts = Counter(stem for known in sets for stem in known)
    return frozenset(stem for stem, n in counts.items() if n > limit)


def _texts(pools: Iterable[object]) -> Iterable[str]:
    for pool in pools:
        if isinstance(pool, str):
            yield pool
        elif isinstance(pool, list):
            yield from (text for text in pool if isinstance(text, str))
