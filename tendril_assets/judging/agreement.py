"""Agreement figures: Cohen's kappa, Krippendorff's alpha, and their bootstrap intervals.

An undefined figure is None with a reason, never 1 or 0: ``single_class`` where all marks are one class (observed and
chance agreement are both total), ``no_overlap`` where no unit has two marks. A missing mark (None) is missing, not 0.

Sources: J. Cohen, Educ. Psychol. Meas. 20 (1960) and Psychol. Bull. 70 (1968) for the weighted form; K. Krippendorff,
Computing Krippendorff's Alpha-Reliability (2011) for the coincidence matrix and the difference functions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Mark = int | None
Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]

# A percentile interval over resamples of which more than this share is undefined would describe only the lucky ones.
MAX_UNDEFINED_SHARE = 0.05


@dataclass(frozen=True)
class Agreement:
    """One figure over ``n`` units, ``missing`` more left out; ``confusion``: rows first rater, columns second."""

    value: float | None
    reason: str | None
    n: int
    missing: int
    confusion: tuple[tuple[int, ...], ...] | None = None
    low: float | None = None
    high: float | None = None


def confusion_table(a: Sequence[Mark], b: Sequence[Mark], labels: Sequence[int]) -> tuple[np.ndarray, int]:
    """Counts (labels x labels), rows ``a``, columns ``b``, and the number of pairs with a missing mark.

    Raises ValueError for sequences of different length or a mark outside ``labels``.
    """
    if len(a) != len(b):
        raise ValueError(f"the raters marked {len(a)} and {len(b)} units")
    position = {label: i for i, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), dtype=np.int64)
    missing = 0
    for (left, right), count in Counter(zip(a, b, strict=True)).items():
        if left is None or right is None:
            missing += count
        elif left not in position or right not in position:
            raise ValueError(f"marks {left!r} and {right!r}: the labels are {list(labels)}")
        else:
            table[position[left], position[right]] += count
    return table, missing


def cohen_kappa(
    a: Sequence[Mark],
    b: Sequence[Mark],
    labels: Sequence[int],
    weights: Weights = "none",
    *,
    resamples: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Cohen's kappa of two raters over a fixed list of labels, in the order of the scale.

    ``resamples`` > 0 adds a percentile interval over resampled pairs. Resampling n pairs and counting them is one
    multinomial draw over the cells of the table, so no pair is touched.
    """
    table, missing = confusion_table(a, b, labels)
    return kappa_of_table(table, weights, missing=missing, resamples=resamples, seed=seed, confidence=confidence)


def kappa_of_table(
    table: np.ndarray,
    weights: Weights = "none",
    *,
    missing: int = 0,
    resamples: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """``cohen_kappa`` from a square table of counts."""
    n = int(table.sum())
    confusion = tuple(tuple(int(cell) for cell in row) for row in table)
    if n == 0:
        return Agreement(None, "no_overlap", 0, missing, confusion)
    value = kappas(table[None].astype(float), weights)[0]
    if np.isnan(value):
        return Agreement(None, "single_class", n, missing, confusion)
    low = high = None
    if resamples:
        draws = np.random.default_rng(seed).multinomial(n, table.ravel() / n, size=resamples)
        low, high = percentile_interval(kappas(draws.reshape(-1, *table.shape).astype(float), weights), confidence)
    return Agreement(float(value), None, n, missing, confusion, low, high)


def krippendorff_alpha(
    units: Sequence[Sequence[Mark]],
    metric: Metric = "nominal",
    *,
    labels: Sequence[int] | None = None,
    resamples: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Krippendorff's alpha over units, each the sequence of marks its raters gave (None for a missing one).

    Units with fewer than two marks are left out and counted. ``labels`` fixes the scale, by default the marks that
    occur. The ordinal difference uses the frequencies of the marks that are paired, and of each resample its own.
    """
    kept = [tuple(mark for mark in unit if mark is not None) for unit in units]
    missing = sum(len(unit) < 2 for unit in kept)
    kept = [unit for unit in kept if len(unit) >= 2]
    n = len(kept)
    if n == 0:
        return Agreement(None, "no_overlap", 0, missing)
    scale = sorted({mark for unit in kept for mark in unit}) if labels is None else list(labels)
    unknown = {mark for unit in kept for mark in unit} - set(scale)
    if unknown:
        raise ValueError(f"marks {sorted(unknown)}: the labels are {scale}")
    patterns = Counter(tuple(unit.count(label) for label in scale) for unit in kept)
    counts = np.array(list(patterns), dtype=float)
    frequency = np.array(list(patterns.values()))
    # Within a unit of m marks each ordered pair of different marks weighs 1 / (m - 1).
    coincidences = counts[:, :, None] * counts[:, None, :]
    coincidences[:, np.arange(len(scale)), np.arange(len(scale))] -= counts
    coincidences /= (counts.sum(axis=1) - 1)[:, None, None]
    value = alphas(np.tensordot(frequency[None].astype(float), coincidences, axes=1), scale, metric)[0]
    if np.isnan(value):
        return Agreement(None, "single_class", n, missing)
    low = high = None
    if resamples:
        draws = np.random.default_rng(seed).multinomial(n, frequency / n, size=resamples)
        low, high = percentile_interval(
            alphas(np.tensordot(draws.astype(float), coincidences, axes=1), scale, metric), confidence
        )
    return Agreement(float(value), None, n, missing, None, low, high)


def kappas(tables: np.ndarray, weights: Weights) -> np.ndarray:
    """Kappa of each of many tables (B, k, k); NaN where chance disagreement is 0."""
    k = tables.shape[-1]
    distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    disagreement = {"none": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]
    # A table without marks stays undefined: 0 of 0, and no warning.
    n = np.maximum(tables.sum(axis=(1, 2)), 1)
    observed = (tables * disagreement).sum(axis=(1, 2)) / n
    expected = ((tables.sum(axis=2) @ disagreement) * tables.sum(axis=1)).sum(axis=1) / n**2
    return _ratio(observed, expected)


def alphas(coincidences: np.ndarray, scale: Sequence[int], metric: Metric) -> np.ndarray:
    """Alpha of each of many coincidence matrices (B, k, k); NaN where all marks are one class."""
    marks = coincidences.sum(axis=2)
    # A matrix without marks stays undefined; two marks are the fewest that a unit which counts can have.
    total = np.maximum(marks.sum(axis=1), 2)
    difference = _differences(marks, np.asarray(scale, dtype=float), metric)
    observed = (coincidences * difference).sum(axis=(1, 2)) / total
    expected = (marks[:, :, None] * marks[:, None, :] * difference).sum(axis=(1, 2)) / (total * (total - 1))
    return _ratio(observed, expected)


def _differences(marks: np.ndarray, scale: np.ndarray, metric: Metric) -> np.ndarray:
    """Squared differences (B, k, k) or (1, k, k) between the labels of the scale."""
    k = len(scale)
    if metric == "nominal":
        return (1.0 - np.eye(k))[None]
    if metric == "interval":
        return (np.subtract.outer(scale, scale) ** 2)[None]
    # Ordinal: marks from one label to the other, both ends counted half.
    middle = np.cumsum(marks, axis=1) - marks / 2
    return (middle[:, :, None] - middle[:, None, :]) ** 2


def _ratio(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.where(expected > 0, 1 - observed / np.where(expected > 0, expected, 1.0), np.nan)


def percentile_interval(values: np.ndarray, confidence: float) -> tuple[float | None, float | None]:
    defined = values[~np.isnan(values)]
    if defined.size < (1 - MAX_UNDEFINED_SHARE) * values.size:
        return None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
