"""Chunks of an act: whole clauses and paragraphs up to a number of tokens, with an overlap and a heading.

The rule, in the order it is applied:

1. The act is cut into its parts (``clauses.structure``). A part over the limit is cut at the end of a sentence, else of a
   line, else of a word, else anywhere.
2. A new section (chapter, appendix) begins a new chunk. Its heading is named by the chunk's heading line and is not
   repeated below it, unless that line had to be cut short.
3. Parts are put together up to the limit, heading line included. A chunk ends before a clause rather than in one, where
   that leaves it more than half full.
4. A chunk begins with the last whole parts of the one before it in its section, as far as they fit into the overlap; where
   the last part is larger, with its last sentences.

So every character of the act but the white space between parts stands in at least one chunk, and the body of a chunk is a
stretch of the act as it stands.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tendril_assets.corpus.clause_numbers import CLAUSE_VERSION
from tendril_assets.corpus.clauses import Part, structure
from tendril_assets.corpus.tokens import TokenCounter
from tendril_assets.spec_corpus import ChunkingSpec

CHUNKS_VERSION = f"clause-chunks-1+{CLAUSE_VERSION}"
_CUTS = (
    # The end of a sentence or of an item of a list; no full stop of "п. 3.9", "№ 5. 2014 г. № 18" or an initial.
    re.compile(r"(?<=[;:])\s+|(?:(?<=[а-яё]{3}[.!?])|(?<=[»”\")\d][.!?]))\s+(?=[«“\"(]?[А-ЯЁA-Z])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)
# The title of the act, and the section, each take at most one part of so many of a chunk's tokens.
_HEADING_SHARE = 8


class Chunk(NamedTuple):
    """``text`` is the heading line, if any, and the body, which is ``act[starts_at:ends_at]``.

    ``clauses``: those that begin in the body; ``continues``: the one that it begins in the middle of. ``tokens``: of the
    whole text.
    """

    text: str
    section: str
    clauses: tuple[str, ...]
    continues: str | None
    starts_at: int
    ends_at: int
    tokens: int


class _Piece(NamedTuple):
    """A part, or a stretch of a long one. ``is_clause``: a clause begins here; ``is_part``: a part does."""

    start: int
    end: int
    is_clause: bool
    is_part: bool
    tokens: int


class _Stretch(NamedTuple):
    start: int
    end: int


def chunks_of(act: str, title: str, spec: ChunkingSpec, counter: TokenCounter) -> list[Chunk]:
    """Chunks of at most ``spec.max_tokens`` in the order of the act; ``title`` names the act in the heading line.

    Raises ValueError for a limit in which the heading line leaves no room.
    """
    found: list[Chunk] = []
    for section in _by_section(structure(act)):
        label = section[-1].section
        line, is_whole = _heading_line(title, label, spec, counter)
        if counter.counts([line])[0] >= spec.max_tokens:
            raise ValueError(f"a heading line leaves no room below {spec.max_tokens} tokens: {line!r}")
        parts = [part for part in section if part.kind != "heading"] if is_whole else list(section)
        stretches = _fitting(act, parts or section, line, spec, counter)
        texts = [_text(act, line, stretch) for stretch in stretches]
        for (start, end), text, tokens in zip(stretches, texts, counter.counts(texts), strict=True):
            found.append(Chunk(text, label, *_clauses(section, start, end), start, end, tokens))
    return found


def _by_section(parts: Sequence[Part]) -> list[list[Part]]:
    """Runs of parts under one heading. Headings with nothing between them stay together."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and (part.kind != "heading" or runs[-1][-1].kind == "heading"):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _clauses(section: Sequence[Part], start: int, end: int) -> tuple[tuple[str, ...], str | None]:
    """Numbers of the clauses that begin in ``[start, end)``, and of the one in the middle of which it begins."""
    clauses = [(part.start, part.number) for part in section if part.kind == "clause" and part.number]
    begin = tuple(number for at, number in clauses if start <= at < end)
    before = [number for at, number in clauses if at < start]
    is_clean = any(at == start for at, _ in clauses)
    return begin, before[-1] if before and not is_clean else None


def _heading_line(title: str, label: str, spec: ChunkingSpec, counter: TokenCounter) -> tuple[str, bool]:
    """The line that names act and section, and whether it has the section's headings in full."""
    if not spec.heading:
        return "", False
    most = spec.max_tokens // _HEADING_SHARE
    shown = [_shortened(text, most, counter) for text in (title, label)]
    return ". ".join(text.rstrip(". ") for text in shown if text).replace("…. ", "… "), shown[1] == label


def _shortened(text: str, most: int, counter: TokenCounter) -> str:
    """``text`` in one line of at most ``most`` tokens, cut behind a word."""
    flat = " ".join(text.split())
    if counter.counts([flat])[0] <= most:
        return flat
    words = flat.split(" ")
    low, high = 0, len(words)
    while low < high:  # the most words that fit, with the sign of what is left out
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.counts([_cut_behind(words, middle)])[0] <= most else (low, middle - 1)
    return _cut_behind(words, low) if low else ""


