"""Exact n-gram overlaps between texts: which pairs reach a Jaccard threshold, without comparing all pairs.

Texts are n-gram *sets* of normalised units (words, or characters). A pair with Jaccard >= t of sets A and B shares at
least ceil(t |A|) n-grams, so among the rarest |A| - ceil(t |A|) + 1 n-grams of A, in one order for all texts, it shares
one with the same prefix of B (prefix filtering: Chaudhuri et al. 2006, Bayardo et al. 2007). The candidates of these
prefixes are then counted exactly; nothing is approximated and nothing depends on hash seeds. Why not MinHash: at the
threshold itself it misses one pair in eight and takes several times as long (the benchmark ``neardup`` prints both).
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

Unit = Literal["words", "characters"]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_Words = npt.NDArray[np.uint32]
_Longs = npt.NDArray[np.uint64]

_SPLITMIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1
# What is worked on at once: texts cut into units, n-grams hashed, pairs of one n-gram's list written out.
_TEXTS, _GRAMS, _PAIRS = 8_192, 1 << 17, 1 << 21


class Pairs(NamedTuple):
    """Similar texts by index, ``first`` < ``second``, in this order; arrays of one length.

    ``similarity`` is the Jaccard similarity of the n-gram sets, ``containment`` the share of the smaller set that the
    larger one holds too.
    """

    first: Ints
    second: Ints
    similarity: Floats
    containment: Floats


def normalise(text: str) -> str:
    """Case-folded, in NFC, white space collapsed: what two texts are compared in."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    # No white space but the blank is printable, so the common case is told without taking the words apart.
    flat = folded.replace("\n", " ")
    return flat.strip(" ") if flat.isprintable() and "  " not in flat else " ".join(folded.split())


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
    end = np.cumsum(lengths)
    # An n-gram is known by the position of its first unit, which must not be one of the last n - 1 of a text.
    is_start = np.ones(len(units), dtype=bool)
    for k in range(1, n):
        is_start[end[lengths >= k] - k] = False
    position, grams = _repeated(units, is_start, np.asarray(scopes, dtype=np.uint64), end, n)
    holders = np.searchsorted(end, position, side="right")
    order = np.lexsort((holders, grams))
    holders, grams = holders[order], grams[order]
    # A set counts an n-gram once, however often the text repeats it.
    new = np.ones(len(grams), dtype=bool)
    new[1:] = (grams[1:] != grams[:-1]) | (holders[1:] != holders[:-1])
    size = count - np.bincount(holders[~new], minlength=len(texts))
    holders, grams = holders[new], grams[new]
    shared = np.bincount(grams)[grams] > 1 if len(grams) else np.zeros(0, dtype=bool)
    return Shingles(size, holders[shared], grams[shared])


def _units(texts: Sequence[str], unit: Unit) -> tuple[_Words, Ints]:
    """All units in a row, as numbers, and how many each text has."""
    if unit == "characters":
        encoded = [np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32) for text in texts]
        flat = np.concatenate(encoded) if encoded else np.zeros(0, dtype=np.uint32)
        return flat, np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    # One numbering of words for all parts; it lasts as long as one of its series does.
    numbering = pl.Categorical(pl.Categories.random())
    numbers, lengths = [pl.Series([], dtype=numbering)], [np.zeros(0, dtype=np.int64)]
    for at in range(0, len(texts), _TEXTS):
        words = pl.Series(texts[at : at + _TEXTS], dtype=pl.String).replace("", None).str.split(" ")
        lengths.append(words.list.len().fill_null(0).to_numpy().astype(np.int64))
        numbers.append(words.explode(empty_as_null=False, keep_nulls=False).cast(numbering))
    return np.concatenate([part.to_physical().to_numpy() for part in numbers]), np.concatenate(lengths)


def _repeated(units: _Words, is_start: npt.NDArray[np.bool_], scopes: _Longs, end: Ints, n: int) -> tuple[Ints, Ints]:
    """Positions of the n-grams that occur more than once in their scope, with numbers: equal for equal n-grams only.

    N-grams meet by a 64-bit multilinear hash. Those of equal hash are compared unit by unit; where two different ones
    collide, all is done again with other multipliers.
    """
    attempt = 0
    while True:
        hashes = _hashes(units, scopes, end, n, attempt)
        position = _meeting(hashes, is_start)
        if not len(position):
            return position, position
        hashes = hashes[position]
        order = np.argsort(hashes, kind="stable")
        position, hashes = position[order], hashes[order]
        same = hashes[1:] == hashes[:-1]
        left, right = position[:-1][same], position[1:][same]
        scope_of = [scopes[np.searchsorted(end, side, side="right")] for side in (left, right)]
        if np.array_equal(*scope_of) and all(np.array_equal(units[left + k], units[right + k]) for k in range(n)):
            after, before = np.append(False, same), np.append(same, False)
            in_run = after | before
            return position[in_run], np.cumsum(~after[in_run]) - 1
        attempt += 1


