"""Lines put together again: hyphens, apostrophes and addresses cut at the end of a line, paragraphs broken by hand.

Things that look alike at a line end are kept apart: the hyphen that only marks the break ("Nach-/haltigkeit"), the real
one ("Baden-/Württemberg", "EU-/weit", "va-/t-il") and the suspended compound ("Ein-/und Ausfuhr"). The soft hyphen is
another, invisible one and always goes.
"""

import re
from collections.abc import Sequence

from tendril_assets.corpus.textclean import SOFT_HYPHEN

_REAL_HYPHEN = "\u2011"
_HYPHENS = f"-\u2010{_REAL_HYPHEN}\u00ac"  # the not sign is what some makers of PDF leave of a soft hyphen

# Behind these a suspended compound has its second part.
_CONJUNCTIONS = frozenset((
    "und", "oder", "bzw", "beziehungsweise", "sowie", "resp", "respektive", "u", "od", "aber", "plus", "et", "ou",
    "e", "ed", "o", "and", "or", "и", "или",
))  # fmt: skip
# Further ones, which are also the ends of words ("den-/noch", "Kür-/bis", "so-/wie"): with what must be near them.
_BEHIND = {"noch": re.compile(r"\bweder\b", re.IGNORECASE)}
_AHEAD = {
    "als": re.compile(r"als auch\b"),
    "bis": re.compile(r"bis \w*(?:\d|mal|fach|jähr|tägig|stünd|stell|lag|wöch)"),
}

