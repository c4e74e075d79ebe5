"""Runs of words with their boxes, the lines drawn on a page, and the rows they stand in.

Coordinates are points with y pointing up, as in PDF.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

CELL_SEPARATOR = " | "
MIN_GUTTER = 1.0  # of the line height; word gaps of justified text stay below
_MARKER = re.compile(r"(?:[•·▪◦‣■●✓☐☒*–—-]|\(?\d{1,3}(?:\.\d{1,3})*[.)]?|\(?[a-zA-Z][.)]|§)\Z")


class Span(NamedTuple):
    """A word, a run of words or a line with its box. ``head``: where its first word ends; 0 where it is one word."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    head: float = 0.0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def first_word(self) -> float:
        """Width of the first word."""
        return (self.head or self.x1) - self.x0


class Rule(NamedTuple):
    """A horizontal ruled line."""

    y: float
    x0: float
    x1: float


class Bar(NamedTuple):
    """A vertical ruled line."""

    x: float
    y0: float
    y1: float


class Drawn(NamedTuple):
    """The ruled lines of a page, pieces that touch put together."""

    rules: Sequence[Rule] = ()
    bars: Sequence[Bar] = ()


Gap = tuple[float, float]
Row = list[Span]


def rows_of(spans: Sequence[Span], overlap: float = 0.5, *, join: bool = True) -> list[Row]:
    """Group spans into rows, top down, each from left to right.

    A span joins a row whose first span it overlaps vertically by ``overlap`` of the smaller height; with ``join`` runs
    of words on one row that are nearer than a gutter become one span.
    """
    rows: list[Row] = []
    for span in sorted(spans, key=_from_the_top):
        _, _, y0, _, y1, _ = span
        for row in rows[:-4:-1]:
            _, _, first_y0, _, first_y1, _ = row[0]
            shared = (y1 if y1 < first_y1 else first_y1) - (y0 if y0 > first_y0 else first_y0)
            if shared >= overlap * min(y1 - y0, first_y1 - first_y0):
                row.append(span)
                break
        else:
            rows.append([span])
    rows = [sorted(row, key=lambda s: s.x0) if len(row) > 1 else row for row in rows]
    if not join:
        return rows
    return [
        _joined(row, rows[max(0, i - 1) : i], rows[i + 1 : i + 2]) if len(row) > 1 else row
        for i, row in enumerate(rows)
    ]


def _from_the_top(span: Span) -> tuple[float, float]:
    return -span[4], span[1]


def _joined(row: Row, above: list[Row], below: list[Row]) -> Row:
    out: Row = row[:1]
    for i, span in enumerate(row[1:]):
        last = out[-1]
        gap, height = span.x0 - last.x1, min(span.height, last.height)
        # A bullet or number and its text are one, however wide the indent.
        marked = len(out) == 1 and gap < 6 * height and _MARKER.match(last.text)
        if gap < MIN_GUTTER * height or marked or _is_justified(row, i, above, below):
            out[-1] = joined(last, span, "" if abs(gap) < 0.06 * height else " ")
        else:
            out.append(span)
    return out


def joined(first: Span, second: Span, glue: str = " ") -> Span:
    """One span of two on a row."""
    head = first.head or (first.x1 if glue else 0.0)
    y0, y1 = min(first.y0, second.y0), max(first.y1, second.y1)
    return Span(f"{first.text}{glue}{second.text}", first.x0, y0, max(first.x1, second.x1), y1, head)


def line_of(row: Row) -> Span:
    """The whole row as one span."""
    line = row[0]
    for span in row[1:]:
        line = joined(line, span)
    return line


def _is_justified(row: Row, i: int, above: list[Row], below: list[Row]) -> bool:
    """Whether the wide gap behind span ``i`` is the even word space of a justified line.

    It is as wide as a gap next to it, and no gutter: not free in the row above and in the row below.
    """
    x0, x1, height = row[i].x1, row[i + 1].x0, row[i].height
    if x1 - x0 > 4 * height:
        return False
    beside = [b.x0 - a.x1 for a, b in (*pairwise(row[max(0, i - 1) : i + 1]), *pairwise(row[i + 1 : i + 3]))]
    if not any(abs(x1 - x0 - gap) < 0.03 * height for gap in beside):
        return False
    return not (above and below and all(shared_gaps([(x0, x1)], other, height) for other in (above[0], below[0])))


def gaps_of(row: Row) -> list[Gap]:
    return [(a.x1, b.x0) for a, b in pairwise(row)]


def shared_gaps(gaps: list[Gap], row: Row, height: float) -> list[Gap]:
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


def by_column(row: Sequence[Span], bounds: Sequence[float]) -> list[list[Span]]:
    """Spans of ``row`` by the columns that ``bounds`` part; the middle of a span decides."""
    columns: list[list[Span]] = [[] for _ in range(len(bounds) + 1)]
    for span in row:
        columns[sum((span.x0 + span.x1) / 2 >= bound for bound in bounds)].append(span)
    return columns


def starts_behind_gaps(rows: list[Row]) -> list[int]:
    """Numbers of the rows that follow a gap wider than the closest ones, and 0."""
    gaps = [min(s.y0 for s in a) - max(s.y1 for s in b) for a, b in pairwise(rows)]
    height = median(span.height for row in rows for span in row)
    return [0, *(i for i, gap in enumerate(gaps, start=1) if gap > min(gaps) + 0.3 * height)]


def middle(row: Row) -> float:
    """Height of the middle of a row."""
    return sum(span.y0 + span.y1 for span in row) / (2 * len(row))
