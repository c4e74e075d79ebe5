"""Reading what annotators filled in: grades, or the answers to two questions, of which the guideline's rule makes grades.

The answers stay in the landing file, so a changed rule grades them anew at the next run.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.judging.annotator import WORDING, answer_columns, wording
from tendril_assets.judging.answer_form import CONTRADICTION, DELIMITER, OK, QuestionForm
from tendril_assets.judging.prompts import Guideline
from tendril_assets.records import GRADES
from tendril_assets.resources.landing import Problems, read_rows, read_table
from tendril_assets.tables import TABLES


def read_annotations(path: Path, guideline: Guideline) -> pl.DataFrame:
    """Rows of ``calibration_annotations`` from a file with query_id, passage_id, annotator and the answers.

    The answers are ``grade`` or, for a guideline with two questions, one column per question (or, of another source,
    ``grade`` all the same). A row without any answer is not annotated: its grade is empty. A row may say in column
    ``guideline`` by which wording it was answered (``judging.annotator.wording``).

    Raises:
        LandingError: no column with answers; answers by another wording of the guideline; an answer outside its
            vocabulary, one without the other, two that exclude each other, or a grade beside them that the rule does not
            give; and whatever ``read_table`` finds.
    """
    table = TABLES["calibration_annotations"]
    annotations = read_table(path, table, choices={"grade": GRADES})
    wanted, form = answer_columns(guideline), guideline.answer
    rows = list(read_rows(path))
    # Lines of JSON need not have the same columns.
    header = set().union(*(row for _, row in rows))
    _refuse_other_wordings(path, rows, guideline)
    absent = [column for column in wanted if column not in header]
    if rows and absent and not (len(absent) == len(wanted) and "grade" in header):
        raise LandingError(
            f"{path}: column {', '.join(absent)} is missing, in which the annotators of guideline {guideline.name} "
            "answer; nothing was changed"
        )
    if not rows or absent or not isinstance(form, QuestionForm):
        return annotations
    problems = Problems(path)
    grades, refused = [], set()
    for number, row in rows:
        before = len(problems.found)
        grades.append(_grade(form, row, number, problems))
        if len(problems.found) > before:
            refused.add(number)
    for (number, _), written, made in zip(rows, annotations["grade"], grades, strict=True):
        if written is not None and written != made and number not in refused:
            problems.add(number, f"grade is {written}, but the answers make {'none' if made is None else made}")
    problems.raise_if_any()
    return annotations.with_columns(pl.Series("grade", grades, table.schema["grade"]))


def _refuse_other_wordings(path: Path, rows: Sequence[tuple[int, Mapping[str, Any]]], guideline: Guideline) -> None:
    """Agreement with answers to other questions would be no figure of this guideline, nor of the other one."""
    own, problems = wording(guideline), Problems(path)
    for number, row in rows:
        given = str(row.get(WORDING) or "").strip()
        if given and given != own:
            problems.add(
                number,
                f"was answered by another wording ({given[:40]}) than guideline {guideline.name} has now ({own}). Have the "
                "pair annotated anew, and keep the old row in a file of another name",
            )
    problems.raise_if_any()


def _grade(form: QuestionForm, row: Mapping[str, Any], number: int, problems: Problems) -> int | None:
    answers = {key: unicodedata.normalize("NFC", str(row.get(key) or "")).strip() for key in form.keys}
    if not any(answers.values()):
        return None
    verdict = form.read(answers)
    if verdict.status == OK:
        return verdict.grade
    if verdict.status == CONTRADICTION:
        given = DELIMITER.join(answers.values())
        problems.add(number, f"{given}: these answers exclude each other by the guideline")
        return None
    for question in form.questions:
        if answers[question.key] not in question.vocabulary:
            allowed = ", ".join(question.vocabulary)
            problems.add(number, f"{question.key} is {answers[question.key]!r}; allowed are {allowed}")
    return None
