"""The filters of generated questions against values by hand, slower peers and properties."""

import math
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.bm25 import Bm25Index, Tokeniser
from tendril_assets.evaluation.rerank import Lexical
from tendril_assets.judging.answer_form import OK
from tendril_assets.queries.generated import (
    Question,
    Screening,
    question_rows,
    read_questions,
    shares,
    without_repeats,
)
from tendril_assets.queries.languages import language_rules
from tendril_assets.queries.questions import REQUESTED, Reply, load_question_prompt
from tendril_assets.queries.screening import (
    FILTERS,
    Candidates,
    Frequencies,
    Rejection,
    first_of,
    last_rank,
    longest_run,
    repeated,
    screen,
    teach,
    teacher_rank,
    words_of,
)
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets.spec_registers import GenerationFilterSpec, TeacherSpec

RUSSIAN = language_rules("ru")
BM25 = Bm25Spec(stemmer="russian", stop_words="russian")


def tokens(text: str) -> list[str]:
    return [word for word, _, _ in words_of(text)]


def test_a_word_keeps_its_numbers_and_hyphens() -> None:
    found = tokens("п. 3.9.2 Положения № 590-П от 28.06.2017, «и/или» счёт_расчёт — 1,5 %")
    assert found == ["п", "3.9.2", "положения", "590-п", "от", "28.06.2017", "и/или", "счет", "расчет", "1", "5"]
    assert tokens("ПДН\u00ad-1 IT\u2011компания бу\u0301дет") == ["пдн-1", "it-компания", "будет"]


@pytest.mark.parametrize(
    ("question", "passage", "words", "run"),
    [
        ("Когда банк обязан создать резерв?", "Банк обязан создать резерв.", 4, "банк обязан создать резерв"),
        ("Когда «банк,\nобязан» создать?", "банк обязан — создать резерв", 3, "банк,\nобязан» создать"),
        ("банк банк счет", "счет банк счет банк банк", 2, "банк банк"),
        ("расчёт по форме", "РАСЧЕТ ПО ФОРМЕ", 3, "расчёт по форме"),
        ("один два", "три четыре", 0, ""),
        ("", "три", 0, ""),
        ("три", "", 0, ""),
        # By words, not by letters, and one word is one word whatever it holds.
        ("банкет 590-П", "банк 590-П от 590", 1, "590-П"),
        ("кредит\u00adная линия", "кредитная ли\u0301ния", 2, "кредит\u00adная линия"),
    ],
)
def test_the_longest_run_is_counted_in_words_and_shown_as_written(question, passage, words, run) -> None:
    assert longest_run(question, passage) == (words, run)


SHORT_WORDS = st.lists(st.sampled_from(["а", "б", "в", "г"]), max_size=14)


@given(SHORT_WORDS, SHORT_WORDS)
def test_the_longest_run_is_what_a_matcher_of_sequences_finds(question: list[str], passage: list[str]) -> None:
    peer = SequenceMatcher(None, question, passage, autojunk=False).find_longest_match()
    length, run = longest_run(" ".join(question), " ".join(passage))
    assert length == peer.size
    assert len(run.split()) == length
    assert f" {run} ".replace("  ", " ") in f" {' '.join(passage)} " or not run


def frequencies(texts: Sequence[str], spec: Bm25Spec = BM25) -> Frequencies:
    tokenise = Tokeniser(spec)
    return Frequencies([tokenise(text) for text in texts], tokenise)


def test_the_mean_idf_is_of_the_words_that_some_passage_has() -> None:
    found = frequencies(["банк и счет", "Банки", "банком резерв", "банк"])
    # Of 4 passages "банк" is in 4, "счет" and "резерв" in 1 each; "чек" in none, "и" is a stop word.
    often, once = math.log(1 + 0.5 / 4.5), math.log(1 + 3.5 / 1.5)
    assert found.mean_idf("Банка счет и чек?") == (pytest.approx((often + once) / 2), ["Банка", "счет"])
    assert found.mean_idf("резерв счет счета") == (pytest.approx(once), ["резерв", "счет"])
    assert found.mean_idf("чек и чеки") == (0.0, [])
    assert found.mean_idf("") == (0.0, [])
    assert frequencies([]).mean_idf("банк") == (0.0, [])


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("абвгд"), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=8))
def test_the_mean_idf_lies_between_the_rarest_and_the_commonest_term(texts: list[str]) -> None:
    found = frequencies(texts, Bm25Spec())
    holding = {letter: sum(letter in text for text in texts) for letter in "абвгд"}
    known = [math.log1p((len(texts) - n + 0.5) / (n + 0.5)) for n in holding.values() if n]
    value, words = found.mean_idf("а б в г д")
    assert min(known) - 1e-12 <= value <= max(known) + 1e-12
    assert value == pytest.approx(sum(known) / len(known))
    assert [holding[word] for word in words] == sorted((holding[word] for word in words), reverse=True)


