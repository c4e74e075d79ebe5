"""Paragraphs, lists and tables of structured documents (Word, HTML) as blocks of text."""

import re

from tendril_assets.corpus.extraction import Unreadable
from tendril_assets.corpus.layout import CELL_SEPARATOR

Mark = tuple[int, int]
_BLANKS = re.compile(r"[^\S\n]+")


class BlockBuilder:
    """Collects blocks; each has a mark that tells its page, counted in two ways.

    Rows of one table and items of one list are the lines of one block, as long as their marks are equal. A table
    inside a cell becomes part of that cell's text. Raises Unreadable (too_large) over ``max_characters``.
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

    def open_cell(self) -> None:
        if self._tables:
            self._tables[-1].row.append([])

    def close_row(self) -> None:
        if self._tables:
            self._tables[-1].close_row()

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
        self.row: list[list[str]] = []
        self._mark: Mark = (0, 0)

    def add(self, text: str, mark: Mark) -> None:
        if not any(self.row):
            self._mark = mark
        if not self.row:
            self.row.append([])
        self.row[-1].append(text)

    def close_row(self) -> None:
        if any(self.row):
            self.rows.append((self._mark, CELL_SEPARATOR.join(" ".join(cell) for cell in self.row)))
        self.row = []
