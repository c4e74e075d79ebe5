"""Passages of a document: its paragraphs, each with the heading above it.

A block of the extracted text (paragraph, list, table) is a passage. A heading goes with the block below it, a line
that ends with a colon with what it announces, and a block too short to stand alone with its neighbour. A paragraph
that a page or column break cuts in a sentence is one passage, which starts on the first page. A block that is too long
is cut at a line break, a sentence end or a blank, in this order of preference.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tendril_assets.corpus.extraction import PageText
from tendril_assets.corpus.layout import CELL_SEPARATOR
from tendril_assets.corpus.textclean import is_list_item, join_lines, squeeze

CHUNKER_VERSION = "chunk-2"
MIN_CHARACTERS = 20
MAX_CHARACTERS = 5_000
_MAX_HEADING = 100
_MAX_HEADINGS = 300

_CUTS = (
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:])\s(?=[\"»«„(]?[A-ZÄÖÜÀ-ÝА-ЯЁ0-9])"),
    re.compile(r"\s"),
)


class PassageText(NamedTuple):
    """``page``: where it starts, from 1; ``position``: order within the document, from 0."""

    page: int
    position: int
    text: str


class _Block(NamedTuple):
    page: int
    text: str


def passages_of(pages: Sequence[PageText]) -> list[PassageText]:
    """Passages of 20 to 5,000 characters in reading order.

    A page whose whole text is under 20 characters still gives a (too short) passage, so that the filter counts it
    instead of its vanishing here. No text is lost or repeated: without white space, and but for mended hyphens, the
    passages in order are the pages in order.
    """
    blocks = _with_neighbours(_whole_sentences(pages))
    texts = [_Block(block.page, part) for block in blocks for part in _cut(block.text)]
    return [PassageText(page, position, text) for position, (page, text) in enumerate(texts)]


def _whole_sentences(pages: Iterable[PageText]) -> list[_Block]:
    """The blocks of all pages, with those joined that a page or column break cuts in a sentence."""
    blocks: list[_Block] = []
    previous_page = 0
    for page in pages:
        for i, text in enumerate(filter(None, (part.strip() for part in squeeze(page.text).split("\n\n")))):
            at_page_break = i == 0 and page.number == previous_page + 1
            if blocks and (i > 0 or at_page_break) and _goes_on(blocks[-1].text, text, at_page_break):
                blocks[-1] = _Block(blocks[-1].page, join_lines(blocks[-1].text, text))
            else:
                blocks.append(_Block(page.number, text))
        previous_page = page.number
    return blocks


def _goes_on(before: str, after: str, at_page_break: bool) -> bool:
    """Whether a sentence is cut between the two: no end of sentence before, a small letter after, no table.

    At a page break a capital will do (the next word may be a noun), where what stands before is too long for a heading
    and what stands after has the end of a sentence.
    """
    if CELL_SEPARATOR in before.rpartition("\n")[2] or CELL_SEPARATOR in after.partition("\n")[0]:
        return False
    if is_list_item(after) or not (before[-1].isalpha() or before[-1] in ",-"):
        return False
    is_prose = len(before) > _MAX_HEADING and after[0].isalpha() and after[-1] in ".!?;:"
    return after[0].islower() or (at_page_break and is_prose)


def _with_neighbours(blocks: list[_Block]) -> list[_Block]:
    """Join headings, announcements and short blocks to the block below on their page (a last short one: above)."""
    out: list[_Block] = []
    open_block = False
    for block in blocks:
        if out and open_block and out[-1].page == block.page:
            out[-1] = _Block(block.page, f"{out[-1].text}\n{block.text}")
        else:
            out.append(block)
        # Many short lines in a row are no headings of each other.
        # A whole sentence that announces a list goes with it, however long.
        announces = block.text.endswith(":") and len(block.text) > _MAX_HEADING
        open_block = announces or (_wants_next(block.text) and len(out[-1].text) < _MAX_HEADINGS)
    return _short_to_previous(out)


def _short_to_previous(blocks: list[_Block]) -> list[_Block]:
    out: list[_Block] = []
    for block in blocks:
        if out and out[-1].page == block.page and min(len(block.text), len(out[-1].text)) < MIN_CHARACTERS:
            out[-1] = _Block(block.page, f"{out[-1].text}\n{block.text}")
        else:
            out.append(block)
    return out


def _wants_next(text: str) -> bool:
    if len(text) < MIN_CHARACTERS or text.endswith(":"):
        return True
    is_line = len(text) <= _MAX_HEADING and "\n" not in text and CELL_SEPARATOR not in text
    return is_line and text[-1] not in ".!?;," and not text[0].islower()


def _cut(text: str) -> list[str]:
    """Parts of at most 5,000 characters; none under 20, unless the whole text is."""
    parts: list[str] = []
    while len(text) > MAX_CHARACTERS:
        # The rest must be able to stand alone, so the last cut leaves it enough.
        latest = min(MAX_CHARACTERS, len(text) - MIN_CHARACTERS)
        at = latest
        for pattern in _CUTS:
            places = [m.start() for m in pattern.finditer(text, MAX_CHARACTERS // 2, latest + 1)]
            if places:
                at = places[-1]
                break
        parts.append(text[:at].strip())
        text = text[at:].strip()
    return [*parts, text]
