"""Reading order of a page from the boxes of its words: rows, columns, tables, paragraphs.

Coordinates are points with y pointing up, as in PDF. A page is cut into *zones*: runs of rows that share at least one
vertical gutter. A zone is set in columns, read one after the other, or a table, read row by row with `` | `` between
the cells. It counts as a table where a ruled line crosses the gutter between two rows, or where a side does not look
like running text: under three words to a line (the last one aside), and not of long lines of about one length either.
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
_MIN_PROSE_LINE = 25  # characters
_FULL_LINE = 0.6  # share of the longest line
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
    rows = [sorted(row, key=lambda s: s.x0) for row in rows]
    return [_joined(row, rows[max(0, i - 1) : i], rows[i + 1 : i + 2]) for i, row in enumerate(rows)]


def _joined(row: Row, above: list[Row], below: list[Row]) -> Row:
    out: Row = row[:1]
    for i, span in enumerate(row[1:]):
        last = out[-1]
        gap, height = span.x0 - last.x1, min(span.height, last.height)
        # A bullet or number and its text are one, however wide the indent.
        marked = len(out) == 1 and gap < 6 * height and _MARKER.match(last.text)
        if gap < _MIN_GUTTER * height or marked or _is_justified(row, i, above, below):
            glue = "" if abs(gap) < 0.06 * height else " "
            text = f"{last.text}{glue}{span.text}"
            out[-1] = Span(text, last.x0, min(last.y0, span.y0), span.x1, max(last.y1, span.y1))
        else:
            out.append(span)
    return out


def _is_justified(row: Row, i: int, above: list[Row], below: list[Row]) -> bool:
    """Whether the wide gap behind word ``i`` is the even word space of a justified line.

    It is as wide as a gap next to it, and no gutter: not free in the row above and in the row below.
    """
    x0, x1, height = row[i].x1, row[i + 1].x0, row[i].height
    if x1 - x0 > 4 * height:
        return False
    beside = [b.x0 - a.x1 for a, b in (*pairwise(row[max(0, i - 1) : i + 1]), *pairwise(row[i + 1 : i + 3]))]
    if not any(abs(x1 - x0 - gap) < 0.03 * height for gap in beside):
        return False
    return not (above and below and all(_shared([(x0, x1)], other, height) for other in (above[0], below[0])))


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
        start, end, gaps = _zone(rows, i, lowest=i - len(plain), rules=rules)
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


def _zone(rows: list[Row], seed: int, lowest: int, rules: Sequence[Rule]) -> tuple[int, int, list[Gap]]:
    """Rows start..end around ``seed`` that share its gutters, and those gutters; none where the seed stands alone."""
    height = median(span.height for span in rows[seed])
    gaps = [(a.x1, b.x0) for a, b in pairwise(rows[seed])]
    start, end = seed, seed + 1
    while gaps and end < len(rows) and _linked(rows[end - 1], rows[end], gaps, rules):
        left = _shared(gaps, rows[end], height)
        if not left:
            break
        gaps, end = left, end + 1
    # Above the seed only lines of a right column matter, for those of the left one are read first in any case, and
    # lines below a ruled line, which belong to the first row of a table.
    while gaps and start > lowest and _linked(rows[start - 1], rows[start], gaps, rules):
        above = rows[start - 1]
        ruled = any(rule.y > _middle(above) for rule in _crossing(gaps, rules))
        if not (ruled and _shared(gaps, above, height) == gaps) and above[0].x0 < gaps[0][1]:
            break
        start -= 1
    both_sides = sum(sum(map(bool, _cells(row, gaps))) > 1 for row in rows[start:end])
    return start, end, gaps if both_sides > 1 and not _is_justified_block(rows[start:end]) else []


def _is_justified_block(zone: list[Row]) -> bool:
    """Whether the gaps are word spaces of justified text: flush on both sides, while what is right of them is ragged.

    A column of figures set flush right looks the same, so digits there speak against it.
    """
    rows = zone[:-1] if len(zone) > 2 else zone
    lefts, rights = [row[0].x0 for row in rows], [row[-1].x1 for row in rows]
    inner = [row[-1].x0 for row in rows if len(row) > 1]
    flush = max(lefts) - min(lefts) < 1 and max(rights) - min(rights) < 1
    ragged = len(inner) > 1 and max(inner) - min(inner) > 3
    return flush and ragged and not any(char.isdigit() for row in rows for char in row[-1].text)


def _linked(upper: Row, lower: Row, gaps: list[Gap], rules: Sequence[Rule]) -> bool:
    """Whether two rows follow each other at the usual distance, or are parted by nothing but a line of their table."""
    top, bottom = _middle(upper), _middle(lower)
    return _near(upper, lower) or any(bottom < rule.y < top for rule in _crossing(gaps, rules))


def _crossing(gaps: list[Gap], rules: Sequence[Rule]) -> list[Rule]:
    return [rule for rule in rules if any(rule.x0 <= x0 + 1 and rule.x1 >= x1 - 1 for x0, x1 in gaps)]


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
    columns = zip(*(_cells(row, gaps) for row in zone), strict=True)
    return not all(_is_prose([cell for cell in column if cell]) for column in columns)


def _is_prose(lines: list[str]) -> bool:
    lines = lines[:-1] or lines
    if mean(len(line.split()) for line in lines) >= _MIN_PROSE_WORDS:
        return True
    # Long words in a narrow column: few to a line, but the lines are about equally long.
    longest = max(map(len, lines))
    full = sum(len(line) >= _FULL_LINE * longest for line in lines)
    return longest >= _MIN_PROSE_LINE and full >= 0.7 * len(lines) and len(lines) > 2


def _rules_between(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> list[float]:
    """Heights of the ruled lines that run between two rows of the zone and across one of its gutters."""
    top, bottom = _middle(zone[0]), _middle(zone[-1])
    return sorted({rule.y for rule in _crossing(gaps, rules) if bottom < rule.y < top}, reverse=True)


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
            table[-1] = [flow([a, b], [True]) if a and b else a or b for a, b in zip(table[-1], cells, strict=True)]
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
    right = max(line.x1 for line in block)
    return flow([line.text for line in block], [_is_full(a, b, right) for a, b in pairwise(block)])


def _is_full(line: Span, following: Span, right: float) -> bool:
    """Whether the first word of the following line would not have fitted behind ``line``: the break is no author's."""
    first_word = len(following.text.split(" ", 1)[0]) + 1
    width = first_word * (following.x1 - following.x0) / len(following.text)
    return line.x1 + 0.9 * width > right
