"""Invented tender prose in German, French and Italian, put together word by word.

A sentence is a frame of fixed words and slots (``published_words.yaml``). The nouns of German slots are compounds of two
lists, so that two sentences drawn at random share a frame and hardly ever five words in a row; nothing is copied from
any document. Each call takes the caller's generator, which is seeded by name.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tendril_assets.corpus.identifiers import keyed_order

SEED = 42
Slot = Callable[[Random, Sequence[str]], str]
Frame = tuple[str | Slot, ...]

_WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_FIRST_PARTS: list[str] = _WORDS["de"]["first_parts"].split()
_LAST_PARTS: list[str] = _WORDS["de"]["last_parts"].split()
_ADJECTIVES: list[str] = _WORDS["de"]["adjectives"].split()
# Article and the ending of an adjective behind it, by gender.
_ARTICLES = {
    "N": {"m": ("der", "e"), "f": ("die", "e"), "n": ("das", "e")},
    "O": {"m": ("den", "en"), "f": ("die", "e"), "n": ("das", "e")},
    "D": {"m": ("dem", "en"), "f": ("der", "en"), "n": ("dem", "en")},
}


def generator(stage: str, entity: str) -> Random:
    """The generator of one named draw; independent of all others."""
    return Random(keyed_order(SEED, f"published/{stage}", entity))


def compound(rng: Random) -> str:
    """``gender:Noun``, as the slots take them."""
    last = rng.choice(_LAST_PARTS)
    return f"{last[:2]}{rng.choice(_FIRST_PARTS)}{last[2:]}"


def sentence(rng: Random, language: str = "de", nouns: Sequence[str] = ()) -> str:
    """One sentence with its full stop. ``nouns`` (``gender:Noun``) fill most of the German slots where given."""
    return _filled(rng, rng.choice(_SENTENCES[language]), nouns)


def item(rng: Random, language: str = "de", nouns: Sequence[str] = ()) -> str:
    """A short phrase without a full stop: a list item, a table cell, a heading."""
    return _filled(rng, rng.choice(_ITEMS[language]), nouns)


def _filled(rng: Random, frame: Frame, nouns: Sequence[str]) -> str:
    text = "".join([part if isinstance(part, str) else part(rng, nouns) for part in frame])
    return text[0].upper() + text[1:]


def _noun_phrase(case: str) -> Slot:
    articles = _ARTICLES[case]

    def slot(rng: Random, nouns: Sequence[str]) -> str:
        noun = rng.choice(nouns) if nouns and rng.random() < 0.6 else compound(rng)
        article, ending = articles[noun[0]]
        if rng.random() < 0.25:
            return f"{article} {noun[2:]}"
        return f"{article} {rng.choice(_ADJECTIVES)}{ending} {noun[2:]}"

    return slot


def _phrase(phrases: Sequence[str]) -> Slot:
    def slot(rng: Random, nouns: Sequence[str]) -> str:
        text = rng.choice(phrases)
        return text.replace("#", str(rng.randint(2, 90))) if "#" in text else text

    return slot


def _number(rng: Random, nouns: Sequence[str]) -> str:
    return str(rng.randint(2, 480))


def _frames(language: str, kind: str) -> tuple[Frame, ...]:
    words = _WORDS[language]
    slots: dict[str, Slot] = {
        name: _phrase(text.replace("; ", ";").split(";")) for name, text in words["slots"].items()
    }
    slots |= {"Q": _number} | ({case: _noun_phrase(case) for case in _ARTICLES} if language == "de" else {})
    return tuple(
        tuple(slots.get(piece, piece) for piece in frame.replace("}", "{").split("{") if piece) for frame in words[kind]
    )


_SENTENCES = {language: _frames(language, "sentences") for language in _WORDS}
_ITEMS = {language: _frames(language, "items") for language in _WORDS}
