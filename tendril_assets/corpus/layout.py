"""Reading order of a page from the boxes of its words: rows, columns, tables, paragraphs.

Tables with ruled lines come first (``ruled``): each parts the page into what is above it and what is below. The rest
is cut into *zones*: runs of rows that share at least one vertical gutter. A zone is set in columns, read one after the
other, or a table, read row by row with `` | `` between the cells. It counts as a table where a ruled line crosses the
gutter between two rows; where its entries stand side by side, one row of them under the other; or where a side does
not look like running text: under three words to a line (the last one aside), and not of long lines of about one length.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from tendril_assets.corpus.boxes import (
    CELL_SEPARATOR,
    Drawn,
    Gap,
    Row,
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
from tendril_assets.corpus.line_ends import flow, is_list_item
from tendril_assets.corpus.ruled import ruled_tables

_MIN_PROSE_WORDS = 3.0
_MIN_PROSE_LINE = 25  # characters
_FULL_LINE = 0.6  # share of the longest line
_MIN_ENTRY_ROWS = 3
_RAGGED = 0.2  # of the width: how far lines of a paragraph may end from its right edge


def page_text(spans: Sequence[Span], drawn: Drawn = Drawn()) -> str:  # noqa: B008 - immutable
    """The page's text in reading order: paragraphs parted by an empty line, table rows by a line break."""
    return "\n\n".join(block for block in _blocks(spans, drawn) if block.strip())


def _blocks(spans: Sequence[Span], drawn: Drawn) -> list[str]:
    blocks: list[str] = []
    rest = list(spans)
    for table in ruled_tables(spans, drawn) if drawn.rules else []:
        blocks += _zones([span for span in rest if span.y0 + span.y1 >= 2 * table.top], drawn)
        blocks += [table.text] if table.text is not None else _zones(table.framed, drawn)
        rest = [span for span in rest if span.y0 + span.y1 < 2 * table.bottom]
    return blocks + _zones(rest, drawn)


def _zones(spans: Sequence[Span], drawn: Drawn) -> list[str]:
    # A lower overlap than for lines: the baselines of two columns need not meet.
    rows = rows_of(spans, overlap=0.3)
    rules = drawn.rules
    blocks: list[str] = []
    plain: list[Row] = []
    i = 0
    while i < len(rows):
        start, end, gaps = _zone(rows, i, lowest=i - len(plain), rules=rules)
        if not gaps:
            plain.append(rows[i])
            i += 1
            continue
        blocks += _paragraphs(plain[: len(plain) - (i - start)], rules)
        plain = []
        zone = rows[start:end]
        columns = _Columns.of(zone, gaps)
        if _is_table(zone, columns, rules):
            # A line below that fills the first cell only is text that happens to be short, unless a rule holds it.
            while not _rules_between(zone, gaps, rules) and not any(columns.cells(zone[-1])[1:]):
                zone.pop()
            blocks.append(_table(zone, columns, rules))
        else:
            sides = by_column([span for row in zone for span in row], columns.bounds)
            blocks += [block for side in sides for block in _blocks(side, drawn)]
        i = start + len(zone)
    return blocks + _paragraphs(plain, rules)


class _Columns(NamedTuple):
    gaps: list[Gap]
    bounds: list[float]
    starts: list[float]  # heights at which an entry of every column begins

    @classmethod
    def of(cls, zone: list[Row], gaps: list[Gap]) -> "_Columns":
        bounds = [(x0 + x1) / 2 for x0, x1 in gaps]
        return cls(gaps, bounds, _entry_rows(zone, bounds))

    def cells(self, row: Row) -> list[str]:
        """Texts of ``row`` by column; '' where a column is empty."""
        return [" ".join(span.text for span in cell) for cell in by_column(row, self.bounds)]


