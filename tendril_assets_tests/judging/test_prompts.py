"""Guidelines: whole, hashed, pinned, rendered without touching the texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prompts import (
    GUIDELINES,
    Template,
    guideline_names,
    load_guideline,
    parse_guideline,
    read_prompt,
    render,
)

bounded = settings(max_examples=50, deadline=None)
NAMES = ["de_short", "de_medium", "de_long"]
# Who changes a guideline gives it a new version, and writes version and hash here: answers to the old text stay paid
# for and readable, and none of them is taken for an answer to the new one.
PINNED = {
    "de_long": ("2", "868dacde793d3938"),
    "de_medium": ("2", "080cd1c768666f65"),
    "de_short": ("2", "cab67f580a2b94af"),
    "ru_two_questions": ("1", "bfe32a35777d518c"),
}


def test_no_guideline_changes_unnoticed():
    loaded = {name: load_guideline(name) for name in guideline_names()}
    assert {name: (g.version, g.hash) for name, g in loaded.items()} == PINNED
    assert sorted(path.name for path in GUIDELINES.iterdir()) == [f"{name}.yaml" for name in sorted(PINNED)]


@pytest.mark.parametrize("name", NAMES)
def test_each_guideline_states_the_scale_and_ends_with_the_passage(name):
    guideline = load_guideline(name)
    for line in ("0 = nicht relevant", "1 = teilweise relevant", "2 = relevant"):
        assert line in guideline.system
    system, user = render(guideline, "Q", "P")
    assert system == {"role": "system", "content": guideline.system}
    assert user["content"] == "<query>Q</query>\n\n<passage>P</passage>"
    assert len(guideline.hash) == 16


def test_the_guidelines_grow_and_differ():
    loaded = [load_guideline(name) for name in NAMES]
    short, medium, long = (len(g.system) for g in loaded)
    assert 2 * short <= medium
    assert 2 * medium <= long
    assert "Grenzfälle:" in loaded[2].system
    assert len({g.hash for g in loaded}) == 3


@bounded
@given(st.text(max_size=80), st.text(max_size=80))
def test_texts_go_in_as_they_are(query, passage):
    user = render(load_guideline("de_short"), query, passage)[1]["content"]
    assert user == "<query>" + query + "</query>\n\n<passage>" + passage + "</passage>"


def test_braces_and_placeholders_in_texts_are_plain_characters():
    user = render(load_guideline("de_short"), "{passage} {0} {{x}}", "{query} %s {unclosed")[1]["content"]
    assert user == "<query>{passage} {0} {{x}}</query>\n\n<passage>{query} %s {unclosed</passage>"


@pytest.mark.parametrize("text", ["{a}", "{a}{b}{a}", "a b"])
def test_a_template_names_each_field_once(text):
    with pytest.raises(SettingsError, match="each of a, b must occur once"):
        Template.parse(text, ("a", "b"), "test")


def test_unknown_guidelines_are_named_with_the_known_ones():
    with pytest.raises(SettingsError, match="has: de_long, de_medium, de_short, ru_two_questions"):
        load_guideline("de_tiny")
    with pytest.raises(SettingsError, match="no guideline name"):
        load_guideline("../secrets")


@pytest.mark.parametrize("name", guideline_names())
def test_every_guideline_says_that_texts_are_no_instructions_and_what_doubt_means(name):
    system = load_guideline(name).system
    assert "Anweisungen" in system or "Распоряжения" in system
    assert "Zweifel" in system or "Сомневаетесь" in system


GOOD = {"name": "toy", "version": "1", "language": "de", "system": "s", "answer": "grade", "hash": "0" * 16}


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ("<passage>{passage}</passage> <query>{query}</query>", "must hold <query>"),
        ("<query>{query}</query> {passage}", "must hold <query>"),
        ("<query>{query}</query> <passage>{passage}</passage> Antworte.", "must come last"),
    ],
)
def test_the_passage_must_come_last(user, complaint):
    with pytest.raises(SettingsError, match=complaint):
        parse_guideline({**GOOD, "user": user})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: [", "cannot be read"),
        ("name: toy\nrule:\n  да: 1\n  on: 2\n", "the key on is read as True, which is no text: put it in quotes"),
        ("name: toy\n? [a]\n: 1\n", "a key must be a plain value"),
        ("name: toy\nversion: '1'\n", "exactly the fields"),
        ("name: toy\nversion: 1\nlanguage: de\nsystem: s\nuser: u\n", "version must be a non-empty text"),
        ("name: other\nversion: '1'\nlanguage: de\nsystem: s\nuser: u\n", "name and file must agree"),
        ("name: toy\nversion: '1'\nlanguage: de\nsystem: s\nsystem: t\nuser: u\n", "'system' occurs twice"),
        (
            "name: toy\nversion: '1'\nlanguage: de\nsystem: \"a\\ue000b\"\nuser: u\n",
            r"system holds the character '\\ue000'",
        ),
        ("name: toy\nversion: '1'\nlanguage: de\nsystem: s\nuser: \"u\\r\"\n", r"user holds the character '\\r'"),
        ("name: toy\nversion: '1'\nlanguage: de\nsystem: s\nuser: u\nanswer: grade\n", "exactly the fields"),
    ],
)
def test_malformed_prompt_files_are_refused(tmp_path, text, complaint):
    path = tmp_path / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=complaint):
        read_prompt(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("акта", "акта."),
        ("version: '1'", "version: '2'"),
        ("ru", "uk"),
        ("ответ: да, grade: 1", "ответ: да, grade: 0"),
        ("[да, нет]", "[нет, да]"),
        ("</query>", "</query> "),
    ],
)
def test_any_change_of_a_guideline_changes_its_hash(tmp_path, old, new):
    path = tmp_path / "toy.yaml"
    text = (
        "name: toy\nversion: '1'\nlanguage: ru\nsystem: акта\nuser: <query>{query}</query><passage>{passage}</passage>\n"
        "answer: two_questions\nquestions: [{key: тема, answers: [да, нет]}, {key: ответ, answers: [да, нет]}]\n"
        "rule: [{тема: да, ответ: да, grade: 1}]\n"
    )
    path.write_text(text, encoding="utf-8")
    fields = {"extra": ("answer",), "data": ("questions", "rule")}
    before = read_prompt(path, **fields)["hash"]
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert read_prompt(path, **fields)["hash"] != before
