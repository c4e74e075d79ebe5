"""Headers and footers: lines at the edge of a page that repeat on many pages."""

import re
from collections.abc import Sequence

_DIGITS = re.compile(r"\d+")
_EDGE_LINES = 3


def repeated_edges(pages: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """How many lines at the top and at the bottom of each page are repeated headers and footers.

    A line goes only if its form without digits stands among the first (last) three lines on at least three pages and
    on at least half of them, and only if all lines between it and the edge go too; never in a document under 3 pages.
    ``pages`` are the lines of each page from the top down.
    """
    if len(pages) < 3:
        return [(0, 0)] * len(pages)
    tops = _leading([list(lines[:_EDGE_LINES]) for lines in pages])
    bottoms = _leading([list(reversed(lines[-_EDGE_LINES:])) for lines in pages])
    return [(top, min(bottom, len(lines) - top)) for top, bottom, lines in zip(tops, bottoms, pages, strict=True)]


def _leading(edges: list[list[str]]) -> list[int]:
    forms = [[" ".join(_DIGITS.sub("", line).casefold().split()) for line in lines] for lines in edges]
    pages_with: dict[str, int] = {}
    for page in forms:
        for form in set(page):
            pages_with[form] = pages_with.get(form, 0) + 1
    enough = max(3, len(edges) / 2)
    counts = []
    for page in forms:
        n = 0
        while n < len(page) and pages_with[page[n]] >= enough:
            n += 1
        counts.append(n)
    return counts
