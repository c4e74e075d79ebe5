"""PDF files of the sample: pages with headers and footers, two columns, pictures of text, encryption.

``invariant`` makes ReportLab leave out times and random ids, so equal input gives equal bytes.
"""

import io
import textwrap
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import reportlab
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

from tendril_assets.sandbox.layout import Document
from tendril_assets.sandbox.wording import general

USER_PASSWORD = "Eingabe-2026"
OWNER_PASSWORD = "Vergabe-2026"
MARGIN = 24 * mm
GUTTER = 8 * mm
SCAN_SIZE = (900, 1270)
# Comes with ReportLab and has the accented letters, unlike the default font of Pillow.
SCAN_FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
# Of a partial document, the section and with it the page that is a scan, without header and footer.
PICTURE_PAGE = 2
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=11, leading=15, spaceAfter=10)
# Breaks at soft hyphens leave line-end hyphens in the text, as typeset documents do.
NARROW = ParagraphStyle("narrow", parent=BODY, fontSize=10.5, leading=14.5, embeddedHyphenation=1)
HEADING = ParagraphStyle("heading", parent=BODY, fontName="Helvetica-Bold", fontSize=13, leading=18, spaceBefore=8)
TITLE = ParagraphStyle("title", parent=HEADING, fontSize=17, leading=22, spaceAfter=18)


def pdf_bytes(document: Document, header: str) -> bytes:
    """The document as a PDF; ``header`` stands on top of every page, "Seite n von N" at the bottom."""
    if document.style == "scanned":
        return _scan(document)
    encryption = None
    if document.style == "encrypted":
        encryption = StandardEncryption(USER_PASSWORD, OWNER_PASSWORD, canPrint=0, strength=128)
    buffer = io.BytesIO()
    columns = 2 if document.style == "two_columns" else 1
    template = BaseDocTemplate(
        buffer, pagesize=A4, invariant=1, title=document.title, encrypt=encryption, pageCompression=1
    )
    template.addPageTemplates(PageTemplate(frames=_frames(columns)))
    bare = (PICTURE_PAGE,) if document.style == "partial" else ()
    template.build(_story(document, columns), canvasmaker=partial(_PaperCanvas, header=header, bare_pages=bare))
    return buffer.getvalue()


class _PaperCanvas(Canvas):
    """Holds the pages back until their number is known, then adds headers and footers, but for the ``bare_pages``."""

    def __init__(self, *args: Any, header: str, bare_pages: tuple[int, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self._header = header
        self._bare_pages = bare_pages
        self._held: list[dict[str, Any]] = []

    def showPage(self) -> None:
        self._held.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        held = self._held
        for number, state in enumerate(held, start=1):
            self.__dict__.update(state)
            if number not in self._bare_pages:
                self.setFont("Helvetica", 8)
                self.drawString(MARGIN, A4[1] - 14 * mm, self._header)
                self.drawString(MARGIN, 12 * mm, f"Seite {number} von {len(held)}")
            super().showPage()
        super().save()


def _frames(columns: int) -> list[Frame]:
    width = (A4[0] - 2 * MARGIN - GUTTER * (columns - 1)) / columns
    height = A4[1] - 2 * MARGIN
    return [Frame(MARGIN + i * (width + GUTTER), MARGIN, width, height, 0, 0, 0, 0) for i in range(columns)]


def _story(document: Document, columns: int) -> list[Flowable]:
    """Each section of a one-column document begins a page, so that page numbers follow from the sections."""
    body = BODY if columns == 1 else NARROW
    story: list[Flowable] = []
    for i, section in enumerate(document.sections):
        if i == 0:
            story.append(Paragraph(escape(document.title), TITLE))
        elif columns == 1:
            story.append(PageBreak())
        else:
            story.append(CondPageBreak(20 * mm))
        if document.style == "partial" and i + 1 == PICTURE_PAGE:
            story.append(_Picture("\n\n".join([section.heading, *(b.text for b in section.blocks)])))
            continue
        story.append(Paragraph(escape(section.heading), HEADING))
        for block in section.blocks:
            text = block.text if columns == 1 else _with_soft_hyphens(block.text)
            story.append(_table(block.rows) if block.rows else Paragraph(escape(text), body))
            story.append(Spacer(1, 4))
    return story


def _with_soft_hyphens(text: str) -> str:
    for word in general()["hyphenation"]:
        text = text.replace(word.replace("-", ""), word.replace("-", "\u00ad"))
    return text


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    widths = [width * mm for width in (10, 62, 16, 18, 28, 28)]
    style = [("FONT", (0, 0), (-1, -1), "Helvetica", 8), ("GRID", (0, 0), (-1, -1), 0.4, "black")]
    return Table(rows, colWidths=widths, style=TableStyle(style), hAlign="LEFT")


def _scan(document: Document) -> bytes:
    """Pages that are pictures: there is text for the eye and none for a reader of text."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, pageCompression=1)
    for section in document.sections:
        text = "\n\n".join([document.title, section.heading, *(b.text for b in section.blocks)])
        canvas.drawImage(ImageReader(_picture(text)), 0, 0, *A4)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


class _Picture(Flowable):
    """A page-filling picture of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:
        self.width, self.height = availWidth, availHeight * 0.95
        return self.width, self.height

    def draw(self) -> None:
        self.canv.drawImage(ImageReader(_picture(self._text)), 0, 0, self.width, self.height)


def _picture(text: str) -> Image.Image:
    image = Image.new("1", SCAN_SIZE, 1)
    pen = ImageDraw.Draw(image)
    lines = [line for part in text.split("\n") for line in (textwrap.wrap(part, 72) or [""])]
    pen.multiline_text((60, 60), "\n".join(lines), fill=0, font=ImageFont.truetype(SCAN_FONT, 18), spacing=8)
    return image
