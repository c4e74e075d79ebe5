"""Files of invented documents: PDF with pages, columns and line-end hyphens, Word, HTML, text, and unreadable ones.

PDF pages are set here line by line, for a layout engine takes a hundred times as long: headers and footers on every
page, tables with ruled lines, and, where asked for, two columns and words parted at the line end. Equal input gives
equal bytes.
"""

import functools
import html
import io
import textwrap
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import docx
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from tendril_assets_tests.published_passages import Block

FONT, BOLD, SIZE, LEADING = "Helvetica", "Helvetica-Bold", 10, 12
MARGIN, GUTTER, GAP = 56, 26, 9
TOP, BOTTOM = A4[1] - 74, 64
TABLE_STOPS = (0, 60, 330, 410)
DOCX_PAGE = 2_600  # characters
_VOWELS = frozenset("aeiouäöüy")


@dataclass(frozen=True)
class Sheet:
    """One document to write; ``style`` is plain, columns, scan or encrypted (PDF), else plain."""

    title: str
    header: str
    language: str
    style: str
    blocks: Sequence[Block]


def pdf_bytes(sheet: Sheet) -> bytes:
    buffer = io.BytesIO()
    lock = StandardEncryption("geheim", "geheim", strength=40) if sheet.style == "encrypted" else None
    canvas = Canvas(buffer, pagesize=A4, invariant=1, pageCompression=1, encrypt=lock)
    if sheet.style == "scan":
        canvas.drawImage(ImageReader(_picture()), 0, 0, *A4)
        canvas.showPage()
    else:
        _Setter(canvas, sheet).set_all()
    canvas.save()
    return buffer.getvalue()


