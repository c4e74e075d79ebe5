"""Acts and clauses that a text names: what a grammar of a language finds, and the choice of the grammar.

The grammar is the specification's (``registers.live.references``); each is a module of its own whose name says which
language it reads. None of them knows which acts a collection holds: that is ``queries.attachments``.
"""

import datetime as dt
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, NamedTuple, Protocol, cast

# Latin letters that look like a Cyrillic capital, as they are typed into numbers of acts.
_LOOKALIKES = str.maketrans("ABEKMHOPCTYXI", "АВЕКМНОРСТУХІ")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-")
_GRAMMARS = {"russian": "tendril_assets.queries.references_russian"}

Binding = Literal["act", "document", "open", "other"]


@dataclass(frozen=True)
class NamedAct:
    """An act as a text names it; ``start`` and ``end`` are characters of the text, from 0.

    ``number``: in the form of ``plain_number``. ``kind``: kind of document in the form of ``Grammar.kind_of``, None where
    the number stands alone. ``date``: day of adoption, None where the text gives none.
    """

    number: str
    kind: str | None
    date: dt.date | None
    start: int
    end: int


@dataclass(frozen=True)
class NamedClause:
    """A clause as a text names it.

    ``number``: ``3.9.2``. ``part``: item within it that has a mark of its own, ``3`` or ``а``. ``appendix``: number of the
    appendix it stands in, empty for one without a number, None where none is named. ``paragraphs``: of the clause or item,
    from 1. ``implied``: it lies inside a range and is not written itself. ``act``: the act it belongs to.

    ``binding``: ``act``, the text says of which numbered act it is; ``document``, of an act by kind alone that was not
    named before (``kind`` says which kind); ``open``, the text does not say of what; ``other``, of something that is no
    such act: a law, a contract, a standard.
    """

    number: str
    start: int
    end: int
    part: str | None = None
    appendix: str | None = None
    paragraphs: tuple[int, ...] = ()
    implied: bool = False
    binding: Binding = "open"
    act: NamedAct | None = None
    kind: str | None = None


class References(NamedTuple):
    """What one text names, each in the order of the text."""

    acts: tuple[NamedAct, ...]
    clauses: tuple[NamedClause, ...]


class Grammar(Protocol):
    """What a language's module offers."""

    def references(self, text: str) -> References:
        """Acts and clauses that running text names."""
        ...

    def heading_clauses(self, heading: str) -> list[NamedClause]:
        """Clauses that a heading names: as running text does, and bare in brackets."""
        ...

    def appendix_of(self, section: str) -> str | None:
        """Number of the appendix that the heading of a section names, empty for one without; None for no appendix."""
        ...

    def kind_of(self, text: str) -> str | None:
        """Kind of document of a word or of a written kind, in one form for all cases and numbers; None for others."""
        ...


def grammar(name: str) -> Grammar:
    """The grammar of that name. Raises ValueError for another name, with those there are."""
    if name not in _GRAMMARS:
        raise ValueError(f"no grammar of references {name!r}; there are: {', '.join(sorted(_GRAMMARS))}")
    # The grammar is a module: its functions are the protocol's.
    return cast(Grammar, import_module(_GRAMMARS[name]))


def plain_number(number: str) -> str:
    """Number of an act as numbers are compared: NFC, capitals, one hyphen, no blanks, Cyrillic for letters of equal shape.

    A letter is taken for a Cyrillic one only where the number has no Latin letter that cannot be meant so.
    """
    text = unicodedata.normalize("NFC", number).translate(_DASHES).upper()
    text = "".join(text.split())
    turned = text.translate(_LOOKALIKES)
    return text if any("A" <= letter <= "Z" for letter in turned) else turned


def plain_text(text: str) -> str:
    """Text by which a repeated question is known: NFC, small letters, letters and digits alone; all of it where it has none."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in folded).split()) or folded


def written(clauses: Sequence[NamedClause]) -> list[str]:
    """Numbers of ``clauses``, each once, in their order."""
    return list(dict.fromkeys(clause.number for clause in clauses))
