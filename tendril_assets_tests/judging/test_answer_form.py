"""Answer forms: what a guideline may declare, and the grade that two answers make."""

import json
from itertools import product

import pytest

from tendril_assets.errors import SettingsError
from tendril_assets.judging.answer_form import GradeForm, QuestionForm, Verdict, parse_answer_form
from tendril_assets.judging.prompts import load_guideline, parse_guideline

RULE = [
    {"topic": "same", "found": "all", "grade": 2},
    {"topic": "same", "found": "none", "grade": 1},
    {"topic": "other", "found": "all", "grade": "impossible"},
    {"topic": "other", "found": "none", "grade": 0},
]
QUESTIONS = [{"key": "topic", "answers": ["same", "other"]}, {"key": "found", "answers": ["all", "none"]}]
TOY = {"answer": "two_questions", "questions": QUESTIONS, "rule": RULE}


def test_the_rule_makes_the_grade():
    form = parse_answer_form(TOY, "toy")
    assert isinstance(form, QuestionForm)
    assert form.keys == ("topic", "found")
    assert form.lines() == ["topic: same | other", "found: all | none"]
    graded = {row["topic"] + row["found"]: form.read(row).grade for row in RULE}
    assert graded == {"sameall": 2, "samenone": 1, "otherall": None, "othernone": 0}
    assert form.read(RULE[2]) == Verdict("contradiction", None, '{"topic": "other", "found": "all"}')


def test_a_changed_rule_grades_the_stored_answers_anew():
    before = parse_answer_form(TOY, "toy").read({"topic": "same", "found": "none"})
    changed = parse_answer_form({**TOY, "rule": [*RULE[:1], {**RULE[1], "grade": 0}, *RULE[2:]]}, "toy")
    assert (before.grade, changed.read(json.loads(before.answers or "")).grade) == (1, 0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"answer": "stars"}, "answer is 'stars'; expected grade or two_questions"),
        ({"answer": "grade"}, "answer grade has no questions and no rule"),
        ({"questions": QUESTIONS[:1]}, "questions must be two"),
        ({"questions": [*QUESTIONS, QUESTIONS[0]]}, "questions must be two"),
        ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, "two different keys"),
        ({"questions": [QUESTIONS[0], {"key": "grade", "answers": ["a", "b"]}]}, "neither of them grade"),
        ({"questions": [QUESTIONS[0], {"key": "found", "answers": ["all"]}]}, "questions must be two"),
        ({"questions": [QUESTIONS[0], {"key": "found", "answers": ["all", "all"]}]}, "questions must be two"),
        ({"questions": [QUESTIONS[0], {"key": "found", "answers": [True, False]}]}, "True is none: put it in quotes"),
        ({"questions": [QUESTIONS[0], {"key": "found", "answers": ["all", "none "]}]}, "'none ' is none"),
        ({"questions": [QUESTIONS[0], {"key": "found"}]}, "questions must be two"),
        ({"questions": "topic"}, "questions must be two"),
        ({"rule": RULE[:3]}, r"no grade for other \| none \(1 missing\)"),
        ({"rule": [*RULE, RULE[0]]}, r"same \| all occurs twice"),
        ({"rule": [*RULE, {**RULE[0], "grade": 0}]}, r"same \| all occurs twice"),
        ({"rule": [*RULE, {**RULE[0], "found": "some"}]}, r"same \| some: such answers are in no vocabulary"),
        ({"rule": [{**RULE[0], "found": ["all"]}, *RULE[1:]]}, "such answers are in no vocabulary"),
        ({"rule": [{**RULE[0], "grade": 3}, *RULE[1:]]}, "grade is 3; expected 0, 1, 2 or impossible"),
        ({"rule": [{**RULE[0], "grade": True}, *RULE[1:]]}, "grade is True"),
        ({"rule": [{**RULE[0], "grade": None}, *RULE[1:]]}, "grade is None"),
        ({"rule": [{"topic": "same", "found": "all"}, *RULE[1:]]}, "rule must be a list of mappings of topic, found and"),
        ({"rule": {"same": 2}}, "rule must be a list"),
    ],
)  # fmt: skip
def test_a_malformed_form_is_refused(change, complaint):
    with pytest.raises(SettingsError, match=f"^toy: .*{complaint}"):
        parse_answer_form({**TOY, **change}, "toy")


@pytest.mark.parametrize("missing", ["questions", "rule"])
def test_two_questions_need_both_fields(missing):
    with pytest.raises(SettingsError, match="needs the fields questions and rule"):
        parse_answer_form({key: value for key, value in TOY.items() if key != missing}, "toy")


def test_the_text_must_say_every_word_that_the_parser_will_ask_for():
    user = "<query>{query}</query><passage>{passage}</passage>"
    head = {"name": "toy", "version": "1", "language": "en", "user": user, "hash": "0" * 16}
    said = '"topic" "same" "other" "found" "all" "none"'
    assert parse_guideline({**head, **TOY, "system": said}).answer.keys == ("topic", "found")
    with pytest.raises(SettingsError, match='system does not say "other"'):
        parse_guideline({**head, **TOY, "system": said.replace('"other"', "other")})


def test_the_russian_rule_follows_from_what_the_grades_mean():
    """2: answers directly; 1: on the matter, but no direct answer; 0: not on the matter. Worked out by hand."""
    form = load_guideline("ru_two_questions").answer
    assert isinstance(form, QuestionForm)
    assert dict(form.rule) == {
        ("да", "полный"): 2,
        ("да", "частичный"): 1,
        ("да", "нет"): 1,
        # A rule for another kind of organisation is never a direct answer, whatever it says.
        ("другие лица", "полный"): 1,
        ("другие лица", "частичный"): 1,
        ("другие лица", "нет"): 0,
        ("нет", "полный"): None,
        ("нет", "частичный"): None,
        ("нет", "нет"): 0,
    }
    assert list(product(*(q.vocabulary for q in form.questions))) == [pair for pair, _ in form.rule]


@pytest.mark.parametrize("name", ["de_short", "de_medium", "de_long"])
def test_the_german_guidelines_ask_for_the_grade(name):
    assert load_guideline(name).answer == GradeForm()
