"""Figures of many raters at once: the published tables, the single-figure functions, values by hand, intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.agreement import confusion_table, kappas
from tendril_assets.judging.measured import ALL, CURATED, Measured, on_scale
from tendril_assets.spec_calibration import CalibrationSpec, FigureSpec
from tendril_assets_tests.judging.toy_calibration import alpha_by_definition, from_table, kappa, marks

GRADES = (0, 1, 2)
# nata2627/ru-fin-retrieval (MIT), docs/raw/kappa.txt: 150 pairs, rows the judge, columns the checker; published kappa
# 0.408, quadratic 0.611, 91 exact, 3 two steps apart.
PAIRS_150 = ((37, 15, 0), (8, 34, 8), (3, 25, 20))
grade = st.one_of(st.none(), st.sampled_from(GRADES))


def spec(**changes) -> CalibrationSpec:
    return CalibrationSpec(**({"resamples": 200} | changes))


def measure(*given, seed: int = 42, changes: dict | None = None, **named) -> Measured:
    return Measured(marks(*given, **named), spec(**(changes or {})), seed)


def test_the_table_of_150_pairs():
    judge, checker = from_table(PAIRS_150)
    measured = measure(judge, {"other": [checker]})
    kappa = measured.kappa(("other", CURATED), ALL, "graded", "kappa")
    assert kappa.value == pytest.approx(0.4084, abs=5e-5)
    assert measured.kappa(("other", CURATED), ALL, "graded", "kappa_quadratic").value == pytest.approx(0.6113, abs=5e-5)
    assert kappa.confusion == PAIRS_150
    assert sum(kappa.confusion[i][i] for i in range(3)) == 91
    assert kappa.confusion[0][2] + kappa.confusion[2][0] == 3
    assert kappa.low is not None
    assert kappa.low < kappa.value < kappa.high


def test_a_missing_verdict_is_missing_and_not_zero():
    measured = measure([0, 1, 2], {"judge": [[0, None, 2]]})
    figure = measured.kappa(("judge", CURATED), ALL, "graded", "kappa")
    assert (figure.value, figure.n, figure.missing, figure.confusion) == (1.0, 2, 1, ((1, 0, 0), (0, 0, 0), (0, 0, 1)))


def test_one_class_and_no_overlap_are_undefined_with_a_reason():
    measured = measure([0, 0, 0], {"same": [[0, 0, 0]], "none": [[None, None, None]]})
    same = measured.kappa(("same", CURATED), ALL, "graded", "kappa")
    assert (same.value, same.reason, same.n, same.low) == (None, "single_class", 3, None)
    none = measured.kappa(("none", CURATED), ALL, "graded", "kappa")
    assert (none.value, none.reason, none.n, none.missing) == (None, "no_overlap", 0, 3)
    assert measured.score("none", FigureSpec()).reason == "no_overlap in one"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(grade, grade, grade, grade), min_size=1, max_size=30))
def test_every_figure_equals_the_one_counted_alone(rows):
    curated, judge, ann, bea = ([row[i] for row in rows] for i in range(4))
    measured = measure(curated, {"judge": [judge]}, {"ann": ann, "bea": bea}, changes={"resamples": 100})
    raters = {"judge": judge, "ann": ann, "bea": bea}
    for scale, labels in (("graded", GRADES), ("binary", (0, 1))):

        def told(given, scale=scale):
            return [None if m is None else m if scale == "graded" else int(m > 0) for m in given]

        for name, statistic in (("kappa", "none"), ("kappa_quadratic", "quadratic")):
            for rater, given_marks in raters.items():
                figure = measured.kappa((rater, CURATED), ALL, scale, name)
                table, missing = confusion_table(told(curated), told(given_marks), labels)
                assert figure.confusion == tuple(map(tuple, table.tolist()))
                _same(figure, kappa(told(curated), told(given_marks), labels, statistic), int(table.sum()), missing)
            figure = measured.kappa(("ann", "bea"), ALL, scale, name)
            assert figure.value == pytest.approx(kappa(told(ann), told(bea), labels, statistic), abs=1e-9)
        for joined, raters_of in (("", (ann, bea)), ("judge", (ann, bea, judge))):
            units = list(zip(*map(told, raters_of), strict=True))
            n = sum(sum(m is not None for m in unit) >= 2 for unit in units)
            _same(measured.alpha(joined, ALL, scale), alpha_by_definition(units, "ordinal"), n, len(rows) - n)


def _same(figure, value, n, missing):
    assert (figure.n, figure.missing) == (n, missing)
    assert figure.reason == ("no_overlap" if n == 0 else "single_class" if value is None else None)
    assert figure.value == (None if value is None else pytest.approx(value, abs=1e-9))


def test_levels_are_pooled_averaged_or_the_worst_counts():
    # Level a: kappa 1. Level b: (0,0), (0,1), (1,0), (1,1): observed 1/2, chance 1/2, kappa 0. Pooled: six of eight
    # equal, both margins 4 and 4: (0.75 - 0.5) / 0.5 = 0.5.
    measured = measure([0, 1, 0, 1, 0, 0, 1, 1], {"judge": [[0, 1, 0, 1, 0, 1, 0, 1]]}, levels=list("aaaabbbb"))
    by_rule = {levels: measured.score("judge", FigureSpec(levels=levels)) for levels in ("mean", "each", "all")}
    assert [by_rule[levels].value for levels in ("mean", "each", "all")] == pytest.approx([0.5, 0.0, 0.5])
    assert [by_rule[levels].n for levels in ("mean", "each", "all")] == [4, 4, 8]


def test_one_undefined_level_leaves_the_mean_undefined():
    measured = measure([0, 1, 0, 0], {"judge": [[0, 1, 0, 0]]}, levels=list("aabb"))
    score = measured.score("judge", FigureSpec(levels="mean"))
    assert (score.value, score.reason) == (None, "single_class in b")
    assert measured.score("judge", FigureSpec(levels="all")).value == 1.0


def test_agreement_of_two_runs_by_hand():
    # Three of four equal. Margins of run 1: 2,1,1; of run 2: 1,2,1: chance (2*1 + 1*2 + 1*1)/16 = 5/16.
    measured = measure([0, 0, 1, 2], {"judge": [[0, 0, 1, 2], [0, 1, 1, 2]], "lazy": [[0, 0, 1, 2]]})
    share, kappa = measured.repeat("judge", "share"), measured.repeat("judge", "kappa")
    assert (share.value, share.n) == (0.75, 4)
    assert kappa.value == pytest.approx((12 / 16 - 5 / 16) / (11 / 16))
    assert (measured.repeat("lazy", "share").value, measured.repeat("lazy", "share").reason) == (None, "no_overlap")


def test_three_runs_of_a_pair_are_one_pair():
    # Two pairs: equal in all three runs, and 1, 2, none: one pair of runs, unlike. A third has one grade. 3 of 4 equal.
    measured = measure([0, 1, 2], {"judge": [[0, 1, 2], [0, 2, None], [0, None, None]]})
    share = measured.repeat("judge", "share")
    assert (share.value, share.n) == (0.75, 2)


def test_a_system_that_equals_another_differs_by_nothing_in_any_resample():
    rng = np.random.default_rng(5)
    curated, judge = rng.integers(0, 3, 60).tolist(), rng.integers(0, 3, 60).tolist()
    measured = measure(curated, {"a": [judge], "b": [judge]})
    one, other = (measured.score(name, FigureSpec()) for name in ("a", "b"))
    assert np.array_equal(one.draws, other.draws)


def test_pairs_that_hang_together_widen_the_interval_when_queries_are_redrawn():
    # 20 queries of 10 pairs; on a query the judge is right throughout or wrong throughout.
    curated = [i % 2 for i in range(200)]
    judge = [g if (i // 10) % 4 else 1 - g for i, g in enumerate(curated)]
    wide = measure(curated, {"j": [judge]}, per_query=10, changes={"resample": "queries", "resamples": 2000})
    narrow = measure(curated, {"j": [judge]}, per_query=10, changes={"resample": "pairs", "resamples": 2000})
    spans = [f.high - f.low for f in (m.kappa(("j", CURATED), ALL, "graded", "kappa") for m in (wide, narrow))]
    assert spans[0] > 2 * spans[1]


def test_the_interval_agrees_with_the_multinomial_bootstrap_of_pairs():
    judge, checker = from_table(PAIRS_150)
    ours = measure(judge, {"o": [checker]}, changes={"resample": "pairs", "resamples": 10_000})
    figure = ours.kappa(("o", CURATED), ALL, "graded", "kappa")
    # Resampling n pairs and counting them is one multinomial draw over the cells of the table.
    table = np.array(PAIRS_150)
    drawn = np.random.default_rng(1).multinomial(150, table.ravel() / 150, size=10_000).reshape(-1, 3, 3)
    low, high = np.quantile(kappas(drawn, "none"), [0.025, 0.975])
    assert (figure.low, figure.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_seed_and_row_order():
    curated, judge = from_table(PAIRS_150)
    first = measure(curated, {"j": [judge]}).score("j", FigureSpec())
    again = measure(curated, {"j": [judge]}).score("j", FigureSpec())
    other = measure(curated, {"j": [judge]}, seed=43).score("j", FigureSpec())
    assert np.array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)


def test_no_pairs_at_all():
    measured = measure([], {"judge": [[]]})
    assert measured.kappa(("judge", CURATED), ALL, "graded", "kappa").reason == "no_overlap"
    assert measured.alpha("", ALL, "binary").reason == "no_overlap"
    assert measured.score("judge", FigureSpec()).reason == "no_overlap"


def test_the_binary_scale_adds_up_one_and_two():
    assert on_scale(np.array(PAIRS_150), "binary").tolist() == [[37, 15], [11, 87]]
