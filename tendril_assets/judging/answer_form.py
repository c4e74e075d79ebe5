"""What an answer looks like, and the grade it stands for: the part of a guideline that is data.

Two forms. ``grade``: the answer is the grade, 0, 1 or 2. ``two_questions``: the answer is a pair of answers, each of a
closed vocabulary, and the guideline's rule makes the grade of them. The rule names every pair of answers exactly once;
a pair that cannot be (an answer found in a text that is about something else) is ``impossible`` and gives the status
``contradiction``, never a grade.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from tendril_assets.errors import SettingsError
from tendril_assets.records import GRADES

OK = "ok"
PARSE_ERROR = "parse_error"
CONTRADICTION = "contradiction"

GRADE_KEY = "relevanz"
IMPOSSIBLE = "impossible"
DELIMITER = " | "


@dataclass(frozen=True)
class Verdict:
    """``grade`` is 0, 1 or 2 exactly where ``status`` is ``ok``; otherwise None.

    ``answers``: the answers to the questions as a JSON object, where they were read (``ok`` or ``contradiction``).
    """

    status: str
    grade: int | None = None
    answers: str | None = None


UNREADABLE = Verdict(PARSE_ERROR)
_GRADES = {grade: Verdict(OK, grade) for grade in GRADES}
_GRADES_AS_WRITTEN = {str(grade): verdict for grade, verdict in _GRADES.items()}


@dataclass(frozen=True)
class GradeForm:
    """The answer is the grade itself: a digit, or ``relevanz`` of a JSON object."""

    name: ClassVar[str] = "grade"
    keys: ClassVar[tuple[str, ...]] = (GRADE_KEY,)

    def read_word(self, text: str) -> Verdict:
        """The verdict of an answer that is no object."""
        return _GRADES_AS_WRITTEN.get(text, UNREADABLE)

    def read(self, fields: Mapping[str, Any]) -> Verdict:
        """The verdict of an object's fields."""
        grade = fields.get(GRADE_KEY)
        # bool is an int in Python, and True would read as grade 1
        return _GRADES[grade] if type(grade) is int and grade in _GRADES else UNREADABLE

    def lines(self) -> list[str]:
        """The form as an annotator sees it, one line per answer to give."""
        return [DELIMITER.join(str(grade) for grade in GRADES)]


@dataclass(frozen=True)
class Question:
    key: str
    vocabulary: tuple[str, ...]


@dataclass(frozen=True)
class QuestionForm:
    """Two questions and the rule: (first answer, second answer) -> grade, None for a pair that cannot be."""

    questions: tuple[Question, ...]
    rule: tuple[tuple[tuple[str, ...], int | None], ...]
    name: ClassVar[str] = "two_questions"

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(question.key for question in self.questions)

    @cached_property
    def _verdicts(self) -> dict[tuple[str, ...], Verdict]:
        verdicts = {}
        for answers, grade in self.rule:
            written = json.dumps(dict(zip(self.keys, answers, strict=True)), ensure_ascii=False)
            verdicts[answers] = Verdict(CONTRADICTION if grade is None else OK, grade, written)
        return verdicts

    def read_word(self, text: str) -> Verdict:
        """Two answers are never one word."""
        return UNREADABLE

    def read(self, fields: Mapping[str, Any]) -> Verdict:
        """The verdict of an object's fields, or of stored answers under a changed rule."""
        first, second = self.keys
        try:
            return self._verdicts.get((fields.get(first), fields.get(second)), UNREADABLE)
        except TypeError:
            # A list or an object where a word should be is not hashable.
            return UNREADABLE

    def lines(self) -> list[str]:
        """The form as an annotator sees it, one line per answer to give."""
        return [f"{question.key}: {DELIMITER.join(question.vocabulary)}" for question in self.questions]


AnswerForm = GradeForm | QuestionForm
GRADE_FORM = GradeForm()


def parse_answer_form(content: Mapping[str, Any], where: str) -> AnswerForm:
    """The form a guideline declares: ``answer``, and for ``two_questions`` also ``questions`` and ``rule``.

    Raises:
        SettingsError: an unknown form, a question without a closed vocabulary, a rule that leaves a pair of answers
            out, names one twice or knows one that no vocabulary has.
    """
    name = content["answer"]
    extra = [field for field in ("questions", "rule") if field in content]
    if name == GradeForm.name:
        if extra:
            raise SettingsError(f"{where}: answer grade has no {' and no '.join(extra)}; remove it")
        return GRADE_FORM
    if name != QuestionForm.name:
        raise SettingsError(f"{where}: answer is {name!r}; expected {GradeForm.name} or {QuestionForm.name}")
    if len(extra) != 2:
        raise SettingsError(f"{where}: answer {name} needs the fields questions and rule")
    questions = _questions(content["questions"], where)
    return QuestionForm(questions, _rule(content["rule"], questions, where))


def _questions(value: Any, where: str) -> tuple[Question, ...]:
    expected = f"{where}: questions must be two mappings of key (a text) and answers (at least two different texts)"
    if not isinstance(value, list) or len(value) != 2:
        raise SettingsError(expected)
    questions = []
    for item in value:
        if not isinstance(item, dict) or set(item) != {"key", "answers"} or not isinstance(item["answers"], list):
            raise SettingsError(expected)
        words = [item["key"], *item["answers"]]
        # An unquoted yes, no or 1 is no text in YAML.
        if wrong := [word for word in words if not isinstance(word, str) or not word or word != word.strip()]:
            raise SettingsError(f"{expected}; {wrong[0]!r} is none: put it in quotes")
        if len(words) < 3 or len(set(item["answers"])) < len(item["answers"]):
            raise SettingsError(expected)
        questions.append(Question(item["key"], tuple(item["answers"])))
    if questions[0].key == questions[1].key or "grade" in (q.key for q in questions):
        raise SettingsError(f"{where}: the two questions need two different keys, neither of them grade")
    return tuple(questions)


def _rule(value: Any, questions: tuple[Question, ...], where: str) -> tuple[tuple[tuple[str, ...], int | None], ...]:
    keys = [question.key for question in questions]
    if not isinstance(value, list) or not all(isinstance(row, dict) and set(row) == {*keys, "grade"} for row in value):
        raise SettingsError(f"{where}: rule must be a list of mappings of {', '.join(keys)} and grade")
    pairs = set(product(*(question.vocabulary for question in questions)))
    rule: dict[tuple[str, ...], int | None] = {}
    for row in value:
        pair, grade = tuple(row[key] for key in keys), row["grade"]
        named = DELIMITER.join(str(answer) for answer in pair)
        if not all(isinstance(answer, str) for answer in pair) or pair not in pairs:
            raise SettingsError(f"{where}: rule: {named}: such answers are in no vocabulary of the questions")
        if pair in rule:
            raise SettingsError(f"{where}: rule: {named} occurs twice")
        if grade != IMPOSSIBLE and (type(grade) is not int or grade not in GRADES):
            raise SettingsError(f"{where}: rule: {named}: grade is {grade!r}; expected 0, 1, 2 or {IMPOSSIBLE}")
        rule[pair] = None if grade == IMPOSSIBLE else grade
    if missing := sorted(pairs - set(rule)):
        raise SettingsError(
            f"{where}: rule: no grade for {DELIMITER.join(missing[0])} ({len(missing)} missing); a pair that cannot be is "
            f"named with grade {IMPOSSIBLE}"
        )
    return tuple(rule.items())
