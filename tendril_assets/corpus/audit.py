"""A look at what was masked, without what was masked: per tag how often, and a few placeholders between their neighbours.

What a reader looks for are placeholders where none should be, and names that still stand beside one. The sample is the same
for the same texts, whatever their order.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tendril_assets.corpus.anonymize import PLACEHOLDER

WORDS_BESIDE = 5
SHOWN_PER_TAG = 5
_REACH = 200  # characters that hold the words beside


@dataclass(frozen=True)
class TagAudit:
    """``entities`` placeholders of a tag in ``passages`` passages, and some of them in context."""

    tag: str
    entities: int
    passages: int
    contexts: tuple[str, ...]


def audit_of(texts: Iterable[str], shown: int = SHOWN_PER_TAG) -> list[TagAudit]:
    """One entry per tag that occurs, in the order of tags."""
    entities: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    contexts: dict[str, dict[str, str]] = {}
    for text in texts:
        if "<" not in text:
            continue
        found = list(PLACEHOLDER.finditer(text))
        entities.update(match[1] for match in found)
        passages.update({match[1] for match in found})
        for match in found:
            context = _context(text, *match.span())
            contexts.setdefault(match[1], {})[hashlib.sha256(context.encode()).hexdigest()] = context
    return [
        TagAudit(tag, entities[tag], passages[tag], tuple(c for _, c in sorted(contexts[tag].items())[:shown]))
        for tag in sorted(entities)
    ]


def audit_table(audits: Iterable[TagAudit]) -> str:
    """The audit as a Markdown table, one row per context."""
    rows = ["| tag | masked | in passages | sample |", "|---|---:|---:|---|"]
    for audit in audits:
        for i, context in enumerate(audit.contexts):
            figures = f"{audit.tag} | {audit.entities:,} | {audit.passages:,}" if i == 0 else " | | "
            safe = context.replace("|", "¦").replace("<", "&lt;")
            rows.append(f"| {figures} | {safe} |")
    return "\n".join(rows)


def _context(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _REACH) : start].split()[-WORDS_BESIDE:]
    behind = text[end : end + _REACH].split()[:WORDS_BESIDE]
    left = f"{' '.join(before)}{' ' if before and text[start - 1].isspace() else ''}"
    right = f"{' ' if behind and text[end].isspace() else ''}{' '.join(behind)}"
    return f"{left}{text[start:end]}{right}"
