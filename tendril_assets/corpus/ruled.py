"""Tables with ruled lines: where they lie on a page and what their rows are.

A ruled table is a stack of horizontal lines of one length. The band between two of them is a row of the table where
vertical lines close it in, or else where a gutter parts its text. Vertical lines part the cells of a band; without any
in the whole table its gutters do. A frame around a single cell is no table.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tendril_assets.corpus.boxes import (
    CELL_SEPARATOR,
    Drawn,
    Gap,
    Rule,
    Span,
    by_column,
    gaps_of,
    line_of,
    middle,
    rows_of,
    shared_gaps,
    starts_behind_gaps,
)
from tendril_assets.corpus.line_ends import flow

_TOLERANCE = 3.0  # points by which the ends of lines that belong together may differ
_THIN = 4.0  # a double line, no row
_MIN_LINES_OF_ONE_BAND = 3
_HEAD_AND_BODY = 2  # bands of a table that has lines around its body only


class _Band(NamedTuple):
    """A row of a table between two lines. ``bounds``: its inner vertical lines; None where nothing closes it in."""

    top: float
    bottom: float
    spans: list[Span]
    bounds: list[float] | None


class RuledTable(NamedTuple):
    """Where a table lies, from ``top`` down to ``bottom``, and its rows as lines of text; None for a frame around one
    column of text, which is ``framed``."""

    top: float
    bottom: float
    text: str | None
    framed: list[Span]


def ruled_tables(spans: Sequence[Span], drawn: Drawn) -> list[RuledTable]:
    """The ruled tables that have no text beside them, from the top down; none overlaps another."""
    found = [table for lines in _stacks(drawn.rules) for table in _tables(lines, spans, drawn)]
    tables: list[RuledTable] = []
    for table in sorted(found, key=lambda t: (-t.top, t.bottom)):
        if not tables or table.top <= tables[-1].bottom + 1:
            tables.append(table)
    return tables


def _stacks(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Lines of one length and place, from the top down."""
    stacks: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda r: -r.y):
        for stack in stacks:
            if abs(stack[0].x0 - rule.x0) <= _TOLERANCE and abs(stack[0].x1 - rule.x1) <= _TOLERANCE:
                stack.append(rule)
                break
        else:
            stacks.append([rule])
    return [stack for stack in stacks if len(stack) > 1]


def _tables(stack: list[Rule], spans: Sequence[Span], drawn: Drawn) -> list[RuledTable]:
    x0, x1 = stack[0].x0 - _TOLERANCE, stack[0].x1 + _TOLERANCE
    bands: list[_Band] = []
    for upper, lower in pairwise(stack):
        inside = [span for span in spans if lower.y <= (span.y0 + span.y1) / 2 < upper.y]
        if upper.y - lower.y < _THIN and not inside:
            continue
        beside = any(span.x1 < x0 or span.x0 > x1 for span in inside)
        # A band with text beside the table belongs to no table of this width.
        bands.append(_Band(upper.y, lower.y, [] if beside else inside, _bounds(upper, lower, drawn)))
    tables, run = [], []
    for band in [*bands, None]:
        if band is not None and band.spans and (not run or run[-1].bottom - band.top < _THIN) and _is_row(band):
            run.append(band)
            continue
        if run:
            text = _text(run, drawn)
            if text or not any(len(row) > 1 for one in run for row in rows_of(one.spans)):
                framed = [] if text else [span for one in run for span in one.spans]
                tables.append(RuledTable(run[0].top, run[-1].bottom, text, framed))
        run = [band] if band is not None and band.spans and _is_row(band) else []
    return tables


def _bounds(upper: Rule, lower: Rule, drawn: Drawn) -> list[float] | None:
    need = 0.8 * (upper.y - lower.y)
    xs = [bar.x for bar in drawn.bars if min(bar.y1, upper.y + 1) - max(bar.y0, lower.y - 1) >= need]
    within = sorted(x for x in xs if upper.x0 - _TOLERANCE <= x <= upper.x1 + _TOLERANCE)
    if not within:
        return None
    inner = [x for x in within if upper.x0 + _TOLERANCE < x < upper.x1 - _TOLERANCE]
    return [x for i, x in enumerate(inner) if not i or x - inner[i - 1] > _TOLERANCE]


