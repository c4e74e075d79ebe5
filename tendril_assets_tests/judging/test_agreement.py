"""Agreement figures against published tables, peer tools and values worked by hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.agreement import alphas, confusion_table, kappas, percentile_interval
from tendril_assets.judging.marks import MISSING, coincidences
from tendril_assets.judging.measured import ALL, Measured
from tendril_assets.spec_calibration import CalibrationSpec
from tendril_assets_tests.judging.toy_calibration import alpha_by_definition, kappa, marks

GRADED = (0, 1, 2)
bounded = settings(max_examples=50, deadline=None)

# Krippendorff (2011), four observers and twelve units, with gaps; one row per observer.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def alpha(raters, metric="nominal", scale=GRADED) -> float:
    """``raters``: one row of marks each."""
    given = np.array([[MISSING if m is None else scale.index(m) for m in row] for row in raters], dtype=np.int8)
    table = coincidences(given, len(scale)).sum(axis=0).reshape(1, len(scale), len(scale))
    return float(alphas(table, scale, metric)[0])


@pytest.mark.parametrize(("metric", "value"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_alpha_of_the_published_table(metric, value):
    assert alpha(OBSERVERS, metric, (1, 2, 3, 4, 5)) == pytest.approx(value, abs=1e-6)
    assert alpha_by_definition(list(zip(*OBSERVERS, strict=True)), metric) == pytest.approx(value, abs=1e-6)


def test_alpha_is_undefined_with_a_reason():
    def figure(*people):
        named = {f"rater {i}": row for i, row in enumerate(people)}
        return Measured(marks([0] * len(people[0]), {}, named), CalibrationSpec(resamples=100), 1).alpha(
            "", ALL, "graded"
        )

    one_value = figure([1, 1, None], [1, 1, 1], [None, 1, None])
    assert (one_value.value, one_value.reason, one_value.n, one_value.missing) == (None, "single_class", 2, 1)
    no_two = figure([1, None, None], [None, 2, None])
    assert (no_two.value, no_two.reason, no_two.n, no_two.missing) == (None, "no_overlap", 0, 3)


@pytest.mark.parametrize(("weights", "value"), [("none", 0.2), ("linear", 0.4286), ("quadratic", 0.6364)])
def test_kappa_by_hand(weights, value):
    # Observed agreement 2/4; marginals 2,1,1 on both sides: chance (4+1+1)/16 = 0.375; (0.5-0.375)/0.625 = 0.2.
    # Linear disagreement 2/4 against (2*1*1 + 2*2*1 + 1*1*1 + ...)/16 = 14/16: 1 - 0.5/0.875 = 0.4286.
    # Quadratic 2/4 against 22/16: 1 - 0.5/1.375 = 0.6364.
    table, missing = confusion_table([0, 1, 2, 0], [0, 2, 1, 0], GRADED)
    assert (table.tolist(), missing) == ([[2, 0, 0], [0, 0, 1], [0, 1, 0]], 0)
    assert kappas(table[None], weights)[0] == pytest.approx(value, abs=5e-5)


def test_undefined_is_neither_one_nor_zero():
    assert kappa([0, 0, 0], [0, 0, 0], GRADED) is None
    assert kappa([0, None], [None, 1], GRADED) is None
    assert kappa([], [], GRADED) is None
    assert kappa([0, 0, 0, 0, 0], [0, 0, 1, 0, 0], GRADED) == 0.0


def test_a_missing_verdict_is_missing_not_zero():
    table, missing = confusion_table([0, 1, 2], [0, None, 2], GRADED)
    assert (table.sum(), missing, kappa([0, 1, 2], [0, None, 2], GRADED)) == (2, 1, 1.0)


def test_marks_outside_the_scale_are_refused():
    with pytest.raises(ValueError, match="the labels are"):
        confusion_table([0, 3], [0, 1], GRADED)
    with pytest.raises(ValueError, match="marked 1 and 2 units"):
        confusion_table([0], [0, 1], GRADED)


def test_no_interval_where_many_resamples_are_undefined():
    values = np.linspace(0, 1, 101)
    assert percentile_interval(values, 0.9) == pytest.approx((0.05, 0.95))
    assert percentile_interval(np.where(np.arange(101) < 5, np.nan, values), 0.9)[0] is not None
    assert percentile_interval(np.where(np.arange(101) < 6, np.nan, values), 0.9) == (None, None)


pairs_of_marks = st.lists(st.tuples(st.sampled_from(GRADED), st.sampled_from(GRADED)), min_size=1, max_size=30)


@bounded
@given(pairs_of_marks)
def test_kappa_is_symmetric_and_at_most_one(pairs):
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    for weights in ("none", "linear", "quadratic"):
        one, other = kappa(a, b, GRADED, weights), kappa(b, a, GRADED, weights)
        if one is None:
            assert set(a) == set(b)
            assert len(set(a)) == 1
        else:
            assert one == pytest.approx(other, abs=1e-12)
            assert one <= 1.0


@bounded
@given(pairs_of_marks)
def test_kappa_equals_scikit_learns(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    for weights in ("none", "linear", "quadratic"):
        ours = kappa(a, b, GRADED, weights)
        if ours is not None:
            theirs = metrics.cohen_kappa_score(a, b, labels=GRADED, weights=None if weights == "none" else weights)
            assert ours == pytest.approx(theirs, abs=1e-12)


@bounded
@given(pairs_of_marks)
def test_all_alpha_metrics_agree_on_two_classes(pairs):
    raters = [[int(p[i] > 0) for p in pairs] for i in (0, 1)]
    figures = [alpha(raters, metric, (0, 1)) for metric in ("nominal", "ordinal", "interval")]
    assert figures == pytest.approx([figures[0]] * 3, abs=1e-9, nan_ok=True)


def test_published_judge_tables():
    root = os.environ.get("TENDRIL_TRIAL_DATA")
    if not root:
        pytest.skip("TENDRIL_TRIAL_DATA is not set: the published confusion tables are not at hand")
    published = json.loads((Path(root) / "agreement" / "llmjudge_confusions.json").read_text(encoding="utf-8"))
    assert len(published["sets"]) == 4
    for entry in published["sets"]:
        table = np.array(entry["matrix"])
        assert kappas(table[None], "none")[0] == pytest.approx(entry["kappa"], abs=5e-5)
        assert kappas(table[None], "quadratic")[0] == pytest.approx(entry["kappa_quadratic"], abs=5e-5)
        raters = list(zip(*(cell for cell, n in np.ndenumerate(table) for _ in range(n)), strict=True))
        scale = tuple(range(len(entry["labels"])))
        assert alpha(raters, "ordinal", scale) == pytest.approx(entry["alpha_ordinal"], abs=5e-5)
