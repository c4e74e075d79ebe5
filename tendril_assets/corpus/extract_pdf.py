"""Reading PDF files with pdfium: words and lines with their boxes, headers and footers taken out."""

from pathlib import Path
from typing import Any, NamedTuple

from tendril_assets.corpus.boxes import MIN_GUTTER, Drawn, Row, gaps_of, line_of, middle, rows_of, shared_gaps
from tendril_assets.corpus.extraction import Limits, RawPages, Unreadable
from tendril_assets.corpus.layout import page_text
from tendril_assets.corpus.page_edges import EDGE_LINES, repeated_edges
from tendril_assets.corpus.pdf_fields import field_spans
from tendril_assets.corpus.pdf_lines import drawn_lines, lines_of
from tendril_assets.corpus.pdf_words import Turn, page_words


class _Page(NamedTuple):
    """``rows`` in the page's main direction; ``others``: text at right angles to it; ``slanted``: stamps."""

    rows: list[Row]
    drawn: Drawn
    others: list[str]
    slanted: str


_EMPTY = _Page([], Drawn(), [], "")


def read_pdf(path: Path, limits: Limits) -> RawPages:
    """Text of each page in reading order; a page is read in the direction most of its text is set in.

    Text off the page is left out, and so are slanted stamps ("Entwurf"), which are handed over as dropped lines.
    Raises Unreadable: encrypted (also the empty password is refused), parse_failed, too_large.
    """
    import pypdfium2 as pdfium
    import pypdfium2.raw as raw

    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted", "needs a password or a security handler that is not supported") from error
        raise Unreadable("parse_failed", f"not a readable PDF: {error}") from error
    pages: list[_Page] = []
    broken: list[int] = []
    characters = 0
    with document:
        document.init_forms()
        form = document.formenv.raw if document.formenv else None
        for index in range(len(document)):
            try:
                page = _read_page(document, index, form, raw)
            except pdfium.PdfiumError:
                page = _EMPTY
                broken.append(index + 1)
            characters += sum(len(span.text) for row in page.rows for span in row) + sum(map(len, page.others))
            if characters > limits.max_characters:
                raise Unreadable("too_large", f"over {limits.max_characters} characters by page {index + 1}")
            pages.append(page)
    return _without_edges(pages, f"damaged pages: {broken}" if broken else None)


def _read_page(document: Any, index: int, form: Any, raw: Any) -> _Page:
    page = document[index]
    try:
        boxes = drawn_lines(page.raw, raw)
        drawn = lines_of(boxes, Turn(0))
        on_page = _visible(page.raw, raw)
        textpage = page.get_textpage()
        try:
            words = page_words(textpage.raw, raw, drawn.bars, on_page)
        finally:
            textpage.close()
        spans = words.by_quarter
        if fields := field_spans(page.raw, form, raw, on_page):
            spans[0] = spans.get(0, []) + fields
        if not spans:
            return _EMPTY._replace(slanted=" ".join(words.slanted))
        main = max(spans, key=lambda quarter: sum(len(span.text) for span in spans[quarter]))
        others = [page_text(spans[quarter]) for quarter in sorted(spans) if quarter != main]
        drawn = lines_of(boxes, Turn(main)) if main else drawn
        return _Page(rows_of(spans[main], join=False), drawn, others, " ".join(words.slanted))
    finally:
        page.close()


def _visible(page: Any, raw: Any) -> tuple[float, float, float, float]:
    rect = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, rect)
    return rect.left, rect.bottom, rect.right, rect.top


def _without_edges(pages: list[_Page], note: str | None) -> RawPages:
    lines = [
        [line_of(row).text if _is_at_edge(i, page.rows) else "" for i, row in enumerate(page.rows)] for page in pages
    ]
    texts, dropped = [], []
    seen: set[str] = set()
    for page, page_lines, (top, bottom) in zip(pages, lines, repeated_edges(lines), strict=True):
        # The first row of a table that Word repeats on every page stays where it stands first.
        if top and _heads_table(page.rows, top, page.drawn) and page_lines[top - 1] not in seen:
            seen.add(page_lines[top - 1])
            top -= 1
        end = len(page.rows) - bottom
        dropped += [*page_lines[:top], *page_lines[end:], *filter(None, [page.slanted])]
        body = page_text([span for row in page.rows[top:end] for span in row], page.drawn)
        texts.append("\n\n".join(filter(None, [body, *page.others])))
    return RawPages(texts, dropped, blank_is_fault=True, note=note)


def _is_at_edge(i: int, rows: list[Row]) -> bool:
    return i < EDGE_LINES or i >= len(rows) - EDGE_LINES


def _heads_table(rows: list[Row], top: int, drawn: Drawn) -> bool:
    """Whether the last of the ``top`` rows is the first one of a table that goes on below it."""
    if top == len(rows):
        return False
    head, below = rows[top - 1], rows[top]
    height = min(span.height for span in head)
    gutters = [(x0, x1) for x0, x1 in gaps_of(head) if x1 - x0 >= MIN_GUTTER * height]
    distance = min(span.y0 for span in head) - max(span.y1 for span in below)
    ruled = any(middle(below) < rule.y < middle(head) for rule in drawn.rules)
    return len(below) > 1 and bool(shared_gaps(gutters, below, height)) and (ruled or distance < 1.2 * height)