def _is_row(band: _Band) -> bool:
    return band.bounds is not None or any(len(row) > 1 for row in rows_of(band.spans, overlap=0.3))


def _text(bands: list[_Band], drawn: Drawn) -> str | None:
    """Lines of the table, or None where it has one column."""
    if all(band.bounds is None for band in bands):
        bounds = _gutters(bands)
        bands = [band._replace(bounds=bounds) for band in bands]
    if not any(band.bounds for band in bands):
        return None
    lines = []
    for band in bands:
        for cells in _rows(band, drawn, alone=len(bands) <= _HEAD_AND_BODY):
            texts = [_cell(cell) for cell in cells]
            lines.append(CELL_SEPARATOR.join(texts))
    return "\n".join(lines)


def _gutters(bands: list[_Band]) -> list[float]:
    """Middles of the gutters that all rows with more than one span share."""
    gaps: list[Gap] | None = None
    for row in (row for band in bands for row in rows_of(band.spans, overlap=0.3) if len(row) > 1):
        height = min(span.height for span in row)
        gaps = gaps_of(row) if gaps is None else shared_gaps(gaps, row, height)
    return [(x0 + x1) / 2 for x0, x1 in gaps or []]


def _rows(band: _Band, drawn: Drawn, *, alone: bool) -> list[list[list[Span]]]:
    """The band's cells: one row, or several.

    Lines under a part of the band tell rows apart, beside a cell that spans several. In a table whose body is one band
    (``alone``) gaps across all columns do; in any, a column of figures, one to a line.
    """
    bounds = band.bounds or []
    parts = _parted(band, drawn.rules)
    figures = sum(_is_figure(span.text) for span in band.spans)
    if len(parts) == 1 and bounds and (alone or figures >= _MIN_LINES_OF_ONE_BAND):
        rows = rows_of(band.spans, overlap=0.3, join=False)
        cells = [by_column(row, bounds) for row in rows]
        columns = [[line_of(row[i]).text for row in cells if row[i]] for i in range(len(bounds) + 1)]
        starts: set[int] = set()
        if len(rows) >= _MIN_LINES_OF_ONE_BAND and any(map(_is_entries, columns)):
            starts = {i for i, row in enumerate(cells) if row[0]}
        elif alone:
            starts = set(starts_behind_gaps(rows))
        parts = [list(rows[0])]
        for i, row in enumerate(rows[1:], start=1):
            if i in starts:
                parts.append(list(row))
            else:
                parts[-1] += row
    return [by_column(part, bounds) for part in parts]


def _is_entries(lines: list[str]) -> bool:
    """Whether the lines of a column are short entries of their own, such as figures, one to each row."""
    return len(lines) >= _MIN_LINES_OF_ONE_BAND and all(map(_is_figure, lines))


def _is_figure(text: str) -> bool:
    return len(text) <= 12 and text[:1].isdigit()


def _parted(band: _Band, rules: Sequence[Rule]) -> list[list[Span]]:
    """The band's spans by the lines that cross a part of it only; a cell beside them that spans several rows is whole
    and stands in the first."""
    inner = [rule for rule in rules if band.bottom + _THIN < rule.y < band.top - _THIN]
    if not inner:
        return [band.spans]
    heights = sorted({rule.y for rule in inner}, reverse=True)
    parts: dict[int, list[Span]] = {}
    for span in band.spans:
        x, y = (span.x0 + span.x1) / 2, middle([span])
        above = [rule.y for rule in inner if rule.y > y and rule.x0 - _TOLERANCE <= x <= rule.x1 + _TOLERANCE]
        parts.setdefault(heights.index(min(above)) + 1 if above else 0, []).append(span)
    return [parts[number] for number in sorted(parts)]


def _cell(spans: list[Span]) -> str:
    lines = [line_of(row).text for row in rows_of(spans)]
    return flow(lines, [True] * len(lines)).replace("\n", " ")
