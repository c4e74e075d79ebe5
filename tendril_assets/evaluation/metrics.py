"""Graded retrieval measures over whole runs at once, equal to trec_eval digit by digit.

A *unit* is a query within one group: a query that is judged in several groups has one ranking, one ideal ranking and
one value per group. Everything here works on arrays over all units; there is no Python loop over queries.

Rules:

* **Ties.** trec_eval's: score descending, compared as 32-bit floats, then passage id descending by code points.
* **Missing.** A unit with a relevant passage that the run does not answer counts 0, as in trec_eval with ``-c``. A unit
  without a relevant passage is left out of the means, where trec_eval counts it 0; ``excluded`` lists those, so that the
  count can stand beside every mean.
* **Unjudged** passages have gain 0; ``judged@k`` is reported beside the rest.
* **Relevant** is grade >= 1 for recall, MRR and precision.
* **nDCG** has linear gain (the grade itself, never 2^grade - 1), discount log2(rank + 1), and its ideal ranking comes
  from all judged passages of the unit, retrieved or not (Järvelin and Kekäläinen 2002, as in trec_eval ``ndcg_cut``).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tendril_assets.evaluation.ranking import UNIT as _UNIT
from tendril_assets.evaluation.ranking import descending_bits
from tendril_assets.spec_evaluation import parse_measure

GAIN = "linear"
_KEY_BITS = 64
_LARGEST_GRADE = 32_767  # grades are held in 16 bits
TIE_RULE = "score (32-bit float) descending, then passage id descending by code points"


def excluded(qrels: pl.DataFrame) -> pl.DataFrame:
    """The (query_id, group_id) units of ``qrels`` without a relevant passage: left out of every mean, and counted."""
    return (
        qrels.group_by(_UNIT)
        .agg(pl.col("score").max().alias("best"))
        .filter(pl.col("best") < 1)
        .select(_UNIT)
        .sort(_UNIT)
    )


def score_queries(run: pl.DataFrame, qrels: pl.DataFrame, measures: Sequence[str]) -> pl.DataFrame:
    """Measures of every unit with a relevant passage.

    ``run`` has query_id, passage_id, group_id and score; its order and any ``rank`` column are ignored, for the
    ranking follows from the scores. ``qrels`` has the same columns, ``score`` being the grade; a unit of the run
    that ``qrels`` does not know is ignored. The result has query_id, group_id, measure, value in [0, 1] and
    ``relevant`` (relevant passages of the unit), ordered by query, group and the order of ``measures``.
    Raises ValueError for an unknown measure, a score that is missing or not finite, a grade that is no whole number up
    to 32,767, or a pair given twice.
    """
    judgments = Judgments(qrels)
    return judgments.score(judgments.place(run), measures)


class PlacedRun(NamedTuple):
    """A run against given judgments, as parallel arrays in any order: unit number, score, grade (-1: unjudged), place.

    ``place`` orders passages as their ids do, descending.
    """

    unit: np.ndarray
    score: np.ndarray
    grade: np.ndarray
    place: np.ndarray


class Judgments:
    """Qrels prepared once, to score many runs; ``score_queries`` is the short way for one run.

    A grade below 0 is judged and not relevant, as 0 is.
    """

    def __init__(self, qrels: pl.DataFrame) -> None:
        """Raises ValueError for a pair given twice, and for a grade that is missing, no whole number or above 32,767."""
        _refuse_bad_grades(qrels)
        _refuse_duplicates(qrels, "qrels")
        self._units = qrels.select(_UNIT).unique().sort(_UNIT).with_row_index("unit")
        grade = pl.col("score").cast(pl.Int64).clip(0).alias("grade")
        self._judged = qrels.join(self._units, on=_UNIT).select("unit", "passage_id", grade)
        unit, grades = (self._judged[name].to_numpy().astype(np.int64) for name in ("unit", "grade"))
        relevant = np.flatnonzero(grades >= 1)  # the others add nothing to an ideal ranking
        best_first = relevant[np.lexsort((-grades[relevant], unit[relevant]))]
        self._ideal = unit[best_first], grades[best_first]
        self._relevant = np.bincount(unit[relevant], minlength=self._units.height)

    def place(self, run: pl.DataFrame) -> PlacedRun:
        """Look up each row's unit and grade. Raises ValueError for a score that is no number or a pair given twice."""
        _refuse_bad_scores(run)
        rows = run.join(self._units, on=_UNIT).select(*_UNIT, "unit", "passage_id", "score")
        rows = rows.join(self._judged, on=["unit", "passage_id"], how="left", maintain_order="left")
        unit, grade = (rows[name].fill_null(-1).to_numpy().astype(np.int64) for name in ("unit", "grade"))
        place = _places(rows["passage_id"])
        pairs = np.sort(unit << 32 | place)
        if (pairs[1:] == pairs[:-1]).any():
            _refuse_duplicates(rows, "a run")
        return PlacedRun(unit, rows["score"].cast(pl.Float32).to_numpy(), grade, place)

    def score(self, run: PlacedRun, measures: Sequence[str]) -> pl.DataFrame:
        """As ``score_queries``. Raises ValueError for an unknown measure."""
        parsed = [parse_measure(name) for name in measures]
        counted = self._relevant > 0
        ranked = _ranked(run)
        longest = max(int(np.bincount(unit).max(initial=0)) for unit in (ranked[0], self._ideal[0]))
        width = min(longest, max((m.cutoff for m in parsed), default=0))
        found, ideal = (_Table.of(*rows, self._units.height, width) for rows in (ranked, self._ideal))
        computed = [_KINDS[m.kind](found, ideal, self._relevant, m.cutoff)[counted] for m in parsed]
        values = np.stack(computed, axis=1) if computed else np.empty((counted.sum(), 0))
        rows = np.repeat(np.flatnonzero(counted), len(parsed))
        return pl.DataFrame(
            {
                "query_id": self._units["query_id"].gather(rows),
                "group_id": self._units["group_id"].gather(rows),
                "measure": pl.Series([m.name for m in parsed], dtype=pl.String).gather(
                    np.tile(np.arange(len(parsed)), counted.sum())
                ),
                "value": values.reshape(-1),
                "relevant": self._relevant[rows].astype(np.int32),
            }
        )


