"""Chunks of a document as rows: its passages, and where each stands among the clauses."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.clause_chunks import Chunk
from tendril_assets.corpus.content_check import content_check
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.passages import passage_rows

DocumentText = tuple[str, Sequence[int], Sequence[int]]


class ClauseRows(NamedTuple):
    """Rows of ``passages`` and of ``passage_clauses``, one each per chunk."""

    passages: list[tuple[str, str, str, int, int, str, int]]
    clauses: list[tuple[Any, ...]]


def clause_rows(
    project: str,
    document: str,
    chunks: Sequence[Chunk],
    identifiers: Identifiers,
    page_starts: Sequence[int] = (0,),
    pages: Sequence[int] = (1,),
) -> ClauseRows:
    """``page_starts``: where in the text each of ``pages`` (their numbers) begins."""
    texts = [
        PassageText(pages[bisect_right(page_starts, chunk.starts_at) - 1], position, chunk.text)
        for position, chunk in enumerate(chunks)
    ]
    passages = passage_rows(project, document, texts, identifiers)
    clauses = [
        (
            *(row[0], project, chunk.section, list(chunk.clauses), chunk.continues, chunk.starts_at, chunk.ends_at),
            *(chunk.tokens, content_check(row[5])),
        )
        for row, chunk in zip(passages, chunks, strict=True)
    ]
    return ClauseRows(passages, clauses)


def act_title(number: str, day: str, title: str, kind: str | None = None) -> str:
    """What names an act in the heading line of its chunks: "Положение № 590-П от 28.06.2017 «О порядке ...»"."""
    named = f"{kind} № {number} от {day}" if kind else f"{number} от {day}"
    words = " ".join(title.split())
    quoted = words if words[:1] in ('"', "«", "“") else f"«{words}»"
    return f"{named} {quoted}" if words else named
