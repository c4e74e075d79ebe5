"""The words of restricting clauses: what a language has to say for the grammar of ``restrictions``.

Every field is a pattern over folded text (``sentences.fold``: lower case, no accents), so patterns are written in
plain spelling here and folded when they are compiled.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.sentences import fold


@dataclass(frozen=True)
class Words:
    """Patterns of one language, searched in one clause.

    What is limited: ``tender`` names the tender documents in so many words, ``documents`` papers in general,
    ``content`` what stands in them. ``reference`` is a mention that only points at them ("according to"); ``foreign``
    are papers of others (the offer, the bidder's own), ``performance`` words of carrying out the contract, ``promise``
    what the buyer undertakes; ``bidder`` is who is bound.

    How it is limited: ``only`` before ``offer`` or ``procedure`` (with ``use``), ``handed`` for a purpose, ``meant``
    for bidders, ``confined`` to the offer, or any ``other_use``. Acts come as noun or infinitive (``publication``,
    ``passing``, ``handing``: the last needs a ``third`` party) and as participle or finite verb (``published``,
    ``passed``, ``handed_over``); ``elsewhere`` right after an act is what else is passed on or published. ``secret`` is
    said of the papers, an ``undertaking`` of secrecy is asked for their ``release``.

    Polarity: ``forbidden`` words, ``permitted`` ones after ``negation`` or ``only``, ``modal`` verbs for a negated act,
    ``future`` forms that order in legal style. ``denied`` takes a limit back. ``breaks`` ends a clause, ``inner`` begins
    one with a subject of its own; ``pronoun`` takes up the papers of the sentence before.
    """

    tender: re.Pattern[str]
    documents: re.Pattern[str]
    content: re.Pattern[str]
    reference: re.Pattern[str]
    foreign: re.Pattern[str]
    performance: re.Pattern[str]
    promise: re.Pattern[str]
    bidder: re.Pattern[str]
    only: re.Pattern[str]
    offer: re.Pattern[str]
    procedure: re.Pattern[str]
    use: re.Pattern[str]
    handed: re.Pattern[str]
    meant: re.Pattern[str]
    confined: re.Pattern[str]
    other_use: re.Pattern[str]
    publication: re.Pattern[str]
    published: re.Pattern[str]
    passing: re.Pattern[str]
    passed: re.Pattern[str]
    handing: re.Pattern[str]
    handed_over: re.Pattern[str]
    elsewhere: re.Pattern[str]
    third: re.Pattern[str]
    secret: re.Pattern[str]
    undertaking: re.Pattern[str]
    release: re.Pattern[str]
    only_to: re.Pattern[str]
    condition: re.Pattern[str]
    negation: re.Pattern[str]
    screen: re.Pattern[str]
    ruling_out: re.Pattern[str]
    modal: re.Pattern[str]
    future: re.Pattern[str]
    forbidden: re.Pattern[str]
    consented: re.Pattern[str]
    permitted: re.Pattern[str]
    denied: re.Pattern[str]
    breaks: re.Pattern[str]
    inner: re.Pattern[str]
    pronoun: re.Pattern[str]


def words(**patterns: str) -> Words:
    """Compile a language. Raises ValueError for an escape in upper case, which folding would turn into its opposite."""
    return Words(**compiled(patterns))


def compiled(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """The patterns over folded text, by name. Raises ValueError for an escape in upper case."""
    for name, pattern in patterns.items():
        if re.search(r"\\[A-Z]", pattern):
            raise ValueError(f"the pattern {name} has a class in upper case, which folding turns around: {pattern}")
    return {name: lazy_pattern(_word_first(fold(pattern))) for name, pattern in patterns.items()}


def _word_first(pattern: str) -> str:
    r"""Alternatives that all begin with ``\b`` share one, so that most positions of a text are left at once."""
    alternatives, depth, start, i = [], 0, 0, 0
    while i < len(pattern):
        sign = pattern[i]
        if sign == "\\":
            i += 1
        elif sign == "[":
            i = pattern.index("]", i + 2)
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "|" and depth == 0:
            alternatives.append(pattern[start:i])
            start = i + 1
        i += 1
    alternatives.append(pattern[start:])
    if len(alternatives) == 1 or not all(alternative.startswith(r"\b") for alternative in alternatives):
        return pattern
    return rf"\b(?:{'|'.join(alternative[2:] for alternative in alternatives)})"
