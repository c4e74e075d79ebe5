"""Reading a verdict. Strict on purpose: an answer that is not exactly of the form is a failure, never a default grade.

The grammar, the same for every answer form but for the last rule::

    reply   = { think } dressed             blanks around each part are taken off
    think   = "<think>" any "</think>"      also <thinking>, in any case; blocks nest; each must be closed
    dressed = fenced | quoted
    fenced  = "```" [ language ] quoted "```"     or "~~~"; once; a language is ASCII letters and a blank after them
    quoted  = QUOTE answer QUOTE | answer         once; " ' „“ “” ‚‘ ‘’ «» »« ‹› ›‹
    answer  = "0" | "1" | "2" | object            form grade: the object's relevanz is the number 0, 1 or 2
            | object                              form two_questions: each question's key has a word of its vocabulary

An object is one JSON object (RFC 8259: no NaN, no comments, no trailing comma), nested at most ``MAX_DEPTH`` deep. It
may have other keys; no object in it names one of the form's keys twice. A number is read as it is written: ``1.0``,
``1e0``, ``-0`` and ``"1"`` are not the number 1. Words are compared character by character. Blanks are what
``str.isspace`` knows, and the byte order mark.

Nothing is read from reasoning fields, or from a reply that did not finish. Reading takes time linear in the text.
"""

import functools
import json
import re
from collections.abc import Collection
from typing import Any

import polars as pl

from tendril_assets.judging.answer_form import GRADE_FORM, PARSE_ERROR, UNREADABLE, AnswerForm, Verdict
from tendril_assets.judging.prompts import Guideline
from tendril_assets.records import GRADES

PARSER_VERSION = "2"

ANSWERED = "answered"
# Far below the interpreter's limit of recursion, so that a result never depends on who calls.
MAX_DEPTH = 200

# What a finish reason other than ``stop`` says about the text before it.
_UNFINISHED = {"length": "truncated", "content_filter": "filtered", "error": "error"}
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\ufeff"
_THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE | re.ASCII)
_FENCES = ("```", "~~~")
_LANGUAGE = re.compile(r"[A-Za-z]+(?=\s)")
_QUOTES = {'"': '"', "'": "'", "„": "“", "“": "”", "‚": "‘", "‘": "’", "«": "»", "»": "«", "‹": "›", "›": "‹"}
# Strings whole (the last one may be unclosed), so that brackets inside them do not count.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)
_NUMBERS = {str(grade): grade for grade in GRADES}


def parse_verdict(
    content: str | None,
    finish_reason: str | None,
    call_status: str = ANSWERED,
    answer: AnswerForm = GRADE_FORM,
) -> Verdict:
    """Read one reply by the form of ``answer``.

    ``call_status`` is the ledger's: anything but ``answered`` is passed on as the failure it is. A finish reason other
    than ``stop`` means the reply is not known to be whole: ``truncated``, ``filtered``, ``error`` or ``parse_error``.
    Never raises on any text.
    """
    failure = parse_finish(content, finish_reason, call_status)
    if failure is not None:
        return Verdict(failure)
    text = without_thinking(content or "")
    if text is None:
        return UNREADABLE
    text = _unquoted(_unfenced(text))
    if not text.startswith("{"):
        return answer.read_word(text)
    fields = _object(text, answer.keys)
    return UNREADABLE if fields is None else answer.read(fields)


def parse_finish(content: str | None, finish_reason: str | None, call_status: str = ANSWERED) -> str | None:
    """Why a reply cannot be read at all, or None where it is whole and holds text."""
    if call_status != ANSWERED:
        return call_status
    if finish_reason != "stop":
        return _UNFINISHED.get(finish_reason or "", PARSE_ERROR)
    return None if content and content.strip(_BLANKS) else "empty"


def without_thinking(content: str) -> str | None:
    """``content`` after its leading think blocks, without blanks around it; None where a block is never closed.

    Blocks may nest: a model that quotes the tag inside its reasoning has not finished at the first closing tag.
    """
    text = content.strip(_BLANKS)
    if not text.startswith("<"):
        return text
    depth = end = 0
    for tag in _THINK.finditer(text):
        if depth == 0 and (tag.group(1) or text[end : tag.start()].strip(_BLANKS)):
            break
        depth += -1 if tag.group(1) else 1
        if depth == 0:
            end = tag.end()
    return None if depth else text[end:].strip(_BLANKS)


def latest_calls(calls: pl.DataFrame, final: Collection[str]) -> pl.DataFrame:
    """The call that counts for each request: the latest with a ``final`` status, else the latest failure.

    ``calls``: at least request_key, sequence, status. One row per request, ordered by request.
    """
    ranked = calls.sort(pl.col("status").is_in(list(final)), "sequence")
    return ranked.unique("request_key", keep="last", maintain_order=True).sort("request_key")


def parse_calls(calls: pl.DataFrame, guideline: Guideline) -> pl.DataFrame:
    """Verdicts of many calls by the guideline's answer form; each distinct reply is read once.

    ``calls``: request_key, status, finish_reason, content. Returns request_key, status, grade, answers,
    parser_version, in the order of ``calls``.
    """
    reply = ["status", "finish_reason", "content"]
    distinct = calls.select(reply).unique()
    form = guideline.answer
    columns = (distinct[name].to_list() for name in ("content", "finish_reason", "status"))
    verdicts = [parse_verdict(*one, form) for one in zip(*columns, strict=True)]
    read = distinct.with_columns(
        pl.Series("verdict", [v.status for v in verdicts], pl.String),
        pl.Series("grade", [v.grade for v in verdicts], pl.Int8),
        pl.Series("answers", [v.answers for v in verdicts], pl.String),
    )
    return calls.join(read, on=reply, how="left", nulls_equal=True, maintain_order="left").select(
        "request_key", pl.col("verdict").alias("status"), "grade", "answers", parser_version=pl.lit(PARSER_VERSION)
    )


def _unfenced(text: str) -> str:
    for mark in _FENCES:
        if text.startswith(mark) and text.endswith(mark):
            inner = text[len(mark) : -len(mark)]
            language = _LANGUAGE.match(inner)
            return inner[language.end() if language else 0 :].strip(_BLANKS)
    return text


def _unquoted(text: str) -> str:
    if len(text) >= 2 and _QUOTES.get(text[0]) == text[-1]:
        return text[1:-1].strip(_BLANKS)
    return text


def _object(text: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The JSON object that ``text`` is, or None where it is none, is too deep or has one of ``keys`` twice."""
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        return None
    try:
        return _decoder(keys).decode(text)
    except ValueError:
        return None


@functools.cache
def _decoder(keys: tuple[str, ...]) -> json.JSONDecoder:
    """Of numbers only the grades as they are written are kept: any other spelling, or 5,000 digits, is None."""

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            if twice := [key for key in keys if names.count(key) > 1]:
                raise ValueError(f"{twice[0]} occurs twice")
        return found

    return json.JSONDecoder(object_pairs_hook=fields, parse_int=_NUMBERS.get, parse_constant=_refuse)


def _depth(text: str) -> int:
    deepest = depth = 0
    for sign in _BRACKET.finditer(text):
        if sign.group() in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign.group() in "]}":
            depth -= 1
    return deepest


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
