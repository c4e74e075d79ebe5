"""Reading HTML (by selectolax) and plain text, whatever their encoding."""

import codecs
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tendril_assets.corpus.blocks import BlockBuilder
from tendril_assets.corpus.extraction import Limits, RawPages
from tendril_assets.corpus.layout import CELL_SEPARATOR
from tendril_assets.corpus.page_edges import repeated_edges
from tendril_assets.corpus.textclean import flow, is_list_item

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_NO_TEXT = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "head",
        "title",
        "object",
        "iframe",
        "svg",
        "math",
        "textarea",
        "select",
        "button",
    }
)
_INLINE = frozenset(
    {
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    }
)
# A page whose longest broken line is in between was wrapped by hand; else each line is a paragraph. People overshoot
# the usual 120 columns by a word.
_WRAPPED_AT = (40, 130)


def decode(data: bytes, declared: str | None = None) -> str:
    """Text of ``data``: byte order mark, then UTF-8, then ``declared``, then a single-byte code page.

    Valid UTF-8 goes before the declared name: it hardly ever is anything else. Of the code pages windows-1251 is taken
    where most letters lie in its Cyrillic half, else windows-1252. Undecodable bytes become U+FFFD.
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
    if declared and _is_code_page(declared):
        return data.decode(declared, "replace")
    high = sum(byte >= 0xC0 for byte in data)
    latin = sum(65 <= byte <= 90 or 97 <= byte <= 122 for byte in data)
    if high > latin:
        return data.decode("cp1251", "replace")
    # A few broken bytes in a UTF-8 text are no reason to read all of it in another code.
    lossy = data.decode("utf-8", "replace")
    umlauts = sum(ord(char) > 0x7F and char != "\ufffd" for char in lossy)
    return lossy if umlauts > lossy.count("\ufffd") else data.decode("cp1252", "replace")


def _is_code_page(encoding: str) -> bool:
    try:
        b"a".decode(encoding)
    except LookupError:  # unknown to Python, or not an encoding of text
        return False
    return codecs.lookup(encoding).name != "utf-8"


def read_text(path: Path, limits: Limits) -> RawPages:
    """Plain text; a form feed starts a page. Lines wrapped by hand become flowing paragraphs again."""
    pages = [page.splitlines() for page in decode(path.read_bytes()).split("\f")]
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


def read_html(path: Path, limits: Limits) -> RawPages:
    """The visible text of an HTML file as one page: blocks, list items and table rows. Links are never followed."""
    from selectolax.lexbor import LexborHTMLParser

    data = path.read_bytes()
    declared = _CHARSET.search(data[:4000])
    tree = LexborHTMLParser(decode(data, declared.group(1).decode("ascii") if declared else None))
    builder = BlockBuilder(limits.max_characters)
    if tree.body is not None:
        _HtmlWalk(builder).walk(tree.body)
    return RawPages(["\n\n".join(text for _, text in builder.blocks)])


def _is_visible(node: Any) -> bool:
    if node.tag in _NO_TEXT:
        return False
    attributes = node.attributes
    return "hidden" not in attributes and "display:none" not in (attributes.get("style") or "").replace(" ", "").lower()


class _HtmlWalk:
    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._item = False

    def walk(self, body: Any) -> None:
        """Depth first with an own stack: the depth of the tree is the author's choice, not ours."""
        stack = [(body, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                self._leave(node.tag)
                continue
            if node.is_text_node:
                self._inline.append(re.sub(r"\s+", " ", node.text_content or ""))
            elif node.is_element_node and _is_visible(node):
                self._enter(node.tag)
                stack.append((node, True))
                children = []
                child = node.child
                while child is not None:
                    children.append((child, False))
                    child = child.next
                stack += reversed(children)

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._inline.clear()
        if text.strip():
            self._builder.paragraph(text, (0, 0), item=self._item)
            self._item = False

    def _enter(self, tag: str) -> None:
        if tag == "br":
            self._inline.append("\n")
            return
        if tag in _INLINE:
            return
        self._flush()
        self._item = tag == "li" or (self._item and tag in ("p", "div"))
        if tag == "table":
            self._builder.open_table()
        elif tag in ("td", "th"):
            self._builder.open_cell()

    def _leave(self, tag: str) -> None:
        if tag in _INLINE or tag == "br":
            return
        self._flush()
        if tag == "tr":
            self._builder.close_row()
        elif tag == "table":
            self._builder.close_table()
