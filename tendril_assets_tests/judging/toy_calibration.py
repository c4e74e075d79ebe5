"""A calibration by hand: pairs, annotators and systems as frames, and marks made of them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations

import polars as pl

from tendril_assets.judging.agreement import confusion_table, kappas
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


def kappa(
    a: Sequence[int | None], b: Sequence[int | None], labels: Sequence[int], weights: str = "none"
) -> float | None:
    """Cohen's kappa of two raters over all pairs at once; None where undefined."""
    value = float(kappas(confusion_table(a, b, labels)[0][None], weights)[0])
    return None if math.isnan(value) else value


def alpha_by_definition(units: Sequence[Sequence[int | None]], metric: str) -> float | None:
    """Krippendorff's alpha mark by mark, after his definition (2011): slow, and with nothing in common with the engine's.

    None where no unit has two marks, or all marks that are paired are one.
    """
    kept = [[m for m in unit if m is not None] for unit in units]
    kept = [unit for unit in kept if len(unit) >= 2]
    every = [m for unit in kept for m in unit]
    count = Counter(every)

    def distance(a: int, b: int) -> float:
        if metric == "nominal":
            return float(a != b)
        if metric == "interval":
            return float(a - b) ** 2
        low, high = sorted((a, b))
        return (
            (sum(n for m, n in count.items() if low <= m <= high) - (count[a] + count[b]) / 2) ** 2 if a != b else 0.0
        )

    expected = sum(distance(a, b) for a, b in permutations(every, 2))
    if not expected:
        return None
    observed = sum(sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in kept)
    return 1 - (len(every) - 1) * observed / expected
