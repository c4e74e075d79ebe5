"""Paragraphs, lists and tables of structured documents (Word, HTML) as blocks of text."""

import re

from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.extraction import Unreadable

Mark = tuple[int, int]
_MAX_SPAN = 100  # columns; what claims more is an attack, or a cell that means the whole width
_BLANKS = re.compile(r"[^\S\n]+")


class BlockBuilder:
    """Collects blocks; each has a mark that tells its page, counted in two ways.

    Rows of one table and items of one list are the lines of one block, as long as their marks are equal. A table
    inside a cell becomes part of that cell's text. A cell that spans several columns or rows has its text once, in the
    first place, and empty cells in the others, so that columns stay in line. Raises Unreadable (too_large) over
    ``max_characters``.
    """

    def __init__(self, max_characters: int) -> None:
        self.blocks: list[tuple[Mark, str]] = []
        self._left = max_characters
        self._max = max_characters
        self._tables: list[_OpenTable] = []
        self._last_was_item = False

    def paragraph(self, text: str, mark: Mark, *, item: bool = False) -> None:
        text = "\n".join(line.strip() for line in _BLANKS.sub(" ", text).split("\n")).strip()
        if not text:
            return
        self._left -= len(text)
        if self._left < 0:
            raise Unreadable("too_large", f"over {self._max} characters of text")
        if self._tables:
            self._tables[-1].add(text.replace("\n", " "), mark)
        elif item and self._last_was_item and self.blocks[-1][0] == mark:
            self.blocks[-1] = (mark, f"{self.blocks[-1][1]}\n{text}")
        else:
            self.blocks.append((mark, text))
        self._last_was_item = item

    def open_table(self) -> None:
        self._tables.append(_OpenTable())

    @property
    def in_table(self) -> bool:
        return bool(self._tables)

    def open_cell(self, columns: int = 1, rows: int = 1) -> None:
        if self._tables:
            self._tables[-1].open_cell(min(columns, _MAX_SPAN), rows)

    def widen_cell(self, columns: int) -> None:
        """Let the open cell span ``columns``."""
        if self._tables:
            self._tables[-1].widen_cell(min(columns, _MAX_SPAN))

    def close_row(self, *, keep: bool = True) -> None:
        if self._tables:
            self._tables[-1].close_row(keep=keep)

    def close_table(self) -> None:
        if not self._tables:
            return
        table = self._tables.pop()
        table.close_row()
        if self._tables:
            for mark, row in table.rows:
                self._tables[-1].add(row, mark)
            return
        lines: list[str] = []
        for i, (mark, row) in enumerate(table.rows):
            lines.append(row)
            if i + 1 == len(table.rows) or table.rows[i + 1][0] != mark:
                self.blocks.append((mark, "\n".join(lines)))
                lines = []
        self._last_was_item = False


class _OpenTable:
    def __init__(self) -> None:
        self.rows: list[tuple[Mark, str]] = []
        self._row: list[list[str]] = []
        self._mark: Mark = (0, 0)
        self._spanning: dict[int, int] = {}  # column -> rows below that a cell above reaches into
        self._started: dict[int, int] = {}
        self._open: list[str] | None = None
        self._at = 0

    def open_cell(self, columns: int, rows: int) -> None:
        self._skip_spanned()
        self._at = len(self._row)
        self._row += [[] for _ in range(max(1, columns))]
        self._open = self._row[self._at]
        if rows > 1:
            self._started |= dict.fromkeys(range(self._at, len(self._row)), rows - 1)

    def widen_cell(self, columns: int) -> None:
        self._row += [[] for _ in range(columns - (len(self._row) - self._at))]

    def _skip_spanned(self) -> None:
        while self._spanning.get(len(self._row), 0) > 0:
            self._row.append([])

    def add(self, text: str, mark: Mark) -> None:
        if not any(self._row):
            self._mark = mark
        if self._open is None:
            self.open_cell(1, 1)
        assert self._open is not None
        self._open.append(text)

    def close_row(self, *, keep: bool = True) -> None:
        self._skip_spanned()
        if keep and any(self._row):
            self.rows.append((self._mark, CELL_SEPARATOR.join(" ".join(cell) for cell in self._row)))
        if self._row:
            self._spanning = {column: rows - 1 for column, rows in self._spanning.items() if rows > 1} | self._started
        self._row, self._started, self._open = [], {}, None