def _entry_rows(zone: list[Row], bounds: list[float]) -> list[float]:
    """Heights of the rows that begin an entry in all columns, behind a gap in all of them; none where columns of text
    are as likely.

    Entries of one row stand side by side on the same lines and are seldom as long as each other, while the next ones
    begin below the longest. In columns of text gaps are of one size and stand where they fall.
    """
    height = median(span.height for row in zone for span in row)
    uneven_lines = sum(max(s.y0 for s in row) - min(s.y0 for s in row) > 0.15 * height for row in zone)
    if uneven_lines > 0.1 * len(zone):
        return []
    first = starts_behind_gaps(zone)
    if len(first) < _MIN_ENTRY_ROWS:
        return []
    entries = [zone[a:b] for a, b in pairwise([*first, len(zone)])]
    filled = [[[bool(cell) for cell in by_column(row, bounds)] for row in entry] for entry in entries]
    if not all(all(map(any, zip(*rows, strict=True))) for rows in filled):
        return []
    wrapped = [rows for rows in filled if len(rows) > 1]
    uneven = sum(not (all(rows[0]) and all(rows[-1])) for rows in wrapped)
    return [middle(zone[i]) for i in first] if wrapped and uneven >= 0.5 * len(wrapped) else []


def _zone(rows: list[Row], seed: int, lowest: int, rules: Sequence[Rule]) -> tuple[int, int, list[Gap]]:
    """Rows start..end around ``seed`` that share its gutters, and those gutters; none where the seed stands alone."""
    if len(rows[seed]) < 2:
        return seed, seed + 1, []
    height = median(span.height for span in rows[seed])
    gaps = gaps_of(rows[seed])
    start, end = seed, seed + 1
    while gaps and end < len(rows) and _linked(rows[end - 1], rows[end], gaps, rules):
        left = shared_gaps(gaps, rows[end], height)
        if not left:
            break
        gaps, end = left, end + 1
    # Above the seed only lines of a right column matter, for those of the left one are read first in any case, and
    # lines below a ruled line, which belong to the first row of a table.
    while gaps and start > lowest and _linked(rows[start - 1], rows[start], gaps, rules):
        above = rows[start - 1]
        ruled = any(rule.y > middle(above) for rule in _crossing(gaps, rules))
        if not (ruled and shared_gaps(gaps, above, height) == gaps) and above[0].x0 < gaps[0][1]:
            break
        start -= 1
    bounds = [(x0 + x1) / 2 for x0, x1 in gaps]
    both_sides = sum(sum(map(bool, by_column(row, bounds))) > 1 for row in rows[start:end])
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
    top, bottom = middle(upper), middle(lower)
    return _near(upper, lower) or any(bottom < rule.y < top for rule in _crossing(gaps, rules))


def _crossing(gaps: list[Gap], rules: Sequence[Rule]) -> list[Rule]:
    return [rule for rule in rules if any(rule.x0 <= x0 + 1 and rule.x1 >= x1 - 1 for x0, x1 in gaps)]


def _near(upper: Row, lower: Row) -> bool:
    gap = min(s.y0 for s in upper) - max(s.y1 for s in lower)
    return gap <= 1.2 * min(max(s.height for s in upper), max(s.height for s in lower))


def _is_table(zone: list[Row], columns: _Columns, rules: Sequence[Rule]) -> bool:
    if columns.starts or _rules_between(zone, columns.gaps, rules):
        return True
    texts = zip(*(columns.cells(row) for row in zone), strict=True)
    return not all(_is_prose([cell for cell in column if cell]) for column in texts)


def _is_prose(lines: list[str]) -> bool:
    lines = lines[:-1] or lines
    if sum(len(line.split()) for line in lines) >= _MIN_PROSE_WORDS * len(lines):
        return True
    # Long words in a narrow column: few to a line, but the lines are about equally long.
    longest = max(map(len, lines))
    full = sum(len(line) >= _FULL_LINE * longest for line in lines)
    return longest >= _MIN_PROSE_LINE and full >= 0.7 * len(lines) and len(lines) > 2


def _rules_between(zone: list[Row], gaps: list[Gap], rules: Sequence[Rule]) -> list[float]:
    """Heights of the ruled lines that run between two rows of the zone and across one of its gutters."""
    top, bottom = middle(zone[0]), middle(zone[-1])
    return sorted({rule.y for rule in _crossing(gaps, rules) if bottom < rule.y < top}, reverse=True)


