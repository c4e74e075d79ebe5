import itertools
import math
import time
import weakref
from collections import Counter

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.significance import (
    Bootstrap,
    Interval,
    SignFlips,
    comparisons,
    holm,
    system_intervals,
)

B = 10_000
OPTIONS = {"seed": 42, "resamples": B, "confidence": 0.95}


@pytest.mark.parametrize(
    ("raw", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # sorted: 4 x .005, 3 x .01, 2 x .03, then max(.06, .04)
        ([0.01, 0.011], [0.02, 0.02]),
        ([0.5, 0.6, 0.9, 0.4], [1.0, 1.0, 1.0, 1.0]),
        ([0.03], [0.03]),
        ([], []),
        ([None, 0.01, math.nan, 0.04], [None, 0.02, None, 0.04]),  # two tests, so factors 2 and 1
        ([None, math.nan], [None, None]),
    ],
)
def test_holm(raw: list[float | None], corrected: list[float | None]) -> None:
    got = holm(raw)
    assert [g is None for g in got] == [c is None for c in corrected]
    assert [g for g in got if g is not None] == pytest.approx([c for c in corrected if c is not None])


P_VALUES = st.floats(0, 1) | st.sampled_from([0.0, 0.0125, 0.025, 0.05, 1.0, None])


@settings(max_examples=60, deadline=None)
@given(st.lists(P_VALUES, max_size=7), st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_holm_is_the_closed_test_by_bonferroni(p_values: list[float | None], alpha: float) -> None:
    """Holm rejects a hypothesis where Bonferroni rejects every intersection that it is part of (Marcus et al. 1976)."""
    corrected = holm(p_values)
    tested = [place for place, p in enumerate(p_values) if p is not None]
    assert [place for place, p in enumerate(corrected) if p is not None] == tested
    for place in tested:
        others = [other for other in tested if other != place]
        sets = [[place, *more] for size in range(len(others) + 1) for more in itertools.combinations(others, size)]
        worst = max(min(1.0, len(own) * min(p_values[n] for n in own)) for own in sets)
        assert corrected[place] == pytest.approx(worst)
        assert (corrected[place] <= alpha + 1e-12) == all(
            len(own) * min(p_values[n] for n in own) <= alpha + 1e-12 for own in sets
        )


def test_identical_systems() -> None:
    values = np.random.default_rng(1).random((33, 2))
    tests = Bootstrap(33, B, seed=42).paired(values, values, 0.95)
    assert tests == [(0.0, Interval(0.0, 0.0), 1.0)] * 2


def test_equal_up_to_rounding_is_equal() -> None:
    values = np.array([[0.1], [0.2], [0.3]])
    (test,) = Bootstrap(3, B, seed=42).paired(values, (values * 3) / 3 + 1e-17, 0.95)
    assert (test.difference, test.p) == (0.0, 1.0)


def test_all_resamples_above_zero() -> None:
    better = np.array([[0.5], [0.6], [0.7]])
    (test,) = Bootstrap(3, B, seed=42).paired(better, better - 0.1, 0.95)
    assert test.p == pytest.approx(2 / 10_001)  # 2 min(0 + 1, 10000 + 1) / 10001 = 0.00019998
    assert test.p == pytest.approx(0.00019998, abs=1e-8)
    assert test.difference == pytest.approx(0.1)
    assert test.interval.low == pytest.approx(0.1)
    (worse,) = Bootstrap(3, B, seed=42).paired(better - 0.1, better, 0.95)
    assert worse.p == test.p


# Sixteenths: their sums are exact, so a difference of 0 is 0 in any order of summing.
SIXTEENTHS = st.lists(st.integers(-16, 16), min_size=2, max_size=9)


@settings(max_examples=30, deadline=None)
@given(SIXTEENTHS)
def test_bootstrap_p_is_that_of_a_loop_over_the_resamples(sixteenths: list[int]) -> None:
    n, zero = len(sixteenths), np.zeros((len(sixteenths), 1))
    boot = Bootstrap(n, 100, seed=5)
    (test,) = boot.paired(np.array(sixteenths)[:, None] / 16, zero, 0.95)
    sums = [sum(int(times) * d for times, d in zip(row, sixteenths, strict=True)) for row in boot._counts]
    below, above = sum(d <= 0 for d in sums), sum(d >= 0 for d in sums)
    assert test.p == pytest.approx(min(1, 2 * min(below + 1, above + 1) / 101))
    assert test.difference == pytest.approx(sum(sixteenths) / 16 / n)


@settings(max_examples=30, deadline=None)
@given(SIXTEENTHS)
def test_sign_flips_are_those_of_a_loop_over_all_signs(sixteenths: list[int]) -> None:
    """The share of all ways to sign the differences whose mean is as far from 0 as the one seen."""
    ways = [
        sum(s * d for s, d in zip(signs, sixteenths, strict=True))
        for signs in itertools.product((1, -1), repeat=len(sixteenths))
    ]
    as_far = sum(abs(way) >= abs(sum(sixteenths)) for way in ways)
    (p,) = SignFlips(len(sixteenths), B, seed=42).p(np.array(sixteenths)[:, None] / 16)
    assert p == pytest.approx(as_far / len(ways))


def test_which_groups_a_resample_holds_is_uniform() -> None:
    """Of two groups a resample holds the first 0, 1 or 2 times in 1/4, 1/2 and 1/4 of the cases; of 33 each once in the mean."""
    times = Counter(Bootstrap(2, B, seed=42)._counts[:, 0].tolist())
    for drawn, share in ((0.0, 0.25), (1.0, 0.5), (2.0, 0.25)):
        assert times[drawn] / B == pytest.approx(share, abs=0.02)  # four standard errors
    assert Bootstrap(33, B, seed=42)._counts.mean(axis=0) == pytest.approx(np.ones(33), abs=0.05)


def test_one_group_and_none() -> None:
    one = Bootstrap(1, B, seed=42)
    assert one.intervals(np.array([[0.4]]), 0.95) == [Interval(None, None, "one_group")]
    assert one.paired(np.array([[0.4]]), np.array([[0.1]]), 0.95) == [
        (pytest.approx(0.3), Interval(None, None, "one_group"), None)
    ]
    assert Bootstrap(0, B, seed=42).intervals(np.zeros((0, 1)), 0.95) == [Interval(None, None, "no_group")]


def test_resamples_are_named_by_the_seed() -> None:
    values = np.random.default_rng(0).random((12, 1))
    first, again, other = (Bootstrap(12, B, seed=s).intervals(values, 0.95) for s in (42, 42, 43))
    assert first == again
    assert first != other


def test_every_resample_draws_as_many_groups_as_there_are() -> None:
    boot = Bootstrap(9, 200, seed=1)
    assert boot._counts.sum(axis=1).tolist() == [9.0] * 200
    assert boot.means(np.full((9, 1), 0.25)).tolist() == [[0.25]] * 200


def test_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(7).beta(2, 3, size=33)
    (ours,) = Bootstrap(33, 20_000, seed=42).intervals(values[:, None], 0.95)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=0.95, method="percentile", rng=np.random.default_rng(8)
    ).confidence_interval
    # The ends' own Monte Carlo error is about sd / sqrt(B x density): 0.001 here; the interval is 0.13 wide.
    assert ours.low == pytest.approx(theirs.low, abs=0.003)
    assert ours.high == pytest.approx(theirs.high, abs=0.003)
    assert ours.high - ours.low > 0.1


