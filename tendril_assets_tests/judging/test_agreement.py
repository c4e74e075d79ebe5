"""Agreement figures against published tables, peer tools and values worked by hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.agreement import cohen_kappa, kappa_of_table, krippendorff_alpha

GRADED = (0, 1, 2)
bounded = settings(max_examples=50, deadline=None)

# Krippendorff (2011), four observers and twelve units, with gaps; one row per observer.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = list(zip(*OBSERVERS, strict=True))


@pytest.mark.parametrize(("metric", "value"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_alpha_of_the_published_table(metric, value):
    figure = krippendorff_alpha(UNITS, metric)
    assert figure.value == pytest.approx(value, abs=1e-6)
    # the last unit has one mark only
    assert (figure.n, figure.missing, figure.reason) == (11, 1, None)


@pytest.mark.parametrize(("weights", "value"), [("none", 0.2), ("linear", 0.4286), ("quadratic", 0.6364)])
def test_kappa_by_hand(weights, value):
    # Observed agreement 2/4; marginals 2,1,1 on both sides: chance (4+1+1)/16 = 0.375; (0.5-0.375)/0.625 = 0.2.
    # Linear disagreement 2/4 against (2*1*1 + 2*2*1 + 1*1*1 + ...)/16 = 14/16: 1 - 0.5/0.875 = 0.4286.
    # Quadratic 2/4 against 22/16: 1 - 0.5/1.375 = 0.6364.
    figure = cohen_kappa([0, 1, 2, 0], [0, 2, 1, 0], GRADED, weights)
    assert figure.value == pytest.approx(value, abs=5e-5)
    assert figure.confusion == ((2, 0, 0), (0, 0, 1), (0, 1, 0))


def test_one_class_is_undefined_and_says_so():
    figure = cohen_kappa([0, 0, 0], [0, 0, 0], GRADED, resamples=100)
    assert (figure.value, figure.reason, figure.n, figure.low, figure.high) == (None, "single_class", 3, None, None)
    assert krippendorff_alpha([[1, 1], [1, 1, 1]]).reason == "single_class"


def test_one_stray_mark_in_five_is_zero():
    assert cohen_kappa([0, 0, 0, 0, 0], [0, 0, 1, 0, 0], GRADED).value == 0.0


def test_no_pair_of_marks_is_undefined():
    assert cohen_kappa([0, None], [None, 1], GRADED).reason == "no_overlap"
    assert cohen_kappa([], [], GRADED).reason == "no_overlap"
    figure = krippendorff_alpha([[1, None], [None, 2], []])
    assert (figure.value, figure.reason, figure.n, figure.missing) == (None, "no_overlap", 0, 3)


def test_a_missing_verdict_is_missing_not_zero():
    figure = cohen_kappa([0, 1, 2], [0, None, 2], GRADED)
    assert (figure.value, figure.n, figure.missing) == (1.0, 2, 1)


def test_marks_outside_the_scale_are_refused():
    with pytest.raises(ValueError, match="the labels are"):
        cohen_kappa([0, 3], [0, 1], GRADED)
    with pytest.raises(ValueError, match="the labels are"):
        krippendorff_alpha([[0, 3]], labels=GRADED)
    with pytest.raises(ValueError, match="marked 1 and 2 units"):
        cohen_kappa([0], [0, 1], GRADED)


def test_intervals_are_those_of_resampling_the_pairs_one_by_one():
    rng = np.random.default_rng(7)
    human = rng.integers(0, 3, 120)
    judge = np.where(rng.random(120) < 0.6, human, rng.integers(0, 3, 120))
    figure = cohen_kappa(human.tolist(), judge.tolist(), GRADED, "quadratic", resamples=4000, seed=1)
    loop = []
    for _ in range(2000):
        drawn = rng.integers(0, 120, 120)
        loop.append(cohen_kappa(human[drawn].tolist(), judge[drawn].tolist(), GRADED, "quadratic").value)
    low, high = np.quantile(loop, [0.025, 0.975])
    assert figure.low == pytest.approx(low, abs=0.02)
    assert figure.high == pytest.approx(high, abs=0.02)
    assert figure.low < figure.value < figure.high


def test_alpha_intervals_are_those_of_resampling_units():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 3, 60)
    units = [[int(b), int(b if rng.random() < 0.7 else rng.integers(0, 3)), int(rng.integers(0, 3))] for b in base]
    figure = krippendorff_alpha(units, "ordinal", labels=GRADED, resamples=4000, seed=2)
    loop = [
        krippendorff_alpha([units[i] for i in rng.integers(0, 60, 60)], "ordinal", labels=GRADED).value
        for _ in range(1000)
    ]
    low, high = np.quantile(loop, [0.025, 0.975])
    assert figure.low == pytest.approx(low, abs=0.03)
    assert figure.high == pytest.approx(high, abs=0.03)


def test_no_interval_where_many_resamples_are_undefined():
    # One of three pairs differs from the rest: (2/3)^3 = 30 % of the resamples hold a single class.
    figure = cohen_kappa([0, 0, 1], [0, 0, 1], GRADED, resamples=1000, seed=1)
    assert (figure.value, figure.low, figure.high) == (1.0, None, None)


def test_intervals_repeat_with_the_seed():
    one = cohen_kappa([0, 1, 2, 1] * 10, [0, 1, 1, 1] * 10, GRADED, resamples=200, seed=5)
    assert one == cohen_kappa([0, 1, 2, 1] * 10, [0, 1, 1, 1] * 10, GRADED, resamples=200, seed=5)


marks = st.lists(st.tuples(st.sampled_from(GRADED), st.sampled_from(GRADED)), min_size=1, max_size=30)


@bounded
@given(marks)
def test_kappa_is_symmetric_and_at_most_one(pairs):
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    for weights in ("none", "linear", "quadratic"):
        one, other = cohen_kappa(a, b, GRADED, weights), cohen_kappa(b, a, GRADED, weights)
        if one.value is None:
            assert (one.reason, set(a), set(b)) == ("single_class", set(a), set(a))
        else:
            assert one.value == pytest.approx(other.value, abs=1e-12)
            assert one.value <= 1.0


@bounded
@given(marks)
def test_kappa_equals_scikit_learns(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    for weights in ("none", "linear", "quadratic"):
        ours = cohen_kappa(a, b, GRADED, weights).value
        if ours is not None:
            theirs = metrics.cohen_kappa_score(a, b, labels=GRADED, weights=None if weights == "none" else weights)
            assert ours == pytest.approx(theirs, abs=1e-12)


@bounded
@given(marks)
def test_all_alpha_metrics_agree_on_two_classes(pairs):
    units = [[int(a > 0), int(b > 0)] for a, b in pairs]
    figures = [krippendorff_alpha(units, metric, labels=(0, 1)).value for metric in ("nominal", "ordinal", "interval")]
    assert figures[0] is None or figures == pytest.approx([figures[0]] * 3, abs=1e-9)


def test_published_judge_tables():
    root = os.environ.get("TENDRIL_TRIAL_DATA")
    if not root:
        pytest.skip("TENDRIL_TRIAL_DATA is not set: the published confusion tables are not at hand")
    published = json.loads((Path(root) / "agreement" / "llmjudge_confusions.json").read_text(encoding="utf-8"))
    assert len(published["sets"]) == 4
    for entry in published["sets"]:
        table = np.array(entry["matrix"])
        assert kappa_of_table(table).value == pytest.approx(entry["kappa"], abs=5e-5)
        assert kappa_of_table(table, "quadratic").value == pytest.approx(entry["kappa_quadratic"], abs=5e-5)
        units = [[i, j] for (i, j), count in np.ndenumerate(table) for _ in range(count)]
        alpha = krippendorff_alpha(units, "ordinal", labels=entry["labels"])
        assert alpha.value == pytest.approx(entry["alpha_ordinal"], abs=5e-5)
