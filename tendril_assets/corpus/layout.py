"""Reading order of a page from the boxes of its words: rows, columns, tables, paragraphs.

Coordinates are points with y pointing up, as in PDF. A page is cut into *zones*: runs of rows that share at least one
vertical gutter. A zone is set in columns, read one after the other, or a table, read row by row with `` | `` between
the cells. It counts as a table where a ruled line crosses the gutter between two rows, or where the lines of a side are
too short for running text (under three words on average, the last line aside).
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import mean, median
from typing import NamedTuple

from tendril_assets.corpus.textclean import flow, is_list_item

CELL_SEPARATOR = " | "
_MIN_GUTTER = 1.0  # of the line height; word gaps of justified text stay below
_MIN_PROSE_WORDS = 3.0
_FULL_LINE = 0.6  # share of the paragraph's width a line reaches when the next one continues it
_MARKER = re.compile(r"(?:[•·▪◦‣■●*–—-]|\(?\d{1,3}(?:\.\d{1,3})*[.)]?|\(?[a-zA-Z][.)]|§)\Z")


class Span(NamedTuple):
    """A word, a run of words or a line with its box."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def height(self) -> float:
        return self.y1 - self.y0


class Rule(NamedTuple):
    """A horizontal ruled line."""

    y: float
    x0: float
    x1: float


Gap = tuple[float, float]
Row = list[Span]


def rows_of(spans: Sequence[Span], overlap: float = 0.5) -> list[Row]:
    """Group spans into rows, top down, each from left to right.

    A span joins a row whose first span it overlaps vertically by ``overlap`` of the smaller height; runs of words on
    one row that are nearer than a gutter become one span.
    """
    rows: list[Row] = []
    for span in sorted(spans, key=lambda s: (-s.y1, s.x0)):
        for row in reversed(rows[-3:]):
            shared = min(span.y1, row[0].y1) - max(span.y0, row[0].y0)
            if shared >= overlap * min(span.height, row[0].height):
                row.append(span)
                break
        else:
            rows.append([span])
    return [_joined(sorted(row, key=lambda s: s.x0)) for row in rows]


def _joined(row: Row) -> Row:
    out: Row = []
    for span in row:
        gap = span.x0 - out[-1].x1 if out else 0.0
        height = min(span.height, out[-1].height) if out else 0.0
        # A bullet or number and its text are one, however wide the indent.
        if out and (gap < _MIN_GUTTER * height or (len(out) == 1 and gap < 6 * height and _MARKER.match(out[-1].text))):
            last = out.pop()
            glue = "" if abs(gap) < 0.06 * height else " "
            text = f"{last.text}{glue}{span.text}"
            out.append(Span(text, last.x0, min(last.y0, span.y0), span.x1, max(last.y1, span.y1)))
        else:
            out.append(span)
    return out


def page_text(spans: Sequence[Span], rules: Sequence[Rule] = ()) -> str:
    """The page's text in reading order: paragraphs parted by an empty line, table rows by a line break."""
    return "\n\n".join(block for block in _blocks(spans, rules) if block.strip())


def _blocks(spans: Sequence[Span], rules: Sequence[Rule]) -> list[str]:
    # A lower overlap than for lines: the baselines of two columns need not meet.
    rows = rows_of(spans, overlap=0.3)
    blocks: list[str] = []
    plain: list[Row] = []
    i = 0
    while i < len(rows):
        start, end, gaps = _zone(rows, i, lowest=i - len(plain))
        if not gaps:
            plain.append(rows[i])
            i += 1
            continue
        blocks += _paragraphs(plain[: len(plain) - (i - start)])
        plain = []
        zone = rows[start:end]
        if _is_table(zone, gaps, rules):
            # A line below that fills the first cell only is text that happens to be short, unless a rule holds it.
            while not _rules_between(zone, gaps, rules) and not any(_cells(zone[-1], gaps)[1:]):
                zone.pop()
            blocks.append(_table(zone, gaps, rules))
        else:
            blocks += _columns(zone, gaps, rules)
        i = start + len(zone)
    return blocks + _paragraphs(plain)


def _zone(rows: list[Row], seed: int, lowest: int) -> tuple[int, int, list[Gap]]:
    """Rows start..end around ``seed`` that share its gutters, and those gutters; none where the seed stands alone."""
    height = median(span.height for span in rows[seed])
    gaps = [(a.x1, b.x0) for a, b in pairwise(rows[seed])]
    start, end = seed, seed + 1
    while gaps and end < len(rows) and _near(rows[end - 1], rows[end]):
        left = _shared(gaps, rows[end], height)
        if not left:
            break
        gaps, end = left, end + 1
    # Above the seed only lines of a right column matter: those of the left one are read first in any case.
    while gaps and start > lowest and _near(rows[start - 1], rows[start]) and rows[start - 1][0].x0 >= gaps[0][1]:
        start -= 1
    both_sides = sum(sum(map(bool, _cells(row, gaps))) > 1 for row in rows[start:end])
    return start, end, gaps if both_sides > 1 else []


