"""Texts that are HTML in one field and plain in the next, as blocks of text."""

import html
import re

from tendril_assets.corpus.blocks import BlockBuilder, Mark
from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.extract_html import walk_html
from tendril_assets.corpus.line_ends import is_list_item
from tendril_assets.corpus.textclean import clean, squeeze

# A text without one of these is plain: "Leistung <5 kW" and "<Name>" are no markup.
_TAG = re.compile(
    r"</?(?:a|abbr|b|blockquote|body|br|center|cite|code|dd|div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|label|li|mark|ol|p|"
    r"pre|q|s|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|title|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class _Bulleted(BlockBuilder):
    """List items open with a dash, so that they are known as such when the text is read again."""

    def paragraph(self, text: str, mark: Mark, *, item: bool = False) -> None:
        if item and text.strip():
            text = " ".join(text.split())
            text = text if is_list_item(text) else f"- {text}"
        super().paragraph(text, mark, item=item)


def text_blocks(text: str, max_characters: int) -> list[str]:
    """Paragraphs, lists and tables of ``text``, HTML or plain; empty for markup around nothing.

    Lists are one item a line, tables one row a line; every other line is a block of its own. Cleaned as by
    ``textclean.clean``, with single blanks. Raises Unreadable (too_large) over ``max_characters``.
    """
    if _TAG.search(text):
        builder = _Bulleted(max_characters)
        walk_html(text, builder)
        blocks = [block for _, block in builder.blocks]
    else:
        blocks = [_ENTITY.sub(lambda m: html.unescape(m[0]), text)]
    return [part for block in blocks for part in _parts(squeeze(clean(block)))]


def _parts(block: str) -> list[str]:
    """Items of a list together, rows of a table together, each other line alone."""
    parts: list[str] = []
    before = ""
    for line in filter(None, block.split("\n")):
        is_row = CELL_SEPARATOR in line and CELL_SEPARATOR in before
        if is_row or (is_list_item(line) and is_list_item(before)):
            parts[-1] = f"{parts[-1]}\n{line}"
        else:
            parts.append(line)
        before = line
    return parts