def test_every_filter_speaks_for_itself_and_the_first_one_counts() -> None:
    passage = "Банк обязан хранить договор залога пять лет."
    rules = GenerationFilterSpec(max_verbatim_words=5, min_mean_idf=0.5)
    known = frequencies([passage, "Банк ведет счет.", "Банк вправе выдать чек."])
    assert screen("Как долго банк хранит договоры залога?", passage, rules, known, RUSSIAN) == []
    found = screen(
        "Обязан ли банк обязан хранить договор залога пять лет согласно тексту?", passage, rules, known, RUSSIAN
    )
    assert [one.filter for one in found] == ["verbatim", "refers_to_passage"]
    assert found[0] == Rejection("verbatim", 7.0, "банк обязан хранить договор залога пять лет")
    assert found[1] == Rejection("refers_to_passage", None, "согласно тексту")
    assert first_of(reversed(found)) == found[0]
    assert first_of([]) is None
    # Exactly the longest run that is allowed.
    assert screen("Обязан ли хранить договор залога пять?", passage, rules, known, RUSSIAN) == []
    (vague,) = screen("Что может банк?", passage, rules, known, RUSSIAN)
    assert (vague.filter, vague.evidence) == ("unspecific", "банк")
    assert vague.figure == pytest.approx(math.log(1 + 0.5 / 3.5))


def test_of_one_wording_no_question_stays() -> None:
    texts = {"q1": "Кто хранит чек?", "q2": "кто  хранит ЧЕК", "q3": "Кто хранит вексель?", "q4": "Кто хранит «чек»."}
    assert repeated(texts) == {
        "q1": Rejection("repeated", 3.0, "q2"),
        "q2": Rejection("repeated", 3.0, "q1"),
        "q4": Rejection("repeated", 3.0, "q1"),
    }
    assert repeated({}) == {}


PASSAGES = [("p4", "лизинг и чек"), ("p3", "чек банка"), ("p2", "вексель банка"), ("p1", "депозит"), ("p0", "депозит")]


def candidates() -> Candidates:
    tokenise = Tokeniser(BM25)
    index = Bm25Index([tokenise(text) for _, text in PASSAGES], BM25)
    return Candidates([passage for passage, _ in PASSAGES], index, tokenise)


def test_the_own_passage_is_always_among_the_candidates() -> None:
    # p2 and p3 hold "банк", p3 and p4 "чек", of two words each: all ties, which go by id, descending.
    assert candidates().of("банки", "p3", 3) == [1, 2, 0]
    assert candidates().of("чек", "p0", 3) == [0, 1, 4]
    assert candidates().of("чек", "p0", 9) == [0, 1, 2, 3, 4]
    with pytest.raises(TendrilError, match="descending"):
        Candidates(["p1", "p2"], Bm25Index([[], []], BM25), Tokeniser(BM25))


@settings(deadline=None)
@given(st.sampled_from([p for p, _ in PASSAGES]), st.integers(2, 8), st.sampled_from(["чек", "банк", "x", "депозит"]))
def test_candidates_are_distinct_and_as_many_as_there_can_be(own: str, depth: int, question: str) -> None:
    rows = candidates().of(question, own, depth)
    assert len(rows) == len(set(rows)) == min(depth, len(PASSAGES))
    assert candidates().row(own) in rows


def test_the_cut_is_a_share_of_the_depth() -> None:
    rule = TeacherSpec(reranker="x", depth=30, keep_rank=15)
    assert [last_rank(rule, n) for n in (30, 29, 20, 3, 2, 1)] == [15, 14, 10, 1, 1, 1]
    assert last_rank(rule, 99) == 15


@given(st.lists(st.sampled_from([0.0, 0.5, 0.5000000001, 1.0, -2.0]), min_size=1, max_size=30), st.data())
def test_equal_scores_never_count_against_a_passage(scores: list[float], data: st.DataObject) -> None:
    gold = data.draw(st.integers(0, len(scores) - 1))
    rank = teacher_rank(np.array(scores), gold)
    assert rank == 1 + sum(round(one, 6) > round(scores[gold], 6) for one in scores)


class Fixed:
    """Gives each passage the score it is told."""

    identity, truncated = "fixed", 0

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array([self._scores[one] for one in passages])


def test_the_teacher_keeps_the_better_half_and_names_who_answers_better() -> None:
    rule = TeacherSpec(reranker="x", depth=4, keep_rank=2)
    scores = {"лизинг и чек": 3.0, "чек банка": 2.0, "вексель банка": 1.0, "депозит": 0.5}
    assert teach("чек", "p3", candidates(), PASSAGES, Fixed(scores), rule) == (2, None)
    assert teach("чек", "p2", candidates(), PASSAGES, Fixed(scores), rule) == (3, Rejection("teacher", 3.0, "p4"))
    rank, rejection = teach("чек", "p0", candidates(), PASSAGES, Lexical(), rule)
    assert rejection is not None
    assert rejection.evidence == "p3"
    assert rank == 3  # nothing shared with it, nor with p2
    with pytest.raises(TendrilError, match="not finite"):
        teach("чек", "p3", candidates(), PASSAGES, Fixed({**scores, "чек банка": math.nan}), rule)


