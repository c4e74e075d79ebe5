"""Which passages are dropped for what they are, each with a reason and the figure behind it.

Near-duplicates, which depend on other passages, are found in ``neardup``.
"""

import re
from typing import NamedTuple

from tendril_assets.spec import FilterSpec

FILTER_VERSION = "filter-1"
MAX_POOR_CELLS = 2 / 3

_CELL_BREAK = re.compile(r" *[|\t] *")
_RULED_ROW = re.compile(r"(?=.*[-=+])[\s|:+=-]*\Z")
_WORD = re.compile(r"[^\W\d_]{2}")


class Decision(NamedTuple):
    """``reason`` None keeps the passage. ``figure``: characters for too_short and too_long, else the share."""

    reason: str | None
    figure: float | None


KEPT = Decision(None, None)


def decide(text: str, spec: FilterSpec) -> Decision:
    """Keep the passage, or the first reason against it: too_short, too_long, degenerate_table, digits_or_symbols.

    The length is counted without surrounding white space and is inclusive at both ends. A table goes to its own rule
    before the general one, so that tables of figures are counted as such and not as passages of digits.
    """
    bare = text.strip()
    if len(bare) < spec.min_characters:
        return Decision("too_short", float(len(bare)))
    if len(bare) > spec.max_characters:
        return Decision("too_long", float(len(bare)))
    poor = poor_cell_share(bare)
    if poor is not None and poor > MAX_POOR_CELLS:
        return Decision("degenerate_table", poor)
    share = nonletter_share(bare)
    if share > spec.max_nonletter_share:
        return Decision("digits_or_symbols", share)
    return KEPT


def nonletter_share(text: str) -> float:
    """Share of characters that are no letters among those that are neither white space nor cell separators."""
    signs = [char for char in text if not char.isspace() and char != "|"]
    return sum(not char.isalpha() for char in signs) / len(signs) if signs else 1.0


def poor_cell_share(text: str) -> float | None:
    """Share of cells without a word (two letters in a row) in a table; None where the text is no table.

    A table: at least two rows, and at least half of the lines, are parted by ``|`` or tabs. Empty cells count, rows
    that only draw a line do not.
    """
    lines = [line for line in text.split("\n") if line.strip() and not _RULED_ROW.match(line)]
    rows = [cells for line in lines if len(cells := _cells(line)) > 1]
    if len(rows) < 2 or 2 * len(rows) < len(lines):
        return None
    cells = [cell for row in rows for cell in row]
    return sum(_WORD.search(cell) is None for cell in cells) / len(cells)


def _cells(line: str) -> list[str]:
    inner = line.strip(" ")
    # A frame around the row ("| a | b |") makes no empty cells.
    if inner.startswith("|") and inner.endswith("|") and len(inner) > 1:
        inner = inner[1:-1].strip(" ")
    return _CELL_BREAK.split(inner)
