"""Reading HTML by selectolax: what a visitor sees of it, as paragraphs, list items and table rows."""

import re
from pathlib import Path
from typing import Any

from tendril_assets.corpus.blocks import BlockBuilder
from tendril_assets.corpus.extract_text import decode
from tendril_assets.corpus.extraction import Limits, RawPages
from tendril_assets.corpus.textclean import SUPERSCRIPTS

_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)|^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
_HEAD = 4000  # bytes that may declare an encoding
_NO_TEXT = frozenset((
    "audio", "button", "canvas", "datalist", "dialog", "head", "iframe", "input", "math", "nav", "noscript", "object",
    "rp", "rt", "script", "select", "style", "svg", "template", "textarea", "title", "video",
))  # fmt: skip
_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "output", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
))  # fmt: skip
_HIDING = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")


def read_html(path: Path, limits: Limits) -> RawPages:
    """The visible text of an HTML file as one page: blocks, list items and table rows. Links are never followed."""
    data = path.read_bytes()
    declared = _CHARSET.search(data[:_HEAD])
    name = (declared[1] or declared[2]).decode("ascii") if declared else None
    builder = BlockBuilder(limits.max_characters)
    walk_html(decode(data, name), builder)
    return RawPages(["\n\n".join(text for _, text in builder.blocks)])


def walk_html(markup: str, builder: BlockBuilder) -> None:
    """Give ``builder`` the visible blocks of an HTML document, or of a fragment of one.

    Not visible are scripts, styles, form controls, navigation, deleted text and what is hidden by an attribute or by
    its own style. Line breaks count where the page shows them: ``<br>`` and in ``<pre>``.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(markup)
    if tree.body is not None:
        _HtmlWalk(builder).walk(tree.body)


def _is_visible(node: Any) -> bool:
    if node.tag in _NO_TEXT or node.tag == "del":
        return False
    attributes = node.attributes
    if not attributes:
        return True
    return not (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") == "navigation"
        or _HIDING.search(attributes.get("style") or "")
    )


class _HtmlWalk:
    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._item = False
        self._preformatted = 0
        self._raised: list[int] = []  # how many pieces of text there were when each <sup> began

    def walk(self, body: Any) -> None:
        """Depth first with an own stack: the depth of the tree is the author's choice, not ours."""
        stack = [(body, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                self._leave(node.tag)
                continue
            if node.is_text_node:
                text = node.text_content or ""
                self._inline.append(text if self._preformatted else _BLANKS.sub(" ", text))
            elif node.is_element_node and _is_visible(node):
                self._enter(node)
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

    def _enter(self, node: Any) -> None:
        tag = node.tag
        if tag == "br":
            self._inline.append("\n")
        elif tag == "sup":
            self._raised.append(len(self._inline))
        if tag in _INLINE or tag == "br":
            return
        self._flush()
        self._item = tag == "li" or (self._item and tag in ("p", "div"))
        if tag == "pre":
            self._preformatted += 1
        elif tag == "table":
            self._builder.open_table()
        elif tag in ("td", "th"):
            self._builder.open_cell(_span(node, "colspan"), _span(node, "rowspan"))

    def _leave(self, tag: str) -> None:
        if tag == "sup":
            self._close_raised(self._raised.pop())
        if tag in _INLINE or tag == "br":
            return
        self._flush()
        if tag == "pre":
            self._preformatted -= 1
        elif tag == "tr":
            self._builder.close_row()
        elif tag == "table":
            self._builder.close_table()

    def _close_raised(self, start: int) -> None:
        """Digits set high are powers or marks of notes: ``10³``, not ``103``."""
        text = "".join(self._inline[start:]).strip()
        if text.isdecimal() and text.isascii():
            self._inline[start:] = ["".join(SUPERSCRIPTS[digit] for digit in text)]


def _span(node: Any, name: str) -> int:
    value = node.attributes.get(name) or ""
    return int(value) if value.isdecimal() and len(value) < 6 else 1
