"""References in real questions; the right values were read off the texts by hand."""

import json
import os
from pathlib import Path

import pytest

from tendril_assets.queries import references_russian as russian
from tendril_assets.queries.references import plain_number

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")

# Every clause that one of the 108 questions names, with its act; None where it is of none, or of no numbered one.
NAMED = {
    "exp0023": [("1", "2814-У"), ("1", "2814-У")],
    "exp0038": [("2", None)],
    "exp0041": [("1.7", "605-П")],
    "exp0174": [("3.15", "590-П")],
    "exp0175": [("3.15", "590-П")] + [
        (number, "590-П")
        for number in ("3.9.2", "3.9.3", "3.3", "3.4", "3.5", "3.7", "3.8", "3.12", "3.13", "3.14", "3.20")
    ],
    "exp0176": [("5.4", "590-П")],
    "exp0184": [("5.1", "590-П"), ("3.8", "590-П")],
    "exp0186": [("5.1", "590-П")],
    "exp0188": [("5.1", "590-П")],
    "exp0189": [("5.1", "590-П")],
    "exp0195": [("5.1", "590-П")],
    "exp0198": [("3.10", "590-П")],
    "exp0200": [("6.2.11", "590-П")],
    "exp0201": [("6.3.1", "590-П")],
    "exp0211": [("1", "5348-У")],
    "exp0212": [("1", "5348-У")],
    "exp0217": [("4.4", "762-П")],
    "exp0221": [("7.3", "762-П")],
    "exp0222": [("1.15", "762-П"), ("1.26", "762-П")],
    "exp0231": [("2.14", "448-П"), ("1.6", "446-П")],
    "exp0232": [("5.1", "448-П")],
    "exp0233": [("2.2", "448-П")],
    "exp0234": [("5.3", "448-П")],
    "exp0235": [("2.3", "448-П")],
    "exp0239": [("2.3", "465-П")],
    "exp0241": [("2.1", "465-П")],
    "exp0242": [("4.11", "465-П"), ("4.12", "465-П")],
    "exp0243": [("4.4", "465-П")],
    "exp0244": [("2.3", "465-П")],
    "exp0249": [("17.12", "446-П")],
    "exp0250": [("4.1", "446-П"), ("17.1", "446-П")],
    "exp0251": [("28.1", "446-П")],
    "exp0253": [("6.2", "446-П"), ("19.2", "446-П")],
    "exp0258": [("25.12", "446-П")],
    "exp0259": [("20.3", "446-П")],
    "exp0266": [("2.1", "525-П")],
    "exp0273": [("1.8", "511-П")],
    "exp0276": [("1.8", "511-П")],
    "exp0280": [("2.1.2", "421-П")],
    "exp0282": [("3.3.5", "421-П")],
    "exp0284": [("1.16", "714-П")],
    "exp0302": [("3.12.2", "590-П")],
    "exp0339": [("1", "ИН-01-23/32")],
    "exp0341": [("3.7.1.2", "590-П"), ("3.7.1.2", "590-П")],
    "exp0346": [("1.7.3", "798-П")],
}  # fmt: skip


def lines(*names: str) -> list[dict]:
    path = Path(DATA or "", *names)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_clauses_of_108_real_questions() -> None:
    questions = {row["query_id"]: row["query"] for row in lines("cbr_pairs", "pairs.jsonl")}
    assert len(questions) == 108
    found = {
        query: [
            (clause.number, clause.act.number if clause.act else None) for clause in russian.references(text).clauses
        ]
        for query, text in questions.items()
    }
    assert {query: clauses for query, clauses in found.items() if clauses} == NAMED


def test_topics_and_sections_of_real_questions() -> None:
    for row in lines("cbr_excerpts", "explan_live_sample.jsonl"):
        assert [clause.number for clause in russian.heading_clauses(row["topic"])] == row["clauses"]
        (act,) = russian.references(row["section"]).acts
        day = f"{act.date:%d%m%Y}" if act.date else None
        assert (act.number, f"{act.number}_{day}") == (row["act"], row["act_id"])


def test_numbers_of_real_acts_name_themselves() -> None:
    for row in lines("cbr_pairs", "pairs.jsonl"):
        (act,) = russian.references(row["act"]).acts
        assert plain_number(row["chunk_id"].split("_")[0]) == act.number


def test_few_clauses_that_a_question_names_answer_it() -> None:
    """Why clauses that the question itself names are no gold: of the passages in which one begins a person calls few an
    answer. The clauses that the publisher put into the topic are another matter."""
    grades = []
    for row in lines("cbr_pairs", "pairs.jsonl"):
        number = plain_number(row["act"].split()[0])
        named = {c.number for c in russian.references(row["query"]).clauses if c.act and c.act.number == number}
        begin = {clause.number for clause in russian.references(f"п. {row['clauses']}").clauses}
        if named & begin:
            grades.append(row["checker_grade"])
    assert sorted(grades) == [1] * 9 + [2] * 4
