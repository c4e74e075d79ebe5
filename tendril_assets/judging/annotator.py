"""The annotator's side of a guideline: its document, and the sheet an annotator fills in.

The document is made of the guideline file alone. It holds what the judge is sent, letter by letter: human and judge work
by one text. Everything around that text is labels, never an instruction.
"""

import hashlib
import json
import re
from typing import Literal, get_args

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.judging.answer_form import DELIMITER, IMPOSSIBLE, QuestionForm
from tendril_assets.judging.prompts import Guideline, render

Format = Literal["text", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
TEXT_COLUMNS = ("query_text", "passage_text")
# Of which wording of the guideline the answers are, where a file says so.
WORDING = "guideline"
# A sheet opened in a spreadsheet: a cell that begins like this would be taken for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def annotator_document(guideline: Guideline, form: Format = "text") -> str:
    """The document of a guideline: its identity, the judge's messages with the places of the texts, the answer form."""
    messages = render(guideline, "{query}", "{passage}")
    parts = [(message["role"], message["content"]) for message in messages]
    parts.append((f"answer: {guideline.answer.name}", "\n".join(guideline.answer.lines())))
    head = [
        ("guideline", guideline.name),
        ("version", guideline.version),
        ("hash", guideline.hash),
        ("language", guideline.language),
    ]
    if form == "markdown":
        lines = [f"# {guideline.name}", "", *(f"- {label}: {value}" for label, value in head[1:])]
        for title, text in parts:
            fence = "~" * max(3, 1 + max(map(len, re.findall("~+", text)), default=0))
            lines += ["", f"## {title}", "", f"{fence}text", text, fence]
        return "\n".join(lines) + "\n"
    lines = [f"{label}: {value}" for label, value in head]
    for title, text in parts:
        lines += ["", f"--- {title} ---", "", text]
    return "\n".join(lines) + "\n"


def wording(guideline: Guideline) -> str:
    """16 hex digits over what an annotator works by: the messages and the answers they may give. The rule, which they never
    see, and the version are no part of it: answers to one wording may be graded anew by another rule."""
    shown = [*render(guideline, "{query}", "{passage}"), guideline.answer.name, guideline.answer.lines()]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


def rule_table(guideline: Guideline) -> list[str]:
    """The rule of a guideline with two questions, one line per pair of answers; no line for other forms."""
    form = guideline.answer
    if not isinstance(form, QuestionForm):
        return []
    return [f"{DELIMITER.join(answers)} -> {IMPOSSIBLE if grade is None else grade}" for answers, grade in form.rule]


def answer_columns(guideline: Guideline) -> tuple[str, ...]:
    """The columns an annotator fills in: ``grade``, or one per question."""
    return guideline.answer.keys if isinstance(guideline.answer, QuestionForm) else ("grade",)


def annotation_sheet(pairs: pl.DataFrame, guideline: Guideline, seed: int, annotator: str = "") -> pl.DataFrame:
    """One row per pair to annotate: query_id, passage_id, annotator, the empty answers, query_text, passage_text.

    ``pairs``: at least query_id, passage_id and the texts. Blind: no grade of anybody is in it, and the order is that
    of keyed hashes, which says nothing of the grades and stays the same when pairs are added.
    """
    order = [
        keyed_order(seed, "annotation_sheet", f"{q}\n{p}") for q, p in pairs.select("query_id", "passage_id").rows()
    ]
    return (
        pairs.with_columns(pl.Series("order", order, pl.UInt64))
        .sort("order", "query_id", "passage_id")
        .select(
            "query_id",
            "passage_id",
            pl.lit(annotator).alias("annotator"),
            *(pl.lit("").alias(column) for column in answer_columns(guideline)),
            *(_cell(column) for column in TEXT_COLUMNS),
        )
    )


def shown_text(text: str) -> str:
    """A text as the sheet shows it."""
    return f"'{text}" if text[:1] in _FORMULA else text


def _cell(column: str) -> pl.Expr:
    """A text that a spreadsheet shows and does not calculate."""
    text = pl.col(column)
    return pl.when(text.str.slice(0, 1).is_in(_FORMULA)).then(pl.lit("'") + text).otherwise(text).alias(column)