def asked(n: int, split: str, question_set: str, text: str, status: str = OK) -> Question:
    row = {name: f"{name} {n}" for name in REQUESTED}
    row |= {"question_set": question_set, "split": split, "passage_text": "Банк хранит чек."}
    return Question(row, Reply(status, text), f"q-{n}")


def test_a_wording_of_test_and_training_is_in_neither() -> None:
    questions = [
        asked(1, "train", "train", "Кто хранит чек?"),
        asked(2, "test_unseen", "unseen", "Кто хранит чек?"),
        asked(3, "train", "train", "Кто хранит вексель?"),
        asked(4, "train", "train", "Кто хранит чек?", "too_long"),
    ]
    rows = question_rows(without_repeats(questions))
    assert rows["status"].to_list() == ["repeated", "repeated", "accepted", "too_long"]
    assert rows["evidence"].to_list() == ["q-2", "q-1", None, None]
    assert rows["figure"].to_list() == [2.0, 2.0, None, None]


def test_a_published_question_stays_whatever_is_found_now() -> None:
    questions = [
        replace(asked(1, "test", "unseen", "Кто хранит чек?"), published=True),
        asked(2, "test", "unseen", "Кто хранит чек?"),
    ]
    corpus = pl.DataFrame({"passage_id": ["passage_id 1", "passage_id 2"], "text": ["Банк хранит чек."] * 2})
    screening = Screening(corpus, BM25, GenerationFilterSpec(min_mean_idf=9), RUSSIAN)
    rows = question_rows(without_repeats(screening.alone(questions)))
    assert rows.select("status", "figure", "evidence").rows()[0] == ("accepted", None, None)
    assert rows["rejections"].to_list() == [["unspecific"], ["unspecific"]]
    assert rows["status"][1] == "unspecific"
    again = question_rows(without_repeats(questions))
    assert again["status"].to_list() == ["accepted", "repeated"]


def test_shares_count_the_first_filter_and_each_by_itself() -> None:
    questions = [
        asked(1, "train", "train", "Кто хранит чек?"),
        asked(2, "train", "train", "Банк хранит чек согласно тексту?"),
        asked(3, "train", "train", "x", "several"),
        asked(4, "test", "unseen", "Кто хранит вексель?"),
    ]
    corpus = pl.DataFrame({"passage_id": ["a", "b"], "text": ["Банк хранит чек.", "Банк хранит вексель."]})
    screening = Screening(corpus, BM25, GenerationFilterSpec(max_verbatim_words=2, min_mean_idf=0.2), RUSSIAN)
    rows = question_rows(screening.alone(questions))
    assert shares(rows).rows() == [
        ("train", "accepted", 1, 1 / 3, 0),
        ("train", "verbatim", 1, 1 / 3, 1),
        ("train", "refers_to_passage", 0, 0.0, 1),
        ("train", "several", 1, 1 / 3, 0),
        ("unseen", "accepted", 1, 1.0, 0),
    ]


def test_replies_meet_their_requests_and_what_is_missing_is_open() -> None:
    requests = pl.DataFrame(
        [[f"{name} {n}" if name != "request_key" else f"k{n // 2}" for name in REQUESTED] for n in range(4)],
        schema=list(REQUESTED),
        orient="row",
    )
    calls = pl.DataFrame(
        [("k0", "answered", "stop", "Кто хранит чек?")],
        schema=["request_key", "status", "finish_reason", "content"],
        orient="row",
    )
    found = read_questions(requests, calls, load_question_prompt("question_ru"), RUSSIAN)
    assert [one.reply.status for one in found] == ["ok", "ok", "open", "open"]
    assert found[0].query_id != found[1].query_id  # one reply for two passages of one text: two questions
    assert question_rows(found)["query_id"].to_list()[2:] == [None, None]


def test_a_passage_that_is_another_one_now_is_told() -> None:
    corpus = pl.DataFrame({"passage_id": ["a"], "text": ["Банк хранит чек."]})
    screening = Screening(corpus, BM25, GenerationFilterSpec(), RUSSIAN)
    requests = pl.DataFrame({"passage_id": ["a", "b"], "passage_text": ["Банк хранит чек.", "Банк хранит чек."]})
    with pytest.raises(TendrilError, match=r"1 passages were asked about.*such as b"):
        screening.require(requests)


def test_filters_are_named_once_and_the_dear_one_comes_last() -> None:
    assert len(set(FILTERS)) == len(FILTERS)
    assert FILTERS[-1] == "teacher"