def _cut_behind(words: list[str], n: int) -> str:
    return " ".join(words[:n]).rstrip(" ,;:(-") + "…"


def _text(act: str, line: str, stretch: _Stretch) -> str:
    body = act[stretch.start : stretch.end]
    return f"{line}\n{body}" if line else body


def _fitting(act: str, parts: Sequence[Part], line: str, spec: ChunkingSpec, counter: TokenCounter) -> list[_Stretch]:
    """Stretches of the act that are within the limit together with ``line``, counted together: a tokenizer may count texts
    that stand together a little higher than each alone."""
    limit = spec.max_tokens - counter.counts([line])[0]
    while True:
        stretches = _packed(act, _pieces(act, parts, limit, counter), limit, spec.overlap_tokens, counter)
        most = max(counter.counts([_text(act, line, stretch) for stretch in stretches]))
        if most <= spec.max_tokens or limit == 1:
            return stretches
        limit = max(1, limit - (most - spec.max_tokens))


def _pieces(act: str, parts: Sequence[Part], limit: int, counter: TokenCounter) -> list[_Piece]:
    """The parts in order; those over half of the limit in sentences, and what is over the limit still in less."""
    whole = counter.counts([act[part.start : part.end] for part in parts])
    pieces: list[_Piece] = []
    for part, tokens in zip(parts, whole, strict=True):
        stretches = [(part.start, part.end, tokens)]
        for cut in (*_CUTS, None):
            most = limit // 2 if cut is _CUTS[0] else limit
            stretches = [
                smaller
                for stretch in stretches
                for smaller in ([stretch] if stretch[2] <= most else _cut(act, stretch, cut, limit, counter))
            ]
        for n, (start, end, count) in enumerate(stretches):
            pieces.append(_Piece(start, end, n == 0 and part.kind == "clause", n == 0, count))
    return pieces


def _cut(
    act: str, stretch: tuple[int, int, int], cut: re.Pattern[str] | None, limit: int, counter: TokenCounter
) -> list[tuple[int, int, int]]:
    """``stretch`` cut wherever ``cut`` matches, or (None) every few characters so that each is within the limit."""
    start, end, tokens = stretch
    if cut is not None:
        places = [(found.start(), found.end()) for found in cut.finditer(act, start, end)]
    else:
        step = max(1, (end - start) * limit // (2 * tokens))
        places = [(at, at) for at in range(start + step, end, step)]
    bounds = [start, *(place for pair in places for place in pair), end]
    found = [(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=True) if a < b]
    counts = counter.counts([act[a:b] for a, b in found])
    return [(a, b, n) for (a, b), n in zip(found, counts, strict=True)]


def _packed(act: str, pieces: Sequence[_Piece], limit: int, overlap: int, counter: TokenCounter) -> list[_Stretch]:
    """Pieces put together to stretches of at most ``limit`` tokens, each beginning with the end of the one before."""
    found: list[_Stretch] = []
    first, start, tokens = 0, pieces[0].start, 0  # tokens: of the overlap that stands before ``first``
    while first < len(pieces):
        if tokens + pieces[first].tokens > limit:
            start, tokens = pieces[first].start, 0
        last = _last_of(pieces, first, tokens, limit)
        found.append(_Stretch(start, pieces[last].end))
        first = last + 1
        if first < len(pieces):
            start, tokens = _overlap(act, pieces, found[-1].start, first, overlap, counter)
    return found


def _last_of(pieces: Sequence[_Piece], first: int, tokens: int, limit: int) -> int:
    """The last piece of a stretch that begins with ``first``, behind ``tokens`` of overlap."""
    ends: dict[str, int] = {}
    last = first
    for n in range(first, len(pieces)):
        tokens += pieces[n].tokens
        if tokens > limit and n > first:
            break
        last = n
        if n + 1 < len(pieces) and 2 * tokens > limit:
            ends |= {"clause": n} if pieces[n + 1].is_clause else {}
            ends |= {"part": n} if pieces[n + 1].is_part else {}
    if last == len(pieces) - 1:
        return last
    return ends.get("clause", ends.get("part", last))


def _overlap(
    act: str, pieces: Sequence[_Piece], begin: int, first: int, most: int, counter: TokenCounter
) -> tuple[int, int]:
    """Where the stretch of piece ``first`` begins, with at most ``most`` tokens of what stands before it, and how many they
    are. It begins behind ``begin``, where the stretch before does."""
    start, tokens = pieces[first].start, 0
    for piece in reversed(pieces[:first]):
        if piece.start <= begin or tokens + piece.tokens > most:
            break
        start, tokens = piece.start, tokens + piece.tokens
    if tokens or pieces[first].is_clause:
        return start, tokens
    # In the middle of a clause the sentence before matters, whole or not.
    before = pieces[first - 1]
    for cut in (_CUTS[0], _CUTS[2]):
        places = [found.end() for found in cut.finditer(act, max(before.start, begin + 1), before.end)]
        counts = counter.counts([act[place : before.end] for place in places])
        if fitting := [(place, n) for place, n in zip(places, counts, strict=True) if 0 < n <= most]:
            return fitting[0]
    return start, 0
