"""The wording of a query: a criterion with its ambition levels, an area of action in a summary."""

import re
from dataclasses import dataclass

from tendril_assets.corpus.identifiers import nfc
from tendril_assets.judging.answer_form import OK
from tendril_assets.judging.parse import ANSWERED, parse_finish, without_thinking

AMBITION_LEVELS = {"basis": "Basis", "good_practice": "Gute Praxis", "exemplary": "Vorbild"}


@dataclass(frozen=True)
class Summary:
    """``text`` is None unless ``status`` is ``ok`` or ``too_long``; ``words`` counts runs between blanks."""

    status: str
    text: str | None = None
    words: int | None = None


def criterion_wording(text: str, levels: dict[str, str | None]) -> str:
    """The criterion's text, then one line per ambition level that has one, in the order Basis, Gute Praxis, Vorbild.

    ``levels`` is keyed by the columns of ``criteria``: basis, good_practice, exemplary.
    """
    lines = [_line(text)]
    for column, name in AMBITION_LEVELS.items():
        wording = _line(levels.get(column) or "")
        if wording:
            lines.append(f"{name}: {wording}")
    return "\n".join(lines)


def read_summary(
    content: str | None, finish_reason: str | None, max_words: int, call_status: str = ANSWERED
) -> Summary:
    """A reply as a summary in one line.

    Think blocks are taken off. Statuses: ``ok``; ``too_long`` with more than ``max_words`` words; ``empty``;
    ``parse_error`` for an unclosed think block; otherwise the failure of the call. Never raises on any text.
    """
    failure = parse_finish(content, finish_reason, call_status)
    if failure is not None:
        return Summary(failure)
    answer = without_thinking(content or "")
    if answer is None:
        return Summary("parse_error")
    text = _line(answer)
    if not text:
        return Summary("empty")
    words = len(text.split(" "))
    return Summary(OK if words <= max_words else "too_long", text, words)


def _line(text: str) -> str:
    """NFC, all white space runs as one blank."""
    return re.sub(r"\s+", " ", nfc(text)).strip()
