"""Graded retrieval measures over whole runs at once, equal to trec_eval digit by digit.

A *unit* is a query within one group: a query that is judged in several groups has one ranking, one ideal ranking and
one value per group. Everything here works on arrays over all units; there is no Python loop over queries.

Rules:

* **Ties.** trec_eval's: score descending, compared as 32-bit floats, then passage id descending by code points.
* **Missing.** A unit with a relevant passage that the run does not answer counts 0. A unit without a relevant passage
  is left out; ``excluded`` lists those, so that the count can stand beside every mean.
* **Unjudged** passages have gain 0; ``judged@k`` is reported beside the rest.
* **Relevant** is grade >= 1 for recall, MRR and precision.
* **nDCG** has linear gain (the grade itself, never 2^grade - 1), discount log2(rank + 1), and its ideal ranking comes
  from all judged passages of the unit, retrieved or not (Järvelin and Kekäläinen 2002, as in trec_eval ``ndcg_cut``).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from tendril_assets.evaluation.ranking import UNIT as _UNIT
from tendril_assets.evaluation.ranking import descending_bits

GAIN = "linear"
TIE_RULE = "score (32-bit float) descending, then passage id descending by code points"

_MEASURE = re.compile(r"(ndcg|recall|mrr|p|judged)@([1-9][0-9]*)")


@dataclass(frozen=True)
class Measure:
    """A measure and its cutoff: ``ndcg@10`` is ``Measure("ndcg", 10)``."""

    kind: str
    cutoff: int

    @property
    def name(self) -> str:
        return f"{self.kind}@{self.cutoff}"


def parse_measure(name: str) -> Measure:
    """``ndcg@10`` and the like: ndcg, recall, mrr, p or judged, at a cutoff of at least 1.

    Raises ValueError for any other name.
    """
    match = _MEASURE.fullmatch(name)
    if match is None:
        raise ValueError(f"unknown measure {name!r}: write ndcg@k, recall@k, mrr@k, p@k or judged@k with k >= 1")
    return Measure(match[1], int(match[2]))


def rank(scores: pl.DataFrame, depth: int | None = None) -> pl.DataFrame:
    """Rank scored passages within each (query, group) by the stated tie rule.

    ``scores`` has query_id, group_id, passage_id and score; other columns are kept. The result has in addition
    ``rank`` from 1, is ordered by query, group and rank, and holds at most ``depth`` rows per unit.
    Raises ValueError for a score that is missing or not finite, and for a passage scored twice in one unit.
    """
    _refuse_bad_scores(scores)
    _refuse_duplicates(scores, "a run")
    ranked = (
        scores.with_columns(pl.col("score").cast(pl.Float32).alias("_score32"))
        .sort([*_UNIT, "_score32", "passage_id"], descending=[False, False, True, True])
        .with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(_UNIT).alias("rank"))
        .drop("_score32")
    )
    return ranked if depth is None else ranked.filter(pl.col("rank") <= depth)


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
    Raises ValueError for an unknown measure, a score that is missing or not finite, or a pair given twice.
    """
    judgments = Judgments(qrels)
    return judgments.score(judgments.place(run), measures)


class PlacedRun(NamedTuple):
    """A run against given judgments, as parallel arrays in any order: unit number, score, grade (NaN: unjudged)."""

    unit: np.ndarray
    score: np.ndarray
    grade: np.ndarray
    passage_id: pl.Series


