"""Agreement figures of all systems and annotators at once, with intervals from one shared set of resamples.

Per level and over all; the resamples are drawn within each level, so that every resample keeps the levels' sizes, and
are the same for every rater: a difference between two systems is a paired one.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.judging.agreement import Agreement, alphas, kappas, percentile_interval
from tendril_assets.judging.bootstrap import resampled, strata, unit_counts
from tendril_assets.judging.marks import MISSING, Marks, coincidences, one_hot
from tendril_assets.records import GRADES
from tendril_assets.spec_calibration import CalibrationSpec, FigureSpec

ALL = "all"
K = len(GRADES)
SCALES: dict[str, tuple[int, ...]] = {"graded": GRADES, "binary": (0, 1)}
CURATED = "curated"


@dataclass(frozen=True)
class Score:
    """A figure with its resamples (B,), NaN where a resample leaves it undefined. ``n``: pairs of the smallest part."""

    value: float | None
    reason: str | None
    n: int
    low: float | None = None
    high: float | None = None
    draws: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)


class Measured:
    """Tables of marks by (rater, rater), and coincidences of several raters, per level and with their resamples.

    Names: ``(system, "curated")``, ``(annotator, "curated")`` and ``(annotator, annotator)`` for tables, a system's
    repeat under ``(system, system)``; for coincidences ``""`` is the annotators alone, else the system that joins them.
    Where a table has a curated side, that is its rows.
    """

    def __init__(self, marks: Marks, calibration: CalibrationSpec, seed: int) -> None:
        self.marks = marks
        self.confidence = calibration.confidence
        self.resampled = calibration.resample
        self.levels: tuple[str, ...] = tuple(sorted(set(marks.levels)))
        tables = _tables(marks)
        together = _coincidences(marks)
        self._table = {name: i for i, name in enumerate(tables)}
        self._together = {name: i for i, name in enumerate(together)}
        flat = np.concatenate([*tables.values(), *together.values()], axis=1)
        units = marks.queries if calibration.resample == "queries" else marks.pairs
        self._counts: dict[str, np.ndarray] = {}
        self._draws: dict[str, np.ndarray] = {}
        for level in self.levels:
            own = marks.levels == level
            counts = unit_counts(units[own], flat[own])
            draw = keyed_order(seed, "calibration", level)
            self._counts[level] = flat[own].sum(axis=0).reshape(-1, K, K)
            self._draws[level] = resampled(counts, calibration.resamples, draw).reshape(-1, flat.shape[1] // K**2, K, K)
        if self.levels:
            self._counts[ALL], self._draws[ALL] = strata(self._counts), strata(self._draws)
        else:
            self._counts[ALL] = np.zeros((flat.shape[1] // K**2, K, K))
            self._draws[ALL] = np.zeros((calibration.resamples, *self._counts[ALL].shape), dtype=np.float32)

    def kappa(self, raters: tuple[str, str], level: str, scale: str, statistic: str) -> Agreement:
        """Cohen's kappa (``kappa`` or ``kappa_quadratic``) of two raters."""
        table = on_scale(self._counts[level][self._table[raters]], scale)
        n, missing = int(table.sum()), self._units(level) - int(table.sum())
        confusion = tuple(tuple(int(cell) for cell in row) for row in table)
        draws = self._kappa_draws(raters, level, scale, statistic)
        return self._figure(_kappa(table[None], statistic), draws, n, missing, confusion)

    def alpha(self, joined: str, level: str, scale: str) -> Agreement:
        """Krippendorff's alpha of the annotators, and of the system ``joined`` as one more where it is not empty.

        Ordinal on the graded scale; on the binary one all metrics are one.
        """
        place = len(self._table) + self._together[joined]
        matrix = on_scale(self._counts[level][place], scale)
        draws = alphas(on_scale(self._draws[level][:, place].astype(float), scale), SCALES[scale], "ordinal")
        n = self._with_two(joined, level)
        value = alphas(matrix[None], SCALES[scale], "ordinal")
        return self._figure(value, draws, n, self._units(level) - n, None)

    def repeat(self, system: str, statistic: str) -> Score:
        """Agreement of a system's runs with each other over all levels: ``share`` of equal grades, or ``kappa``.

        Each two runs of a pair count once; ``n`` is the pairs of which at least two runs have a grade.
        """
        raters = (system, system)
        table = self._counts[ALL][self._table[raters]]
        n = int(((self.marks.judged[system] != MISSING).sum(axis=0) >= 2).sum())
        if n == 0:
            return Score(None, "no_overlap", 0)
        if statistic == "share":
            value, draws = np.trace(table) / table.sum(), _shares(self._draws[ALL][:, self._table[raters]])
        else:
            value, draws = _kappa(table[None], "kappa")[0], self._kappa_draws(raters, ALL, "graded", "kappa")
        return self._score(float(value), draws, n)

    def score(self, system: str, wanted: FigureSpec) -> Score:
        """A system's figure against the curated grades by a rule over the levels; see ``FigureSpec``."""
        raters = (system, CURATED)
        levels = (ALL,) if wanted.levels == ALL else self.levels
        parts = {level: self._counts[level][self._table[raters]] for level in levels}
        n = min((int(part.sum()) for part in parts.values()), default=0)
        for level, part in parts.items():
            value = _kappa(on_scale(part[None], wanted.scale), wanted.statistic)[0]
            if np.isnan(value):
                return Score(None, f"{'no_overlap' if not part.sum() else 'single_class'} in {level}", n)
        if not parts:
            return Score(None, "no_overlap", 0)
        combine = np.min if wanted.levels == "each" else np.mean
        values = [_kappa(on_scale(p[None], wanted.scale), wanted.statistic)[0] for p in parts.values()]
        draws = np.stack([self._kappa_draws(raters, lv, wanted.scale, wanted.statistic) for lv in levels])
        return self._score(float(combine(values)), combine(draws, axis=0), n)

    def _kappa_draws(self, raters: tuple[str, str], level: str, scale: str, statistic: str) -> np.ndarray:
        return _kappa(on_scale(self._draws[level][:, self._table[raters]].astype(float), scale), statistic)

    def _figure(
        self, value: np.ndarray, draws: np.ndarray, n: int, missing: int, confusion: tuple[tuple[int, ...], ...] | None
    ) -> Agreement:
        if n == 0:
            return Agreement(None, "no_overlap", 0, missing, confusion)
        if np.isnan(value[0]):
            return Agreement(None, "single_class", n, missing, confusion)
        return Agreement(float(value[0]), None, n, missing, confusion, *percentile_interval(draws, self.confidence))

    def _score(self, value: float, draws: np.ndarray, n: int) -> Score:
        if np.isnan(value):
            return Score(None, "single_class", n)
        return Score(value, None, n, *percentile_interval(draws, self.confidence), draws)

    def _of(self, level: str) -> np.ndarray:
        return np.ones(len(self.marks.levels), dtype=bool) if level == ALL else self.marks.levels == level

    def _units(self, level: str) -> int:
        return int(self._of(level).sum())

    def _with_two(self, joined: str, level: str) -> int:
        given = _together(self.marks, joined) != MISSING
        return int(((given.sum(axis=0) >= 2) & self._of(level)).sum())


