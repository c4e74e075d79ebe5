"""The stand-in's Russian side: judges that are and are not good enough, and two families that ask with faults of their own."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.parse import parse_verdict
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.queries.languages import language_rules
from tendril_assets.queries.screening import longest_run
from tendril_assets.sandbox.regulations.anchor import Passage, answers, grade, pairs, passages
from tendril_assets.sandbox.regulations.clauses import clauses
from tendril_assets.sandbox.regulations.content_files import Matter, acts
from tendril_assets.sandbox.regulations.knowing import organisations, thing_of, told_facets
from tendril_assets.sandbox.regulations.questions import Question
from tendril_assets.sandbox.regulations.stand_in import DECLINED, FAULTS, ask, judge_pair, reply_pair
from tendril_assets.sandbox.stand_in_judge import reply_to
from tendril_assets.sandbox.stand_in_models import stand_in_model

GUIDELINE = load_guideline("ru_two_questions")
# The acceptance that the collection declares.
LEAST_KAPPA, LEAST_REPEAT = 0.40, 0.70


def kappa(table: Counter[tuple[int, int]]) -> float:
    """Cohen's kappa by its definition: (observed - expected) / (1 - expected)."""
    n = table.total()
    rows = [sum(table[i, j] for j in range(3)) / n for i in range(3)]
    columns = [sum(table[i, j] for i in range(3)) / n for j in range(3)]
    expected = sum(r * c for r, c in zip(rows, columns, strict=True))
    return (sum(table[i, i] for i in range(3)) / n - expected) / (1 - expected)


def anchor_kappa(model: str) -> float:
    judging = stand_in_model(model)
    return kappa(Counter((grade(given), grade(judge_pair(q.text, p.text, judging))) for q, p, given in pairs()))


def asked_by(model: str) -> list[tuple[str, str]]:
    return [(passage.text, ask(passage.text, model)) for act in acts() for passage in passages(act)]


def test_one_judge_meets_the_declared_acceptance_and_one_does_not() -> None:
    assert LEAST_KAPPA + 0.05 < anchor_kappa("sandbox/judge") < 0.7
    assert anchor_kappa("sandbox/judge-small") < LEAST_KAPPA
    assert anchor_kappa("sandbox/judge-large") > anchor_kappa("sandbox/judge")


def test_a_person_reads_some_pairs_otherwise_than_they_are() -> None:
    table = Counter((grade(answers(question, passage)), grade(given)) for question, passage, given in pairs())
    assert 0.8 < kappa(table) < 1.0


def test_a_repeat_differs_now_and_then() -> None:
    same = [judge_pair(q.text, p.text) == judge_pair(q.text, p.text, repeat="2") for q, p, _ in pairs()]
    assert LEAST_REPEAT < sum(same) / len(same) < 1.0


def test_replies_are_read_by_the_guideline() -> None:
    statuses = {model: Counter() for model in ("sandbox/judge", "sandbox/judge-small")}
    for question, passage, _ in pairs():
        for model, found in statuses.items():
            reply = reply_pair(question.text, passage.text, model)
            verdict = parse_verdict(reply, "stop", answer=GUIDELINE.answer)
            found[verdict.status] += 1
    assert statuses["sandbox/judge"] == {"ok": 150}
    # In prose, and in answers that contradict each other.
    assert statuses["sandbox/judge-small"].keys() == {"ok", "parse_error", "contradiction"}


def test_it_reads_pair_and_passage_out_of_a_prompt() -> None:
    question, passage, _ = pairs()[0]
    prompt = "\n".join(m["content"] for m in render(GUIDELINE, question.text, passage.text))
    answer = reply_to(prompt, model="sandbox/judge")
    assert (answer.kind, answer.text) == ("judge", reply_pair(question.text, passage.text, "sandbox/judge"))
    wanted = reply_to(f"Напишите вопрос.\n<passage>{passage.text}</passage>", model="sandbox/asker-b")
    assert (wanted.kind, wanted.text) == ("question", ask(passage.text, "sandbox/asker-b"))


