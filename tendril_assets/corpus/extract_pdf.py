"""Reading PDF files with pdfium: words with their boxes, ruled lines, headers and footers taken out."""

import ctypes
from pathlib import Path
from typing import Any

from tendril_assets.corpus.extraction import Limits, RawPages, Unreadable
from tendril_assets.corpus.layout import Row, Rule, Span, page_text, rows_of
from tendril_assets.corpus.page_edges import repeated_edges
from tendril_assets.corpus.textclean import REPLACEMENT, SOFT_HYPHEN

_LINE_END_HYPHEN = "\x02"  # pdfium's mark for a hyphen at a line end; it swallows the line break behind it
_MAX_PAGE_OBJECTS = 20_000  # beyond, a page is a drawing and its lines part no table rows
_RULE_THICKNESS = 3.0


def read_pdf(path: Path, limits: Limits) -> RawPages:
    """Text of each page in reading order.

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
    pages: list[tuple[list[Row], list[Rule]]] = []
    broken: list[int] = []
    characters = 0
    with document:
        for index in range(len(document)):
            try:
                words, rules = _read_page(document, index, raw)
            except pdfium.PdfiumError:
                words, rules = [], []
                broken.append(index + 1)
            characters += sum(len(word.text) for word in words)
            if characters > limits.max_characters:
                raise Unreadable("too_large", f"over {limits.max_characters} characters by page {index + 1}")
            pages.append((rows_of(words), rules))
    return _without_edges(pages, f"damaged pages: {broken}" if broken else None)


def _without_edges(pages: list[tuple[list[Row], list[Rule]]], note: str | None) -> RawPages:
    lines = [[" ".join(span.text for span in row) for row in rows] for rows, _ in pages]
    texts, dropped = [], []
    for (rows, rules), page_lines, (top, bottom) in zip(pages, lines, repeated_edges(lines), strict=True):
        end = len(rows) - bottom
        dropped += page_lines[:top] + page_lines[end:]
        texts.append(page_text([span for row in rows[top:end] for span in row], rules))
    return RawPages(texts, dropped, blank_is_fault=True, note=note)


def _read_page(document: Any, index: int, raw: Any) -> tuple[list[Span], list[Rule]]:
    page = document[index]
    try:
        turn = _Turn(page.get_rotation())
        textpage = page.get_textpage()
        try:
            words = _words(textpage.raw, raw, turn)
        finally:
            textpage.close()
        return words, _rules(page.raw, raw, turn)
    finally:
        page.close()


class _Turn:
    """Turns a box of the page's own space into the space of the page as it is seen."""

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees

    def __call__(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        match self.degrees:
            case 90:
                return y0, -x1, y1, -x0
            case 180:
                return -x1, -y1, -x0, -y0
            case 270:
                return -y1, x0, -y0, x1
        return x0, y0, x1, y1


def _words(textpage: Any, raw: Any, turn: _Turn) -> list[Span]:
    words: list[Span] = []
    chars: list[str] = []
    first = 0
    rect = raw.FS_RECTF()
    pointer = ctypes.byref(rect)
    loose_box, unicode_of, unmapped = (
        raw.FPDFText_GetLooseCharBox,
        raw.FPDFText_GetUnicode,
        raw.FPDFText_HasUnicodeMapError,
    )

    def box(i: int) -> tuple[float, float, float, float]:
        loose_box(textpage, i, pointer)
        return turn(rect.left, rect.bottom, rect.right, rect.top)

    def end_word(last: int) -> None:
        if chars:
            a, b = box(first), box(last)
            # Two boxes stand for the word; one set upright keeps the place of its first letter.
            level = min(a[3], b[3]) - max(a[1], b[1]) > 0 and b[2] >= a[0]
            x0, y0, x1, y1 = (a[0], min(a[1], b[1]), b[2], max(a[3], b[3])) if level else a
            if y1 > y0:
                words.append(Span(_mended("".join(chars)), x0, y0, x1, y1))
            chars.clear()

    for i in range(raw.FPDFText_CountChars(textpage)):
        code = unicode_of(textpage, i)
        char = chr(code) if 0 < code < 0x110000 else REPLACEMENT
        if char.isspace():
            end_word(i - 1)
            continue
        if not chars:
            first = i
        if char == _LINE_END_HYPHEN:
            chars.append("-")
            end_word(i)
        else:
            # A glyph without a Unicode value arrives as its bare code: a wrong letter, not a right one.
            chars.append(REPLACEMENT if unmapped(textpage, i) == 1 else char)
    end_word(raw.FPDFText_CountChars(textpage) - 1)
    return words


def _mended(word: str) -> str:
    """A soft hyphen that is drawn inside a PDF word: gone where the word goes on in lower case, else a hyphen."""
    if SOFT_HYPHEN not in word:
        return word
    parts = word.split(SOFT_HYPHEN)
    text = parts[0]
    for part in parts[1:]:
        text += part if part[:1].islower() and text[-1:].isalpha() else f"-{part}"
    return text


def _rules(page: Any, raw: Any, turn: _Turn) -> list[Rule]:
    """Horizontal ruled lines, with the edges of drawn boxes; pieces that touch are one line."""
    count = raw.FPDFPage_CountObjects(page)
    if count > _MAX_PAGE_OBJECTS:
        return []
    sides = [ctypes.c_float() for _ in range(4)]
    pointers = [ctypes.byref(side) for side in sides]
    pieces: list[Rule] = []
    for i in range(count):
        item = raw.FPDFPage_GetObject(page, i)
        if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_PATH or not raw.FPDFPageObj_GetBounds(item, *pointers):
            continue
        x0, y0, x1, y1 = turn(*(side.value for side in sides))
        if x1 - x0 > 2 * _RULE_THICKNESS:
            pieces += (
                [Rule((y0 + y1) / 2, x0, x1)] if y1 - y0 <= _RULE_THICKNESS else [Rule(y0, x0, x1), Rule(y1, x0, x1)]
            )
    rules: list[Rule] = []
    for piece in sorted(pieces, key=lambda r: (round(r.y), r.x0)):
        last = rules[-1] if rules else None
        if last and abs(last.y - piece.y) <= 1.5 and piece.x0 <= last.x1 + 2:
            rules[-1] = Rule(last.y, last.x0, max(last.x1, piece.x1))
        else:
            rules.append(piece)
    return rules
