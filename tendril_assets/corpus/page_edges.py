"""Headers and footers: lines at the edge of a page that repeat on many pages."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_NUMBER = re.compile(r"\d+")
_PAGE_LINE = re.compile(
    r"\W*(?:(?:seite|page|pagina|pag|p|s|blatt|-)\W*)?([ivxlc]{1,7})(?:\W+(?:von|of|de|sur|di|su)?\W*[ivxlc]{1,7})?\W*\Z",
    re.IGNORECASE,
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_ROMAN_FORM = "roman"
EDGE_LINES = 3  # of each page; the lines between them are not looked at


class _Edge(NamedTuple):
    """A line without its numbers, and those numbers."""

    form: str
    numbers: tuple[int, ...]


def repeated_edges(pages: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """How many lines at the top and at the bottom of each page are repeated headers and footers.

    A line goes only if its form without digits stands among the first (last) three lines on at least three pages and
    on at least half of them, and only if all lines between it and the edge go too; never in a document under 3 pages.
    Lines that alternate on odd and even pages count together. The numbers in a line must be the same on all pages, or
    one of them must count the pages: rows of a table are alike without their digits, too. A line that is nothing but a
    page number may write it in Roman letters. ``pages`` are the lines of each page from the top down.
    """
    if len(pages) < 3:
        return [(0, 0)] * len(pages)
    tops = _leading([list(lines[:EDGE_LINES]) for lines in pages])
    bottoms = _leading([list(reversed(lines[-EDGE_LINES:])) for lines in pages])
    return [(top, min(bottom, len(lines) - top)) for top, bottom, lines in zip(tops, bottoms, pages, strict=True)]


def _leading(edges: list[list[str]]) -> list[int]:
    forms = [[_edge(line) for line in lines] for lines in edges]
    running = _running(forms)
    counts = []
    for page in forms:
        n = 0
        # A second line of the same form is no header: a bare figure in the text looks like a page number.
        while n < len(page) and page[n].form in running and page[n].form not in [edge.form for edge in page[:n]]:
            n += 1
        counts.append(n)
    return counts


def _edge(line: str) -> _Edge:
    if roman := _PAGE_LINE.match(line):
        return _Edge(_ROMAN_FORM, (_value(roman[1]),))
    form = " ".join(_NUMBER.sub("", line).casefold().split())
    return _Edge(form, tuple(int(digits[:18]) for digits in _NUMBER.findall(line)))


def _value(roman: str) -> int:
    values = [_ROMAN[letter] for letter in roman.casefold()]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _running(pages: list[list[_Edge]]) -> set[str]:
    """Forms of running headers or footers."""
    places: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for number, page in enumerate(pages):
        for edge in page:
            places[edge.form].setdefault(number, edge.numbers)
    places = defaultdict(dict, {form: on for form, on in places.items() if len(on) > 1 and _counts_pages(on)})
    enough = max(3.0, len(pages) / 2)
    running = {form for form, on in places.items() if len(on) >= enough}
    # Left and right pages of a bound document have headers of their own.
    sides: list[list[str]] = [[], []]
    for form, on in places.items():
        if len({number % 2 for number in on}) == 1:
            sides[min(on) % 2].append(form)
    for left in sides[0]:
        for right in sides[1]:
            if len(places[left]) + len(places[right]) >= max(4.0, enough):
                running |= {left, right}
    return running


def _counts_pages(numbers: dict[int, tuple[int, ...]]) -> bool:
    """Whether the numbers are the same on all pages, or one of them goes up with the page (most of the time: a file
    may hold several documents)."""
    if len(set(numbers.values())) == 1:
        return True
    if len({len(found) for found in numbers.values()}) != 1:
        return False
    pages = sorted(numbers)
    steps = list(pairwise(pages))
    columns = len(numbers[pages[0]])
    return any(2 * sum(numbers[b][i] - numbers[a][i] == b - a for a, b in steps) > len(steps) for i in range(columns))