@pytest.mark.parametrize("n", [2, 5, 12, 33])
def test_interval_is_scipys_of_the_same_resamples(n: int) -> None:
    """scipy takes a distribution that is already there: then its ends and ours are one computation."""
    values = np.random.default_rng(n).beta(2, 3, size=n)
    boot = Bootstrap(n, 2_000, seed=42)
    (ours,) = boot.intervals(values[:, None], 0.9)
    options = {"method": "percentile", "confidence_level": 0.9, "rng": np.random.default_rng(1)}
    theirs = scipy.stats.bootstrap((values,), np.mean, n_resamples=10, **options)
    theirs.bootstrap_distribution = boot.means(values[:, None])[:, 0]
    again = scipy.stats.bootstrap((values,), np.mean, n_resamples=0, bootstrap_result=theirs, **options)
    assert (ours.low, ours.high) == pytest.approx(tuple(again.confidence_interval), abs=1e-12)


def test_paired_interval_agrees_with_scipys_paired_bootstrap() -> None:
    generator = np.random.default_rng(11)
    base = generator.beta(3, 3, size=33)
    tuned = np.clip(base + generator.normal(0.03, 0.08, size=33), 0, 1)
    (ours,) = Bootstrap(33, 20_000, seed=42).paired(tuned[:, None], base[:, None], 0.95)
    theirs = scipy.stats.bootstrap(
        (tuned, base),
        lambda a, b, axis: (a - b).mean(axis=axis),
        paired=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(9),
    ).confidence_interval
    # An end's Monte Carlo error is some 0.0003; the interval is 0.05 wide.
    assert ours.interval.low == pytest.approx(theirs.low, abs=0.0015)
    assert ours.interval.high == pytest.approx(theirs.high, abs=0.0015)


