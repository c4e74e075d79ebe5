"""Choice of hard negatives: judged irrelevant for the same query in the same group.

Texts are compared, not ids: a document repeats sentences, and a negative with the positive's words teaches the model
that a passage is unlike itself.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Pooled(NamedTuple):
    """A passage that may become a negative; ``text`` is already normalised, ``order`` its place in the keyed draw."""

    passage_id: str
    document_id: str
    text: str
    order: int


def normalised(text: str) -> str:
    """Text as it is compared: NFC, case folded, runs of white space as one blank."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def choose_negatives(
    positive_text: str, positive_document: str, pool: Sequence[Pooled], *, wanted: int, same_document: int
) -> list[str]:
    """Up to ``wanted`` passage ids from ``pool``, fewer where it does not hold as many different texts.

    ``same_document`` of them come from the positive's document and the rest from others; where one side has too few,
    the other fills in. Within a side the keyed order decides, so the result does not depend on the pool's order.

    Args:
        positive_text: normalised text of the positive.
        positive_document: its document.
        pool: passages of grade 0 for the same query and group.
        wanted: negatives per example.
        same_document: how many of them should share the positive's document.
    """
    ordered = sorted(pool, key=lambda passage: (passage.order, passage.passage_id))
    near = [passage for passage in ordered if passage.document_id == positive_document]
    far = [passage for passage in ordered if passage.document_id != positive_document]
    quota = min(same_document, wanted)
    seen = {positive_text}
    chosen = _take(near, quota, seen)
    chosen += _take(far, wanted - quota, seen)
    # Only one side can still hold an unseen text: the side that met its quota.
    chosen += _take(far, wanted - len(chosen), seen)
    chosen += _take(near, wanted - len(chosen), seen)
    return [passage.passage_id for passage in chosen]


def _take(passages: Iterable[Pooled], count: int, seen: set[str]) -> list[Pooled]:
    """The first ``count`` passages with a text not in ``seen``, which grows by theirs."""
    taken: list[Pooled] = []
    for passage in passages:
        if len(taken) == count:
            break
        if passage.text not in seen:
            seen.add(passage.text)
            taken.append(passage)
    return taken
