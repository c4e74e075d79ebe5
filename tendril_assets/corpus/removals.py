"""The removal list as sets to ask: raw and published identifiers alike.

A document is named ``project/document``, a raw passage ``project/document/page/position``; published ids
(``g-``, ``d-``, ``p-``) name their entity alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tendril_assets.corpus.identifiers import nfc


@dataclass(frozen=True)
class Removals:
    """Identifiers that must not appear from here on."""

    projects: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()
    passages: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> "Removals":
        """From (kind, id) rows; kinds of other stages (act, pair) are not this class's business."""
        by_kind: dict[str, set[str]] = {"project": set(), "document": set(), "passage": set()}
        for kind, raw in rows:
            if kind in by_kind:
                by_kind[kind].add(nfc(raw).strip())
        return cls(*(frozenset(by_kind[kind]) for kind in ("project", "document", "passage")))

    def has_project(self, project: str, group_id: str) -> bool:
        return project in self.projects or group_id in self.projects

    def has_document(self, project: str, document: str, document_id: str) -> bool:
        return f"{project}/{document}" in self.documents or document_id in self.documents

    def has_passage(self, project: str, document: str, page: int, position: int, passage_id: str) -> bool:
        return passage_id in self.passages or f"{project}/{document}/{page}/{position}" in self.passages