class _Setter:
    """Sets blocks one below the other, in one column or two, and begins pages as they fill up."""

    def __init__(self, canvas: Canvas, sheet: Sheet) -> None:
        self._canvas, self._sheet = canvas, sheet
        self._columns = 2 if sheet.style == "columns" else 1
        self._width = (A4[0] - 2 * MARGIN - GUTTER * (self._columns - 1)) / self._columns
        self._column, self._y, self._page = 0, float(TOP), 1

    def set_all(self) -> None:
        self._frame()
        self._lines(BOLD, 14, [self._sheet.title[:60]], 18)
        for block in self._sheet.blocks:
            if block.kind == "heading":
                self._lines(BOLD, SIZE, broken(block.text, self._width, BOLD), LEADING)
            elif block.rows and self._columns == 1:
                self._table(block.rows)
            else:
                hyphenate = self._columns == 2
                lines = [ln for part in block.text.split("\n") for ln in broken(part, self._width, FONT, hyphenate)]
                self._lines(FONT, SIZE, lines, LEADING)
        self._canvas.showPage()

    def _frame(self) -> None:
        self._canvas.setFont(FONT, 8)
        self._canvas.drawString(MARGIN, A4[1] - 40, self._sheet.header)
        self._canvas.drawString(MARGIN, 34, f"Seite {self._page}")

    def _room(self, height: float) -> None:
        if self._y - height >= BOTTOM:
            return
        self._y = float(TOP)
        self._column += 1
        if self._column == self._columns:
            self._column = 0
            self._page += 1
            self._canvas.showPage()
            self._frame()

    def _lines(self, font: str, size: int, lines: list[str], leading: int) -> None:
        while lines:
            self._room(leading * min(2, len(lines)))
            fitting = max(1, int((self._y - BOTTOM) // leading))
            text = self._canvas.beginText(MARGIN + self._column * (self._width + GUTTER), self._y)
            text.setFont(font, size, leading)
            text.textLines("\n".join(lines[:fitting]), trim=0)
            self._canvas.drawText(text)
            self._y -= leading * len(lines[:fitting])
            lines = lines[fitting:]
        self._y -= GAP

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        for row in rows:
            self._room(16)
            self._canvas.setFont(FONT, 9)
            for stop, cell in zip(TABLE_STOPS, row, strict=True):
                self._canvas.drawString(MARGIN + stop + 3, self._y, cell)
            self._canvas.line(MARGIN, self._y - 4, MARGIN + self._width, self._y - 4)
            self._y -= 16
        self._y -= GAP


@functools.lru_cache(maxsize=200_000)
def _word_width(word: str, font: str) -> float:
    return stringWidth(word, font, SIZE)


def broken(text: str, width: float, font: str, hyphenate: bool = False) -> list[str]:
    """``text`` in lines of at most ``width`` points; with ``hyphenate`` long words are parted at line ends."""
    blank = _word_width(" ", font)
    lines: list[str] = []
    line: list[str] = []
    used = 0.0
    for word in text.split(" "):
        wide = _word_width(word, font)
        if line and used + blank + wide > width:
            left = width - used - blank
            at = _parting(word, left, font) if hyphenate else 0
            if at:
                line.append(word[:at] + "-")
                word = word[at:]
                wide = _word_width(word, font)
            lines.append(" ".join(line))
            line, used = [], -blank
        line.append(word)
        used += blank + wide
    return [*lines, " ".join(line)]


def _parting(word: str, room: float, font: str) -> int:
    """Letters of ``word`` before a consonant and a vowel that fit into ``room`` with a hyphen; 0 for none."""
    if len(word) < 10 or not word[:-1].isalpha():
        return 0
    for at in range(len(word) - 4, 3, -1):
        if word[at] not in _VOWELS and word[at + 1] in _VOWELS and stringWidth(word[:at] + "-", font, SIZE) <= room:
            return at
    return 0


@functools.cache
def _picture() -> Image.Image:
    image = Image.new("1", (620, 877), 1)
    pen = ImageDraw.Draw(image)
    for i in range(40):
        pen.line((60, 80 + 18 * i, 560 - (i * 37) % 90, 80 + 18 * i), fill=0, width=3)
    return image


@functools.cache
def _word_parts() -> tuple[tuple[str, bytes], ...]:
    """The parts of an empty Word file, without the preview picture of the library's template."""
    word = docx.Document()
    package = word.part.package
    for rel_id, rel in list(package.rels.items()):
        if "thumbnail" in rel.reltype:
            del package.rels[rel_id]
    buffer = io.BytesIO()
    word.save(buffer)
    with zipfile.ZipFile(buffer) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


def docx_bytes(sheet: Sheet) -> bytes:
    """A Word file: the library's own package with the paragraphs and tables put into its main part."""
    body = [_paragraph(sheet.title, "Title")]
    size = 0
    for block in sheet.blocks:
        if block.rows:
            body.append(_word_table(block.rows))
        else:
            style = "Heading1" if block.kind == "heading" else ""
            lines = block.text.split("\n")
            body.append(_paragraph(lines[0], style))
            body += [_paragraph(line.removeprefix("- "), "ListBullet") for line in lines[1:]]
        size += len(block.text)
        if size > DOCX_PAGE:
            body.append('<w:p><w:r><w:br w:type="page"/></w:r></w:p>')
            size = 0
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in _word_parts():
            if name == "word/document.xml":
                start = data.index(b"<w:body>") + len(b"<w:body>")
                end = data.index(b"<w:sectPr")
                data = data[:start] + "".join(body).encode() + data[end:]
            package.writestr(zipfile.ZipInfo(name, (2026, 1, 5, 8, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _paragraph(text: str, style: str = "") -> str:
    mark = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{mark}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def _word_table(rows: Sequence[Sequence[str]]) -> str:
    cells = ["".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>" + _paragraph("")


def html_bytes(sheet: Sheet) -> bytes:
    parts = []
    for block in sheet.blocks:
        if block.rows:
            rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in block.rows)
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
        elif block.kind == "heading":
            parts.append(f"<h2>{html.escape(block.text)}</h2>")
        elif block.kind == "list":
            lead, *items = block.text.split("\n")
            points = "".join(f"<li>{html.escape(line.removeprefix('- '))}</li>" for line in items)
            parts.append(f"<p>{html.escape(lead)}</p><ul>{points}</ul>")
        else:
            parts.append("<p>" + "<br>".join(map(html.escape, block.text.split("\n"))) + "</p>")
    title = html.escape(sheet.title)
    return (
        f'<!DOCTYPE html><html lang="{sheet.language}"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f"<nav>{html.escape(sheet.header)}</nav><main><h1>{title}</h1>{''.join(parts)}</main></body></html>"
    ).encode()


def txt_bytes(sheet: Sheet) -> bytes:
    parts = [sheet.header, sheet.title]
    for block in sheet.blocks:
        lines = block.text.replace(" | ", "\t").split("\n")
        parts.append("\n".join(part for line in lines for part in textwrap.wrap(line, 96) or [""]))
    return ("\n\n".join(parts) + "\n").encode()


def broken_bytes(sheet: Sheet) -> bytes:
    """A PDF of which the second half never arrived."""
    return pdf_bytes(sheet)[:900]


WRITERS: dict[str, Callable[[Sheet], bytes]] = {
    "pdf": pdf_bytes,
    "docx": docx_bytes,
    "html": html_bytes,
    "txt": txt_bytes,
}
