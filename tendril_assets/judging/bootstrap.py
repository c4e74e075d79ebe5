"""Bootstrap resamples of a stratified set, shared by everything that is measured on it.

One draw serves all systems, statistics and levels, so differences between systems are paired. Every figure here is a
function of counts that add up over the set (tables of marks, coincidences), so a resample never touches a pair: it is
a row of weights times the counts of each unit.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

_CHUNK = 1_000


def unit_counts(units: Sequence[str], contributions: np.ndarray) -> np.ndarray:
    """Sums of ``contributions`` (N, C) over the rows of each unit: (G, C), units in sorted order."""
    names, codes = np.unique(np.asarray(units, dtype=str), return_inverse=True)
    summed = np.zeros((len(names), contributions.shape[1]))
    np.add.at(summed, codes, contributions)
    return summed


def resampled(counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sums over ``resamples`` draws of G units with replacement: (B, C) float32; exact for whole counts under 2**24.

    ``counts``: (G, C), what each unit adds. The draws depend on ``seed``, G and B alone.
    """
    if not counts.shape[0]:
        return np.zeros((resamples, counts.shape[1]), dtype=np.float32)
    weighed = counts.astype(np.float32)
    return np.concatenate([chunk @ weighed for chunk in _weights(counts.shape[0], resamples, seed)])


def strata(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """The whole of a set that is resampled within each stratum: the sum over the strata."""
    return np.sum(list(parts.values()), axis=0)


def _weights(units: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each unit is drawn, in chunks of resamples: (b, G) float32."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        drawn = generator.integers(0, units, size=(size, units))
        drawn += np.arange(size)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units).astype(np.float32)