def _meeting(hashes: _Longs, is_start: npt.NDArray[np.bool_]) -> Ints:
    """Positions of the n-grams that may occur twice: all that do, and a few more.

    Each n-gram is one number, its hash above and its place below, so that sorting numbers, which is ten times as fast
    as sorting places by their hashes, brings those together whose hashes begin alike.
    """
    places = np.uint64((1 << max(1, len(hashes).bit_length())) - 1)
    position = np.flatnonzero(is_start).astype(np.uint64)
    ordered = (hashes[is_start] & ~places) | position
    ordered.sort()
    meets = ordered[1:] ^ ordered[:-1] <= places
    return (ordered[np.append(meets, False) | np.append(False, meets)] & places).astype(np.int64)


def _hashes(units: _Words, scopes: _Longs, end: Ints, n: int, attempt: int) -> _Longs:
    """Hash of the n-gram that starts at each unit; of no use where none starts."""
    hashes = np.empty(len(units), dtype=np.uint64)
    for at in range(0, len(units), _GRAMS):
        block = hashes[at : at + _GRAMS]
        wide = np.zeros(len(block) + n - 1, dtype=np.uint64)
        part = units[at : at + len(wide)]
        wide[: len(part)] = part
        np.multiply(wide[: len(block)], _multiplier(attempt, 0), out=block)
        for k in range(1, n):
            block += wide[k : k + len(block)] * _multiplier(attempt, k)
        first, last = np.searchsorted(end, (at, at + len(block) - 1), side="right")
        inside = np.diff(np.clip(end[first : last + 1], at, at + len(block)), prepend=at)
        block += np.repeat(scopes[first : last + 1] * _multiplier(attempt, n), inside)
    return hashes


def _multiplier(attempt: int, k: int) -> np.uint64:
    """An odd 64-bit constant: a value of the SplitMix64 sequence."""
    value = (attempt * 1000 + k + 1) * _SPLITMIX[0] & _MASK
    value = (value ^ (value >> 30)) * _SPLITMIX[1] & _MASK
    value = (value ^ (value >> 27)) * _SPLITMIX[2] & _MASK
    return np.uint64((value ^ (value >> 31)) | 1)


def similar_pairs(shingles: Shingles, threshold: float, sides: Sequence[int] | None = None) -> Pairs:
    """All pairs of texts with Jaccard >= ``threshold``; with ``sides`` only pairs of unequal sides.

    Texts without n-grams are in no pair.
    """
    first, second = _candidates(shingles, threshold)
    if sides is not None:
        side = np.asarray(sides)
        apart = side[first] != side[second]
        first, second = first[apart], second[apart]
    sets = _sets(shingles, np.union1d(first, second))
    shared = np.fromiter(
        (len(sets[a] & sets[b]) for part in _blocks(first, second) for a, b in part), dtype=np.int64, count=len(first)
    )
    # A quotient of integers is rounded once, as the literal 0.7 is: 7/10 equals 0.7.
    similarity = shared / (shingles.size[first] + shingles.size[second] - shared)
    containment = shared / np.minimum(shingles.size[first], shingles.size[second])
    found = similarity >= threshold
    return Pairs(first[found], second[found], similarity[found], containment[found])


def _blocks(first: Ints, second: Ints) -> Iterator[Iterator[tuple[int, int]]]:
    """The pairs as Python numbers, a part at a time: a list of all would be many times the arrays."""
    for at in range(0, len(first), _PAIRS):
        yield zip(first[at : at + _PAIRS].tolist(), second[at : at + _PAIRS].tolist(), strict=True)


def _sets(shingles: Shingles, texts: Ints) -> dict[int, frozenset[int]]:
    """The shared n-grams of some texts; the others are in no intersection."""
    order = np.lexsort((shingles.grams, shingles.texts))
    grams, holders = shingles.grams[order], shingles.texts[order]
    start, end = np.searchsorted(holders, texts), np.searchsorted(holders, texts, side="right")
    return {
        text: frozenset(grams[a:b].tolist())
        for text, a, b in zip(texts.tolist(), start.tolist(), end.tolist(), strict=True)
    }


def _candidates(shingles: Shingles, threshold: float) -> tuple[Ints, Ints]:
    """Index pairs, first < second, that share an n-gram of their prefixes and may reach the threshold."""
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
    keys = np.zeros(0, dtype=np.int64)
    fresh = [keys]
    for low, high in _cuts(np.cumsum(behind)):
        repeats = behind[low:high]
        a = np.repeat(np.arange(low, high), repeats)
        b = a + 1 + np.arange(len(a)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        a, b = texts[a], texts[b]
        fits = np.minimum(size[a], size[b]) >= threshold * np.maximum(size[a], size[b]) - 1e-9
        fresh.append(np.unique(a[fits] * len(size) + b[fits]))
        # Two texts meet in many n-grams: merged early, their pair is held once.
        if sum(map(len, fresh)) > max(_PAIRS, len(keys)):
            keys, fresh = np.unique(np.concatenate((keys, *fresh))), []
    keys = np.unique(np.concatenate((keys, *fresh)))
    return keys // max(1, len(size)), keys % max(1, len(size))


def _cuts(total: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of entries with about ``_PAIRS`` pairs each, by the running ``total`` of pairs."""
    low = 0
    while low < len(total):
        done = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, done + _PAIRS, side="right")))
        yield low, high
        low = high
