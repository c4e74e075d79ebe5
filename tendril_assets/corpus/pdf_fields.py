"""What a reader of a PDF page sees that is no part of its text: values of form fields, notes written on the page."""

import ctypes
from typing import Any

from tendril_assets.corpus.boxes import Span
from tendril_assets.corpus.pdf_words import Box

CHECKED, UNCHECKED = "☒", "☐"
_PASSWORD_FLAG = 1 << 13
_LINE = 12.0  # points: the usual height of a line in a field


def field_spans(page: Any, form: Any, raw: Any, on_page: Box) -> list[Span]:
    """Values of text and choice fields, boxes ticked or not, and free text, each line at its place in the page.

    Hidden fields and passwords are left out; so are comments, which are about the page and not on it. ``form`` is the
    document's form environment, or None where it has no form.
    """
    spans: list[Span] = []
    for i in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, i)
        if not annotation:
            continue
        try:
            rect = raw.FS_RECTF()
            hidden = raw.FPDFAnnot_GetFlags(annotation) & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW)
            if hidden or not raw.FPDFAnnot_GetRect(annotation, rect):
                continue
            box = (rect.left, rect.bottom, rect.right, rect.top)
            if on_page[0] <= (box[0] + box[2]) / 2 <= on_page[2] and on_page[1] <= (box[1] + box[3]) / 2 <= on_page[3]:
                spans += _lines(_shown(annotation, form, raw), box)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return spans


def _shown(annotation: Any, form: Any, raw: Any) -> str:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind == raw.FPDF_ANNOT_FREETEXT:
        return _string(lambda *into: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", *into), raw)
    if kind != raw.FPDF_ANNOT_WIDGET or form is None:
        return ""
    match raw.FPDFAnnot_GetFormFieldType(form, annotation):
        case raw.FPDF_FORMFIELD_CHECKBOX | raw.FPDF_FORMFIELD_RADIOBUTTON:
            return CHECKED if raw.FPDFAnnot_IsChecked(form, annotation) else UNCHECKED
        case raw.FPDF_FORMFIELD_TEXTFIELD | raw.FPDF_FORMFIELD_COMBOBOX | raw.FPDF_FORMFIELD_LISTBOX:
            if raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD_FLAG:
                return ""
            return _string(lambda *into: raw.FPDFAnnot_GetFormFieldValue(form, annotation, *into), raw)
    return ""


def _string(get: Any, raw: Any) -> str:
    """A string that pdfium writes into a buffer as UTF-16; lengths are in bytes, the closing zero included."""
    size = get(None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    get(ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _lines(text: str, box: Box) -> list[Span]:
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    x0, y0, x1, y1 = box
    height = (y1 - y0) / len(lines)
    # A field of one line is as high as its frame; its text stands in the middle.
    inset = max(0.0, (height - _LINE) / 2) if len(lines) == 1 else 0.0
    return [Span(line, x0, y1 - (i + 1) * height + inset, x1, y1 - i * height - inset) for i, line in enumerate(lines)]
