"""The text of a PDF page as runs of words with their boxes, by the direction in which they are set.

pdfium gives the text of a page in one call; boxes are asked for the first and last character of each word only, for
calls by character would cost several times what pdfium takes to read the page.
"""

import ctypes
import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from tendril_assets.corpus.boxes import Bar, Span
from tendril_assets.corpus.textclean import REPLACEMENT, SOFT_HYPHEN, SUPERSCRIPTS

# pdfium's marks for a hyphen at a line end; they swallow the line break behind them.
_HYPHEN_MARKS = "\x02\ufffe"
_WORD = re.compile(rf"[^\s{_HYPHEN_MARKS}]+[{_HYPHEN_MARKS}]?|[{_HYPHEN_MARKS}]")
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]")
_SPLIT = 0.6  # of the height: words nearer than that are one run; above, the layout decides
_GLUED = 0.06
_MIN_LETTERS = 5  # of a word set letter by letter
# A figure behind letters or a ten at the end of a word: a power, a note's number, or just "CO2".
_MAYBE_RAISED = re.compile(r"(?:[^\W\d_]|(?<!\d)10|\))(\d{1,2})(?=[^\w\s]*(?:\s|\Z))")
_CLOSING = ".,;:!?)]}»«\"'”“’"
# The two calls made for every word take plain addresses: pypdfium2's own check of pointer types doubles their cost.
_LooseBox = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_Flag = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_SLANT = math.radians(10)

Box = tuple[float, float, float, float]


class Turn(NamedTuple):
    """Turns boxes so that text set at ``quarters`` times 90 degrees, counted anticlockwise, runs from left to right."""

    quarters: int

    def __call__(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        match self.quarters:
            case 1:
                return y0, -x1, y1, -x0
            case 2:
                return -x1, -y1, -x0, -y0
            case 3:
                return -y1, x0, -y0, x1
        return x0, y0, x1, y1


class Words(NamedTuple):
    """Runs by quarter turns; ``slanted``: words at other angles, which are stamps over the page."""

    by_quarter: dict[int, list[Span]]
    slanted: list[str]


# A word as it is read: text, number of its first character, whether no white space and whether a line break is before
# it, and the boxes of its first and last character (x0, y0, x1, y1 each). A plain tuple: a page has hundreds of them.
_Word = tuple[str, int, bool, bool, Box, Box]
# The same when placed: text, glued, breaks, x0, y0, x1, y1.
_Placed = tuple[str, bool, bool, float, float, float, float]


def page_words(textpage: Any, raw: Any, bars: Sequence[Bar], page: Box) -> Words:
    """All words within the ``page`` box. No run goes on over one of the vertical ``bars``."""
    words = _words(textpage, raw)
    xs = sorted({bar.x for bar in bars})
    # Level: the last letter is beside the first and not before it.
    if all(a[1] < b[3] and b[1] < a[3] and b[2] >= a[0] for _, _, _, _, a, b in words):
        words = _cut_at_bars(words, bars, textpage, raw) if bars else words
        runs = _runs(_placed(words, Turn(0), page), xs)
        return Words({0: runs} if runs else {}, [])
    groups: dict[int, list[_Word]] = defaultdict(list)
    slanted: list[str] = []
    for word in words:
        quarter = _quarter(raw.FPDFText_GetCharAngle(textpage, word[1]))
        if quarter is None:
            slanted.append(word[0])
        else:
            groups[quarter].append(word)
    runs_of = {q: _runs(_placed(group, Turn(q), page), [] if q else xs) for q, group in groups.items()}
    return Words({q: runs for q, runs in runs_of.items() if runs}, slanted)


def _words(textpage: Any, raw: Any) -> list[_Word]:
    text = _text(textpage, raw, raw.FPDFText_CountChars(textpage))
    has_odd = _ODD.search(text) is not None
    figures = {figure.end(1): figure.start(1) for figure in _MAYBE_RAISED.finditer(text)}
    rect = raw.FS_RECTF()
    values = memoryview(rect).cast("B").cast("f")
    loose_box, unmapped = (
        _LooseBox(_address(raw.FPDFText_GetLooseCharBox)),
        _Flag(_address(raw.FPDFText_HasUnicodeMapError)),
    )
    handle, into = _address(textpage), ctypes.addressof(rect)
    words: list[_Word] = []
    end, marked = 0, False
    for match in _WORD.finditer(text):
        first, behind = match.span()
        word = match[0]
        # A glyph without a Unicode value arrives as its bare code: a wrong letter, not a right one.
        if unmapped(handle, first) == 1 or (has_odd and _ODD.search(word)):
            word = "".join(
                REPLACEMENT if unmapped(handle, first + i) == 1 and char not in _HYPHEN_MARKS else char
                for i, char in enumerate(word)
            )
        loose_box(handle, first, into)
        left, top, right, bottom = values
        box = last = (left, bottom, right, top)
        if behind - first > 1:
            loose_box(handle, behind - 1, into)
            left, top, right, bottom = values
            last = (left, bottom, right, top)
        breaks = marked or (first > end and "\n" in text[end:first])
        glued = first == end and not marked
        marked = word[-1] in _HYPHEN_MARKS
        if marked:
            word = f"{word[:-1]}-"
        if SOFT_HYPHEN in word:
            word = _mended(word)
        if figures:
            word = _with_powers(word, first, figures, textpage, raw, box)
        words.append((word, first, glued, breaks, box, last))
        end = behind
    return words


def _address(pointer: Any) -> int:
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    assert address is not None
    return address


def _with_powers(word: str, first: int, figures: dict[int, int], textpage: Any, raw: Any, box: Box) -> str:
    """``word`` with a figure that is smaller and higher than its first letter set as what it is: ``m²``, not ``m2``."""
    bare = word.rstrip(_CLOSING)
    start = figures.get(first + len(bare))
    if start is None:
        return word
    rect = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage, start, rect)
    if rect.top - rect.bottom >= 0.8 * (box[3] - box[1]) or rect.top + rect.bottom <= box[1] + box[3]:
        return word
    return word[: start - first] + "".join(SUPERSCRIPTS[c] for c in word[start - first : len(bare)]) + word[len(bare) :]