_FRENCH_WORDS = re.compile(
    r"\b(?:le|la|les|du|au|aux|est|une|et|que|qui|dans|pour|par|sur|avec|ce|il|elle|[ldnsc]['’])\b"
)
_GERMAN_WORDS = re.compile(r"\b(?:der|die|das|dem|den|und|ist|ein|eine|für|mit|von|zu|im|auf|nicht|werden|sind)\b")
_FRENCH_TAILS = frozenset((
    "il", "ils", "elle", "elles", "on", "ce", "ci", "là", "je", "tu", "nous", "vous", "moi", "toi", "lui", "leur",
    "y", "en", "t", "dire", "être", "même", "mêmes", "delà", "dessus", "dessous", "joint", "jointe", "joints",
    "jointes", "après", "contre", "vis",
))  # fmt: skip
_FRENCH_STEMS = frozenset((
    "sous", "non", "ex", "avant", "après", "rendez", "quote", "plus", "demi", "savoir", "vice", "peut", "celui",
    "celle", "ceux",
))  # fmt: skip
_ELISION = re.compile(
    r"(?<!\w)(?:[ldscnjmt]|qu|jusqu|lorsqu|puisqu|quoiqu|un|dell|all|dall|nell|sull|quell|quest|dov|com|cent|tutt)['’]\Z",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:https?://|www\.|[\w.+-]+@)\S*\Z")
_ADDRESS_GOES_ON = re.compile(r"[/_=?&#@%~]\Z")
_RANGE = re.compile(r"\d\s?[–—]\Z")
_LEADER = re.compile(r"(?:\.\s?){4,}\d{1,4}\Z")
_MONTHS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_LIST_ITEM = re.compile(
    r"(?:[•·▪◦‣■□●○✓✔➢➤►→☐☒☑*–—-]\s"
    rf"|(?!\d{{1,2}}\.\s(?:{_MONTHS})\b)\(?\d{{1,3}}(?:\.\d{{1,3}})*[.)]\s"
    r"|\d{1,3}(?:\.\d{1,3})+\s(?!(?:%|Prozent|Mio|Mrd|CHF|Fr\.|Euro|m\b|km\b|kg\b))"
    r"|\(?[a-zA-Z]\)\s|\(?[ivx]{1,5}\)\s|§\s?\d)"
)


def is_list_item(line: str) -> bool:
    """Whether ``line`` opens with a bullet or a numbering such as ``1.``, ``2.3``, ``a)``, ``iv)`` or ``§ 4``.

    A date ("12. März") and a quantity ("2.5 Prozent") are none.
    """
    return _LIST_ITEM.match(line) is not None


def join_lines(first: str, second: str) -> str:
    """Two consecutive lines of one paragraph as one text, with what the line end cut mended.

    A hyphen is taken out where the word goes on in lower case. It stays before a capital or a digit, after an
    abbreviation, a number or a single letter ("CO2-", "E-"), in an address, before a French pronoun and before a
    conjunction (suspended compound), where the blank stays too. No blank comes behind an elision ("l'"), a slash
    between words, the dash of a range, or within an address.
    """
    first, second = first.rstrip(), second.lstrip()
    if not first or not second:
        return first or second
    if first[-1] == SOFT_HYPHEN:
        return first[:-1] + second
    if _is_open(first, second):
        return first + second
    if first[-1] not in _HYPHENS or len(first) < 2 or not first[-2].isalnum():
        return f"{first} {second}"
    if _is_suspended(first, second):
        return f"{first} {second}"
    if first[-1] == _REAL_HYPHEN or _ADDRESS.search(first):
        return first + second
    stem = re.split(r"[^\w]", first[:-1])[-1]
    if second[0].islower() and not _keeps_hyphen(stem) and not _is_french_compound(first, stem, second):
        return first[:-1] + second
    if first[-1] == "\u00ac":
        first = f"{first[:-1]}-"
    return first + second if second[0].isalnum() or second[0] == "/" else f"{first} {second}"


def _is_open(first: str, second: str) -> bool:
    """Whether the line end parts what belongs together without any hyphen."""
    if not second[0].isalnum():
        return False
    if first[-1] in "'’":
        return _ELISION.search(first) is not None
    if first[-1] in "–—":
        return second[0].isdigit() and _RANGE.search(first) is not None
    if first[-1] == "/":
        return len(first) > 1 and first[-2].isalnum()
    return _ADDRESS_GOES_ON.search(first) is not None and _ADDRESS.search(first) is not None


def _is_suspended(first: str, second: str) -> bool:
    word = re.split(r"[\s/]", second, maxsplit=1)[0].rstrip(".,;:").casefold()
    if word in _CONJUNCTIONS:
        return True
    behind, ahead = _BEHIND.get(word), _AHEAD.get(word)
    return bool((behind and behind.search(first)) or (ahead and ahead.match(second)))


def _keeps_hyphen(stem: str) -> bool:
    return len(stem) == 1 or not stem.isalpha() or (stem.isupper() and len(stem) > 1)


def _is_french_compound(first: str, stem: str, second: str) -> bool:
    """Whether a French word has the hyphen for good, as in "va-t-il" or "sous-traitant"."""
    tail = re.match(r"\w+", second)
    if tail is None or not (tail[0] in _FRENCH_TAILS or stem.casefold() in _FRENCH_STEMS):
        return False
    near = f"{first[-300:]} {second[:300]}"
    return len(_FRENCH_WORDS.findall(near)) > len(_GERMAN_WORDS.findall(near))


def flow(lines: Sequence[str], full: Sequence[bool]) -> str:
    """Lines of one paragraph as flowing text.

    ``full[i]`` says that line i is full, so that line i + 1 continues it (the last line needs none). A line that is
    not, or is followed by a list item, ends with a line break, and so does an entry of a table of contents; a word cut
    by a hyphen is mended in any case.
    """
    text = ""
    for i, line in enumerate(lines):
        if not text:
            text = line
        elif is_list_item(line) or _LEADER.search(lines[i - 1]) or not (full[i - 1] or _ends_in_hyphen(lines[i - 1])):
            text = f"{text}\n{line}"
        else:
            text = join_lines(text, line)
    return text


def _ends_in_hyphen(line: str) -> bool:
    bare = line.rstrip()
    return len(bare) > 1 and bare[-1] in _HYPHENS and bare[-2].isalnum()
