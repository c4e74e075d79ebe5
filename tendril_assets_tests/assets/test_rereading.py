"""Another grammar or another rule reads the kept replies anew: no call is made, for nobody answers any more."""

import json
import socket
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.judging import parse, prompts
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import CANDIDATES, SPEC, judge, resources_in, run, spec

FIRST = (
    "summary_requests area_summary_replies area_summaries queries project_queries candidates calibration_requests "
    "judge_replies judge_calls judgments"
)
AGAIN = "candidates judge_replies judge_calls judgments"
GUIDELINE = """\
name: toy_questions
version: "1"
language: de
answer: two_questions
questions:
  - {key: thema, answers: ["ja", "nein"]}
  - {key: antwort, answers: ["ja", "nein"]}
rule:
  - {thema: "ja", antwort: "ja", grade: 2}
  - {thema: "ja", antwort: "nein", grade: 1}
  - {thema: "nein", antwort: "ja", grade: impossible}
  - {thema: "nein", antwort: "nein", grade: 0}
system: 'Antworte mit "thema" und "antwort", je "ja" oder "nein".'
user: "<query>{query}</query><passage>{passage}</passage>"
"""
TWO_QUESTIONS = {"judge": {**SPEC["judge"], "guideline": "toy_questions"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def guideline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A guideline file of the test's own; whoever rewrites it has to forget what was loaded."""
    folder = tmp_path / "guidelines"
    folder.mkdir()
    path = folder / "toy_questions.yaml"
    path.write_text(GUIDELINE, encoding="utf-8")
    monkeypatch.setattr(prompts, "GUIDELINES", folder)
    prompts.load_guideline.cache_clear()
    yield path
    prompts.load_guideline.cache_clear()


def nobody() -> str:
    """An address at which every call fails at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def judgments(given) -> pl.DataFrame:
    return given["warehouse"].load("toy", "judgments").sort("query_id", "passage_id")


def emphatic(query: str, passage: str) -> tuple[int, str, str]:
    status, text, reason = judge(query, passage)
    return status, f"**{text}**" if query and text == "2" else text, reason


def test_a_better_grammar_reads_the_ledger_and_asks_nobody(home, monkeypatch):
    with serving(emphatic) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(), given, FIRST, raise_on_error=True)
        asked = stub.calls
    before = judgments(given)
    assert dict(before["status"].value_counts().iter_rows()) == {"ok": 8, "parse_error": 6}
    assert set(before["parser_version"]) == {parse.PARSER_VERSION}

    strict = parse._unquoted
    monkeypatch.setattr(parse, "PARSER_VERSION", "a later one")
    monkeypatch.setattr(parse, "_unquoted", lambda text: strict(text.removeprefix("**").removesuffix("**")))
    run(spec(), resources_in(home, nobody()), AGAIN, raise_on_error=True)
    after = judgments(given)
    assert after.height == before.height == CANDIDATES
    assert set(after["status"]) == {"ok"}
    assert set(after["parser_version"]) == {"a later one"}
    # What was unreadable is the 2 it stands for; the rest is what it was.
    unreadable = before["status"] == "parse_error"
    assert after.filter(unreadable)["grade"].to_list() == [2] * 6
    assert after.filter(~unreadable)["grade"].to_list() == before.filter(~unreadable)["grade"].to_list()
    assert stub.calls == asked


def test_a_changed_rule_grades_the_kept_answers_and_asks_nobody(home, guideline):
    def asked_twice(query: str, passage: str) -> tuple[int, str, str]:
        status, text, reason = judge(query, passage)
        answers = {"0": ("nein", "nein"), "1": ("ja", "nein"), "2": ("ja", "ja")}.get(text)
        if passage == "Anreise":
            answers = ("nein", "ja")
        return status, json.dumps(dict(zip(("thema", "antwort"), answers, strict=True))) if answers else text, reason

    with serving(asked_twice) as stub:
        given = resources_in(home, stub.base_url)
        run(spec(**TWO_QUESTIONS), given, FIRST, raise_on_error=True)
    before = judgments(given)
    counted = before.group_by("status", "grade", "answers").len().sort("status", "grade").rows()
    # Anreise meets 4 queries. Of the other 10 pairs 4 + 2 share a topic, 2 are of Watt alone and 2 of nothing.
    assert counted == [
        ("contradiction", None, '{"thema": "nein", "antwort": "ja"}', 4),
        ("ok", 0, '{"thema": "nein", "antwort": "nein"}', 2),
        ("ok", 1, '{"thema": "ja", "antwort": "nein"}', 2),
        ("ok", 2, '{"thema": "ja", "antwort": "ja"}', 6),
    ]

    rule = (
        guideline.read_text("utf-8")
        .replace("grade: impossible", "grade: 1")
        .replace('"nein", grade: 1', '"nein", grade: 0')
    )
    guideline.write_text(rule, encoding="utf-8")
    prompts.load_guideline.cache_clear()
    run(spec(**TWO_QUESTIONS), resources_in(home, nobody()), AGAIN, raise_on_error=True)
    after = judgments(given)
    assert after["answers"].to_list() == before["answers"].to_list()
    assert after["request_key"].to_list() == before["request_key"].to_list()
    assert after.group_by("status", "grade").len().sort("grade").rows() == [("ok", 0, 4), ("ok", 1, 4), ("ok", 2, 6)]