@pytest.mark.parametrize(
    ("query", "passage", "expected"),
    [
        # Same object and facet, the same kind of organisation.
        (
            "Сколько лет кредитная организация хранит документы, составленные при ведении досье заемщика?",
            "Положение № 1-П\n2.1. Документы, составленные при ведении досье заемщика, хранятся не менее 7 лет в архиве "
            "кредитной организации.",
            ("да", "полный"),
        ),
        # The same of another kind of organisation.
        (
            "Сколько лет кредитная организация хранит документы, составленные при ведении досье заемщика?",
            "Положение № 1-П\n2.1. Документы, составленные при ведении досье заемщика, хранятся не менее 7 лет в архиве "
            "лизинговой организации.",
            ("другие лица", "полный"),
        ),
        # The same object, another facet.
        (
            "Сколько лет кредитная организация хранит документы, составленные при ведении досье заемщика?",
            "Положение № 1-П\n2.1. Ответственность за ведение досье заемщика несет служба оценки рисков.",
            ("да", "нет"),
        ),
        # Another object.
        (
            "Сколько лет кредитная организация хранит документы, составленные при ведении досье заемщика?",
            "Положение № 1-П\n2.1. Документы, составленные при загрузке банкомата, хранятся не менее 7 лет.",
            ("нет", "нет"),
        ),
    ],
)
def test_a_judge_without_slips_reads_subject_person_and_answer(
    query: str, passage: str, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tendril_assets.sandbox.regulations.stand_in.SLIPS", {"sandbox/judge": 0.0})
    assert judge_pair(query, passage) == expected


def test_the_truth_of_a_pair_by_hand() -> None:
    keeping, contents = (Matter("cash", "atm", facet, "кредитн") for facet in ("keeping", "contents"))
    both = Question("q", "Вопрос кредитной организации", (keeping, contents))
    own = Passage("a#9000", "Акт\nКредитная организация хранит", frozenset({keeping}))
    other = Passage("b#9000", "Акт\nЛизинговая организация хранит", frozenset({keeping, contents}))
    far = Passage("c#9000", "Акт", frozenset({Matter("cash", "vault", "keeping", "кредитн")}))
    assert [answers(both, passage) for passage in (own, other, far)] == [
        ("да", "частичный"),
        ("другие лица", "полный"),
        ("нет", "нет"),
    ]
    assert [grade(given) for given in (("да", "полный"), ("да", "нет"), ("другие лица", "нет"), ("нет", "нет"))] == [
        2,
        1,
        0,
        0,
    ]


def test_nearly_every_clause_is_read_as_what_it_was_written_for() -> None:
    """A clause read as another one makes a question about it whose answer stands elsewhere."""
    written = [(clause.matter, clause.text) for act in acts() for clause in clauses(act)]
    facets = [told_facets(text) == {matter.facet} for matter, text in written]
    things = [thing_of(text) == (matter.theme, matter.thing) for matter, text in written]
    assert sum(facets) / len(written) > 0.98
    assert sum(things) / len(written) > 0.98


def test_both_families_ask_with_the_faults_that_filters_look_for() -> None:
    russian = language_rules("ru")
    shares = {}
    for model in ("sandbox/asker-a", "sandbox/asker-b"):
        asked = [(passage, question) for passage, question in asked_by(model) if question != DECLINED]
        n = len(asked)
        shares[model] = {
            "verbatim": sum(longest_run(question, passage)[0] > 5 for passage, question in asked) / n,
            "foreign": sum(russian.foreign(question) is not None for _, question in asked) / n,
            "pointing": sum(russian.points_at_passage(question) is not None for _, question in asked) / n,
        }
    a, b = shares["sandbox/asker-a"], shares["sandbox/asker-b"]
    assert a["foreign"] == FAULTS["asker_a"]["foreign"] == 0.0
    assert 0.02 < b["foreign"] < 0.12
    assert 0.08 < a["verbatim"] < 0.30
    assert 0.04 < b["verbatim"] < 0.25
    assert 0.02 < a["pointing"] < 0.12
    assert 0.01 < b["pointing"] < 0.10


def test_the_families_have_habits_of_their_own() -> None:
    a, b = (dict(asked_by(model)) for model in ("sandbox/asker-a", "sandbox/asker-b"))
    same = sum(a[passage] == b[passage] for passage in a)
    assert same / len(a) < 0.1
    assert all(ask(passage, "sandbox/asker-a") == question for passage, question in list(a.items())[:20])


def test_nothing_is_asked_of_a_passage_that_says_nothing() -> None:
    assert ask("Положение № 1-П\nПредседатель Банка Заречья\nА. В. Лучинин", "sandbox/asker-a") == DECLINED


def test_kinds_of_organisation_and_objects_by_hand() -> None:
    assert organisations("Кредитная организация и банк") == {"кредитн"}
    assert organisations("Банк Заречья получает сведения от страховой организации") == {"страхов"}
    assert organisations("перевод договора в другой банк") == frozenset()
    assert thing_of("Как загружать банкомат?") == ("cash", "atm")
    assert thing_of("Какая завтра погода?") is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_has_a_reply(query: str, passage: str) -> None:
    assert set(json.loads(reply_pair(query, passage).removeprefix("```json").removesuffix("```"))) == {
        "предмет",
        "ответ",
    }
    assert ask(passage, "sandbox/asker-b")
