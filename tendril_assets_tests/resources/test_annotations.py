"""What annotators filled in: grades, and grades made of two answers."""

import csv
import json
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from tendril_assets.errors import LandingError
from tendril_assets.judging.annotator import wording
from tendril_assets.judging.answer_form import QuestionForm
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.resources.annotations import read_annotations

GRADED, ASKED = load_guideline("de_short"), load_guideline("ru_two_questions")
HEAD = ["query_id", "passage_id", "annotator"]
QUESTIONS = [*HEAD, "предмет", "ответ"]


def written(folder: Path, *rows: list[str]) -> Path:
    path = folder / "annotations.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def test_grades_are_read_as_they_are(tmp_path):
    path = written(tmp_path, [*HEAD, "grade"], ["q1", "p1", "anna", "2"], ["q1", "p2", "anna", ""])
    assert read_annotations(path, GRADED).rows() == [("q1", "p1", "anna", 2), ("q1", "p2", "anna", None)]
    # Grades of another source, given under a guideline with two questions.
    assert read_annotations(path, ASKED).rows() == [("q1", "p1", "anna", 2), ("q1", "p2", "anna", None)]


def test_two_answers_are_graded_by_the_rule(tmp_path):
    path = written(
        tmp_path,
        QUESTIONS,
        ["q1", "p1", "anna", "да", "полный"],
        ["q1", "p2", "anna", " да ", unicodedata.normalize("NFD", "частичный")],
        ["q1", "p3", "anna", "другие лица", "нет"],
        ["q1", "p4", "anna", "", ""],
        ["q1", "p1", "boris", "нет", "нет"],
    )
    assert read_annotations(path, ASKED).rows() == [
        ("q1", "p1", "anna", 2),
        ("q1", "p2", "anna", 1),
        ("q1", "p3", "anna", 0),
        ("q1", "p4", "anna", None),
        ("q1", "p1", "boris", 0),
    ]


def test_answers_to_another_wording_are_no_answers_to_this_one(tmp_path):
    own = wording(ASKED)
    head = [*QUESTIONS, "guideline"]
    answers = ["anna", "да", "полный"]
    path = written(tmp_path, head, ["q1", "p1", *answers, own], ["q1", "p2", *answers, ""])
    assert read_annotations(path, ASKED)["grade"].to_list() == [2, 2]
    written(tmp_path, head, ["q1", "p1", *answers, own], ["q1", "p2", *answers, "0123456789abcdef"])
    with pytest.raises(LandingError, match=rf"row 3: was answered by another wording \(0123456789abcdef\).*{own}"):
        read_annotations(path, ASKED)


def test_the_wording_is_what_annotators_read_and_not_the_rule_they_never_see():
    assert isinstance(ASKED.answer, QuestionForm)
    pairs = dict(ASKED.answer.rule)
    stricter = tuple((answers, 0 if grade == 1 else grade) for answers, grade in pairs.items())
    ruled = replace(ASKED, version="2", hash="0" * 16, answer=replace(ASKED.answer, rule=stricter))
    assert wording(ruled) == wording(ASKED)
    assert wording(replace(ASKED, system=ASKED.system + " ")) != wording(ASKED)


def test_a_grade_beside_the_answers_must_be_the_rules(tmp_path):
    right = written(tmp_path, [*QUESTIONS, "grade"], ["q1", "p1", "anna", "да", "полный", "2"])
    assert read_annotations(right, ASKED).rows() == [("q1", "p1", "anna", 2)]
    for answers, made in (("да", "нет"), "1"), (("", ""), "none"):
        wrong = written(tmp_path, [*QUESTIONS, "grade"], ["q1", "p1", "anna", *answers, "2"])
        with pytest.raises(LandingError, match=f"row 2: grade is 2, but the answers make {made}"):
            read_annotations(wrong, ASKED)


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        (("Да", "полный"), "row 2: предмет is 'Да'; allowed are да, другие лица, нет"),
        (("да", ""), "row 2: ответ is ''; allowed are полный, частичный, нет"),
        (("", "нет"), "row 2: предмет is ''"),
        (("нет", "полный"), r"row 2: нет \| полный: these answers exclude each other"),
    ],
)
def test_other_answers_are_refused_with_their_row(tmp_path, answers, complaint):
    path = written(tmp_path, QUESTIONS, ["q1", "p1", "anna", *answers])
    with pytest.raises(LandingError, match=complaint):
        read_annotations(path, ASKED)


@pytest.mark.parametrize(
    ("guideline", "header", "missing"),
    [
        (GRADED, QUESTIONS, "grade"),
        (GRADED, HEAD, "grade"),
        (ASKED, HEAD, "предмет, ответ"),
        (ASKED, QUESTIONS[:4], "ответ"),
        (ASKED, [*QUESTIONS[:4], "grade"], "ответ"),
    ],
)
def test_a_file_without_the_answers_is_no_file_of_empty_ones(tmp_path, guideline, header, missing):
    row = {"query_id": "q1", "passage_id": "p1", "annotator": "anna", "предмет": "да", "ответ": "нет", "grade": "1"}
    path = written(tmp_path, header, [row[column] for column in header])
    with pytest.raises(LandingError, match=f"column {missing} is missing, in which the annotators of guideline"):
        read_annotations(path, guideline)


def test_a_sheet_nobody_has_begun_is_no_annotation(tmp_path):
    assert read_annotations(written(tmp_path, [*HEAD, "grade"]), GRADED).is_empty()


def test_every_grade_that_is_not_the_rules_is_told_at_once(tmp_path):
    path = written(
        tmp_path,
        [*QUESTIONS, "grade"],
        ["q1", "p1", "anna", "да", "полный", "0"],
        ["q1", "p2", "anna", "Да", "полный", "2"],
        ["q1", "p3", "anna", "да", "нет", "2"],
        ["q1", "p4", "anna", "да", "нет", "1"],
    )
    with pytest.raises(LandingError) as raised:
        read_annotations(path, ASKED)
    said = str(raised.value)
    assert "row 2: grade is 0, but the answers make 2" in said
    assert "row 4: grade is 2, but the answers make 1" in said
    # Of a row whose answers are refused, the grade is no second mistake.
    assert said.count("row 3:") == 1
    assert "row 5" not in said


def lines(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "annotations.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_line_of_json_without_the_answers_is_not_annotated(tmp_path):
    def pair(passage: str, **answers: object) -> dict[str, object]:
        return {"query_id": "q1", "passage_id": passage, "annotator": "anna", **answers}

    full = {"предмет": "да", "ответ": "полный"}
    for rows in ([pair("p1"), pair("p2", **full)], [pair("p2", **full), pair("p1")]):
        found = read_annotations(lines(tmp_path, *rows), ASKED)
        assert dict(found.select("passage_id", "grade").iter_rows()) == {"p1": None, "p2": 2}
    graded = read_annotations(lines(tmp_path, pair("p1"), pair("p2", grade=1)), GRADED)
    assert graded["grade"].to_list() == [None, 1]
    with pytest.raises(LandingError, match="row 1: ответ is ''"):
        read_annotations(lines(tmp_path, pair("p1", предмет="да"), pair("p2", **full)), ASKED)
    with pytest.raises(LandingError, match="column предмет, ответ is missing"):
        read_annotations(lines(tmp_path, pair("p1"), pair("p2")), ASKED)
