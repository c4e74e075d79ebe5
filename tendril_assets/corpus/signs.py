"""Cheap signs of a text that tell which patterns are worth trying: nearly all passages hold no personal data.

A pattern names the signs it needs, and a text without them is not searched. Each sign is a necessary condition: leaving
them out changes the time, never the result.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tendril_assets.corpus.lazy_pattern import lazy_pattern

_BETWEEN_WORDS = "-–—/|,;:.!?…()[]{}'’‘\"«»“„”‹›<>=*•·#&+_\\"
# Nine digits and more with at most three separators between two of them: phones, accounts, cards.
_LONG_NUMBER = lazy_pattern(r"\d(?:[ \t\n\u00a0./'’()–-]{0,4}\d){8}")
START = 5


@dataclass(frozen=True, slots=True)
class Signs:
    """``words`` as written, without punctuation; ``starts``: their first five letters in lower case."""

    words: frozenset[str]
    starts: frozenset[str]
    long_number: bool

    def has(self, starts: Iterable[str]) -> bool:
        """True where a word begins with one of ``starts`` (at most five letters; shorter ones are whole words)."""
        return not self.starts.isdisjoint(starts)


def signs_of(text: str) -> Signs:
    plain = text
    for mark in _BETWEEN_WORDS:
        if mark in plain:
            plain = plain.replace(mark, " ")
    words = frozenset(plain.split())
    return Signs(words, frozenset([word[:START].lower() for word in words]), _LONG_NUMBER.search(text) is not None)


def starts(text: str) -> frozenset[str]:
    """The starts that words written in ``text`` have; for tables of words."""
    return frozenset(word[:START].lower() for word in text.split())