def _cut_at_bars(words: list[_Word], bars: Sequence[Bar], textpage: Any, raw: Any) -> list[_Word]:
    """Words, with those cut up that pdfium reads over a vertical line: cells may stand close to each other."""
    places = sorted(bars)
    xs = [bar.x for bar in places]
    out: list[_Word] = []
    for word in words:
        at, end = bisect_left(xs, word[4][0] + 1), bisect_left(xs, word[5][2] - 1)
        if at < end:
            middle = (word[4][1] + word[4][3]) / 2
            crossed = [x for x, y0, y1 in places[at:end] if y0 <= middle <= y1]
            out += _cut(word, crossed, textpage, raw) if crossed else [word]
        else:
            out.append(word)
    return out


def _cut(word: _Word, xs: list[float], textpage: Any, raw: Any) -> list[_Word]:
    text, first, glued, breaks, _, _ = word
    rect = raw.FS_RECTF()
    pieces: list[_Word] = []
    column = -1
    for i, char in enumerate(text):
        raw.FPDFText_GetLooseCharBox(textpage, first + i, rect)
        box = (rect.left, rect.bottom, rect.right, rect.top)
        at = bisect_left(xs, (rect.left + rect.right) / 2)
        if at != column:
            pieces.append((char, first + i, glued and not pieces, breaks and not pieces, box, box))
        else:
            pieces[-1] = (pieces[-1][0] + char, *pieces[-1][1:5], box)
        column = at
    return pieces


def _text(textpage: Any, raw: Any, count: int) -> str:
    """Text of the page, one character for each of pdfium's."""
    buffer = (ctypes.c_uint16 * (count + 1))()
    raw.FPDFText_GetText(textpage, 0, count, buffer)
    text = bytes(buffer)[: 2 * count].decode("utf-16-le", "surrogatepass")
    if len(text) == count and "\x00" not in text:
        return text
    # Characters that pdfium keeps out of the text, or beyond the first plane: the places differ.
    codes = (raw.FPDFText_GetUnicode(textpage, i) for i in range(count))
    return "".join(chr(code) if 0 < code < 0x110000 else REPLACEMENT for code in codes)


