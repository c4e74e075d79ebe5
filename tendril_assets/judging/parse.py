"""Reading a verdict. Strict on purpose: an answer that is not exactly a grade is a failure, never a default grade.

The grammar, in order: leading ``<think>`` blocks are taken off, then one surrounding code fence, then one pair of outer
quotes. What remains is the whole answer: ``0``, ``1`` or ``2``, or one JSON object whose ``relevanz`` is the integer
0, 1 or 2 (other keys allowed). Nothing is read from reasoning fields, or from a reply that did not finish.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import polars as pl

from tendril_assets.records import GRADES

PARSER_VERSION = "1"

OK = "ok"
PARSE_ERROR = "parse_error"
ANSWERED = "answered"

# What a finish reason other than ``stop`` says about the text before it.
_UNFINISHED = {"length": "truncated", "content_filter": "filtered", "error": "error"}
_THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"(?P<mark>```|~~~)(?:[A-Za-z]+(?=\s))?(?P<inner>.*?)(?P=mark)", re.DOTALL)
_QUOTES = {'"': '"', "'": "'", "„": "“", "“": "”", "‚": "‘", "‘": "’", "«": "»", "»": "«", "‹": "›", "›": "‹"}


@dataclass(frozen=True)
class Verdict:
    """``grade`` is 0, 1 or 2 exactly where ``status`` is ``ok``; otherwise None."""

    status: str
    grade: int | None = None


def parse_verdict(content: str | None, finish_reason: str | None, call_status: str = ANSWERED) -> Verdict:
    """Read one reply.

    ``call_status`` is the ledger's: anything but ``answered`` is passed on as the failure it is. A finish reason other
    than ``stop`` means the reply is not known to be whole: ``truncated``, ``filtered``, ``error`` or ``parse_error``.
    Never raises on any text.
    """
    failure = parse_finish(content, finish_reason, call_status)
    if failure is not None:
        return Verdict(failure)
    answer = without_thinking(content or "")
    if answer is None:
        return Verdict(PARSE_ERROR)
    grade = _grade(_unquoted(_unfenced(answer)))
    return Verdict(PARSE_ERROR) if grade is None else Verdict(OK, grade)


def parse_finish(content: str | None, finish_reason: str | None, call_status: str = ANSWERED) -> str | None:
    """Why a reply cannot be read at all, or None where it is whole and holds text."""
    if call_status != ANSWERED:
        return call_status
    if finish_reason != "stop":
        return _UNFINISHED.get(finish_reason or "", PARSE_ERROR)
    return None if content and content.strip() else "empty"


def without_thinking(content: str) -> str | None:
    """``content`` after its leading think blocks, stripped; None where a block is never closed.

    Blocks may nest: a model that quotes the tag inside its reasoning has not finished at the first closing tag.
    """
    text = content.strip()
    while (opening := _THINK.match(text)) and not opening.group(1):
        depth, end = 0, None
        for tag in _THINK.finditer(text):
            depth += -1 if tag.group(1) else 1
            if depth == 0:
                end = tag.end()
                break
        if end is None:
            return None
        text = text[end:].strip()
    return text


def latest_calls(calls: pl.DataFrame, final: Collection[str]) -> pl.DataFrame:
    """The call that counts for each request: the latest with a ``final`` status, else the latest failure.

    ``calls``: at least request_key, sequence, status. One row per request, ordered by request.
    """
    ranked = calls.sort(pl.col("status").is_in(list(final)), "sequence")
    return ranked.unique("request_key", keep="last", maintain_order=True).sort("request_key")


def parse_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of many calls; each distinct reply is read once.

    ``calls``: request_key, status, finish_reason, content. Returns request_key, status, grade, parser_version.
    """
    reply = ["status", "finish_reason", "content"]
    distinct = calls.select(reply).unique()
    verdicts = [parse_verdict(content, reason, status) for status, reason, content in distinct.iter_rows()]
    read = distinct.with_columns(
        pl.Series("verdict", [v.status for v in verdicts], pl.String),
        pl.Series("grade", [v.grade for v in verdicts], pl.Int8),
    )
    return calls.join(read, on=reply, how="left", nulls_equal=True, maintain_order="left").select(
        "request_key", pl.col("verdict").alias("status"), "grade", pl.lit(PARSER_VERSION).alias("parser_version")
    )


def _unfenced(text: str) -> str:
    match = _FENCE.fullmatch(text)
    return match.group("inner").strip() if match else text


def _unquoted(text: str) -> str:
    if len(text) >= 2 and _QUOTES.get(text[0]) == text[-1]:
        return text[1:-1].strip()
    return text


def _grade(text: str) -> int | None:
    if text in ("0", "1", "2"):
        return int(text)
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    grade = value.get("relevanz")
    # bool is an int in Python, and True would read as grade 1
    return grade if type(grade) is int and grade in GRADES else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object that names its grade twice names none."""
    if sum(name == "relevanz" for name, _ in pairs) > 1:
        raise ValueError("relevanz occurs twice")
    return dict(pairs)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