def _near(upper: Row, lower: Row) -> bool:
    gap = min(s.y0 for s in upper) - max(s.y1 for s in lower)
    return gap <= 1.2 * min(max(s.height for s in upper), max(s.height for s in lower))


def _shared(gaps: list[Gap], row: Row, height: float) -> list[Gap]:
    """The parts of ``gaps`` that ``row`` leaves free, where still wide enough for a gutter."""
    for span in row:
        cut: list[Gap] = []
        for x0, x1 in gaps:
            if span.x1 <= x0 or span.x0 >= x1:
                cut.append((x0, x1))
            else:
                cut += [g for g in ((x0, min(x1, span.x0)), (max(x0, span.x1), x1)) if g[1] - g[0] >= 0.8 * height]
        gaps = cut
    return gaps


def _cells(row: Row, gaps: list[Gap]) -> list[str]:
    """Texts of ``row`` by column; '' where a column is empty."""
    bounds = [(x0 + x1) / 2 for x0, x1 in gaps]
    cells: list[list[str]] = [[] for _ in range(len(gaps) + 1)]
    for span in row:
        cells[sum(span.x0 >= bound for bound in bounds)].append(span.text)
    return [" ".join(cell) for cell in cells]


def _is_table(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> bool:
    if _rules_between(zone, gaps, rules):
        return True
    for column in zip(*(_cells(row, gaps) for row in zone), strict=True):
        lines = [cell for cell in column if cell]
        if mean(len(line.split()) for line in lines[:-1] or lines) < _MIN_PROSE_WORDS:
            return True
    return False


def _rules_between(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> list[float]:
    """Heights of the ruled lines that run between two rows of the zone and across one of its gutters."""
    top, bottom = _middle(zone[0]), _middle(zone[-1])
    crossing = {r.y for r in rules if any(r.x0 <= x0 + 1 and r.x1 >= x1 - 1 for x0, x1 in gaps)}
    return sorted((y for y in crossing if bottom < y < top), reverse=True)


def _middle(row: Row) -> float:
    return mean((span.y0 + span.y1) / 2 for span in row)


def _table(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> str:
    """Rows of cells. Lines between two ruled lines are one row; without rules a line with one cell that is not the
    first one continues the row above."""
    ruled = _rules_between(zone, gaps, rules)
    table: list[list[str]] = []
    band_of_last = -1
    for row in zone:
        cells = _cells(row, gaps)
        band = sum(_middle(row) < y for y in ruled)
        continues = (band == band_of_last) if ruled else (not cells[0] and sum(map(bool, cells)) == 1)
        if table and continues:
            table[-1] = [
                flow([a, b], [True, True]) if a and b else a or b for a, b in zip(table[-1], cells, strict=True)
            ]
        else:
            table.append(cells)
        band_of_last = band
    return "\n".join(CELL_SEPARATOR.join(cells) for cells in table)


def _columns(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> list[str]:
    bounds = [(x0 + x1) / 2 for x0, x1 in gaps]
    columns: list[list[Span]] = [[] for _ in range(len(gaps) + 1)]
    for span in (span for row in zone for span in row):
        columns[sum(span.x0 >= bound for bound in bounds)].append(span)
    return [block for column in columns for block in _blocks(column, rules)]


def _paragraphs(rows: list[Row]) -> list[str]:
    """Blocks of flowing text: a new one at a wider gap than usual or another font size."""
    lines = [
        Span(" ".join(s.text for s in row), row[0].x0, min(s.y0 for s in row), row[-1].x1, max(s.y1 for s in row))
        for row in rows
    ]
    gaps = [upper.y0 - lower.y1 for upper, lower in pairwise(lines)]
    usual = median(gaps) if gaps else 0.0
    blocks: list[list[Span]] = []
    for i, line in enumerate(lines):
        height = min(line.height, lines[i - 1].height) if i else line.height
        wide = i == 0 or (gaps[i - 1] > 0.25 * height and gaps[i - 1] > min(usual + 0.4 * height, 1.2 * height))
        resized = i > 0 and max(line.height, lines[i - 1].height) > 1.2 * height
        if wide or (resized and not is_list_item(line.text)):
            blocks.append([])
        blocks[-1].append(line)
    return [_flowing(block) for block in blocks]


def _flowing(block: list[Span]) -> str:
    left, right = min(line.x0 for line in block), max(line.x1 for line in block)
    full = [line.x1 >= left + _FULL_LINE * (right - left) for line in block]
    return flow([line.text for line in block], full)


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