def _mended(word: str) -> str:
    """A soft hyphen that is drawn inside a PDF word: gone where the word goes on in lower case, else a hyphen."""
    parts = word.split(SOFT_HYPHEN)
    text = parts[0]
    for part in parts[1:]:
        text += part if part[:1].islower() and text[-1:].isalpha() else f"-{part}"
    return text


def _quarter(angle: float) -> int | None:
    """Quarter turns of the page that set text at ``angle`` (radians, clockwise) upright; None where it is slanted."""
    quarters = round(angle / (math.pi / 2))
    return -quarters % 4 if abs(angle - quarters * math.pi / 2) <= _SLANT else None


def _placed(words: list[_Word], turn: Turn, page: Box) -> list[_Placed]:
    """Words with the box they have when read, without those off the page and those without extent."""
    placed: list[_Placed] = []
    single = 0
    left, low, right, high = page
    for text, _, glued, breaks, a, b in words:
        if not (left <= (a[0] + b[2]) / 2 <= right and low <= (a[1] + b[3]) / 2 <= high):
            continue
        if turn.quarters:
            a, b = turn(*a), turn(*b)
        x0, y0, x1, y1 = a
        _, v0, u1, v1 = b
        y0, y1 = v0 if v0 < y0 else y0, v1 if v1 > y1 else y1
        if y1 > y0:
            placed.append((text, glued, breaks, x0, y0, u1 if u1 > x1 else x1, y1))
            single += len(text) == 1
    return _closed_up(placed) if single >= _MIN_LETTERS else placed


def _runs(words: list[_Placed], bars: list[float]) -> list[Span]:
    """Runs of words on one line that are no farther apart than words are."""
    runs: list[Span] = []
    parts: list[str] = []
    x0 = y0 = x1 = y1 = head = 0.0
    for text, glued, breaks, u0, v0, u1, v1 in words:
        if parts and not breaks:
            gap, height = u0 - x1, v1 - v0 if v1 - v0 < y1 - y0 else y1 - y0
            shared = (v1 if v1 < y1 else y1) - (v0 if v0 > y0 else y0)
            if shared > 0.5 * height and -0.5 < gap / height < _SPLIT and not (bars and _crosses(bars, x1, u0)):
                if glued or abs(gap) < _GLUED * height:
                    parts.append(text)
                else:
                    head = head or x1
                    parts += (" ", text)
                x1 = u1 if u1 > x1 else x1
                y0, y1 = v0 if v0 < y0 else y0, v1 if v1 > y1 else y1
                continue
        if parts:
            runs.append(Span("".join(parts), x0, y0, x1, y1, head))
        parts = [text]
        x0, y0, x1, y1, head = u0, v0, u1, v1, 0.0
    if parts:
        runs.append(Span("".join(parts), x0, y0, x1, y1, head))
    return runs


def _crosses(bars: list[float], x0: float, x1: float) -> bool:
    at = bisect_left(bars, x0 - 1)
    return at < len(bars) and bars[at] <= x1 + 1


def _closed_up(words: list[_Placed]) -> list[_Placed]:
    """Words set letter by letter ("Z U S C H L A G") put together; wider gaps part the words."""
    out: list[_Placed] = []
    letters: list[_Placed] = []
    for word in words:
        is_letter = len(word[0]) == 1 and word[0].isalpha()
        if letters and (not is_letter or word[2]):
            out += _closed(letters)
            letters = []
        (letters if is_letter else out).append(word)
    return out + _closed(letters)


def _closed(letters: list[_Placed]) -> list[_Placed]:
    codes = [ord(word[0]) for word in letters]
    if len(letters) < _MIN_LETTERS or all(b - a == 1 for a, b in pairwise(codes)):
        return letters
    usual = median(b[3] - a[5] for a, b in pairwise(letters))
    out = letters[:1]
    for previous, word in pairwise(letters):
        if word[3] - previous[5] <= 1.5 * usual + 1:
            text, glued, breaks, x0, y0, _, y1 = out[-1]
            out[-1] = (text + word[0], glued, breaks, x0, min(y0, word[4]), word[5], max(y1, word[6]))
        else:
            out.append(word)
    return out
