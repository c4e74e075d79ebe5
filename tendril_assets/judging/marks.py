"""The marks of a calibration as arrays: which pair got which grade by whom."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

KEY = ("query_id", "passage_id")
MISSING = -1


@dataclass(frozen=True)
class Marks:
    """Grades of N pairs, ordered by pair; -1 where there is none.

    ``curated``: (N,). ``judged``: system -> runs x N, the first run first. ``annotated``: annotator -> (N,).
    """

    levels: np.ndarray = field(repr=False)
    queries: np.ndarray = field(repr=False)
    pairs: np.ndarray = field(repr=False)
    curated: np.ndarray = field(repr=False)
    judged: dict[str, np.ndarray] = field(repr=False)
    annotated: dict[str, np.ndarray] = field(repr=False)


def marks_of(
    pairs: pl.DataFrame, annotations: pl.DataFrame, verdicts: pl.DataFrame, systems: Sequence[str], runs: Sequence[str]
) -> Marks:
    """Line the grades up by pair; the result does not depend on the order of any rows.

    Args:
        pairs: query_id, passage_id, level, curated_grade (None where not settled).
        annotations: query_id, passage_id, annotator, grade (None where not annotated).
        verdicts: system, run, query_id, passage_id, grade (None where the system gave none); rows may be absent.
        systems: names, in the order of the result.
        runs: labels of the runs, the first run first.
    """
    ordered = pairs.sort(KEY).with_row_index("row")
    n = ordered.height
    places = ordered.select(*KEY, "row")

    def column(frame: pl.DataFrame) -> np.ndarray:
        grades = np.full(n, MISSING, dtype=np.int8)
        found = frame.join(places, on=KEY).filter(pl.col("grade").is_not_null())
        grades[found["row"].to_numpy()] = found["grade"].to_numpy()
        return grades

    by_run = verdicts.partition_by(["system", "run"], as_dict=True)
    empty = verdicts.clear()
    return Marks(
        levels=ordered["level"].to_numpy(),
        queries=ordered["query_id"].to_numpy(),
        pairs=ordered.select(pl.format("{}\n{}", *KEY)).to_series().to_numpy(),
        curated=column(ordered.select(*KEY, grade="curated_grade")),
        judged={
            system: np.stack([column(by_run.get((system, run), empty)) for run in runs], axis=0) for system in systems
        },
        annotated={
            name: column(annotations.filter(pl.col("annotator") == name))
            for name in annotations["annotator"].unique().sort()
        },
    )


def one_hot(rows: np.ndarray, columns: np.ndarray, k: int) -> np.ndarray:
    """What each pair adds to the k x k table of two raters: (N, k * k), all zero where a mark is missing."""
    cells = np.zeros((len(rows), k * k))
    both = np.flatnonzero((rows != MISSING) & (columns != MISSING))
    cells[both, rows[both].astype(int) * k + columns[both]] = 1
    return cells


def coincidences(marks: np.ndarray, k: int) -> np.ndarray:
    """What each pair adds to the coincidence matrix of several raters' ``marks`` (raters, N): (N, k * k).

    Within a pair of m marks each ordered pair of different marks weighs 1 / (m - 1); under two marks weigh nothing.
    """
    counts = (marks[:, :, None] == np.arange(k)).sum(axis=0).astype(float)
    given = counts.sum(axis=1)
    matrix = counts[:, :, None] * counts[:, None, :]
    matrix[:, np.arange(k), np.arange(k)] -= counts
    return np.where(given >= 2, 1 / np.maximum(given - 1, 1), 0)[:, None] * matrix.reshape(-1, k * k)
