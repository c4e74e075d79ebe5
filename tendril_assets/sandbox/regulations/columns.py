"""A bulletin's pages as PDF: two columns, a header and a page number on each, the same bytes every time."""

import io
from pathlib import Path

import matplotlib
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

# Comes with matplotlib and has Cyrillic letters, unlike the fonts that come with ReportLab.
FONT, SIZE, LEADING = "DejaVuSerif", 9, 11.5
MARGIN, GUTTER = 20 * mm, 10 * mm
_WIDTH = (A4[0] - 2 * MARGIN - GUTTER) / 2
_ROWS = int((A4[1] - 2 * MARGIN) / LEADING)


def two_columns(parts: list[str], header: str) -> bytes:
    """Paragraphs, one below the other, down the left column and on in the right one."""
    pdfmetrics.registerFont(TTFont(FONT, Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf"))
    lines = [
        line for part in parts for row in part.split("\n") for line in simpleSplit(row, FONT, SIZE, _WIDTH) or [""]
    ]
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, pageCompression=1)
    for page, start in enumerate(range(0, len(lines), 2 * _ROWS), 1):
        canvas.setFont(FONT, 7)
        canvas.drawString(MARGIN, A4[1] - 12 * mm, header)
        canvas.drawCentredString(A4[0] / 2, 10 * mm, str(page))
        canvas.setFont(FONT, SIZE)
        for column in range(2):
            first = start + column * _ROWS
            for i, line in enumerate(lines[first : first + _ROWS]):
                canvas.drawString(MARGIN + column * (_WIDTH + GUTTER), A4[1] - MARGIN - i * LEADING, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()
