"""Plain text that was printed in two columns and written side by side, as tools that keep the layout do."""

from collections.abc import Sequence
from itertools import pairwise

_GUTTER = 3  # blanks at least between the columns
_LEAST_LINES = 6
_WIDEST = 400  # a longer line is a paragraph that nobody broke: such a page has no columns
_LEAST_SHARE = 0.5  # of the lines with text, that have some on both sides


def columns_apart(lines: Sequence[str]) -> list[str]:
    """Lines of one page with the right column below the left one; as they are where there is no gutter.

    A gutter is a run of at least three blanks, at one place of the page, that no line crosses between the first and the
    last line with text on both sides; half of those lines have such text. A line that crosses it (a title over both
    columns) stands where it stands: the columns above it are put in order before it, those below after it. A table is no
    two columns: its lines have more than one gutter each.
    """
    text = [line.rstrip() for line in lines]
    gutter = _gutter(text)
    if gutter is None:
        return text
    start, end = gutter
    ordered: list[str] = []
    left: list[str] = []
    right: list[str] = []

    def close() -> None:
        ordered.extend(left)
        if any(right):
            ordered.extend(right)
        left.clear()
        right.clear()

    for line in text:
        if line[start:end].strip():
            close()
            ordered.append(line)
        else:
            left.append(line[:start].rstrip())
            right.append(line[end:].strip())
    close()
    return ordered


def _gutter(lines: Sequence[str]) -> tuple[int, int] | None:
    filled = [line for line in lines if line.strip()]
    width = max(map(len, filled), default=0)
    if len(filled) < _LEAST_LINES or not 4 * _GUTTER <= width <= _WIDEST:
        return None
    best: tuple[int, int, int] | None = None
    crossing = [sum(len(line) > place and not line[place].isspace() for line in filled) for place in range(width)]
    # A title or two may cross; the columns are what most of the lines have.
    allowed = len(filled) // 10
    free = [place for place, n in enumerate(crossing) if n <= allowed and width // 4 <= place < 3 * width // 4]
    for start, end in _runs(free):
        if end - start < _GUTTER:
            continue
        both = [line for line in filled if line[:start].strip() and line[end:].strip() and not line[start:end].strip()]
        if len(both) < max(_LEAST_LINES, _LEAST_SHARE * len(filled)):
            continue
        if any(_GUTTER * " " in line[:start].strip() or _GUTTER * " " in line[end:].strip() for line in both):
            continue
        if best is None or end - start > best[0]:
            best = (end - start, start, end)
    return best[1:] if best else None


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Half-open runs of consecutive numbers."""
    if not places:
        return []
    breaks = [0, *(n + 1 for n, (a, b) in enumerate(pairwise(places)) if b != a + 1), len(places)]
    return [(places[start], places[end - 1] + 1) for start, end in pairwise(breaks)]
