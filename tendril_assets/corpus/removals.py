"""The removal list as sets to ask: raw and published identifiers alike.

A document is named ``project/document``, a raw passage ``project/document/page/position``; published ids
(``g-``, ``d-``, ``p-``) name their entity alone. An entry holds from the run that lands it; its date is the day of the
request and delays nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tendril_assets.corpus.identifiers import HEX_DIGITS, nfc

PUBLISHED = re.compile(rf"([gdp])-[0-9a-f]{{{HEX_DIGITS}}}")
_ADDRESS = re.compile(r"[^/].*/[^/]+/\d+/\d+")
_NAMED_PASSAGE = re.compile(r"[^\s#/]+#\d{4,9}")
_DOCUMENT = re.compile(r"[^/].*/.*[^/]")
_KIND_OF_PREFIX = {"g": "project", "d": "document", "p": "passage"}


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

    def without_passages(self, entries: Iterable[str]) -> "Removals":
        """The same list without these passage entries."""
        return replace(self, passages=self.passages - frozenset(entries))

    def has_project(self, project: str, group_id: str) -> bool:
        return project in self.projects or group_id in self.projects

    def has_document(self, project: str, document: str, document_id: str) -> bool:
        return f"{project}/{document}" in self.documents or document_id in self.documents

    def has_passage(self, project: str, document: str, page: int, position: int, passage_id: str) -> bool:
        return passage_id in self.passages or f"{project}/{document}/{page}/{position}" in self.passages


def is_address(entry: str) -> bool:
    """True for a passage named by its place, false for a published id."""
    return PUBLISHED.fullmatch(entry) is None


def shape_problem(kind: str, raw: str, *, named: bool = False) -> str | None:
    """What is wrong with the form of an entry's id, or None; whether it names something is not asked here.

    ``named``: passages are named ``<group>#<number>``. Kinds of other stages have no problem here.
    """
    text = nfc(raw).strip()
    published = PUBLISHED.fullmatch(text)
    if published and kind in _KIND_OF_PREFIX.values() and kind != _KIND_OF_PREFIX[published[1]]:
        return f"id {raw!r} is the published id of a {_KIND_OF_PREFIX[published[1]]}, but kind is {kind!r}"
    if published:
        return None
    if kind == "document" and PUBLISHED.fullmatch(last := text.rpartition("/")[2]) and last != text:
        return f"id {raw!r} mixes two forms; give the published id {last} alone, or project/document as they are landed"
    if kind == "document" and not _DOCUMENT.fullmatch(text):
        return f"id {raw!r} is no document; expected project/document or its published id (d-...)"
    if named and kind == "passage" and _NAMED_PASSAGE.fullmatch(text):
        return None
    if kind == "passage" and not _ADDRESS.fullmatch(text):
        return f"id {raw!r} is no passage; expected its published id (p-...) or project/document/page/position"
    return None
