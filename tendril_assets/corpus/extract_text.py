"""Reading plain text, whatever its encoding and however its lines are broken."""

import codecs
import re
from itertools import pairwise
from pathlib import Path

from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.extraction import Limits, RawPages, Unreadable
from tendril_assets.corpus.line_ends import flow, is_list_item
from tendril_assets.corpus.page_edges import repeated_edges

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# DOS code page 850: ü ä ö Ä Ö Ü, which windows-1252 has for quotes, dots and a gap
_DOS_UMLAUT = re.compile(rb"[A-Za-z ][\x81\x84\x94\x8e\x99\x9a][A-Za-z]")
_ANSI_UMLAUT = re.compile(rb"[A-Za-z ][\xe4\xf6\xfc\xc4\xd6\xdc\xdf\xe9\xe8\xe0\xe7][A-Za-z]")
# A page whose longest broken line is in between was wrapped by hand; else each line is a paragraph. People overshoot
# the usual 120 columns by a word.
_WRAPPED_AT = (40, 130)
# Of random bytes a tenth are control characters, of text none; a stray one is cleaned away.
MAX_CONTROL_SHARE = 0.02
_CONTROL = [chr(code) for code in range(32) if chr(code) not in "\t\n\v\f\r\x1a\x1b"]


def decode(data: bytes, declared: str | None = None) -> str:
    """Text of ``data``: byte order mark, then UTF-8, then ``declared``, then a single-byte code page.

    Valid UTF-8 goes before the declared name: it hardly ever is anything else. A declared Latin-1 or ASCII is read as
    windows-1252, as browsers do, for its dashes and quotes; a name whose bytes would be wider than one is no help. Of
    the code pages windows-1251 is taken where most letters lie in its Cyrillic half, the one of DOS where its umlauts
    are, else windows-1252. Undecodable bytes become U+FFFD.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, "replace")
    # UTF-16 without a mark: every other byte of Latin text is zero.
    zeros = [data[offset:4000:2].count(0) for offset in (0, 1)]
    if max(zeros) > 0.2 * min(len(data), 4000) and max(zeros) > 4 * min(zeros):
        return data.decode("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass  # not UTF-8: the names below decide
    if declared and (name := _code_page(declared)):
        return data.decode(name, "replace")
    high = sum(byte >= 0xC0 for byte in data)
    latin = sum(65 <= byte <= 90 or 97 <= byte <= 122 for byte in data)
    if high > latin:
        return data.decode("cp1251", "replace")
    # A few broken bytes in a UTF-8 text are no reason to read all of it in another code.
    lossy = data.decode("utf-8", "replace")
    umlauts = sum(ord(char) > 0x7F and char != "\ufffd" for char in lossy)
    if umlauts > lossy.count("\ufffd"):
        return lossy
    dos = len(_DOS_UMLAUT.findall(data)) > len(_ANSI_UMLAUT.findall(data))
    return data.decode("cp850" if dos else "cp1252", "replace")


def _code_page(encoding: str) -> str | None:
    """Python's name of a declared encoding; None where it has none, or one that does not fit bytes that are no UTF-8."""
    try:
        if b"a\xe4".decode(encoding, "replace")[:1] != "a":
            return None
    except LookupError:  # unknown to Python, or not an encoding of text
        return None
    name = codecs.lookup(encoding).name
    if name.startswith(("utf", "unicode", "raw")):
        return None
    return "cp1252" if name in ("iso8859-1", "ascii") else name


def read_text(path: Path, limits: Limits) -> RawPages:
    """Plain text; a form feed starts a page. Lines wrapped by hand become flowing paragraphs again."""
    text = decode(path.read_bytes())
    control = sum(text.count(sign) for sign in _CONTROL)
    if control > MAX_CONTROL_SHARE * len(text):
        raise Unreadable("unsupported", f"{control:,} of {len(text):,} characters are control characters: no text")
    pages = [page.splitlines() for page in text.split("\f")]
    filled = [[line.strip() for line in lines if line.strip()] for lines in pages]
    texts: list[str] = []
    dropped: list[str] = []
    for lines, full_lines, (top, bottom) in zip(pages, filled, repeated_edges(filled), strict=True):
        end = len(full_lines) - bottom
        dropped += full_lines[:top] + full_lines[end:]
        texts.append(_unwrapped(_trimmed(lines, top, bottom)))
    return RawPages(texts, dropped)


def _trimmed(lines: list[str], top: int, bottom: int) -> list[str]:
    """``lines`` without the first ``top`` and the last ``bottom`` lines that hold text."""
    places = [i for i, line in enumerate(lines) if line.strip()]
    if not places:
        return []
    start = places[top] if top < len(places) else len(lines)
    return lines[start : places[len(places) - bottom - 1] + 1] if bottom < len(places) else []


def _unwrapped(lines: list[str]) -> str:
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(re.sub(r"\s*\t\s*", CELL_SEPARATOR, line.strip()))
        elif paragraphs[-1]:
            paragraphs.append([])
    # Only a line that goes on tells the width: one long list item or title says nothing about the rest of the page.
    broken = (a for paragraph in paragraphs for a, b in pairwise(paragraph) if not is_list_item(b))
    width = max((len(line) for line in broken), default=0)
    wrapped = _WRAPPED_AT[0] <= width <= _WRAPPED_AT[1]
    return "\n\n".join(
        flow(paragraph, [wrapped and _is_full(a, b, width) for a, b in pairwise(paragraph)])
        for paragraph in paragraphs
        if paragraph
    )


def _is_full(line: str, following: str, width: int) -> bool:
    """Whether the next word would not have fitted into the line, so that the paragraph goes on; never in tables."""
    if CELL_SEPARATOR in line or CELL_SEPARATOR in following:
        return False
    return len(line) + 1 + len(following.split(" ", 1)[0]) > width
