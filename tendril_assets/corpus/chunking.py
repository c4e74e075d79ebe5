"""Passages of a document: its paragraphs, lists and tables, each with the heading above it.

The rule, in the order it is applied:

1. A block of the extracted text (paragraph, list, table: what empty lines part) is a passage.
2. A paragraph that a page or column break cuts in a sentence is one passage, and so is a word cut there.
3. A heading goes with the block below it, and so does a line that ends with a colon; several headings in a row go
   together, up to 300 characters. A heading is one line of at most 100 characters that starts with no small letter and
   does not end like a sentence; one that is numbered may, in up to eight words ("3.2 Was ist verlangt?").
4. At the end of a page a heading or announcement goes with the first block of the next page. A page number does not.
5. A block under 20 characters goes with the block below it, or else with the one above, on its page.
6. A block over 5,000 characters is cut at a line break, a sentence end or a blank, in this order of preference, so that
   no part is under 20 characters.

A passage has the number of the page it starts on. No text is lost, repeated or moved.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tendril_assets.corpus.boxes import CELL_SEPARATOR
from tendril_assets.corpus.extraction import PageText
from tendril_assets.corpus.line_ends import is_list_item, join_lines
from tendril_assets.corpus.textclean import squeeze

CHUNKER_VERSION = "chunk-3"
MIN_CHARACTERS = 20
MAX_CHARACTERS = 5_000
_MAX_HEADING = 100
_MAX_HEADINGS = 300
_MAX_HEADING_WORDS = 8  # of a numbered line that ends like a sentence
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,5}\.?|[A-Z]\.|[IVX]{1,5}\.|§\s?\d+\w?|Art\.\s?\d+\w?)\s+\S")
_PAGE_NUMBER = re.compile(
    r"\W*(?:seite|page|pagina|pag\.|blatt|s\.|p\.)?\W*\d{1,4}(?:\W+(?:von|de|di|of|sur|su)?\W*\d{1,4})?\W*\Z", re.I
)

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
    """Join headings, announcements and short blocks to the block below (a last short one: above)."""
    out: list[_Block] = []
    last = _Block(0, "")
    for block in blocks:
        if out and _goes_with_next(last.text, out[-1].text) and _reaches(last, block):
            out[-1] = _Block(out[-1].page, f"{out[-1].text}\n{block.text}")
        else:
            out.append(block)
        last = block
    return _short_to_previous(out)


def _goes_with_next(text: str, passage: str) -> bool:
    """Whether the block ``text``, the last one of ``passage``, belongs to what is below it."""
    # A whole sentence that announces a list goes with it, however long.
    if text.endswith(":") and len(text) > _MAX_HEADING:
        return True
    # Many short lines in a row are no headings of each other.
    return len(passage) < _MAX_HEADINGS and (len(text) < MIN_CHARACTERS or text.endswith(":") or _is_heading(text))


def _reaches(last: _Block, block: _Block) -> bool:
    """Whether the two are on one page; or on two, and the first heads or announces the second."""
    if last.page == block.page:
        return True
    if block.page != last.page + 1 or _PAGE_NUMBER.match(last.text):
        return False
    return last.text.endswith(":") or _is_heading(last.text)


def _is_heading(text: str) -> bool:
    if len(text) > _MAX_HEADING or "\n" in text or CELL_SEPARATOR in text or text[0].islower():
        return False
    if text[-1] in ".!?" and _NUMBERED.match(text):
        return len(re.findall(r"[^\W\d_]{3,}[.!?]", text)) == 1 and len(text.split()) <= _MAX_HEADING_WORDS
    return text[-1] not in ".!?;," and any(char.isalpha() for char in text)


def _short_to_previous(blocks: list[_Block]) -> list[_Block]:
    out: list[_Block] = []
    for block in blocks:
        if out and out[-1].page == block.page and min(len(block.text), len(out[-1].text)) < MIN_CHARACTERS:
            out[-1] = _Block(block.page, f"{out[-1].text}\n{block.text}")
        else:
            out.append(block)
    return out


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
