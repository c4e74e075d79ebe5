"""Which mentions of a name are one person, within one document.

Names are compared without case, accents and line-end hyphens, "ü" being "ue". "Anna Muster", "Muster Anna", "MUSTER,
Anna", "A. Muster" and "Muster" are one person, unless the document has two that "A. Muster" or "Muster" could be: then
those keep a number of their own. "Anna Muster-Keller" is the same person as "Anna Muster". A possessive s is none of the name.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.names import INITIAL, PARTICLE, is_ambiguous_first_name, is_first_name

_BREAK_IN_WORD = lazy_pattern(r"-[ \t]*\n[ \t]*(?=[^\W\d_])")
_TOKEN = lazy_pattern(rf"(?P<initial>{INITIAL})|(?P<particle>{PARTICLE})|[^\s,]+")


@dataclass(frozen=True)
class Mention:
    """``given`` names or initials ("a."), and the last name with its particles; either may be empty."""

    given: tuple[str, ...]
    last: str


def joined(surface: str) -> str:
    """``surface`` on one line: "Mei-\\nerhans" is "Meierhans", "Meier-\\nHuber" is "Meier-Huber"."""
    text = _BREAK_IN_WORD.sub(lambda m: "" if surface[m.end()].islower() else "-", surface)
    return " ".join(text.split())


def folded(word: str) -> str:
    word = word.casefold().replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).replace("’", "'")


def mention(surface: str) -> Mention:
    """A name as written, taken apart; the last name is behind the given names, or in front of them where those are known."""
    text = joined(surface)
    before, comma, behind = text.partition(",")
    if comma and behind.strip():
        return Mention(tuple(folded(w) for w in behind.split()), folded(before.strip()))
    pieces = [(m.lastgroup, m[0]) for m in _TOKEN.finditer(text)]
    words = [token for _, token in pieces]
    if len(words) == 1:
        return Mention((), folded(words[0]))
    given = 0
    while given < len(pieces) - 1 and (pieces[given][0] == "initial" or _is_given(words[given])):
        given += 1
    if given == 0:
        trailing = len(words)
        while trailing > 1 and (pieces[trailing - 1][0] == "initial" or _is_given(words[trailing - 1])):
            trailing -= 1
        if trailing < len(words):
            return Mention(tuple(map(folded, words[trailing:])), folded(" ".join(words[:trailing])))
        given = len(words) - 1
        while given > 0 and pieces[given - 1][0] == "particle":
            given -= 1
    elif (
        words[0].isupper()
        and len(words[0]) > 2
        and not words[-1].isupper()
        and _is_given(words[-1])
        and len(words) == 2
    ):
        return Mention((folded(words[1]),), folded(words[0]))  # MARTIN Sophie
    return Mention(tuple(map(folded, words[:given])), folded(" ".join(words[given:])))


def _is_given(word: str) -> bool:
    return is_first_name(word) or is_ambiguous_first_name(word)


@dataclass
class _Person:
    given: tuple[str, ...]
    last: str
    key: int


@dataclass
class People:
    """The persons of one document, each with a key that never changes once it is given."""

    _persons: list[_Person] = field(default_factory=list)
    _keys: dict[str, int] = field(default_factory=dict)
    _next: int = 0

    def learn(self, surfaces: Iterable[str]) -> None:
        """Note names before any of them is numbered: full ones first, so that shorter ones find them."""
        order = {surface: mention(surface) for surface in dict.fromkeys(surfaces)}
        for surface, found in sorted(order.items(), key=lambda item: -_completeness(item[1])):
            self._place(surface, found)

    def key(self, surface: str) -> int:
        plain = folded(joined(surface))
        if plain not in self._keys:
            self._place(surface, mention(surface))
        return self._keys[plain]

    def _place(self, surface: str, found: Mention) -> None:
        plain = folded(joined(surface))
        if plain in self._keys:
            return
        same = self._candidates(found)
        if not same and found.last.endswith("s"):
            same = self._candidates(Mention(found.given, found.last.rstrip("'").removesuffix("s").rstrip("'")))
        if len(same) == 1:
            person = same[0]
            if _completeness(found) > _completeness(Mention(person.given, person.last)):
                person.given, person.last = found.given, found.last
        else:
            self._next += 1
            person = _Person(found.given, found.last, self._next)
            if not same:  # one that could be two persons is neither, and nobody else's name
                self._persons.append(person)
        self._keys[plain] = person.key

    def _candidates(self, found: Mention) -> list[_Person]:
        same = [p for p in self._persons if _same_last(p, found) and _compatible(p.given, found.given)]
        if not found.given and not same:  # a given name alone
            same = [p for p in self._persons if p.given and p.given[0] == found.last]
        return same


def _completeness(found: Mention) -> int:
    return sum(2 + len(g) * (not g.endswith(".")) for g in found.given) * 100 + len(found.last)


def _same_last(person: _Person, found: Mention) -> bool:
    """Equal, or one goes on with a hyphen: "Muster" and "Muster-Keller"."""
    a, b = sorted((person.last, found.last), key=len)
    return a == b or b.startswith(f"{a}-")


def _compatible(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Given names that may be one person's: the shorter is the start of the longer, initials stand for names."""
    if not a or not b:
        return True
    for left, right in zip(a, b, strict=False):
        if left == right:
            continue
        initial, other = (left, right) if left.endswith(".") else (right, left)
        if not initial.endswith(".") or initial[0] != other[0]:
            return False
    return True
