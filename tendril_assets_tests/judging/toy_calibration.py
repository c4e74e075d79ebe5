"""A calibration by hand: pairs, annotators and systems as frames, and marks made of them."""

from collections.abc import Mapping, Sequence

import polars as pl

from tendril_assets.judging.marks import Marks, marks_of

GRADE = pl.Int8


def frame(rows: Sequence[tuple], **schema: pl.DataType | type[pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


def pairs(graded: Sequence[int | None], levels: Sequence[str] | None = None, per_query: int = 1) -> pl.DataFrame:
    """One pair per grade; ``per_query`` neighbours share a query."""
    rows = [
        (f"q{i // per_query:04}", f"p{i:04}", "one" if levels is None else levels[i], grade)
        for i, grade in enumerate(graded)
    ]
    return frame(rows, query_id=pl.String, passage_id=pl.String, level=pl.String, curated_grade=GRADE)


def verdicts(of: pl.DataFrame, grades: Mapping[tuple[str, str], Sequence[int | None]]) -> pl.DataFrame:
    """``grades``: (system, run) -> one grade per pair."""
    rows = [
        (system, run, *ids, grade)
        for (system, run), own in grades.items()
        for ids, grade in zip(of.select("query_id", "passage_id").iter_rows(), own, strict=True)
    ]
    return frame(rows, system=pl.String, run=pl.String, query_id=pl.String, passage_id=pl.String, grade=GRADE)


def annotations(of: pl.DataFrame, grades: Mapping[str, Sequence[int | None]]) -> pl.DataFrame:
    rows = [
        (*ids, name, grade)
        for name, own in grades.items()
        for ids, grade in zip(of.select("query_id", "passage_id").iter_rows(), own, strict=True)
    ]
    return frame(rows, query_id=pl.String, passage_id=pl.String, annotator=pl.String, grade=GRADE)


def marks(
    curated: Sequence[int | None],
    systems: Mapping[str, Sequence[Sequence[int | None]]],
    people: Mapping[str, Sequence[int | None]] | None = None,
    levels: Sequence[str] | None = None,
    per_query: int = 1,
) -> Marks:
    """``systems``: name -> the grades of each run."""
    own = pairs(curated, levels, per_query)
    runs = [str(i + 1) for i in range(max((len(grades) for grades in systems.values()), default=1))]
    given = {(name, runs[i]): run for name, grades in systems.items() for i, run in enumerate(grades)}
    return marks_of(own, annotations(own, people or {}), verdicts(own, given), list(systems), runs)


def from_table(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The marks of two raters whose table of counts this is, rows the first."""
    cells = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    return [a for a, _ in cells], [b for _, b in cells]
