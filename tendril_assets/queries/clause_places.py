"""Where the clauses of each act stand: which passages a clause begins in.

A number may begin several clauses of one act: those of its body, and again those of an appendix. Where a reference names an
appendix, that one is looked in; else the body goes before appendices. A clause that begins in two passages next to each
other, because they overlap, begins once. One that begins at several places all the same cannot be told from its number, and
has no passages.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import polars as pl

from tendril_assets.queries.references import NamedClause


class Place(NamedTuple):
    """A passage in which a clause begins; ``appendix``: number of the appendix, empty for one without, None in the body."""

    passage_id: str
    appendix: str | None
    starts_at: int
    ends_at: int


class ClausePlaces:
    """Clauses of acts and the passages they begin in.

    Args:
        clauses: rows of ``passage_clauses``.
        present: passages of the corpus: others were removed or filtered out, and have no clause to show.
        appendix_of: the number of the appendix that a section heading names, see ``Place``.
    """

    def __init__(self, clauses: pl.DataFrame, present: Iterable[str], appendix_of: Callable[[str], str | None]) -> None:
        there = set(present)
        self._places: dict[tuple[str, str], list[Place]] = {}
        rows = clauses.select("project", "passage_id", "section", "clauses", "starts_at", "ends_at")
        for project, passage, section, numbers, start, end in rows.sort("project", "starts_at").iter_rows():
            if passage in there:
                place = Place(passage, appendix_of(section or ""), start, end)
                for number in dict.fromkeys(numbers):
                    self._places.setdefault((project, number), []).append(place)

    def stands(self, project: str, clause: NamedClause) -> bool:
        """Whether a clause of this number begins anywhere in the act that the reference allows."""
        return bool(self._allowed(project, clause))

    def passages(self, project: str, clause: NamedClause) -> list[str]:
        """Passages in which the clause begins, in the order of the act; none where it begins at several places."""
        allowed = self._allowed(project, clause)
        runs = _runs(allowed)
        return [place.passage_id for place in runs[0]] if len(runs) == 1 else []

    def _allowed(self, project: str, clause: NamedClause) -> list[Place]:
        places = self._places.get((project, clause.number), [])
        if clause.appendix is None:
            return [place for place in places if place.appendix is None] or places
        return [place for place in places if place.appendix is not None and clause.appendix in ("", place.appendix)]


def _runs(places: list[Place]) -> list[list[Place]]:
    """Places in runs of passages that overlap: one beginning each."""
    runs: list[list[Place]] = []
    for place in places:
        if runs and place.starts_at < runs[-1][-1].ends_at:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs
