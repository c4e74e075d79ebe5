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
    """``entities`` placeholders of a tag in ``passages`` passages, and some of them as (passage id, context)."""

    tag: str
    entities: int
    passages: int
    samples: tuple[tuple[str, str], ...]


def audit_of(corpus: Iterable[tuple[str, str]], shown: int = SHOWN_PER_TAG) -> list[TagAudit]:
    """One entry per tag that occurs, in the order of tags; ``corpus`` gives (passage id, text), each passage once.

    Of passages with an equal context the one with the lowest id stands for it.
    """
    entities: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    samples: dict[str, dict[str, tuple[str, str]]] = {}
    for passage_id, text in corpus:
        if "<" not in text:
            continue
        found = list(PLACEHOLDER.finditer(text))
        entities.update(match[1] for match in found)
        passages.update({match[1] for match in found})
        for match in found:
            context = _context(text, *match.span())
            digest, known = hashlib.sha256(context.encode()).hexdigest(), samples.setdefault(match[1], {})
            known[digest] = min((passage_id, context), known.get(digest, (passage_id, context)))
    return [
        TagAudit(tag, entities[tag], passages[tag], tuple(sample for _, sample in sorted(samples[tag].items())[:shown]))
        for tag in sorted(entities)
    ]


def audit_table(audits: Iterable[TagAudit]) -> str:
    """The counts as a Markdown table, one row per tag; the samples are texts, which a log must not hold."""
    rows = ["| tag | masked | in passages |", "|---|---:|---:|"]
    return "\n".join([*rows, *(f"| {audit.tag} | {audit.entities:,} | {audit.passages:,} |" for audit in audits)])


def _context(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _REACH) : start].split()[-WORDS_BESIDE:]
    behind = text[end : end + _REACH].split()[:WORDS_BESIDE]
    left = f"{' '.join(before)}{' ' if before and text[start - 1].isspace() else ''}"
    right = f"{' ' if behind and text[end].isspace() else ''}{' '.join(behind)}"
    return f"{left}{text[start:end]}{right}"
