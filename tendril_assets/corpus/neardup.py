"""Near-duplicates: exact, and independent of input order, batches, processes and hash seeds.

Texts are compared as sets of n-grams of their normalised form (``ngrams.normalise``); where a text is too short for an
n-gram, only an equal normalised text repeats it. The older passage stays: passages are taken by ``order``, then by
passage id, each against those kept before it, so adding younger passages never removes an older one.

The *guard* keeps a pair apart that differs in a number or in a negation, however alike it is otherwise ("ist zwingend",
"ist nicht zwingend"). Each such pair is logged with both ids.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.ngrams import normalise, shingle, similar_pairs
from tendril_assets.spec import NearDuplicateSpec

NEARDUP_VERSION = "neardup-1"

_log = logging.getLogger(__name__)

_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_NEGATION = re.compile(
    r"\b(?:nicht|kein(?:e|en|em|er|es|erlei)?|ohne|weder|nie|niemals|nirgends|nichts|niemand"
    r"|ne|n(?=['’])|pas|non|sans|jamais|aucun(?:e|s|es)?|ni|senza|mai|nessun(?:o|a|i|e)?"
    r"|not|no|never|without|neither|nor|не|нет|ни|без|никогда|нельзя)\b"
)


class Duplicate(NamedTuple):
    """A passage that goes, the kept passage it repeats (``cause``) and their Jaccard similarity."""

    passage_id: str
    cause: str
    similarity: float


class Guarded(NamedTuple):
    """A pair at or above the threshold that differs in a ``number`` or a ``negation``; ``other`` is the older one."""

    passage_id: str
    other: str
    similarity: float
    difference: str


class NearDuplicates(NamedTuple):
    """``removed`` and ``guarded``, each in the order in which the passages were taken."""

    removed: list[Duplicate]
    guarded: list[Guarded]


class CrossPair(NamedTuple):
    left_id: str
    right_id: str
    similarity: float


def find_near_duplicates(frame: pl.DataFrame, spec: NearDuplicateSpec) -> list[Duplicate]:
    """Passages to drop from ``frame`` (passage_id, group, order, text), with their causes; see ``near_duplicates``."""
    return near_duplicates(frame, spec).removed


def near_duplicates(frame: pl.DataFrame, spec: NearDuplicateSpec) -> NearDuplicates:
    """Near-duplicates within each group of ``frame`` (passage_id, group, order, text; ids unique).

    A passage goes when a kept passage of its group, earlier by (order, passage_id), has similarity >= the threshold;
    the cause is the most similar one, the oldest among equals. With ``spec.guard`` pairs that differ in a number or a
    negation do not count. For each passage the most similar such pair is reported, kept or not, in ``guarded``.
    """
    table = frame.select("passage_id", "group", "order", "text").sort("order", "passage_id")
    ids = table["passage_id"].to_list()
    texts = [normalise(text) for text in table["text"]]
    scopes = table["group"].rank("dense").cast(pl.Int64).to_list()
    # Equal texts of a group are one node, so that a thousand copies cost no million pairs.
    nodes: dict[tuple[int, str], int] = {}
    node_of = [nodes.setdefault(key, len(nodes)) for key in zip(scopes, texts, strict=True)]
    node_scopes, node_texts = [scope for scope, _ in nodes], [text for _, text in nodes]
    neighbours = _neighbours(node_texts, node_scopes, spec)
    marks: dict[int, _Marks] = {}
    kept: dict[int, int] = {}  # node -> the row that stays
    removed: list[Duplicate] = []
    guarded: list[Guarded] = []
    for row, node in enumerate(node_of):
        if node in kept:
            removed.append(Duplicate(ids[row], ids[kept[node]], 1.0))
            continue
        cause: tuple[float, int] | None = None
        apart: tuple[float, int, str] | None = None
        for other, similarity in neighbours.get(node, ()):
            if other not in kept:
                continue
            rank = (similarity, -kept[other])
            difference = _difference(node, other, node_texts, marks)
            if difference and (apart is None or rank > apart[:2]):
                apart = (*rank, difference)
            if not (difference and spec.guard) and (cause is None or rank > cause):
                cause = rank
        if apart:
            guarded.append(Guarded(ids[row], ids[-apart[1]], apart[0], apart[2]))
        if cause:
            removed.append(Duplicate(ids[row], ids[-cause[1]], cause[0]))
        else:
            kept[node] = row
    for pair in guarded:
        _log.info("%s and %s: similarity %.3f, but they differ in a %s", pair.passage_id, pair.other, *pair[2:])
    return NearDuplicates(removed, guarded)


def similar_across(left: pl.DataFrame, right: pl.DataFrame, spec: NearDuplicateSpec) -> list[CrossPair]:
    """All pairs of a ``left`` and a ``right`` passage (frames: passage_id, text) with similarity >= the threshold.

    For leakage: exact, and without the guard, for a text that differs in a number is known from the other side all the
    same. Sorted by (left_id, right_id); a text without an n-gram is similar to its equals only.
    """
    sides = (_ids_by_text(left), _ids_by_text(right))
    texts = [text for side in sides for text in side]
    side_of = [side for side in (0, 1) for _ in sides[side]]
    pairs = [(text, text, 1.0) for text in sides[0].keys() & sides[1].keys()]
    shingles = shingle(texts, [0] * len(texts), spec.unit, spec.n)
    pairs += [
        (texts[a], texts[b], similarity)
        for a, b, similarity in similar_pairs(shingles, spec.threshold, side_of)
        if texts[a] != texts[b]
    ]
    return sorted(
        CrossPair(left_id, right_id, similarity)
        for left_text, right_text, similarity in pairs
        for left_id in sides[0][left_text]
        for right_id in sides[1][right_text]
    )


def _ids_by_text(frame: pl.DataFrame) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for passage_id, text in frame.select("passage_id", "text").iter_rows():
        ids.setdefault(normalise(text), []).append(passage_id)
    return ids


def _neighbours(
    texts: Sequence[str], scopes: Sequence[int], spec: NearDuplicateSpec
) -> dict[int, list[tuple[int, float]]]:
    neighbours: dict[int, list[tuple[int, float]]] = {}
    for a, b, similarity in similar_pairs(shingle(texts, scopes, spec.unit, spec.n), spec.threshold):
        neighbours.setdefault(a, []).append((b, similarity))
        neighbours.setdefault(b, []).append((a, similarity))
    return neighbours


class _Marks(NamedTuple):
    numbers: Counter[str]
    negations: Counter[str]


def _difference(a: int, b: int, texts: Sequence[str], marks: dict[int, _Marks]) -> str | None:
    """What sets the two texts apart: ``number``, ``negation`` or None."""
    left, right = (_marks(node, texts, marks) for node in (a, b))
    if left.numbers != right.numbers:
        return "number"
    return "negation" if left.negations != right.negations else None


def _marks(node: int, texts: Sequence[str], marks: dict[int, _Marks]) -> _Marks:
    if node not in marks:
        text = texts[node]
        marks[node] = _Marks(Counter(_NUMBER.findall(text)), Counter(_NEGATION.findall(text)))
    return marks[node]