def ties_at_cut(run: pl.DataFrame, cutoff: int) -> float | None:
    """Share of units whose passages at ranks ``cutoff`` and ``cutoff + 1`` have the same (32-bit) score.

    There the measure depends on the ids. ``run`` is ranked. None where the run is empty.
    """
    if run.is_empty():
        return None
    at = run.filter(pl.col("rank").is_in([cutoff, cutoff + 1])).with_columns(pl.col("score").cast(pl.Float32))
    tied = at.group_by(_UNIT).agg(pl.len().alias("n"), pl.col("score").n_unique().alias("distinct"))
    n_tied = tied.filter((pl.col("n") == 2) & (pl.col("distinct") == 1)).height
    return n_tied / run.select(_UNIT).n_unique()


def ties_at_cuts(runs: pl.DataFrame, cutoffs: Sequence[int]) -> dict[str, dict[str, float]]:
    """``ties_at_cut`` of every system: {system: {"@10": share}}. ``runs`` are rows of ``retrieval_runs``."""
    ties: dict[str, dict[str, float]] = {}
    for (system,), run in sorted(runs.partition_by("system", as_dict=True).items()):
        shares = {f"@{cutoff}": ties_at_cut(run, cutoff) for cutoff in cutoffs}
        ties[system] = {cut: share for cut, share in shares.items() if share is not None}
    return ties


class _Table(NamedTuple):
    """The first passages of every unit, (units, largest cutoff or fewer): a measure at any cutoff looks at the first columns.

    ``gain`` is the grade, 0 where unjudged or nothing came back; ``returned`` how many passages there are.
    """

    gain: np.ndarray
    judged: np.ndarray
    returned: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, grade: np.ndarray, n_units: int, width: int) -> "_Table":
        """From rows in rank order, grouped by ascending unit; grade -1 is unjudged."""
        returned = np.bincount(unit, minlength=n_units)
        starts = np.cumsum(returned) - returned
        kept = np.minimum(returned, width)
        first = np.cumsum(kept) - kept
        # Of the kept rows, one after the other: their place within the unit, then among all rows and in the table.
        rank = np.arange(kept.sum()) - np.repeat(first, kept)
        table = np.full(n_units * width, -1, dtype=np.int16)
        table[rank + np.repeat(np.arange(n_units) * width, kept)] = grade[rank + np.repeat(starts, kept)]
        table = table.reshape(n_units, width)
        return cls(np.maximum(table, 0), table >= 0, returned)

    def hits(self, cutoff: int) -> np.ndarray:
        """Relevant passages among the first."""
        return (self.gain[:, :cutoff] >= 1).sum(axis=1)


def _places(passage_id: pl.Series) -> np.ndarray:
    """Of each id its place among the different ones, by code points descending."""
    ids = passage_id.unique().sort(descending=True)
    return passage_id.cast(pl.Enum(ids)).to_physical().to_numpy().astype(np.int64)