class Judgments:
    """Qrels prepared once, to score many runs; ``score_queries`` is the short way for one run."""

    def __init__(self, qrels: pl.DataFrame) -> None:
        """Raises ValueError for a pair given twice."""
        _refuse_duplicates(qrels, "qrels")
        self._units = qrels.select(_UNIT).unique().sort(_UNIT).with_row_index("unit")
        self._judged = qrels.join(self._units, on=_UNIT).select(
            "unit", "passage_id", pl.col("score").cast(pl.Float64).alias("grade")
        )
        self._ideal = _Ideal.of(self._judged["unit"].to_numpy(), self._judged["grade"].to_numpy(), self._units.height)

    def place(self, run: pl.DataFrame) -> PlacedRun:
        """Look up each row's unit and grade. Raises ValueError for a score that is no number or a pair given twice."""
        _refuse_bad_scores(run)
        rows = run.join(self._units, on=_UNIT).select(*_UNIT, "unit", "passage_id", "score")
        _refuse_duplicates(rows, "a run")
        rows = rows.join(self._judged, on=["unit", "passage_id"], how="left", maintain_order="left")
        return PlacedRun(
            rows["unit"].to_numpy().astype(np.int64),
            rows["score"].cast(pl.Float32).to_numpy(),
            rows["grade"].fill_null(np.nan).to_numpy(),
            rows["passage_id"],
        )

    def score(self, run: PlacedRun, measures: Sequence[str]) -> pl.DataFrame:
        """As ``score_queries``. Raises ValueError for an unknown measure."""
        parsed = [parse_measure(name) for name in measures]
        ranking = _Ranking(run, self._units.height)
        counted = self._ideal.relevant > 0
        values = np.stack([_KINDS[m.kind](ranking, self._ideal, m.cutoff)[counted] for m in parsed], axis=1)
        rows = np.repeat(np.flatnonzero(counted), len(parsed))
        return pl.DataFrame(
            {
                "query_id": self._units["query_id"].gather(rows),
                "group_id": self._units["group_id"].gather(rows),
                "measure": pl.Series([m.name for m in parsed]).gather(np.tile(np.arange(len(parsed)), counted.sum())),
                "value": values.reshape(-1),
                "relevant": self._ideal.relevant[rows].astype(np.int32),
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


class _Top(NamedTuple):
    """The first passages of each unit, as parallel arrays."""

    unit: np.ndarray
    rank: np.ndarray
    gain: np.ndarray
    judged: np.ndarray


class _Ranking:
    """The retrieved passages in rank order, grouped by unit; cut once per cutoff, whatever measures ask for it."""

    def __init__(self, run: PlacedRun, n_units: int) -> None:
        self.n_units = n_units
        self._order = _tie_order(run.unit, run.score, run.passage_id)
        self._unit = run.unit[self._order]
        self._rank = _ranks(self._unit, n_units)
        self._grade = run.grade
        self._cuts: dict[int, _Top] = {}

    def top(self, cutoff: int) -> _Top:
        if cutoff not in self._cuts:
            rows = np.flatnonzero(self._rank <= cutoff)
            grade = self._grade[self._order[rows]]
            judged = ~np.isnan(grade)
            gain = np.where(judged, np.maximum(grade, 0.0), 0.0)
            self._cuts[cutoff] = _Top(self._unit[rows], self._rank[rows], gain, judged)
        return self._cuts[cutoff]

    def sum(self, top: _Top, weights: np.ndarray) -> np.ndarray:
        return _sum_by(top.unit, weights, self.n_units)


@dataclass(frozen=True)
class _Ideal:
    """The judged passages in ideal order (grades only, so ties do not matter), and the relevant ones per unit."""

    n_units: int
    unit: np.ndarray
    rank: np.ndarray
    gain: np.ndarray
    relevant: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, grade: np.ndarray, n_units: int) -> "_Ideal":
        order = np.lexsort((-grade, unit))
        unit, gain = unit[order].astype(np.int64), np.maximum(grade[order], 0.0)
        relevant = np.bincount(unit[gain >= 1], minlength=n_units)
        return cls(n_units, unit, _ranks(unit, n_units), gain, relevant)


def _tie_order(unit: np.ndarray, score: np.ndarray, passage_id: pl.Series) -> np.ndarray:
    """Positions in the order of the tie rule, unit by unit.

    Unit and score are packed into one 64-bit key, for one integer sort is several times faster than a sort by three
    columns; only rows whose key is shared are then ordered by id.
    """
    key = (unit.astype(np.uint64) << np.uint64(32)) | descending_bits(score).astype(np.uint64)
    order = np.argsort(key)
    key = key[order]
    same = key[1:] == key[:-1]
    if same.any():
        tied = np.zeros(len(key), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        by_id = pl.DataFrame({"key": key[tied], "id": passage_id.gather(rows), "row": rows}).sort(
            "key", "id", descending=[False, True]
        )
        order[tied] = by_id["row"].to_numpy()
    return order


def _ranks(unit: np.ndarray, n_units: int) -> np.ndarray:
    """Rank from 1 within each unit, for rows grouped by ascending unit."""
    counts = np.bincount(unit, minlength=n_units)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1])) if n_units else np.zeros(0, dtype=np.int64)
    return np.arange(1, len(unit) + 1) - starts[unit]


def _sum_by(unit: np.ndarray, weights: np.ndarray, n_units: int) -> np.ndarray:
    """Sum of the weights per unit, as floats also where there is nothing to sum (numpy counts integers then)."""
    return np.bincount(unit, weights=weights, minlength=n_units).astype(np.float64)


def _ndcg(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    top = ranking.top(cutoff)
    gained = ranking.sum(top, top.gain / np.log2(top.rank + 1))
    rows = np.flatnonzero(ideal.rank <= cutoff)
    best = _sum_by(ideal.unit[rows], ideal.gain[rows] / np.log2(ideal.rank[rows] + 1), ideal.n_units)
    return np.divide(gained, best, out=np.zeros_like(gained), where=best > 0)


def _recall(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    top = ranking.top(cutoff)
    hits = ranking.sum(top, top.gain >= 1)
    return np.divide(hits, ideal.relevant, out=np.zeros_like(hits), where=ideal.relevant > 0)


def _mrr(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    top = ranking.top(cutoff)
    hit = top.gain >= 1
    first = np.full(ranking.n_units, np.inf)
    np.minimum.at(first, top.unit[hit], top.rank[hit])
    return 1.0 / first


def _precision(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    """Divided by the cutoff, as in trec_eval, even where fewer passages came back."""
    top = ranking.top(cutoff)
    return ranking.sum(top, top.gain >= 1) / cutoff


def _judged(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    """Judged share of the passages that came back among the first ``cutoff``; 0 where none came back."""
    top = ranking.top(cutoff)
    seen = ranking.sum(top, top.judged)
    returned = ranking.sum(top, np.ones(len(top.unit)))
    return np.divide(seen, returned, out=np.zeros_like(seen), where=returned > 0)


_KINDS: dict[str, Callable[[_Ranking, _Ideal, int], np.ndarray]] = {
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


def _refuse_duplicates(frame: pl.DataFrame, what: str) -> None:
    key = ["unit", "passage_id"] if "unit" in frame.columns else [*_UNIT, "passage_id"]
    if frame.select(key).n_unique() < frame.height:
        twice = frame.filter(frame.select(key).is_duplicated()).select(*_UNIT, "passage_id").row(0)
        raise ValueError(f"{what} holds query {twice[0]!r}, group {twice[1]!r}, passage {twice[2]!r} more than once")
