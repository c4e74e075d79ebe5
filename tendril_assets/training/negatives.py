"""Choice of hard negatives: judged irrelevant for the same query in the same group.

Texts are compared, not ids: a document repeats sentences, and a negative with the positive's words teaches the model
that a passage is unlike itself. Which passages may be negatives at all is decided before, in ``pools``.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Pooled(NamedTuple):
    """A passage that may become a negative; ``order`` is its keyed draw, equal ``text`` equal normalised text."""

    order: int
    passage_id: str
    document_id: str
    text: Hashable


def choose_negatives(
    positive_text: Hashable, positive_document: str, pool: Sequence[Pooled], *, wanted: int, same_document: int
) -> list[str]:
    """Up to ``wanted`` passage ids from ``pool``, fewer where it does not hold as many different texts.

    ``same_document`` of them come from the positive's document and the rest from others wherever the pool allows it;
    where one side has too few texts, the other fills in. A text that stands on both sides counts for one of them, for
    the side that would be short without it. Within a side the keyed order decides, so the result does not depend on the
    pool's order.

    Args:
        positive_text: the positive's, as in ``Pooled``.
        positive_document: its document.
        pool: passages that may be negatives of the same query and group.
        wanted: negatives per example.
        same_document: how many of them should share the positive's document.
    """
    near: dict[Hashable, Pooled] = {}
    far: dict[Hashable, Pooled] = {}
    for passage in sorted(pool):  # by order, then by id, which is unique
        if passage.text != positive_text:
            (near if passage.document_id == positive_document else far).setdefault(passage.text, passage)
    total = min(wanted, len(near.keys() | far.keys()))
    quota = min(same_document, wanted)
    from_near = min(max(quota, total - len(far)), len(near), total)
    from_far = total - from_near
    # Texts of both sides that the own document may take without leaving the others short.
    spare = len(far) - from_far
    own: dict[Hashable, Pooled] = {}
    for text, passage in near.items():
        if len(own) == from_near:
            break
        if text in far:
            if not spare:
                continue
            spare -= 1
        own[text] = passage
    others = [passage for text, passage in far.items() if text not in own][:from_far]
    mine = list(own.values())
    return [passage.passage_id for passage in (*mine[:quota], *others, *mine[quota:])]
