"""Chunks of a document as rows: its passages, and where each stands among the clauses."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.clause_chunks import Chunk
from tendril_assets.corpus.content_check import content_check
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.passages import passage_rows


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


def bodies(passages: pl.DataFrame, clauses: pl.DataFrame) -> pl.DataFrame:
    """``passages`` with the texts of their acts alone: the heading line, which all chunks of a section share, would make
    copies of two short ones. Both are rows of the tables of that name (``passage_clauses``)."""
    lengths = clauses.select("passage_id", _body=pl.col("ends_at") - pl.col("starts_at"))
    joined = passages.join(lengths, on="passage_id", how="left", maintain_order="left")
    return joined.with_columns(text=pl.col("text").str.tail(pl.col("_body"))).drop("_body")


def overlapping_removed(clauses: pl.DataFrame, removed: Iterable[str], left: Iterable[str]) -> list[str]:
    """Sorted ids of ``left`` whose stretch of the act shares characters with one of ``removed``. ``clauses``: rows of
    ``passage_clauses`` of all of them."""
    place = clauses.select("passage_id", "project", "starts_at", "ends_at")
    gone = place.filter(pl.col("passage_id").is_in(list(removed))).drop("passage_id")
    both = place.filter(pl.col("passage_id").is_in(list(left))).join(gone, on="project", suffix="_gone")
    touching = (pl.col("starts_at") < pl.col("ends_at_gone")) & (pl.col("starts_at_gone") < pl.col("ends_at"))
    return sorted(both.filter(touching)["passage_id"].unique())


def act_title(number: str, day: str, title: str) -> str:
    """What names an act in the heading line of its chunks: "590-П от 28.06.2017 «О порядке ...»"."""
    words = " ".join(title.split())
    quoted = words if words[:1] in ('"', "«", "“") else f"«{words}»"
    return f"{number} от {day} {quoted}" if words else f"{number} от {day}"
