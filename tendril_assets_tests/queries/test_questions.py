"""Which passages are asked about, the requests, and replies read as one question."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import SettingsError
from tendril_assets.judging.request import RequestFactory
from tendril_assets.queries.languages import language_rules
from tendril_assets.queries.questions import (
    REQUESTED,
    draw_passages,
    factory_of,
    load_question_prompt,
    question_id,
    question_requests,
    read_question,
)
from tendril_assets.spec_registers import GenerationSpec

PROMPT = load_question_prompt("question_ru")
RUSSIAN = language_rules("ru")
SETS = {
    "train": {"split": "train", "level": "synthetic", "family": "a", "llm": {"model": "m/a"}},
    "dev": {"split": "validation", "level": "synthetic", "family": "b", "llm": {"model": "m/b"}, "questions": 5},
}


def generation(**changes: Any) -> GenerationSpec:
    return GenerationSpec.model_validate({"per_group": 3, "min_characters": 5, "sets": SETS, **changes})


def passages(sizes: dict[str, int], split: str = "train") -> pl.DataFrame:
    rows = [
        (f"{group}#{n}", group, group, split, f"Текст {group} {n}")
        for group, size in sizes.items()
        for n in range(size)
    ]
    return pl.DataFrame(rows, schema=["passage_id", "document_id", "group_id", "split", "text"], orient="row")


def test_of_a_long_act_no_more_than_the_limit_is_asked_about() -> None:
    drawn = draw_passages(passages({"a": 40, "b": 2}), generation(), 42)
    assert dict(drawn["group_id"].value_counts().sort("group_id").iter_rows()) == {"a": 3, "b": 2}
    assert set(drawn["question_set"]) == {"train"}


def test_a_number_of_questions_is_taken_round_by_round() -> None:
    drawn = draw_passages(passages({"a": 40, "b": 1, "c": 3}, "validation"), generation(), 42)
    # Five of them: one of each act, then a second one of a and of c.
    assert dict(drawn["group_id"].value_counts().sort("group_id").iter_rows()) == {"a": 2, "b": 1, "c": 2}
    assert drawn["group_id"].head(3).n_unique() == 3


def test_short_and_repeated_passages_and_other_splits_are_not_asked_about() -> None:
    frame = pl.concat(
        [
            passages({"a": 2}),
            passages({"t": 3}, "test_live"),
            pl.DataFrame(
                [("a#8", "a", "a", "train", "кор"), ("b#0", "b", "b", "train", "Текст a 1")],
                schema=["passage_id", "document_id", "group_id", "split", "text"],
                orient="row",
            ),
        ]
    )
    drawn = draw_passages(frame, generation(), 42)
    assert sorted(drawn["text"]) == ["Текст a 0", "Текст a 1"]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), min_size=1),
    st.dictionaries(st.sampled_from("uvwxyz"), st.integers(1, 9)),
    st.integers(1, 20),
)
def test_new_acts_never_change_what_is_drawn_of_the_others(
    before: dict[str, int], new: dict[str, int], seed: int
) -> None:
    first = draw_passages(passages(before), generation(), seed)
    both = draw_passages(passages(before | new), generation(), seed)
    assert set(first["passage_id"]) == {p for p in both["passage_id"] if p.partition("#")[0] in before}
    assert both.group_by("group_id").len()["len"].max() <= 3
    shuffled = passages(before | new).sample(fraction=1, shuffle=True, seed=seed)
    assert draw_passages(shuffled, generation(), seed).equals(both)


@settings(deadline=None)
@given(st.sets(st.integers(0, 19), min_size=1, max_size=3), st.integers(0, 9))
def test_passages_of_published_questions_are_drawn_first(published: set[int], new: int) -> None:
    kept = {f"a#{n}" for n in published}
    sets = {"dev": {**SETS["dev"], "questions": len(kept)}}
    frame = passages({"a": 20} | {f"n{i}": 5 for i in range(new)}, "validation")
    assert set(draw_passages(frame, generation(sets=sets), 42, kept)["passage_id"]) == kept


def test_sets_of_one_split_share_the_limit_and_ask_about_no_passage_twice() -> None:
    sets = {"one": {**SETS["train"], "questions": 4}, "two": SETS["train"]}
    drawn = draw_passages(passages({"a": 9, "b": 9}), generation(sets=sets), 42)
    assert drawn["passage_id"].n_unique() == drawn.height == 6
    assert dict(drawn["question_set"].value_counts().iter_rows()) == {"one": 4, "two": 2}


def test_requests_hold_all_that_is_needed_later_and_the_key_of_what_is_sent() -> None:
    chosen = generation()
    requests = question_requests(draw_passages(passages({"a": 1}), chosen, 42), chosen, PROMPT)
    assert requests.schema == pl.Schema(REQUESTED)
    (row,) = requests.iter_rows(named=True)
    assert {k: row[k] for k in ("question_set", "level", "model", "family", "split")} == {
        "question_set": "train",
        "level": "synthetic",
        "model": "m/a",
        "family": "a",
        "split": "train",
    }
    said = PROMPT.messages("Текст a 0")
    assert said[1]["content"].strip() == "<passage>Текст a 0</passage>"
    assert row["request_key"] == RequestFactory(chosen.sets["train"].llm).key(said)
    assert factory_of(chosen)(row).key(said) == row["request_key"]


def read(text: str | None, reason: str = "stop", status: str = "answered") -> tuple[str, str | None]:
    return read_question(text, reason, status, PROMPT.declined, RUSSIAN)


@pytest.mark.parametrize(
    "reply",
    [
        "Какой срок хранения?",
        "  «Какой срок хранения?»\n",
        "Вопрос: Какой срок хранения?",
        "**Вопрос:** «Какой срок хранения?»",
        "1. Какой срок хранения?",
        "- Какой срок\u00a0хранения?",
        "<think>Спросим о сроке.\nИли нет?</think>\n\nКакой срок хранения?",
        "Вот вопрос по фрагменту:\n\nКакой срок хранения?",
        "```\nКакой срок хранения?\n```",
        '"Какой срок хранения?"',
        "Поисковый запрос — Какой срок хранения?",
    ],
)
def test_what_models_put_around_a_question_is_taken_off(reply: str) -> None:
    assert read(reply) == ("ok", "Какой срок хранения?")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("Какой срок хранения?\nКто его утверждает?", "several"),
        ("Какой срок хранения? Кто его утверждает?", "several"),
        ("1. Какой срок?\n2. Кто утверждает?", "several"),
        ("ПРОПУСК", "declined"),
        ("Пропуск.", "declined"),
        ("**ПРОПУСК**", "declined"),
        (" ".join(["слово"] * 61), "too_long"),
        ("", "empty"),
        ("**", "empty"),
        ("<think>не закончил", "parse_error"),
        ("Я не могу ответить на этот вопрос.", "no_question"),
        ("Извините, я не понимаю, что требуется.", "no_question"),
        ("Банк хранит договор пять лет, если он выдан до ввода правил.", "no_question"),
        ('{"question": "Какой срок хранения?"}', "no_question"),
        ("<passage>Какой срок хранения?</passage>", "no_question"),
        ("[]", "no_question"),
        ("0", "no_question"),
    ],
)
def test_what_is_no_single_question_says_so(reply: str, status: str) -> None:
    assert read(reply)[0] == status


def test_failures_of_the_call_are_kept() -> None:
    assert read("Какой срок", "length") == ("truncated", None)
    assert read("Какой срок", "content_filter") == ("filtered", None)
    assert read(None, "stop", "filtered") == ("filtered", None)


@pytest.mark.parametrize(
    "text",
    [
        "НДФЛ: какие ставки применяются?",
        "590-П: с какой даты действует?",
        "3.9 что значит?",
        "Какой срок хранения",
        "В течение какого срока хранят договор",
        "Может ли банк не хранить договор",
        "Объясните, чем отличается залог от поручительства",
        "Возврат премии: что это означает на практике",
    ],
)
def test_a_subject_in_front_and_a_missing_mark_are_no_fault(text: str) -> None:
    assert read(text) == ("ok", text)


@given(st.text(max_size=200))
def test_any_reply_gets_a_status_and_a_question_is_one_bare_line(text: str) -> None:
    status, found = read(text)
    assert (found is None) == (status in ("declined", "empty", "parse_error"))
    if status == "ok":
        assert found
        assert found == found.strip()
        assert "\n" not in found
        assert read(found) == ("ok", found)  # reading it again changes nothing


def test_a_set_that_the_specification_lost_is_told() -> None:
    with pytest.raises(SettingsError, match=r"set 'former', which the specification does not name .*: train, dev"):
        factory_of(generation())({"question_set": "former"})


def test_an_id_is_of_passage_and_wording_alone() -> None:
    # sha256 of the two texts with their lengths in 8 bytes, by coreutils:
    # printf '\0\0\0\0\0\0\0\003a#1\0\0\0\0\0\0\0\003q ?' | sha256sum
    assert question_id("a#1", "q ?") == "q-2a836179253607b79503"
    assert question_id("a#1", "q?") != question_id("a#1q", "?")
    assert question_id("a", "й") == question_id("a", "и\u0306")


def test_an_unknown_prompt_or_language_is_told() -> None:
    with pytest.raises(SettingsError, match="there is no prompt 'question_xx'"):
        load_question_prompt("question_xx")
    with pytest.raises(SettingsError, match="no rules for questions in 'de', only for ru"):
        language_rules("de")
