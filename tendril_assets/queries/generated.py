"""Rows of ``generated_questions``: replies read as questions, and what the filters make of them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.bm25 import Bm25Index, Tokeniser
from tendril_assets.evaluation.rerank import Reranker
from tendril_assets.judging.answer_form import OK
from tendril_assets.queries.generation import OPEN
from tendril_assets.queries.languages import LanguageRules
from tendril_assets.queries.questions import QuestionPrompt, Reply, question_id, read_question
from tendril_assets.queries.screening import (
    ACCEPTED,
    FILTERS,
    Candidates,
    Frequencies,
    Rejection,
    first_of,
    repeated,
    screen,
    teach,
)
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets.spec_registers import GenerationFilterSpec, TeacherSpec
from tendril_assets.tables import TABLES

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Question:
    """A row of ``requests`` (``questions.REQUESTED``) with its reply; ``found`` as ``screening.screen`` gives it.

    One that is ``published`` stays, whatever the filters find now: they look at the whole corpus, and a corpus that grows
    must not take a published question away.
    """

    row: Mapping[str, str]
    reply: Reply
    query_id: str | None = None
    found: tuple[Rejection, ...] = ()
    teacher_rank: int | None = None
    published: bool = False

    @property
    def passes(self) -> bool:
        return self.reply.status == OK and (self.published or not self.found)

    @property
    def status(self) -> str:
        rejection = first_of(self.found)
        return (
            self.reply.status
            if self.reply.status != OK
            else ACCEPTED
            if not rejection or self.published
            else rejection.filter
        )


class Screening:
    """The filters over one corpus. ``passages``: passage_id and text of all of it, in any order."""

    def __init__(
        self, passages: pl.DataFrame, bm25: Bm25Spec, rules: GenerationFilterSpec, language: LanguageRules
    ) -> None:
        ordered = passages.select("passage_id", "text").sort("passage_id", descending=True)
        self._passages: list[tuple[str, str]] = ordered.rows()
        self._texts = dict(self._passages)
        self._bm25, self._rules, self._language = bm25, rules, language
        self._tokenise = Tokeniser(bm25)
        self._documents = [self._tokenise(text) for _, text in self._passages]
        self._frequencies = Frequencies(self._documents, self._tokenise)

    def require(self, requests: pl.DataFrame) -> None:
        """That every passage asked about is in the corpus, with the text that was asked about. Raises TendrilError."""
        rows = requests.select("passage_id", "passage_text").iter_rows()
        changed = [passage for passage, text in rows if self._texts.get(passage) != text]
        if changed:
            raise TendrilError(
                f"{len(changed):,} passages were asked about that the corpus does not have, or has with another text, such as "
                f"{changed[0]}: materialise generation_requests and generation_replies again"
            )

    def alone(self, questions: Sequence[Question]) -> list[Question]:
        """Those that are one question, with what the filters that look at one alone say of each."""
        return [one if one.reply.status != OK else replace(one, found=tuple(self._screened(one))) for one in questions]

    def _screened(self, one: Question) -> list[Rejection]:
        return screen(str(one.reply.text), one.row["passage_text"], self._rules, self._frequencies, self._language)

    def taught(
        self, questions: Sequence[Question], reranker: Reranker, teacher: TeacherSpec, on_progress: Progress
    ) -> list[Question]:
        """Those that passed so far with the teacher's rank, and its rejection where that is too low.

        ``on_progress(done, total)`` counts the questions that are ranked. Raises TendrilError as ``screening.teach`` does.
        """
        total, done, ranked = sum(one.passes for one in questions), 0, []
        if not total:
            return list(questions)
        index = Bm25Index(self._documents, self._bm25)
        candidates = Candidates([passage for passage, _ in self._passages], index, self._tokenise)
        for one in questions:
            if one.passes:
                asked = (str(one.reply.text), one.row["passage_id"])
                rank, rejection = teach(*asked, candidates, self._passages, reranker, teacher)
                one = replace(one, teacher_rank=rank, found=(*one.found, *([rejection] if rejection else ())))
                done += 1
                on_progress(done, total)
            ranked.append(one)
        return ranked


def read_questions(
    requests: pl.DataFrame,
    calls: pl.DataFrame,
    prompt: QuestionPrompt,
    language: LanguageRules,
    published: Collection[str] = (),
) -> list[Question]:
    """Every request with its reply, in order; ``open`` without one.

    ``calls``: request_key, status, finish_reason and content, at most one row per request. ``published``: ids of questions.
    """
    replies = {row[0]: row[1:] for row in calls.select("request_key", "status", "finish_reason", "content").iter_rows()}

    def read(row: Mapping[str, str]) -> Question:
        if row["request_key"] not in replies:
            return Question(row, Reply(OPEN))
        status, reason, content = replies[row["request_key"]]
        reply = read_question(content, reason, status, prompt.declined, language)
        known = question_id(row["passage_id"], reply.text) if reply.text else None
        return Question(row, reply, known, published=known in published)

    return [read(row) for row in requests.iter_rows(named=True)]


def without_repeats(questions: Sequence[Question]) -> list[Question]:
    """Those that passed and have a wording in common, rejected; so no question of a test is one that is trained on."""
    found = repeated({str(one.query_id): str(one.reply.text) for one in questions if one.passes})
    return [
        replace(one, found=(*one.found, found[one.query_id])) if one.passes and one.query_id in found else one
        for one in questions
    ]


def question_rows(questions: Sequence[Question]) -> pl.DataFrame:
    """Rows of ``generated_questions``."""
    return TABLES["generated_questions"].frame(list(_rows(questions)))


def _rows(questions: Sequence[Question]) -> Iterator[dict[str, object]]:
    named = ("question_set", "passage_id", "group_id", "split", "level", "model", "family", "request_key")
    for one in questions:
        rejection = first_of(one.found) if one.status in FILTERS else None
        yield {
            **{name: one.row[name] for name in named},
            "status": one.status,
            "figure": rejection.figure if rejection else None,
            "evidence": rejection.evidence if rejection else None,
            "rejections": [found.filter for found in one.found],
            "teacher_rank": one.teacher_rank,
            "query_id": one.query_id,
            "text": one.reply.text,
        }


def shares(rows: pl.DataFrame) -> pl.DataFrame:
    """Per set and outcome: ``questions`` with it, their ``share`` of all that were asked for, and of those that are one
    question how many the filter would reject ``by_itself``. Accepted first, then the filters in order, then failures."""
    sizes = rows.group_by("question_set").agg(asked=pl.len())
    counted = rows.group_by("question_set", "status").agg(questions=pl.len())
    alone = rows.explode("rejections").drop_nulls("rejections")
    alone = alone.group_by("question_set", status="rejections").agg(by_itself=pl.len())
    both = counted.join(alone, on=["question_set", "status"], how="full", coalesce=True).join(sizes, on="question_set")
    known = {name: place for place, name in enumerate((ACCEPTED, *FILTERS))}
    place = pl.col("status").replace_strict(known, default=len(known), return_dtype=pl.Int64)
    both = both.with_columns(pl.col("questions").fill_null(0), pl.col("by_itself").fill_null(0))
    both = both.sort("question_set", place, "status")
    return both.select(
        "question_set", "status", "questions", (pl.col("questions") / pl.col("asked")).alias("share"), "by_itself"
    )
