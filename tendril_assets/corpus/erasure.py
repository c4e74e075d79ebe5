"""What is removed, as published ids: what every place that may still hold a text is asked about.

Ids tell no text: they are keyed hashes, or names of public groups with numbers. So they can be kept and shown when the texts
are gone. What an entry names need not be landed any more: its id follows from its name.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tendril_assets.corpus.identifiers import NAMED, Identifiers, nfc
from tendril_assets.corpus.named_identifiers import named_passage
from tendril_assets.corpus.removals import PUBLISHED


class ErasedId(NamedTuple):
    """A published id and the entry of the removal list it follows from; ``kind`` is project, document or passage."""

    kind: str
    id: str
    entry: str


class Removed(NamedTuple):
    """All removed ids by kind."""

    groups: frozenset[str]
    documents: frozenset[str]
    passages: frozenset[str]

    @classmethod
    def of(cls, ids: Iterable[tuple[str, str]]) -> "Removed":
        """From (kind, id) pairs."""
        by_kind: dict[str, set[str]] = {"project": set(), "document": set(), "passage": set()}
        for kind, published in ids:
            by_kind[kind].add(published)
        return cls(*(frozenset(by_kind[kind]) for kind in ("project", "document", "passage")))

    def takes(self, passage_id: str, document_id: str, group_id: str) -> bool:
        """Whether this passage is removed, by itself or with its document or group."""
        return passage_id in self.passages or document_id in self.documents or group_id in self.groups


def erased_ids(
    entries: Iterable[tuple[str, str]], hit: Iterable[tuple[str, str]], hasher: Identifiers
) -> list[ErasedId]:
    """Sorted ids of (kind, id) ``entries`` of the removal list; ``hit`` are (entry, passage id) that passage entries took.

    A document's name may hold a slash where its project's does too: every way to cut ``project/document`` counts, for the
    id of a pair that never was takes nothing.
    """
    found = {ErasedId("passage", passage, entry) for entry, passage in hit}
    for kind, raw in entries:
        entry = nfc(raw).strip()
        if PUBLISHED.fullmatch(entry):
            if kind in ("project", "document", "passage"):
                found.add(ErasedId(kind, entry, entry))
        elif kind == "project":
            found.add(ErasedId(kind, hasher.group(entry), entry))
        elif kind == "passage" and hasher.policy == NAMED and named_passage(entry):
            found.add(ErasedId(kind, entry, entry))
        elif kind == "document":
            cuts = (i for i, letter in enumerate(entry) if letter == "/")
            found |= {ErasedId(kind, hasher.document(entry[:i], entry[i + 1 :]), entry) for i in cuts}
    return sorted(found)