def scipy_permutation(differences: np.ndarray, n_resamples: int) -> float:
    return scipy.stats.permutation_test(
        (differences, np.zeros_like(differences)),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        rng=np.random.default_rng(4),
    ).pvalue


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-0.25, -0.1, 0.0, 0.1, 0.125, 0.3]), min_size=2, max_size=9))
def test_sign_flips_are_scipys_permutation_test_where_all_are_counted(differences: list[float]) -> None:
    flips = SignFlips(len(differences), B, seed=42)
    assert flips.exact
    column = np.array(differences)
    assert flips.p(column[:, None]) == [pytest.approx(scipy_permutation(column, B))]


def test_sign_flips_by_hand() -> None:
    # Three gains: of 8 ways to sign them one is as high, one as low: p = 2/8, where the bootstrap says 0.0002.
    gains = np.array([[0.1], [0.2], [0.3]])
    assert SignFlips(3, B, seed=42).p(gains) == [0.25]
    assert Bootstrap(3, B, seed=42).paired(gains, gains * 0, 0.95)[0].p == pytest.approx(2 / 10_001)
    # 0.1 and -0.1: means -0.1, 0, 0, 0.1 over the four ways, seen 0: three of four on either side, so 1.
    assert SignFlips(2, B, seed=42).p(np.array([[0.1, 0.0], [-0.1, 0.0]])) == [1.0, 1.0]
    assert SignFlips(1, B, seed=42).p(np.array([[0.1]])) == [None]
    assert SignFlips(0, B, seed=42).p(np.zeros((0, 2))) == [None, None]