def on_scale(tables: np.ndarray, scale: str) -> np.ndarray:
    """Tables (..., 3, 3) on a scale: binary adds grades 1 and 2 up, which is right for coincidences too."""
    if scale == "graded":
        return tables
    rows = np.stack([tables[..., 0, :], tables[..., 1:, :].sum(axis=-2)], axis=-2)
    return np.stack([rows[..., 0], rows[..., 1:].sum(axis=-1)], axis=-1)


def _tables(marks: Marks) -> dict[tuple[str, str], np.ndarray]:
    tables = {(name, CURATED): one_hot(marks.curated, runs[0], K) for name, runs in marks.judged.items()}
    tables |= {(name, CURATED): one_hot(marks.curated, own, K) for name, own in marks.annotated.items()}
    tables |= {(a, b): one_hot(marks.annotated[a], marks.annotated[b], K) for a, b in combinations(marks.annotated, 2)}
    for name, runs in marks.judged.items():
        cells = np.zeros((len(marks.levels), K * K))
        for first, second in combinations(runs, 2):
            cells += one_hot(first, second, K)
        tables[name, name] = cells
    return tables


def _coincidences(marks: Marks) -> dict[str, np.ndarray]:
    return {name: coincidences(_together(marks, name), K) for name in ("", *marks.judged)}


def _together(marks: Marks, joined: str) -> np.ndarray:
    """Marks of the annotators and of a system's first run: (raters, N)."""
    rows = [*marks.annotated.values(), *([marks.judged[joined][0]] if joined else [])]
    return np.stack(rows) if rows else np.full((1, len(marks.levels)), MISSING, dtype=np.int8)


def _kappa(tables: np.ndarray, statistic: str) -> np.ndarray:
    return kappas(tables, "quadratic" if statistic == "kappa_quadratic" else "none")


def _shares(tables: np.ndarray) -> np.ndarray:
    n = tables.sum(axis=(1, 2))
    equal = np.trace(tables, axis1=1, axis2=2)
    return np.where(n > 0, equal / np.where(n > 0, n, 1), np.nan)
