"""Bootstrap over groups: percentile intervals, paired tests and Holm's correction.

Groups (projects, acts) are what the collection was sampled by, so groups are what is resampled; queries are averaged
inside their group before. One matrix of resamples serves every system and both sides of every comparison. Resamples
are held as counts (how often each group was drawn), so all means of all resamples are one matrix product.

With few groups the bootstrap's p is too small: three projects that all gain give 0.0002, though of the eight ways to give
three differences their signs one in four is as extreme. Therefore the sign-flip permutation test of the same differences
stands beside it: exact where all ways fit into the number of resamples, else by that many draws.

Sources: percentile interval, Efron and Tibshirani (1993), chapter 13; p value with the +1 of Davison and Hinkley
(1997), section 4.2.5; sign flips, Fisher (1935), with the +1 of Phipson and Smyth (2010) where they are drawn; Holm (1979).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tendril_assets.corpus.identifiers import keyed_order

ONE_GROUP = "one_group"
NO_GROUP = "no_group"
_DRAW, _FLIP = "significance", "sign flips"
_DECIMALS = 12
_ZERO = 1e-12  # differences of means are sums of fractions: what is smaller is rounding, not a difference


class Interval(NamedTuple):
    """A percentile interval; without ends, ``reason`` says why (``one_group`` or ``no_group``)."""

    low: float | None
    high: float | None
    reason: str | None = None


class PairedTest(NamedTuple):
    """Mean paired difference over groups, its interval, and the two-sided p; p is None where the interval is."""

    difference: float
    interval: Interval
    p: float | None


class Bootstrap:
    """Resamples of ``n_groups`` groups, drawn once.

    The draw is named by the collection's seed, this stage and the number of groups: levels with equally many groups
    share it, and no other stage's draws move it.
    """

    def __init__(self, n_groups: int, resamples: int, seed: int) -> None:
        self.n_groups = n_groups
        self.resamples = resamples
        generator = np.random.Generator(np.random.PCG64(keyed_order(seed, _DRAW, f"{n_groups} groups")))
        if n_groups < 1:
            self._counts = np.zeros((resamples, 0))
            return
        drawn = generator.integers(0, n_groups, size=(resamples, n_groups))
        flat = (drawn + np.arange(resamples)[:, None] * n_groups).reshape(-1)
        self._counts = np.bincount(flat, minlength=resamples * n_groups).reshape(resamples, n_groups).astype(np.float64)

    def means(self, values: np.ndarray) -> np.ndarray:
        """Means of every resample: ``values`` is (groups, columns), the result (resamples, columns)."""
        return self._counts @ values / self.n_groups

    def intervals(self, values: np.ndarray, confidence: float) -> list[Interval]:
        """Percentile interval of the mean of each column of ``values`` (groups, columns)."""
        if self.n_groups < 2:
            return [Interval(None, None, ONE_GROUP if self.n_groups else NO_GROUP)] * values.shape[1]
        return _percentile(self.means(values), confidence)

    def paired(self, system: np.ndarray, baseline: np.ndarray, confidence: float) -> list[PairedTest]:
        """Column by column, ``system`` against ``baseline``: both (groups, columns), same groups in the same order.

        p = min(1, 2 min(#(d <= 0) + 1, #(d >= 0) + 1) / (B + 1)) over the B resampled mean differences d.
        """
        differences = system - baseline
        observed = _snapped(differences.mean(axis=0)) if self.n_groups else np.zeros(differences.shape[1])
        if self.n_groups < 2:
            nothing = Interval(None, None, ONE_GROUP if self.n_groups else NO_GROUP)
            return [PairedTest(float(d), nothing, None) for d in observed]
        means = _snapped(self.means(differences))
        at_most, at_least = (means <= 0).sum(axis=0), (means >= 0).sum(axis=0)
        p = np.minimum(1.0, 2 * (np.minimum(at_most, at_least) + 1) / (self.resamples + 1))
        intervals = _percentile(means, confidence)
        return [PairedTest(float(d), i, float(x)) for d, i, x in zip(observed, intervals, p, strict=True)]


class SignFlips:
    """The paired permutation test of ``n_groups`` differences: under the hypothesis each could have the other sign.

    Drawn once, under a name of its own, where there are more ways than ``resamples``.
    """

    def __init__(self, n_groups: int, resamples: int, seed: int) -> None:
        self.n_groups = n_groups
        self.exact = 2.0**n_groups <= resamples
        if self.exact:
            flips = np.arange(2**n_groups)[:, None] >> np.arange(n_groups) & 1
        else:
            generator = np.random.Generator(np.random.PCG64(keyed_order(seed, _FLIP, f"{n_groups} groups")))
            flips = generator.integers(0, 2, size=(resamples, n_groups))
        self._signs = 1.0 - 2.0 * flips

    def p(self, differences: np.ndarray) -> list[float | None]:
        """Two-sided p of each column of ``differences`` (groups, columns): twice the smaller tail, at most 1.

        None with fewer than two groups.
        """
        if self.n_groups < 2:
            return [None] * differences.shape[1]
        means, observed = self._signs @ differences / self.n_groups, differences.mean(axis=0)
        drawn = 0 if self.exact else 1  # the order that was seen is among all of them, but not among the draws
        at_most = (means <= observed + _ZERO).sum(axis=0) + drawn
        at_least = (means >= observed - _ZERO).sum(axis=0) + drawn
        p = np.minimum(1.0, 2 * np.minimum(at_most, at_least) / (len(self._signs) + drawn))
        return [float(value) for value in p]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction: running maximum, capped at 1, in input order.

    None and NaN are no tests: they stay None and do not count in the family.
    """
    values = np.array([np.nan if p is None else p for p in p_values], dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected: list[float | None] = [None] * len(values)
    for position, p in zip(order, np.minimum(1.0, np.maximum.accumulate(values[order] * factors)), strict=True):
        corrected[position] = float(p)
    return corrected


def system_intervals(
    groups: pl.DataFrame, *, seed: int, resamples: int, confidence: float, per: Sequence[str] = ()
) -> pl.DataFrame:
    """Intervals of the macro means: system, [per], level, measure, low, high, reason.

    ``groups`` is a ``group_scores`` frame with a system column and those of ``per``; every system has the same groups in
    a level.
    """
    rows = []
    for n_groups, strata in _by_size(_strata(groups, per)):
        boot = Bootstrap(n_groups, resamples, seed)
        for stratum, table in strata:
            intervals = boot.intervals(table.values, confidence)
            rows += [(s, *stratum, m, *i) for (s, m), i in zip(table.columns, intervals, strict=True)]
    rows.sort(key=lambda row: row[1 : len(per) + 2])  # by stratum
    schema: dict[str, Any] = dict.fromkeys(["system", *per, "level", "measure"], pl.String)
    return pl.DataFrame(
        rows, schema=schema | {"low": pl.Float64, "high": pl.Float64, "reason": pl.String}, orient="row"
    )


def comparisons(
    groups: pl.DataFrame,
    families: Mapping[str, Sequence[tuple[str, str]]],
    *,
    seed: int,
    resamples: int,
    confidence: float,
    per: Sequence[str] = (),
) -> pl.DataFrame:
    """Paired tests as rows of the ``comparisons`` table, with the columns of ``per`` before the level.

    ``families`` maps a question ("against its base", "against BM25") to its (system, baseline) pairs; Holm corrects
    over the pairs of a family, per measure and level (and per stratum of ``per``, not over these).
    """
    asked = list(filter(None, families.values()))
    rows = []
    for n_groups, strata in _by_size(_strata(groups, per) if asked else []):
        boot, flips = Bootstrap(n_groups, resamples, seed), SignFlips(n_groups, resamples, seed)
        for (stratum, table), pairs in itertools.product(strata, asked):
            system, baseline = (np.concatenate([table.of(pair[side]) for pair in pairs], axis=1) for side in (0, 1))
            tests, flipped = boot.paired(system, baseline, confidence), flips.p(system - baseline)
            for column, measure in enumerate(table.measures):
                own = range(column, len(tests), len(table.measures))  # this measure of each pair in turn
                corrected = holm([tests[place].p for place in own])
                for pair, place, p_holm in zip(pairs, own, corrected, strict=True):
                    difference, (low, high, _), p = tests[place]
                    figures = (difference, low, high, p, p_holm, n_groups, flipped[place])
                    rows.append((*pair, *stratum, measure, *figures))
    rows.sort(key=lambda row: row[2 : len(per) + 3])  # by stratum
    schema: dict[str, Any] = dict.fromkeys(["system", "baseline", *per, "level", "measure"], pl.String)
    schema |= dict.fromkeys(["difference", "low", "high", "p", "p_holm"], pl.Float64)
    return pl.DataFrame(rows, schema=schema | {"groups": pl.Int32, "p_permutation": pl.Float64}, orient="row")


class _Level(NamedTuple):
    """One level's values as (groups, systems x measures)."""

    groups: list[str]
    systems: list[str]
    measures: list[str]
    values: np.ndarray

    @property
    def columns(self) -> list[tuple[str, str]]:
        return [(s, m) for s in self.systems for m in self.measures]

    def of(self, system: str) -> np.ndarray:
        """(groups, measures) of one system; raises ValueError where it has no scores."""
        if system not in self.systems:
            raise ValueError(f"system {system!r} has no scores to compare; there are {self.systems}")
        start = self.systems.index(system) * len(self.measures)
        return self.values[:, start : start + len(self.measures)]


_Stratum = tuple[tuple[str, ...], _Level]


def _strata(groups: pl.DataFrame, per: Sequence[str]) -> list[_Stratum]:
    """((per..., level), values) of each stratum, in their order.

    Raises ValueError where a system lacks a group or measure that another has: pairs would not be pairs.
    """
    result = []
    for stratum, rows in sorted(groups.partition_by(*per, "level", as_dict=True).items()):
        axes = [rows[name].unique().sort().to_list() for name in ("group_id", "system", "measure")]
        shape = tuple(len(axis) for axis in axes)
        if rows.height != shape[0] * shape[1] * shape[2]:
            raise ValueError(
                f"level {', '.join(stratum)}: {rows.height} group scores for {shape[0]} groups x {shape[1]} systems x "
                f"{shape[2]} measures; every system needs a score in every group (a query it does not answer counts 0)"
            )
        ordered = rows.sort("group_id", "system", "measure")["value"].to_numpy().reshape(shape[0], -1)
        result.append((stratum, _Level(*axes, ordered)))
    return result


def _by_size(strata: Sequence[_Stratum]) -> Iterator[tuple[int, list[_Stratum]]]:
    """Strata with equally many groups together: one draw serves them, and goes before the next (1,500 groups: 120 MB)."""
    by_size: dict[int, list[_Stratum]] = {}
    for stratum in strata:
        by_size.setdefault(len(stratum[1].groups), []).append(stratum)
    yield from by_size.items()


def _percentile(means: np.ndarray, confidence: float) -> list[Interval]:
    tail = (1 - confidence) / 2
    # The last bits of a matrix product depend on how many threads made it; an interval must not.
    low, high = np.round(np.quantile(means, [tail, 1 - tail], axis=0), _DECIMALS) + 0.0
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _snapped(differences: np.ndarray) -> np.ndarray:
    return np.where(np.abs(differences) < _ZERO, 0.0, differences)