def test_drawn_sign_flips_agree_with_scipy_and_with_the_bootstrap() -> None:
    generator = np.random.default_rng(17)
    differences = generator.normal(0.02, 0.06, size=33)
    flips = SignFlips(33, B, seed=42)
    assert not flips.exact
    (p,) = flips.p(differences[:, None])
    # Both are of 10,000 draws: the standard error at p = 0.05 is 0.002 each, twice that for two tails.
    assert p == pytest.approx(scipy_permutation(differences, B), abs=0.015)
    (test,) = Bootstrap(33, B, seed=42).paired(differences[:, None], differences[:, None] * 0, 0.95)
    assert p == pytest.approx(test.p, abs=0.03)  # with 33 groups the two tests are close
    (far,) = flips.p(np.full((33, 1), 0.1))
    assert far == pytest.approx(2 / 10_001)  # (0 + 1) / (B + 1), twice: no draw has all signs equal


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1, width=16), min_size=2, max_size=16))
def test_a_test_has_no_direction(differences: list[float]) -> None:
    """Exchanging the systems turns the difference round; the interval mirrors and no p changes but by its draws."""
    n = len(differences)
    column, zero = np.array(differences)[:, None], np.zeros((n, 1))
    boot = Bootstrap(n, 500, seed=3)
    (ahead,), (behind,) = boot.paired(column, zero, 0.9), boot.paired(zero, column, 0.9)
    assert ahead.difference == pytest.approx(-behind.difference, abs=1e-12)
    assert ahead.p == behind.p
    assert (ahead.interval.low, ahead.interval.high) == pytest.approx(
        (-behind.interval.high, -behind.interval.low), abs=1e-9
    )
    if n <= 8:
        assert SignFlips(n, 500, seed=3).p(column) == SignFlips(n, 500, seed=3).p(-column)


def test_thousands_of_resamples_cost_no_loop() -> None:
    """33 groups, 4 models against base and BM25, 5 measures: under a second of CPU time, all of it."""
    models, measures = [f"m{i}" for i in range(4)], ["ndcg@10", "recall@10", "recall@100", "mrr@10", "p@10"]
    systems = ["bm25", *(f"{m}_{kind}" for m in models for kind in ("base", "tuned"))]
    rows = [(s, f"g{g:02d}", "all", m) for s in systems for g in range(33) for m in measures]
    frame = pl.DataFrame(rows, schema=["system", "group_id", "level", "measure"], orient="row").with_columns(
        value=pl.Series(np.random.default_rng(1).random(len(rows))), queries=pl.lit(10)
    )
    families = {
        "base": [(f"{m}_tuned", f"{m}_base") for m in models],
        "bm25": [(f"{m}_tuned", "bm25") for m in models],
    }
    begin = time.process_time()
    table = comparisons(frame, families, **OPTIONS)
    assert time.process_time() - begin < 1.0
    assert table.height == 2 * 4 * 5


def groups_frame() -> pl.DataFrame:
    rows = []
    for system, shift in (("bm25", 0.0), ("m_base", 0.1), ("m_tuned", 0.2), ("n_base", 0.2), ("n_tuned", 0.2)):
        for g in range(6):
            rows.append((system, f"g{g}", "area", "p@10", 0.05 * g + shift, 2))
    names = ["system", "group_id", "level", "measure", "value", "queries"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_comparisons_correct_over_the_models_of_one_question() -> None:
    families = {
        "base": [("m_tuned", "m_base"), ("n_tuned", "n_base")],
        "bm25": [("m_tuned", "bm25"), ("n_tuned", "bm25")],
    }
    table = comparisons(groups_frame(), families, **OPTIONS)
    rows = {(r["system"], r["baseline"]): r for r in table.iter_rows(named=True)}
    smallest = 2 / 10_001
    m, n = rows["m_tuned", "m_base"], rows["n_tuned", "n_base"]
    assert (m["p"], m["p_holm"]) == (pytest.approx(smallest), pytest.approx(2 * smallest))  # two tests in the family
    assert (n["difference"], n["p"], n["p_holm"], n["low"], n["high"]) == (0.0, 1.0, 1.0, 0.0, 0.0)
    assert rows["n_tuned", "bm25"]["p_holm"] == pytest.approx(2 * smallest)
    assert m["difference"] == pytest.approx(0.1)
    assert m["p_permutation"] == 2 / 64  # six gains of the same size: two of 2^6 ways are as extreme
    assert {r["groups"] for r in rows.values()} == {6}


def test_intervals_per_system() -> None:
    table = system_intervals(groups_frame(), **OPTIONS)
    rows = {r["system"]: r for r in table.iter_rows(named=True)}
    # The same resamples for all systems: a constant shift moves the ends by exactly that.
    assert rows["m_base"]["low"] - rows["bm25"]["low"] == pytest.approx(0.1)
    assert rows["bm25"]["low"] < 0.125 < rows["bm25"]["high"]  # the mean of 0, .05, ..., .25
    assert rows["bm25"]["reason"] is None


def test_one_group_gives_no_interval_but_a_reason() -> None:
    one = groups_frame().filter(pl.col("group_id") == "g3")
    assert set(system_intervals(one, **OPTIONS).select("low", "high", "reason").rows()) == {(None, None, "one_group")}
    (row,) = comparisons(one, {"base": [("m_tuned", "m_base")]}, **OPTIONS).iter_rows(named=True)
    assert (row["low"], row["high"], row["p"], row["p_holm"], row["groups"]) == (None, None, None, None, 1)
    assert row["p_permutation"] is None
    assert row["difference"] == pytest.approx(0.1)


def test_systems_without_the_same_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="every system needs a score in every group"):
        system_intervals(groups_frame().head(29), **OPTIONS)
    with pytest.raises(ValueError, match="'x_base' has no scores"):
        comparisons(groups_frame(), {"base": [("m_tuned", "x_base")]}, **OPTIONS)


