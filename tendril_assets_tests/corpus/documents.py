"""Small documents made for the tests of reading."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from tendril_assets.corpus.extraction import ReadingLimits

LIMITS = ReadingLimits(
    timeout_s=30, memory_mb=1024, max_bytes=100_000_000, max_characters=5_000_000, max_garbled_share=0.05
)

Place = tuple[float, float, str]
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    + "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{_WORD_TYPE}.{kind}+xml"/>'
        for part, kind in (
            ("document", "document.main"), ("footnotes", "footnotes"), ("endnotes", "endnotes"),
            ("header1", "header"), ("footer1", "footer"),
        )
    )
    + "</Types>"
)  # fmt: skip
_NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)


def pdf(path: Path, pages: Sequence[Sequence[Place]], size: float = 10) -> Path:
    """A PDF with each (x, y, text) drawn on its page, y from the bottom."""
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    for places in pages:
        canvas.setFont("Helvetica", size)
        for x, y, text in places:
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return path


def lines(*texts: str, x: float = 70, top: float = 760, leading: float = 12) -> list[Place]:
    return [(x, top - i * leading, text) for i, text in enumerate(texts)]


def docx(path: Path, body: str, parts: dict[str, str | bytes] | None = None, prolog: str = "") -> Path:
    """A Word file with ``body`` as the children of w:body and more ``parts`` by name."""
    main = f'<?xml version="1.0"?>{prolog}<w:document {_NAMESPACES}><w:body>{body}</w:body></w:document>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _CONTENT_TYPES)
        archive.writestr("word/document.xml", main)
        for name, data in (parts or {}).items():
            archive.writestr(name, data)
    return path


def word_part(element: str, content: str) -> str:
    """A part beside the main one, such as ``hdr`` or ``footnotes``."""
    return f'<?xml version="1.0"?><w:{element} {_NAMESPACES}>{content}</w:{element}>'


def paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
