"""How a name is written: its words, initials, particles and breaks; and words that belong to no name.

``read_name`` reads one name from a place in a text. Whether there is a reason to read one there is for ``persons``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tendril_assets.corpus.first_names import AMBIGUOUS_FIRST_NAMES, FIRST_NAMES
from tendril_assets.corpus.last_names import LAST_NAME_ENDINGS, LAST_NAMES
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.personal_words import (
    ABBREVIATIONS,
    COMMON_WORDS,
    COMPOUND_ROLES,
    NOUN_ENDINGS,
    NOUNS,
    PLACES,
    ROLES,
    STOP_WORDS,
)

_LATIN = [chr(code) for code in (*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC0, 0x250), *range(0x1E00, 0x1F00))]
UPPER = "".join(c for c in _LATIN if c.isupper())
# Marks that compose with no letter stay behind it in NFC.
LOWER = "".join(c for c in _LATIN if c.islower()) + "\u0300-\u036f"

_BROKEN = rf"(?:-[ \t]{{0,12}}\n[ \t]{{0,12}}[{LOWER}]{{2,}})"
_PART = rf"(?:[{UPPER}]['’][{UPPER}]?|[dl]['’][{UPPER}]|Mc[{UPPER}]|[{UPPER}])[{LOWER}]+(?:['’][{UPPER}]?[{LOWER}]+)*"
WORD = rf"{_PART}{_BROKEN}?(?:-(?:[ \t]{{0,12}}\n[ \t]{{0,12}})?{_PART})*(?!\w)"
CAPITALS = rf"[{UPPER}]{{2,}}(?:['’-][{UPPER}]{{2,}})*(?!\w)"
INITIAL = rf"(?:(?:[{UPPER}]|Chr?|Th|Ph|Joh|Jos|Hs)\.(?:-?[{UPPER}]\.)*)"
PARTICLE = (
    r"(?:[Vv][oa]n (?:der|den|dem)|[Dd]e la|[Vv]on|[Vv]an|vom|zur|zum|zu|ten|ter|[Dd]al|[Dd]ell[ao]|[Dd]el|[Dd]e[si]?"
    r"|[Dd]i|[Dd]a|[Dd]os|[Dd]as|[Dd]o"
    r"|[Dd]u|[Ll][ae]|[Ee]l|[Aa]l|DE LA|VON|VAN|DE|DI|DU|LE|LA)(?![\w'’-])"
)
# Not more: three blanks are the gap between two columns.
BLANK = r"[ \u00a0]{1,2}"
DEGREE = (
    r"(?:(?:[Dd]r|[Pp]rof|[Dd]ipl|lic|iur|jur|phil|med|dent|vet|rer|nat|pol|oec|publ|sc|[Ii]ng|[Aa]rch|[Dd]ott|[Aa]vv"
    r"|[Gg]eom"
    r"|[Ee]idg|techn|h\.c|Me)\.(?:ssa|sa)?|Me(?= )|ETHZ?(?![\w])|EPFL|EPUL|FHNW|FH|HTL|HF|HSG|MAS|MSc|BSc|MLaw|EMBA"
    r"|MBA|PhD|PD|SIA(?! \d)|NDS)"
)
PREFIX = rf"(?:{DEGREE}(?:[ \u00a0]{{0,12}}[-/]?[ \u00a0]{{0,12}}(?={DEGREE}|Ing\.|Arch\.)|[ \u00a0]{{1,12}}))"
_PIECE = lazy_pattern(
    rf"(?P<prefix>{PREFIX})|(?P<initial>{INITIAL})|(?P<particle>{PARTICLE})|(?P<word>{WORD})|(?P<capitals>{CAPITALS})"
)
_GERMAN_PREPOSITIONS = frozenset(("von", "von der", "von den", "von dem", "vom", "zu", "zur", "zum"))
_ROMANCE_TEXT = lazy_pattern(r"\b(?:les?|la|des|et|pour|est|dans|il|lo|gli|per|con|della|e)\b")
_MOST_PREFIXES = 8
_GAP = lazy_pattern(r"[ \u00a0]{0,2}")
_GAP_OR_LINE = lazy_pattern(r"[ \u00a0]{0,2}(?:\n[ \t]{0,12})?")

_ROLE_ENDING = r"(?:in|innen|en|n|e|es|s|nen|r)?"
_ROLE = lazy_pattern(rf"(?:{ROLES}){_ROLE_ENDING}")
_ROLE_COMPOUND = lazy_pattern(rf"[\w-]{{3,}}(?:{ROLES}){_ROLE_ENDING}|[\w-]{{4,}}(?:{COMPOUND_ROLES}){_ROLE_ENDING}")
_PLACE = lazy_pattern(rf"(?:[\w-]{{3,}})?(?:{PLACES})")
_LAST_NAME = lazy_pattern(rf"\w{{2,}}(?:{LAST_NAME_ENDINGS})")
_NOUN = lazy_pattern(rf"\w{{3,}}(?:{NOUN_ENDINGS})")


@dataclass(frozen=True)
class Name:
    """``first``: some word is a known first name; ``initial``: it has one; ``firm``: a first name that is no word."""

    start: int
    end: int
    words: tuple[str, ...]
    first: bool
    firm: bool
    initial: bool

    @property
    def is_personal(self) -> bool:
        return self.initial or self.first

    @property
    def is_plausible(self) -> bool:
        """Two or three words that are no nouns of the field, for places where only a reason besides tells."""
        return 2 <= len(self.words) <= 3 and not any(is_noun(word) for word in self.words)


def read_name(text: str, at: int, *, lines: bool = False, role_first: bool = True) -> Name | None:
    """The name that starts at ``at``, or None. Titles, degrees and (``role_first``) roles in front of it are skipped.

    A word that belongs to no name ends it. It has at most two words besides particles, initials and known first names,
    four in all. With ``lines`` it may go on in the next line.
    """
    gap = _GAP_OR_LINE if lines else _GAP
    words: list[str] = []
    start, end, particle = at, at, -1
    firsts = initials = prefixes = 0
    firm = False
    while piece := _PIECE.match(text, at):
        kind, token = piece.lastgroup, piece[0]
        if kind == "prefix":
            prefixes += 1
            if words or initials or prefixes > _MOST_PREFIXES:
                break
        elif kind == "particle":
            # "Anna von Gunten", but "Herr Muster von der Stadt Bern"
            if (
                words
                and token[0].islower()
                and not _is_given(words[-1])
                and not (firsts and _joins_last_names(text, token))
            ):
                break
            particle = at if particle < 0 else particle
        elif kind == "initial":
            if words and not (firsts or len(words) == 1):
                break
            if not words and not initials:
                start = at if particle < 0 else particle
            initials += 1
            if words and not _more_follows(text, piece.end()):  # "Muster A." in a list
                end = piece.end()
                break
        else:
            if is_role(token) and not words and not initials and role_first:
                start = piece.end()
            elif not belongs(token) or (kind == "capitals" and not words and len(token) < 3):
                break
            else:
                if not words and not initials:
                    start = at if particle < 0 else particle
                if len(words) >= 2 and is_noun(token):
                    break
                known = _is_given(token)
                if len(words) >= min(2 + (firsts if firsts else min(initials, 1)), 4) or (
                    len(words) >= 2 and kind == "capitals" and not words[-1].isupper()
                ):
                    break
                words.append(token)
                firsts += known
                firm = firm or is_first_name(token)
                end, particle = piece.end(), -1
        at = piece.end()
        between = gap.match(text, at)
        at = between.end() if between else at
        if between and "\n" in between[0] and words and not _goes_on_below(text, at, words, firsts, initials):
            break
    if not words or end <= start:
        return None
    return Name(start, end, tuple(words), firsts > 0, firm, initials > 0)


def _goes_on_below(text: str, at: int, words: Sequence[str], firsts: int, initials: int) -> bool:
    """Whether a name that a line ends in goes on in the next: a single given name does, or one with a known last name
    below. What has its last name ends there, and a first name with more behind it begins the next person."""
    if len(words) >= 2 or initials:
        return False
    piece = _PIECE.match(text, at)
    if piece is None or (not firsts and is_first_name(piece[0]) and _more_follows(text, piece.end())):
        return False
    return firsts > 0 or is_last_name(piece[0])


def _joins_last_names(text: str, particle: str) -> bool:
    """ "Ricardo Pereira da Silva", "Carlos Salinas de Gortari"; but "Anna Muster von der Stadt", "Luc Favre de Lausanne"."""
    if particle in ("da", "do", "dos", "das"):
        return True
    return particle not in _GERMAN_PREPOSITIONS and _ROMANCE_TEXT.search(text) is None


def _is_given(token: str) -> bool:
    return is_first_name(token) or is_ambiguous_first_name(token)


def _more_follows(text: str, at: int) -> bool:
    gap = _GAP.match(text, at)
    piece = _PIECE.match(text, gap.end() if gap else at)
    return piece is not None and piece.lastgroup in ("word", "capitals", "particle") and belongs(piece[0])


def belongs(token: str) -> bool:
    """False for a word that is no part of a name: a role, an office, a kind of place, an abbreviation."""
    return is_first_name(token) or not (is_role(token) or is_place(token) or token in ABBREVIATIONS)


def is_first_name(token: str) -> bool:
    """Also "Hans-Peter" and "Anna-Lena"; not "Peter-Schule", nor the possessive "Peters"."""
    parts = token.casefold().split("-")
    return len(parts) <= 2 and parts[0] in FIRST_NAMES and not (len(parts) == 2 and is_place(parts[1]))


def is_ambiguous_first_name(token: str) -> bool:
    parts = token.casefold().split("-")
    return len(parts) <= 2 and parts[0] in AMBIGUOUS_FIRST_NAMES and not (len(parts) == 2 and is_place(parts[1]))


def is_role(token: str) -> bool:
    word = token.casefold()
    return _ROLE.fullmatch(word) is not None or _ROLE_COMPOUND.fullmatch(word) is not None


def is_place(token: str) -> bool:
    word = token.casefold()
    return word in STOP_WORDS or _PLACE.fullmatch(word) is not None


def is_noun(token: str) -> bool:
    """A word of tender documents, known or by its ending, that is hardly ever a name where no title says so."""
    word = token.casefold()
    return word in NOUNS or word in COMMON_WORDS or _NOUN.fullmatch(word) is not None


def is_last_name(token: str) -> bool:
    """A common last name, or one by its ending, that is no word: enough where the first name in front could be a word."""
    parts = token.casefold().split("-")
    return not is_noun(token) and any(part in LAST_NAMES or _LAST_NAME.fullmatch(part) is not None for part in parts)
