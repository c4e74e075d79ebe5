"""Which passages are dropped for what they are, each with a reason and the figure behind it.

The rules in order, first come first counted: length; dominated by digits or symbols; degenerate table. A table goes to
its own rule, so that tables of figures are counted as such and not as passages of digits. Near-duplicates, which depend
on other passages, are found last (``neardup``).

What tender documents hold, and what becomes of it:

- Forms ("Name: ........", "Ort, Datum ____ Unterschrift ____"), telephone and account lines, bare lists of norms and
  article numbers are dominated by digits or symbols. A blank to fill in counts as at most twenty signs however wide it
  was printed, so that a requirement with a long blank behind it stays.
- A requirement full of figures stays ("max. 0.15 mg/m3, U-Wert <= 0.8 W/m2K"): a figure is a figure, but what stands
  in a unit or a compound ("mg/m3", "3-fach", "W/m2K") belongs to its word.
- Price lists, schedules of dates, empty forms in columns and tables of contents are degenerate tables. A bill of
  quantities stays where its rows describe work in whole phrases, whatever the columns for quantity and price hold.
"""

import re
import string
from functools import lru_cache
from typing import NamedTuple

from tendril_assets.spec_corpus import FilterSpec

FILTER_VERSION = "filter-2"
MAX_POOR_CELLS = 2 / 3
MIN_WORDS_PER_ROW = 5
BLANK_SIGNS = 20

_CELL_BREAK = re.compile(r" *[|\t] *")
_RULED_ROW = re.compile(r"(?=.*[-=+])[\s|:+=-]*\Z")
_WORD = re.compile(r"[^\W\d_²³¹¼½¾⁰-₉]{2,}")
# A unit of a figure is no content of a cell.
_UNITS = frozenset(
    unit
    for units in (
        "kg mg to lt lfm qm cm mm km dm ha kw kwh mwh gwh kv va hz db pa kn mpa bar std min sek",
        "st stk stck stück pce pcs pz pièce pezzo gl pl psch pausch pauschal global up per le",
        "chf eur fr sfr usd ca ja nein oui non sì no xx",
    )
    for unit in units.split()
)
# Dots, underscores or dashes in a row, also with blanks in between: a leader, or a blank to fill in.
_BLANK = re.compile(r"([._…·‧∙-])\s?(?:\1\s?){3,}|…+")
# An entry of a table of contents ends like this; a run is looked at from its first sign only.
_PAGE = re.compile(r"(?<![.·…_])(?<![.·…_] )(?:(?:[.·…_] ?){4,}+|…++)\s*+\|?\s*+(?:\d{1,4}|[ivxl]{1,6})$")
_NO_LETTERS = bytes(set(range(256)) - set(string.ascii_letters.encode()))
_LEADERS = ("..", "…", ". .", "··", "· ·", "__")


class Decision(NamedTuple):
    """``reason`` None keeps the passage. ``figure``: characters for too_short and too_long, else the share."""

    reason: str | None
    figure: float | None


KEPT = Decision(None, None)


def decide(text: str, spec: FilterSpec) -> Decision:
    """Keep the passage (in NFC), or the first reason against it.

    too_short, too_long: the length without surrounding white space, inclusive at both ends; degenerate_table: see
    ``degenerate_share``; digits_or_symbols: ``nonletter_share`` above the limit of the specification.
    """
    bare = text.strip()
    if len(bare) < spec.min_characters:
        return Decision("too_short", float(len(bare)))
    if len(bare) > spec.max_characters:
        return Decision("too_long", float(len(bare)))
    poor = degenerate_share(bare)
    if poor is not None:
        return Decision("degenerate_table", poor)
    if _mostly_letters(bare, spec.max_nonletter_share):
        return KEPT
    share = nonletter_share(bare)
    return Decision("digits_or_symbols", share) if share > spec.max_nonletter_share else KEPT


def _mostly_letters(text: str, limit: float) -> bool:
    """Whether the ASCII letters alone keep ``nonletter_share`` within the limit: the quick way for most passages."""
    letters = len(text.encode(errors="replace").translate(None, _NO_LETTERS))
    signs = len(text) - text.count(" ") - text.count("\n")
    return signs - letters <= limit * signs


def nonletter_share(text: str) -> float:
    """Share of digits and symbols among the signs of a text; white space and cell separators are none.

    The signs of a word with at least as many letters as other signs ("3-fach", "mg/m3") all count as letters, and a
    blank to fill in or a leader counts as at most twenty signs. A text without a sign is nothing but blanks: 1.0.
    """
    letters = signs = 0
    for word in _BLANK.sub(_shortened, text).replace("|", " ").split():
        size = len(word)
        signs += size
        letters += size if word.isalpha() else _letters(word)
    return (signs - letters) / signs if signs else 1.0


@lru_cache(maxsize=1 << 16)
def _letters(word: str) -> int:
    """Letters of a word, or all its signs where letters are at least half; a mark above a letter goes with it."""
    letters = sum(char.isalpha() for char in word)
    return len(word) if 2 * letters >= len(word) else letters


def _shortened(found: re.Match[str]) -> str:
    signs = "".join(found[0].split())
    return f" {signs[:BLANK_SIGNS]} "


def degenerate_share(text: str) -> float | None:
    """What makes a text a degenerate table, as a share, or None where it is none.

    Of a table: the share of cells without a word, above ``MAX_POOR_CELLS``, where the rows hold fewer than
    ``MIN_WORDS_PER_ROW`` words on average. Of a table of contents: the share of lines that end in a leader and a page
    number, at least half.
    """
    poor = poor_cells(text)
    if poor is not None and poor.share > MAX_POOR_CELLS and poor.words_per_row < MIN_WORDS_PER_ROW:
        return poor.share
    if not any(leader in text for leader in _LEADERS):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    entries = sum(_is_entry(line) for line in lines)
    return entries / len(lines) if 2 * entries >= len(lines) > 0 else None


def _is_entry(line: str) -> bool:
    page = _PAGE.search(line.rstrip())
    return page is not None and _WORD.search(line, 0, page.start()) is not None


class PoorCells(NamedTuple):
    """``share`` of the cells of a table that hold no word; ``words_per_row`` on average."""

    share: float
    words_per_row: float


def poor_cells(text: str) -> PoorCells | None:
    """How poor a table is; None where the text is no table.

    A table: at least two rows, and at least half of the lines, are parted by ``|`` or tabs. Empty cells count, rows
    that only draw a line do not. A word has two letters in a row and is no unit.
    """
    if "|" not in text and "\t" not in text:
        return None
    lines = [line for line in text.split("\n") if line.strip() and not _RULED_ROW.match(line)]
    rows = [cells for line in lines if len(cells := _cells(line)) > 1]
    if len(rows) < 2 or 2 * len(rows) < len(lines):
        return None
    words = [sum(word.lower() not in _UNITS for word in _WORD.findall(cell)) for row in rows for cell in row]
    return PoorCells(words.count(0) / len(words), sum(words) / len(rows))


def _cells(line: str) -> list[str]:
    inner = line.strip(" ")
    # A frame around the row ("| a | b |") makes no empty cells.
    if inner.startswith("|") and inner.endswith("|") and len(inner) > 1:
        inner = inner[1:-1].strip(" ")
    return _CELL_BREAK.split(inner)
