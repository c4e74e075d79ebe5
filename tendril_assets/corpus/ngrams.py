"""Exact n-gram overlaps between texts: which pairs reach a Jaccard threshold, without comparing all pairs.

Texts are n-gram *sets* of normalised units (words, or characters). A pair with Jaccard >= t of sets A and B shares at
least ceil(t |A|) n-grams, so among the rarest |A| - ceil(t |A|) + 1 n-grams of A, in one order for all texts, it shares
one with the same prefix of B (prefix filtering: Chaudhuri et al. 2006, Bayardo et al. 2007). The candidates of these
prefixes are then counted exactly; nothing is approximated and nothing depends on hash seeds.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

Unit = Literal["words", "characters"]
Ints = npt.NDArray[np.int64]

_SPLITMIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1


class Pair(NamedTuple):
    """Texts by index, ``first`` < ``second``, and the Jaccard similarity of their n-gram sets."""

    first: int
    second: int
    similarity: float


def normalise(text: str) -> str:
    """Case-folded, in NFC, white space collapsed: what two texts are compared in."""
    folded = unicodedata.normalize("NFC", text).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return " ".join(folded.split())


@dataclass(frozen=True)
class Shingles:
    """N-gram sets of texts, as far as they matter for pairs.

    ``size[i]`` n-grams in the set of text i. ``texts`` and ``grams`` (same length, sorted by gram, then text): one
    entry for each n-gram of each text that some other text of its scope holds too; equal numbers in ``grams`` mean
    equal n-grams in the same scope, and only those.
    """

    size: Ints
    texts: Ints
    grams: Ints


def shingle(texts: Sequence[str], scopes: Sequence[int], unit: Unit, n: int) -> Shingles:
    """N-gram sets of normalised ``texts``; n-grams of different ``scopes`` are never equal.

    A text with fewer than ``n`` units has none.
    """
    units, lengths = _units(texts, unit)
    count = np.maximum(lengths - n + 1, 0)
    if not count.sum():
        return Shingles(np.zeros(len(texts), dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    first_unit = np.cumsum(lengths) - lengths
    # An n-gram is known by the position of its first unit: the start of its text plus its place within the text.
    position = np.repeat(first_unit - np.cumsum(count) + count, count) + np.arange(count.sum())
    position, grams = _repeated(units, position, np.repeat(np.asarray(scopes, dtype=np.uint64), count), n)
    holders = np.searchsorted(first_unit, position, side="right") - 1
    order = np.lexsort((holders, grams))
    holders, grams = holders[order], grams[order]
    # A set counts an n-gram once, however often the text repeats it.
    new = np.ones(len(grams), dtype=bool)
    new[1:] = (grams[1:] != grams[:-1]) | (holders[1:] != holders[:-1])
    size = count - np.bincount(holders[~new], minlength=len(texts))
    holders, grams = holders[new], grams[new]
    shared = np.bincount(grams)[grams] > 1 if len(grams) else np.zeros(0, dtype=bool)
    return Shingles(size, holders[shared], grams[shared])


def _units(texts: Sequence[str], unit: Unit) -> tuple[Ints, Ints]:
    """All units in a row, as numbers, and how many each text has."""
    if unit == "characters":
        encoded = [np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32) for text in texts]
        flat = np.concatenate(encoded) if encoded else np.zeros(0, dtype=np.uint32)
        return flat.astype(np.int64), np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    words = pl.Series(texts, dtype=pl.String).replace("", None).str.split(" ")
    lengths = words.list.len().fill_null(0).to_numpy().astype(np.int64)
    numbers = words.explode(empty_as_null=False, keep_nulls=False).cast(pl.Categorical).to_physical()
    return numbers.to_numpy().astype(np.int64), lengths


def _repeated(units: Ints, position: Ints, scope: npt.NDArray[np.uint64], n: int) -> tuple[Ints, Ints]:
    """Positions of the n-grams that occur more than once in their scope, with numbers: equal for equal n-grams only.

    N-grams are sorted by a 64-bit multilinear hash. Neighbours with equal hashes are compared unit by unit; where two
    different ones collide, all is done again with other multipliers.
    """
    length = len(units) - n + 1
    wide = units.astype(np.uint64)
    attempt = 0
    while True:
        rolling = wide[:length] * _multiplier(attempt, 0)
        for k in range(1, n):
            rolling += wide[k : k + length] * _multiplier(attempt, k)
        hashes = rolling[position]
        hashes += scope * _multiplier(attempt, n)
        order = pl.Series(hashes).arg_sort().to_numpy()
        ordered = hashes[order]
        same = ordered[1:] == ordered[:-1]
        left, right = order[:-1][same], order[1:][same]
        if np.array_equal(scope[left], scope[right]) and all(
            np.array_equal(units[position[left] + k], units[position[right] + k]) for k in range(n)
        ):
            after, before = np.append(False, same), np.append(same, False)
            in_run = after | before
            return position[order[in_run]], np.cumsum(~after[in_run]) - 1
        attempt += 1


def _multiplier(attempt: int, k: int) -> np.uint64:
    """An odd 64-bit constant: a value of the SplitMix64 sequence."""
    value = (attempt * 1000 + k + 1) * _SPLITMIX[0] & _MASK
    value = (value ^ (value >> 30)) * _SPLITMIX[1] & _MASK
    value = (value ^ (value >> 27)) * _SPLITMIX[2] & _MASK
    return np.uint64((value ^ (value >> 31)) | 1)


def similar_pairs(shingles: Shingles, threshold: float, sides: Sequence[int] | None = None) -> list[Pair]:
    """All pairs of texts with Jaccard >= ``threshold``, by index; with ``sides`` only pairs of unequal sides.

    Texts without n-grams are in no pair.
    """
    candidates = _candidates(shingles, threshold)
    if sides is not None:
        side = np.asarray(sides)
        candidates = candidates[side[candidates[:, 0]] != side[candidates[:, 1]]]
    sets = _sets(shingles, candidates)
    pairs: list[Pair] = []
    for a, b in candidates.tolist():
        shared = len(sets[a] & sets[b])
        # A quotient of integers is rounded once, as the literal 0.7 is: 7/10 equals 0.7.
        similarity = shared / (int(shingles.size[a]) + int(shingles.size[b]) - shared)
        if similarity >= threshold:
            pairs.append(Pair(a, b, similarity))
    return pairs


def _sets(shingles: Shingles, candidates: Ints) -> dict[int, frozenset[int]]:
    """The shared n-grams of the candidate texts; the others are in no intersection."""
    order = np.lexsort((shingles.grams, shingles.texts))
    grams, texts = shingles.grams[order], np.unique(candidates)
    start = np.searchsorted(shingles.texts[order], texts)
    end = np.searchsorted(shingles.texts[order], texts, side="right")
    return {
        text: frozenset(grams[a:b].tolist())
        for text, a, b in zip(texts.tolist(), start.tolist(), end.tolist(), strict=True)
    }


def _candidates(shingles: Shingles, threshold: float) -> Ints:
    """Index pairs (n, 2), first < second, that share an n-gram of their prefixes and may reach the threshold."""
    size, texts, grams = shingles.size, shingles.texts, shingles.grams
    # A little less than exact, so that a rounding error can only widen a prefix.
    prefix = size - np.ceil(threshold * size - 1e-9).astype(np.int64) + 1
    # N-grams of one text only are the rarest of all and match nothing: they use up the prefix.
    prefix -= size - np.bincount(texts, minlength=len(size))
    frequency = np.bincount(grams) if len(grams) else grams
    order = np.lexsort((grams, frequency[grams], texts))
    texts, grams = texts[order], grams[order]
    rank = np.arange(len(texts)) - np.searchsorted(texts, texts)
    inside = rank < prefix[texts]
    texts, grams = texts[inside], grams[inside]
    order = np.lexsort((texts, grams))
    texts, grams = texts[order], grams[order]
    # Each entry is paired with those behind it in the list of its n-gram.
    behind = np.searchsorted(grams, grams, side="right") - np.arange(len(texts)) - 1
    first = np.repeat(np.arange(len(texts)), behind)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(behind) - behind, behind)
    a, b = texts[first], texts[second]
    fits = np.minimum(size[a], size[b]) >= threshold * np.maximum(size[a], size[b]) - 1e-9
    keys = np.unique(a[fits] * len(size) + b[fits])
    return np.stack((keys // len(size), keys % len(size)), axis=1) if len(keys) else np.zeros((0, 2), dtype=np.int64)
