"""Names in tables, lists and forms: cells and items that are a name from end to end, and what names are not taken."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tendril_assets.corpus import person_reasons as reasons
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.names import LOWER, UPPER, Name, is_first_name, is_last_name, is_noun, read_name
from tendril_assets.corpus.personal_words import BRANDS


def accepted(text: str, name: Name | None, *, enough: int) -> tuple[int, int] | None:
    """The span of a name that is long enough and no firm, street or brand."""
    if name is None or len(name.words) + name.initial < enough:
        return None
    if reasons.FIRM_BEHIND.match(text, name.end) or reasons.STREET_BEHIND.match(text, name.end):
        return None
    if reasons.NAMED_AFTER.search(text, max(0, name.start - 24), name.start):
        return None
    if " ".join(name.words).casefold() in BRANDS:
        return None
    return name.start, name.end


def last_name_first(text: str, name: Name) -> tuple[int, int] | None:
    """ "Brändli, Urs" and "BRÄNDLI Urs": one last name, a comma or none, a first name, and the cell ends."""
    if len(name.words) == 1 and not name.initial and text[name.end : name.end + 2] == ", ":
        first = read_name(text, name.end + 2)
        if first and first.start == name.end + 2 and first.first and len(first.words) == 1:
            return (name.start, first.end) if reasons.CELL_END.match(text, first.end) else None
    return None


def is_initialled_cell(text: str, name: Name) -> bool:
    """ "B. Hug" from end to end of a cell, and no heading ("B. Besondere Bestimmungen")."""
    return (
        len(name.words) <= 2
        and not any(is_noun(word) for word in name.words)
        and reasons.CELL_END.match(text, name.end) is not None
    )


def last_names_in_a_row(text: str, name: Name | None) -> list[tuple[int, int]]:
    """ "Gmünder, Inauen, Sutter" behind a label: single words to the end, at least two of them known last names."""
    spans, known = [], 0
    while name and len(name.words) == 1 and not name.initial and not is_noun(name.words[0]):
        spans.append((name.start, name.end))
        known += is_last_name(name.words[0])
        following = reasons.NEXT_ITEM.match(text, name.end)
        name = read_name(text, following.end()) if following else None
    return spans if name is None and known > 1 else []


def cells(text: str, contacts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Cells and list items that are a name from end to end."""
    for match in reasons.CELL.finditer(text):
        name = read_name(text, match.end(), role_first=False)
        if name is None or name.start != match.end():
            continue
        if len(name.words) > 2 and not is_first_name(name.words[0]) and is_first_name(name.words[1]):
            continue  # "Lebenslauf Patrick Mettler": the name is behind the first word
        last_first = last_name_first(text, name)
        if last_first and (name.start == 0 or text[name.start - 1] in "\n|\t(;" or text[: name.start].isspace()):
            yield last_first
            continue
        if not reasons.CELL_END.match(text, name.end):
            continue
        known = name.firm or (name.first and any(is_last_name(word) for word in name.words))
        if known or ((name.is_plausible or name.initial) and _contact_in_line(text, name, contacts)):
            span = accepted(text, name, enough=2)
            if span:
                yield span


def initials(text: str) -> Iterator[tuple[int, int]]:
    """Two cells and more of the form "B. Hug" in one line whose letters do not run on as those of headings do."""
    for line in re.finditer(r"[^\n]+", text):
        names = []
        for match in reasons.CELL.finditer(text, line.start(), line.end()):
            name = read_name(text, match.end(), role_first=False)
            if name and name.initial and name.start == match.end() and is_initialled_cell(text, name):
                names.append(name)
        letters = [ord(text[name.start]) for name in names]
        if len(names) >= 2 and not all(b - a == 1 for a, b in pairwise(letters)):
            yield from ((name.start, name.end) for name in names)


def initialled(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.INITIALLED.finditer(text):
        name = read_name(text, match.end(), role_first=False)
        if name and name.initial and name.start == match.end() and not any(is_noun(word) for word in name.words):
            yield name.start, name.end


_FORM = lazy_pattern(
    rf"(?<!\w)(?P<a>Name|Nachname|Vorname|Nom|Prénom|Cognome|Nome)[ \t]{{0,12}}[:"
    rf"|\t][ \t]{{0,12}}(?P<x>[{UPPER}][\w'’-]+(?:[ ][{UPPER}][\w'’-]+)?)"
    rf"\s{{0,12}}[,;|\n/]\s{{0,12}}(?P<b>Name|Nachname|Vorname|Nom|Prénom|Cognome|Nome)[ \t]{{0,12}}[:"
    rf"|\t][ \t]{{0,12}}(?P<y>[{UPPER}][\w'’-]+(?:[ ][{UPPER}][\w'’-]+)?)"
)
FORM_WORDS = frozenset(("Vorname", "Prénom", "Cognome"))
_COUPLE = lazy_pattern(rf"(?<![\w-])(?P<first>[{UPPER}][{LOWER}-]+)[ ](?:und|et|e|&|\+|and)[ ](?=[{UPPER}])")


def forms(text: str) -> Iterator[tuple[int, int]]:
    """Two fields of a form, "Name: Steinmann" and "Vorname: Cyrill"."""
    for match in _FORM.finditer(text):
        if match["a"] != match["b"]:
            yield match.span("x")
            yield match.span("y")


def couples(text: str, found: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first of "Peter und Anna Muster"."""
    starts = {start for start, _ in found}
    return [m.span("first") for m in _COUPLE.finditer(text) if m.end() in starts and is_first_name(m["first"])]


def _contact_in_line(text: str, name: Name, contacts: Sequence[tuple[int, int]]) -> bool:
    low = text.rfind("\n", 0, name.start) + 1
    high = text.find("\n", name.end)
    high = len(text) if high < 0 else high
    return any(name.end <= start <= min(high, name.end + 80) or (low <= end <= name.start) for start, end in contacts)


def with_list_items(text: str, found: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """``found`` and the names before and behind them in the same list ("Anna Muster, B. Hug und Momo Kaijima")."""
    queue = sorted(found)
    run: dict[int, int] = {}  # end of a name -> how many persons its list holds so far
    while queue:
        _, end = queue.pop(0)
        mark = reasons.NEXT_ITEM.match(text, end)
        name = read_name(text, mark.end(), role_first=False) if mark else None
        if name is None or not mark or name.start != mark.end():
            continue
        length = run.get(end, 1)
        if not (name.is_personal or (length >= 2 and name.is_plausible)):
            if (name.start, name.end) in found:
                run[name.end] = length + 1
            continue
        span = accepted(text, name, enough=2)
        if span and reasons.ITEM_END.match(text, span[1]):
            run[span[1]] = length + 1
            if span not in found:
                found.add(span)
                queue.insert(0, span)
    return sorted(found)
