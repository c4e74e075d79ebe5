"""Ruled lines of a PDF page: lines and the edges of drawn boxes, horizontal and vertical."""

import ctypes
from typing import Any

from tendril_assets.corpus.boxes import Bar, Drawn, Rule
from tendril_assets.corpus.pdf_words import Box, Turn

_MAX_PAGE_OBJECTS = 20_000  # beyond, a page is a drawing and its lines part no table rows
_MAX_LINES = 3_000  # in one direction; beyond, they are a hatching or a plan
_THICKNESS = 3.0
_TOUCHING = 2.0
_SAME_LINE = 1.5


def drawn_lines(page: Any, raw: Any) -> list[Box]:
    """Bounds of the paths of a page, in its own space."""
    count = raw.FPDFPage_CountObjects(page)
    if count > _MAX_PAGE_OBJECTS:
        return []
    sides = [ctypes.c_float() for _ in range(4)]
    get_object, type_of, bounds_of = raw.FPDFPage_GetObject, raw.FPDFPageObj_GetType, raw.FPDFPageObj_GetBounds
    boxes: list[Box] = []
    for i in range(count):
        item = get_object(page, i)
        if type_of(item) == raw.FPDF_PAGEOBJ_PATH and bounds_of(item, *sides):
            x0, y0, x1, y1 = (side.value for side in sides)
            boxes.append((x0, y0, x1, y1))
    return boxes


def lines_of(boxes: list[Box], turn: Turn) -> Drawn:
    """Ruled lines of paths, as they lie when the page is turned; pieces that touch are one line."""
    rules: list[Rule] = []
    bars: list[Bar] = []
    for box in boxes:
        x0, y0, x1, y1 = turn(*box) if turn.quarters else box
        wide, tall = x1 - x0 > 2 * _THICKNESS, y1 - y0 > 2 * _THICKNESS
        if wide:
            flat = y1 - y0 <= _THICKNESS
            rules += [Rule((y0 + y1) / 2, x0, x1)] if flat else [Rule(y0, x0, x1), Rule(y1, x0, x1)]
        if tall:
            thin = x1 - x0 <= _THICKNESS
            bars += [Bar((x0 + x1) / 2, y0, y1)] if thin else [Bar(x0, y0, y1), Bar(x1, y0, y1)]
    merged_rules, merged_bars = _merged(rules), _merged(bars)
    if max(len(merged_rules), len(merged_bars)) > _MAX_LINES:
        return Drawn()
    return Drawn([Rule(*line) for line in merged_rules], [Bar(*line) for line in merged_bars])


def _merged(pieces: list[Any]) -> list[tuple[float, float, float]]:
    """(place, from, to) pieces put together where they lie on one line and touch."""
    levels: list[list[tuple[float, float, float]]] = []
    for piece in sorted(pieces):
        if levels and piece[0] - levels[-1][0][0] <= _SAME_LINE:
            levels[-1].append(piece)
        else:
            levels.append([piece])
    lines: list[tuple[float, float, float]] = []
    for level in levels:
        at = level[0][0]
        begin, end = None, 0.0
        for _, low, high in sorted(level, key=lambda p: p[1]):
            if begin is not None and low <= end + _TOUCHING:
                end = max(end, high)
                continue
            if begin is not None:
                lines.append((at, begin, end))
            begin, end = low, high
        if begin is not None:
            lines.append((at, begin, end))
    return lines
