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
    parsed = [parse_measure(name) for name in measures]
    _refuse_bad_scores(run)
    _refuse_duplicates(qrels, "qrels")
    units = qrels.select(_UNIT).unique().sort(_UNIT).with_row_index("unit")
    judged = qrels.join(units, on=_UNIT).select("unit", "passage_id", pl.col("score").cast(pl.Float64).alias("grade"))
    retrieved = run.join(units, on=_UNIT).select(*_UNIT, "unit", "passage_id", "score")
    _refuse_duplicates(retrieved, "a run")
    ranking = _Ranking.of(
        retrieved.join(judged, on=["unit", "passage_id"], how="left", maintain_order="left"), units.height
    )
    ideal = _Ideal.of(judged["unit"].to_numpy(), judged["grade"].to_numpy(), units.height)
    counted = ideal.relevant > 0
    kept = units.filter(pl.Series(counted, dtype=pl.Boolean)).with_columns(
        pl.Series("relevant", ideal.relevant[counted], dtype=pl.Int32)
    )
    values = np.stack([_KINDS[m.kind](ranking, ideal, m.cutoff)[counted] for m in parsed], axis=1)
    names = pl.Series("measure", [m.name for m in parsed])
    repeats = len(parsed)
    position = pl.int_range(pl.len()).repeat_by(repeats).explode()
    return kept.select(
        pl.col(*_UNIT, "relevant").gather(position),
        measure=names.gather(pl.int_range(kept.height * repeats, eager=True) % repeats),
        value=pl.Series(values.reshape(-1), dtype=pl.Float64),
    ).select("query_id", "group_id", "measure", "value", "relevant")


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


@dataclass(frozen=True)
class _Ranking:
    """The retrieved passages in rank order: parallel arrays, grouped by unit."""

    n_units: int
    unit: np.ndarray
    rank: np.ndarray
    gain: np.ndarray
    judged: np.ndarray

    @classmethod
    def of(cls, rows: pl.DataFrame, n_units: int) -> "_Ranking":
        unit = rows["unit"].to_numpy().astype(np.int64)
        order = _tie_order(unit, rows["score"].cast(pl.Float32).to_numpy(), rows["passage_id"])
        unit = unit[order]
        gain = rows["grade"].fill_null(0.0).to_numpy()[order]
        judged = rows["grade"].is_not_null().to_numpy()[order]
        return cls(n_units, unit, _ranks(unit, n_units), np.maximum(gain, 0.0), judged)

    def sums(self, cutoff: int, weights: np.ndarray) -> np.ndarray:
        """Per unit, the sum of ``weights`` over its first ``cutoff`` passages."""
        top = self.rank <= cutoff
        return _sum_by(self.unit[top], weights[top], self.n_units)


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
    order = np.argsort(key, kind="stable")
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
    gained = ranking.sums(cutoff, ranking.gain / np.log2(ranking.rank + 1))
    top = ideal.rank <= cutoff
    best = _sum_by(ideal.unit[top], (ideal.gain / np.log2(ideal.rank + 1))[top], ideal.n_units)
    return np.divide(gained, best, out=np.zeros_like(gained), where=best > 0)


def _recall(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    hits = ranking.sums(cutoff, (ranking.gain >= 1).astype(np.float64))
    return np.divide(hits, ideal.relevant, out=np.zeros_like(hits), where=ideal.relevant > 0)


def _mrr(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    hit = (ranking.gain >= 1) & (ranking.rank <= cutoff)
    first = np.full(ranking.n_units, np.inf)
    np.minimum.at(first, ranking.unit[hit], ranking.rank[hit])
    return 1.0 / first


def _precision(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    """Divided by the cutoff, as in trec_eval, even where fewer passages came back."""
    return ranking.sums(cutoff, (ranking.gain >= 1).astype(np.float64)) / cutoff


def _judged(ranking: _Ranking, ideal: _Ideal, cutoff: int) -> np.ndarray:
    """Judged share of the passages that came back among the first ``cutoff``; 0 where none came back."""
    seen = ranking.sums(cutoff, ranking.judged.astype(np.float64))
    returned = ranking.sums(cutoff, np.ones(len(ranking.unit)))
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
