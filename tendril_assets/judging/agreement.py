"""Agreement figures: Cohen's kappa and Krippendorff's alpha of many tables at once, and percentile intervals.

An undefined figure is None with a reason, never 1 or 0: ``single_class`` where all marks are one class (observed and
chance agreement are both total), ``no_overlap`` where no unit has two marks. A missing mark (None) is missing, not 0.

Sources: J. Cohen, Educ. Psychol. Meas. 20 (1960) and Psychol. Bull. 70 (1968) for the weighted form; K. Krippendorff,
Computing Krippendorff's Alpha-Reliability (2011) for the coincidence matrix and the difference functions.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


class Disagreement(NamedTuple):
    """What a confusion table says in counts: ``exact`` equal grades, ``gross`` grades two steps apart, of ``pairs``.

    ``higher`` and ``lower``: gross ones in which the second rater (the judge) gave 2 for 0, and 0 for 2: a judge that errs to
    one side is a generous or a strict one, not a careless one.
    """

    pairs: int
    exact: int
    gross: int
    higher: int
    lower: int


def confusion_counts(confusion: str) -> Disagreement:
    """Of the JSON table of a row on the graded scale, rows the curated grades, columns the judge's."""
    table = np.array(json.loads(confusion), dtype=np.int64)
    higher, lower = int(np.triu(table, 2).sum()), int(np.tril(table, -2).sum())
    return Disagreement(int(table.sum()), int(np.trace(table)), higher + lower, higher, lower)


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
    """Ends of the middle ``confidence`` of resampled figures (NaN where undefined); None where too many are undefined."""
    defined = values[~np.isnan(values)]
    if defined.size < (1 - MAX_UNDEFINED_SHARE) * values.size:
        return None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