def test_catalogs_are_compared_by_themselves() -> None:
    frame = groups_frame()
    parts = [
        frame.with_columns(catalog=pl.lit("food")),
        frame.filter(pl.col("group_id") < "g3").with_columns(catalog=pl.lit("print"), value=1 - pl.col("value")),
    ]
    table = comparisons(pl.concat(parts), {"base": [("m_tuned", "m_base")]}, **OPTIONS, per=["catalog"])
    rows = {r["catalog"]: r for r in table.iter_rows(named=True)}
    assert (rows["food"]["groups"], rows["print"]["groups"]) == (6, 3)
    assert rows["food"]["difference"] == pytest.approx(0.1)
    assert rows["print"]["difference"] == pytest.approx(-0.1)
    alone = comparisons(frame, {"base": [("m_tuned", "m_base")]}, **OPTIONS)
    assert table.filter(pl.col("catalog") == "food").drop("catalog").equals(alone)
    intervals = system_intervals(pl.concat(parts), **OPTIONS, per=["catalog"])
    assert intervals.filter(pl.col("catalog") == "food").drop("catalog").equals(system_intervals(frame, **OPTIONS))


def test_one_draw_serves_all_strata_of_its_size_and_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strata of 6, 3, 6, 2 and 3 groups: three draws, at most two of them in memory while one follows the other."""
    frame = groups_frame()
    kept = {"a": "g6", "b": "g3", "c": "g6", "d": "g2", "e": "g3"}
    parts = [frame.filter(pl.col("group_id") < g).with_columns(catalog=pl.lit(c)) for c, g in kept.items()]
    drawn, alive = [], weakref.WeakSet()
    draw = Bootstrap.__init__

    def noting(self: Bootstrap, n_groups: int, *rest: int) -> None:
        alive.add(self)
        drawn.append((n_groups, len(alive)))
        draw(self, n_groups, *rest)

    monkeypatch.setattr(Bootstrap, "__init__", noting)
    table = comparisons(pl.concat(parts), {"base": [("m_tuned", "m_base")]}, **OPTIONS, per=["catalog"])
    assert sorted(n_groups for n_groups, _ in drawn) == [2, 3, 6]
    assert max(together for _, together in drawn) <= 2
    assert table.select("catalog", "groups").rows() == [("a", 6), ("b", 3), ("c", 6), ("d", 2), ("e", 3)]
    intervals = system_intervals(pl.concat(parts), **OPTIONS, per=["catalog"])
    assert intervals["catalog"].unique(maintain_order=True).to_list() == list(kept)
    assert comparisons(pl.concat(parts), {"base": []}, **OPTIONS, per=["catalog"]).is_empty()
    assert len(drawn) == 6  # none for no question
