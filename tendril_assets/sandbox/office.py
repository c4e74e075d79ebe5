"""Word, HTML and text files of the sample, byte for byte the same on every run."""

import datetime as dt
import html
import io
import textwrap
import zipfile

import docx
from docx.shared import Pt

from tendril_assets.sandbox.layout import Document

FIXED_TIME = dt.datetime(2026, 1, 5, 8, 0)
ZIP_TIME = (2026, 1, 5, 8, 0, 0)
# Parts of the library's template that carry nothing for a reader and half of the file's size.
UNUSED_PARTS = ("docProps/thumbnail.jpeg", "word/stylesWithEffects.xml")
TEXT_WIDTH = 96


def docx_bytes(document: Document, header: str) -> bytes:
    """Headings, paragraphs and real tables; header and footer as Word keeps them, apart from the text."""
    word = docx.Document()
    word.styles["Normal"].font.size = Pt(10.5)
    word.sections[0].header.paragraphs[0].text = header
    word.sections[0].footer.paragraphs[0].text = document.name
    word.add_heading(document.title, 0)
    for section in document.sections:
        word.add_heading(section.heading, 1)
        for block in section.blocks:
            if not block.rows:
                word.add_paragraph(block.text)
                continue
            table = word.add_table(rows=0, cols=len(block.rows[0]))
            table.style = "Table Grid"
            for row in block.rows:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
    properties = word.core_properties
    properties.title, properties.author, properties.last_modified_by = document.title, "", ""
    properties.created = properties.modified = FIXED_TIME
    buffer = io.BytesIO()
    for part in list(word.part.rels.values()):
        if not part.is_external and str(part.target_part.partname).lstrip("/") in UNUSED_PARTS:
            word.part.drop_rel(part.rId)
    for rel_id, rel in list(word.part.package.rels.items()):
        if not rel.is_external and str(rel.target_part.partname).lstrip("/") in UNUSED_PARTS:
            del word.part.package.rels[rel_id]
    word.save(buffer)
    return fixed_zip(buffer.getvalue())


def fixed_zip(data: bytes) -> bytes:
    """The same archive with one fixed time on every member."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as to,
    ):
        for member in source.infolist():
            info = zipfile.ZipInfo(member.filename, ZIP_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            to.writestr(info, source.read(member))
    return out.getvalue()


def html_bytes(document: Document, header: str) -> bytes:
    """A page as a procurement platform shows it, with navigation and footer around the text."""
    body = [f"<h1>{html.escape(document.title)}</h1>"]
    for section in document.sections:
        body.append(f"<h2>{html.escape(section.heading)}</h2>")
        for block in section.blocks:
            body.append(_html_table(block.rows) if block.rows else f"<p>{html.escape(block.text)}</p>")
    page = f"""<!DOCTYPE html>
<html lang="de">
<head><meta charset="utf-8"><title>{html.escape(document.title)}</title><style>p {{ max-width: 60em }}</style></head>
<body>
<nav><a href="#inhalt">Inhalt</a> <a href="#kontakt">Kontakt</a></nav>
<header>{html.escape(header)}</header>
<main id="inhalt">
{chr(10).join(body)}
</main>
<script>document.title += "";</script>
</body>
</html>
"""
    return page.encode()


def _html_table(rows: tuple[tuple[str, ...], ...]) -> str:
    cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def txt_bytes(document: Document, header: str) -> bytes:
    """Plain text with wrapped lines, paragraphs parted by an empty line."""
    parts = [header, document.title]
    for section in document.sections:
        parts.append(section.heading)
        for block in section.blocks:
            if block.rows:
                parts.append("\n".join("\t".join(row) for row in block.rows))
            else:
                parts.append(textwrap.fill(block.text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False))
    return ("\n\n".join(parts) + "\n").encode()