def _ranked(run: PlacedRun) -> tuple[np.ndarray, np.ndarray]:
    """Unit and grade of the run's rows in the order of the tie rule, unit by unit.

    One sort of 64-bit integers is several times faster than one by columns. Where unit, score, place and grade fit into
    such a number together, which they do but for very large runs, nothing has to be looked up after it.
    """
    scores = descending_bits(run.score).astype(np.uint64)
    bits = [int(part.max(initial=0) + 1).bit_length() for part in (run.unit, run.place, run.grade + 1)]
    if sum(bits) > _KEY_BITS - 32:
        order = np.lexsort((run.place, scores, run.unit))
        return run.unit[order], run.grade[order]
    _, of_place, of_grade = (np.uint64(n) for n in bits)
    key = run.unit.view(np.uint64) << np.uint64(32) | scores
    key = (key << of_place | run.place.view(np.uint64)) << of_grade | (run.grade + 1).view(np.uint64)
    key.sort()
    grade = (key & (np.uint64(1) << of_grade) - np.uint64(1)).astype(np.int16) - np.int16(1)
    return (key >> of_grade + of_place + np.uint64(32)).view(np.int64), grade


def _dcg(table: _Table, cutoff: int) -> np.ndarray:
    gain = table.gain[:, :cutoff]
    return (gain / np.log2(np.arange(2, gain.shape[1] + 2))).sum(axis=1)


def _ndcg(found: _Table, ideal: _Table, relevant: np.ndarray, cutoff: int) -> np.ndarray:
    gained, best = _dcg(found, cutoff), _dcg(ideal, cutoff)
    return np.divide(gained, best, out=np.zeros_like(gained), where=best > 0)


def _recall(found: _Table, ideal: _Table, relevant: np.ndarray, cutoff: int) -> np.ndarray:
    hits = found.hits(cutoff).astype(np.float64)
    return np.divide(hits, relevant, out=np.zeros_like(hits), where=relevant > 0)


def _mrr(found: _Table, ideal: _Table, relevant: np.ndarray, cutoff: int) -> np.ndarray:
    hit = found.gain[:, :cutoff] >= 1
    if not hit.shape[1]:
        return np.zeros(len(hit))
    return np.where(hit.any(axis=1), 1.0 / (hit.argmax(axis=1) + 1), 0.0)


def _precision(found: _Table, ideal: _Table, relevant: np.ndarray, cutoff: int) -> np.ndarray:
    """Divided by the cutoff, as in trec_eval, even where fewer passages came back."""
    return found.hits(cutoff) / cutoff


def _judged(found: _Table, ideal: _Table, relevant: np.ndarray, cutoff: int) -> np.ndarray:
    """Judged share of the passages that came back among the first ``cutoff``; 0 where none came back."""
    seen = found.judged[:, :cutoff].sum(axis=1).astype(np.float64)
    returned = np.minimum(found.returned, cutoff)
    return np.divide(seen, returned, out=np.zeros_like(seen), where=returned > 0)


_KINDS: dict[str, Callable[[_Table, _Table, np.ndarray, int], np.ndarray]] = {
    "ndcg": _ndcg,
    "recall": _recall,
    "mrr": _mrr,
    "p": _precision,
    "judged": _judged,
}


def _refuse_bad_scores(run: pl.DataFrame) -> None:
    bad = run.filter(~pl.col("score").cast(pl.Float64).is_finite() | pl.col("score").is_null())
    if not bad.is_empty():
        first = bad.row(0, named=True)
        raise ValueError(
            f"{bad.height} scores of the run are missing or not finite, the first for query {first['query_id']!r} and "
            f"passage {first['passage_id']!r}: a ranking needs a number for each passage"
        )


def _refuse_bad_grades(qrels: pl.DataFrame) -> None:
    grade = pl.col("score").cast(pl.Float64)
    bad = qrels.filter(
        (grade.is_finite() & (grade == grade.floor()) & (grade <= _LARGEST_GRADE)).not_().fill_null(True)
    )
    if not bad.is_empty():
        first = bad.row(0, named=True)
        raise ValueError(
            f"{bad.height} grades of the qrels are no whole number up to {_LARGEST_GRADE}, the first is {first['score']} for "
            f"query {first['query_id']!r} and passage {first['passage_id']!r}"
        )


def _refuse_duplicates(frame: pl.DataFrame, what: str) -> None:
    key = ["unit", "passage_id"] if "unit" in frame.columns else [*_UNIT, "passage_id"]
    if frame.select(key).n_unique() < frame.height:
        twice = frame.filter(frame.select(key).is_duplicated()).select(*_UNIT, "passage_id").row(0)
        raise ValueError(f"{what} holds query {twice[0]!r}, group {twice[1]!r}, passage {twice[2]!r} more than once")