def _table(zone: list[Row], columns: _Columns, rules: Sequence[Rule]) -> str:
    """Rows of cells. Lines between two ruled lines are one row, and so are lines below the start of an entry; a single
    ruled line, below the head, leaves it to the gaps. Without any of these a line with one cell that is not the first
    one continues the row above."""
    ruled = _rules_between(zone, columns.gaps, rules)
    starts = columns.starts
    if not starts and len(ruled) == 1 and len(behind := starts_behind_gaps(zone)) > 1:
        starts = [middle(zone[i]) for i in behind]
    in_bands = len(ruled) > 1 or (ruled and not starts)
    table: list[list[str]] = []
    band_of_last = -1
    for row in zone:
        cells = columns.cells(row)
        at = middle(row)
        band = sum(at < y for y in ruled) if in_bands else sum(at <= y for y in starts)
        continues = (band == band_of_last) if in_bands or starts else (not cells[0] and sum(map(bool, cells)) == 1)
        if table and continues:
            table[-1] = [_cell_text(a, b) for a, b in zip(table[-1], cells, strict=True)]
        else:
            table.append(cells)
        band_of_last = band
    return "\n".join(CELL_SEPARATOR.join(cells) for cells in table)


def _cell_text(above: str, below: str) -> str:
    return flow([above, below], [True]).replace("\n", " ") if above and below else above or below


def _paragraphs(rows: list[Row], rules: Sequence[Rule]) -> list[str]:
    """Blocks of flowing text: a new one at a wider gap than usual, a ruled line or another font size."""
    lines = [line_of(row) for row in rows]
    gaps = [upper.y0 - lower.y1 for upper, lower in pairwise(lines)]
    usual = median(gaps) if gaps else 0.0
    blocks: list[list[Span]] = []
    for i, line in enumerate(lines):
        height = min(line.height, lines[i - 1].height) if i else line.height
        wide = i == 0 or (gaps[i - 1] > 0.25 * height and gaps[i - 1] > min(usual + 0.4 * height, 1.2 * height))
        resized = i > 0 and max(line.height, lines[i - 1].height) > 1.2 * height
        if wide or (resized and not is_list_item(line.text)) or _is_ruled_off(lines[i - 1], line, rules):
            blocks.append([])
        blocks[-1].append(line)
    around = max((line.x1 for line in lines), default=0.0)
    return [_flowing(block, around) for block in blocks]


def _is_ruled_off(upper: Span, lower: Span, rules: Sequence[Rule]) -> bool:
    """Whether a line is drawn between the two, and not just under some words."""
    low, high = lower.y0 + 0.8 * lower.height, upper.y0 + 0.1 * upper.height
    x0, x1 = min(upper.x0, lower.x0), max(upper.x1, lower.x1)
    return any(low <= rule.y <= high and rule.x0 <= x0 + 5 and rule.x1 >= x1 - 5 for rule in rules)


def _flowing(block: list[Span], around: float) -> str:
    own, left = max(line.x1 for line in block), min(line.x0 for line in block)
    # Most lines reach the right edge of a paragraph that was broken there; those of an address stay far from any.
    reach = sum(line.x1 > own - _RAGGED * (own - left) for line in block[:-1])
    is_broken = len(block) > 2 and reach >= 0.6 * (len(block) - 1) and own - left > 0.4 * (around - left)
    right = own if is_broken else around
    return flow([line.text for line in block], [_is_full(a, b, right) for a, b in pairwise(block)])


def _is_full(line: Span, following: Span, right: float) -> bool:
    """Whether the first word of the following line would not have fitted behind ``line``: the break is no author's.

    A sentence that goes on in small letters is one line with what is before it, whatever the width.
    """
    if following.text[0].islower() and line.text[-1] not in ".!?:;" and len(line.text) >= _MIN_PROSE_LINE:
        return True
    return line.x1 + 0.2 * line.height + 0.98 * following.first_word > right
