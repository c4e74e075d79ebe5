"""Near-duplicates: exact, and independent of input order, batches, processes and hash seeds.

Texts are compared as sets of n-grams of their normalised form (``ngrams.normalise``); where a text is too short for an
n-gram, only an equal normalised text repeats it. Passages are taken one after the other, each against those kept before
it: first those a former run kept, then by ``order``, then by passage id. So nothing that is added, a group, a document
or a passage, ever removes a passage that was kept before, whatever place the draw of the documents gives it.

The *guard* (``guard``) keeps a pair apart that differs in a number or in a negation, however alike it is otherwise
("ist zwingend", "ist nicht zwingend"). Each such pair is told with both ids, whether the guard is on or off.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.guard import Marks, difference, marks
from tendril_assets.corpus.ngrams import normalise, shingle, similar_pairs
from tendril_assets.spec_corpus import NearDuplicateSpec

NEARDUP_VERSION = "neardup-2"


class Duplicate(NamedTuple):
    """A passage that goes, the kept passage it repeats most (``cause``) and their Jaccard similarity."""

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
    """``removed`` and ``guarded``, each by the order of the passages."""

    removed: list[Duplicate]
    guarded: list[Guarded]


class _Neighbour(NamedTuple):
    node: int
    similarity: float
    difference: str | None


def find_near_duplicates(frame: pl.DataFrame, spec: NearDuplicateSpec) -> list[Duplicate]:
    """Passages to drop from ``frame`` (passage_id, group, order, text), with their causes; see ``near_duplicates``."""
    return near_duplicates(frame, spec).removed


def near_duplicates(frame: pl.DataFrame, spec: NearDuplicateSpec, kept_before: Collection[str] = ()) -> NearDuplicates:
    """Near-duplicates within each group of ``frame`` (passage_id, group, order, text; ids unique).

    A passage goes when a kept passage of its group, taken before it, has similarity >= the threshold; passages of
    ``kept_before`` are taken first, then by (order, passage_id). The cause is the most similar kept passage, the first
    by (order, passage_id) among equals: so a second run, in which all kept ones come first, finds the same causes.
    With ``spec.guard`` pairs that differ in a number or a negation do not count. All of these pairs are ``guarded``,
    equal texts once.
    """
    table = frame.select("passage_id", "group", "order", "text").sort("order", "passage_id")
    ids = table["passage_id"].to_list()
    raw = table["text"].to_list()
    texts = [normalise(text) for text in raw]
    scopes = table["group"].rank("dense").cast(pl.Int64).to_list()
    # Equal texts of a group are one node, so that a thousand copies cost no million pairs.
    nodes: dict[tuple[int, str], int] = {}
    node_of = [nodes.setdefault(key, len(nodes)) for key in zip(scopes, texts, strict=True)]
    members: list[list[int]] = [[] for _ in nodes]
    for row, node in enumerate(node_of):
        members[node].append(row)
    # Which of the equal texts is looked at for marks must not depend on the order: the first in the alphabet.
    marked = [min(raw[row] for row in rows) for rows in members]
    neighbours = _neighbours([text for _, text in nodes], [scope for scope, _ in nodes], marked, spec)

    before = {row for row, passage_id in enumerate(ids) if passage_id in kept_before} if kept_before else set()
    kept: dict[int, int] = {}  # node -> the row that stays
    for row in sorted(range(len(ids)), key=lambda row: (row not in before, row)):
        node = node_of[row]
        if node not in kept and not any(
            _counts(other, spec) and other.node in kept for other in neighbours.get(node, ())
        ):
            kept[node] = row

    def cause(row: int) -> tuple[float, int]:
        node = node_of[row]
        if node in kept:
            return 1.0, -kept[node]
        return max((o.similarity, -kept[o.node]) for o in neighbours[node] if o.node in kept and _counts(o, spec))

    removed = []
    for row, node in enumerate(node_of):
        if kept.get(node) != row:
            similarity, place = cause(row)
            removed.append(Duplicate(ids[row], ids[-place], similarity))
    stands_for = [kept.get(node, rows[0]) for node, rows in enumerate(members)]
    guarded = []
    for node, others in neighbours.items():
        for other in others:
            if other.difference and node > other.node:
                older, younger = sorted((stands_for[node], stands_for[other.node]))
                guarded.append((younger, older, Guarded(ids[younger], ids[older], other.similarity, other.difference)))
    return NearDuplicates(removed, [pair for *_, pair in sorted(guarded)])


def _counts(neighbour: _Neighbour, spec: NearDuplicateSpec) -> bool:
    return not (neighbour.difference and spec.guard)


def _neighbours(
    texts: Sequence[str], scopes: Sequence[int], marked: Sequence[str], spec: NearDuplicateSpec
) -> dict[int, list[_Neighbour]]:
    """Node -> the nodes at or above the threshold; ``marked`` are the texts as they stand, for what sets them apart."""
    known: dict[int, Marks] = {}

    def marks_of(node: int) -> Marks:
        if node not in known:
            known[node] = marks(marked[node])
        return known[node]

    neighbours: dict[int, list[_Neighbour]] = {}
    pairs = similar_pairs(shingle(texts, scopes, spec.unit, spec.n), spec.threshold)
    for a, b, similarity in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.similarity.tolist(), strict=True):
        apart = difference(marks_of(a), marks_of(b))
        neighbours.setdefault(a, []).append(_Neighbour(b, similarity, apart))
        neighbours.setdefault(b, []).append(_Neighbour(a, similarity, apart))
    return neighbours
