"""The grammar of a verdict: what is read, and above all what is not."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.parse import (
    PARSER_VERSION,
    Verdict,
    latest_calls,
    parse_calls,
    parse_verdict,
    without_thinking,
)

grades = st.sampled_from([0, 1, 2])
bounded = settings(max_examples=50, deadline=None)


@pytest.mark.parametrize(
    ("content", "grade"),
    [
        ("0", 0),
        (" 2\n", 2),
        ('{"relevanz": 1}', 1),
        ('{"begruendung": "Label 0 verlangt", "relevanz": 2}', 2),
        ('{"relevanz": 0, "details": {"relevanz": 2}}', 0),
        ("<think>eher 1, doch 2</think>\n2", 2),
        ("<think></think><think>noch einmal</think>0", 0),
        ("<THINKING>a <think>b</think> 1 </THINKING> 2", 2),
        ('```json\n{"relevanz": 1}\n```', 1),
        ("```\n1\n```", 1),
        ("```2```", 2),
        ("~~~\n0\n~~~", 0),
        ('"1"', 1),
        ("„2“", 2),
        ("«0»", 0),
        ("'{\"relevanz\": 2}'", 2),
        ('<think>x</think>```\n"1"\n```', 1),
    ],
)
def test_reads_what_the_grammar_allows(content, grade):
    assert parse_verdict(content, "stop") == Verdict("ok", grade)


@pytest.mark.parametrize(
    "content",
    [
        "3",
        "-1",
        "1.",
        "1.0",
        "01",
        "+1",
        "１",  # a full-width digit
        "²",
        "1 2",
        "0 1 2",
        "Relevanz: 2",
        "Die Passage ist relevant (2).",
        "1\n\nBegründung: …",
        '{"relevanz": true}',
        '{"relevanz": "1"}',
        '{"relevanz": 1.0}',
        '{"relevanz": 1e0}',
        '{"relevanz": 3}',
        '{"relevanz": null}',
        '{"Relevanz": 1}',
        '{"score": 1}',
        '{"relevanz": 0, "relevanz": 2}',
        '{"relevanz": 1} {"relevanz": 1}',
        '[{"relevanz": 1}]',
        '{"relevanz": 1',
        '{"relevanz": 1, "x": NaN}',
        '{"a": {"relevanz": 1}}',
        "<think>1",
        "<think>a <think>b</think> 1",  # the outer block is still open
        "1<think>oder 2</think>",
        "gedacht</think>1",
        "<think>1</think>",
        '""1""',
        "```1``` ```2```",
        "``````1``````",
        "null",
        "true",
        '"',
        "{" * 100_000,
        '{"relevanz": ' + "1" * 5_000 + "}",
    ],
)
def test_refuses_everything_else(content):
    assert parse_verdict(content, "stop") == Verdict("parse_error", None)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("length", "truncated"),
        ("content_filter", "filtered"),
        ("error", "error"),
        ("tool_calls", "parse_error"),
        (None, "parse_error"),
    ],
)
def test_reads_nothing_from_an_unfinished_reply(reason, status):
    assert parse_verdict("1", reason) == Verdict(status, None)


@pytest.mark.parametrize("status", ["truncated", "filtered", "empty", "error", "bad_body"])
def test_a_failed_call_stays_the_failure_it_is(status):
    assert parse_verdict("1", "stop", status) == Verdict(status, None)


@pytest.mark.parametrize("content", [None, "", " \n\t"])
def test_no_text_is_empty(content):
    assert parse_verdict(content, "stop") == Verdict("empty", None)


@st.composite
def wrapped_answers(draw):
    """An answer of the grammar with every wrapping it allows, drawn independently of the parser."""
    grade = draw(grades)
    others = draw(
        st.dictionaries(st.text(max_size=8).filter(lambda k: k != "relevanz"), st.text(max_size=20), max_size=3)
    )
    core = (
        str(grade)
        if draw(st.booleans())
        else json.dumps({**others, "relevanz": grade}, ensure_ascii=draw(st.booleans()))
    )
    if core.isdigit() and draw(st.booleans()):
        opening, closing = draw(st.sampled_from(['""', "''", "„“", "“”", "«»"]))
        core = opening + core + closing
    fence = draw(st.sampled_from(["", "```", "```json"]))
    if fence and "```" not in core:
        core = f"{fence}\n{core}\n```"
    for thought in draw(st.lists(st.text(max_size=30).filter(lambda t: "<" not in t), max_size=2)):
        core = f"<think>{thought}</think>{draw(st.sampled_from(['', chr(10)]))}{core}"
    return core, grade


@bounded
@given(wrapped_answers())
def test_every_wrapping_gives_the_grade_inside(answer):
    content, grade = answer
    assert parse_verdict(content, "stop") == Verdict("ok", grade)


@bounded
@given(st.text(alphabet="012{}\":relvanz <>/think`\n'„“", max_size=60), st.sampled_from(["stop", "length", None]))
def test_never_raises_and_grades_only_what_is_ok(content, reason):
    verdict = parse_verdict(content, reason)
    assert (verdict.grade is None) == (verdict.status != "ok")
    assert verdict.grade in (None, 0, 1, 2)


@bounded
@given(grades, st.text(min_size=1, max_size=40).filter(lambda t: t.strip() and not t.strip().startswith("<")))
def test_text_beside_a_digit_is_a_failure(grade, prose):
    if prose.strip() in {'"', "'"}:
        return
    assert parse_verdict(f"{grade} {prose}", "stop").status == "parse_error"


def test_without_thinking_leaves_other_text_alone():
    assert without_thinking("  a <think>b</think>") == "a <think>b</think>"
    assert without_thinking("<think>a") is None


def test_calls_are_read_by_reply_and_keep_their_order():
    calls = pl.DataFrame(
        {
            "request_key": ["k1", "k2", "k3", "k4", "k5"],
            "status": ["answered", "answered", "answered", "error", "truncated"],
            "finish_reason": ["stop", "stop", None, None, "length"],
            "content": ["2", "zwei", "2", None, "1"],
        }
    )
    read = parse_calls(calls)
    assert read.rows() == [
        ("k1", "ok", 2, PARSER_VERSION),
        ("k2", "parse_error", None, PARSER_VERSION),
        ("k3", "parse_error", None, PARSER_VERSION),
        ("k4", "error", None, PARSER_VERSION),
        ("k5", "truncated", None, PARSER_VERSION),
    ]
    assert read.schema["grade"] == pl.Int8


@pytest.mark.parametrize("reverse", [False, True])
def test_the_latest_final_call_counts_and_a_failure_only_without_one(reverse):
    calls = pl.DataFrame(
        [
            ("k1", 1, "answered", "0"),
            ("k1", 2, "answered", "2"),
            ("k1", 3, "error", None),
            ("k2", 4, "error", None),
            ("k2", 5, "bad_body", None),
            ("k3", 6, "error", None),
            ("k3", 7, "truncated", "1"),
        ],
        schema=["request_key", "sequence", "status", "content"],
        orient="row",
    )
    latest = latest_calls(calls.reverse() if reverse else calls, ("answered", "truncated", "filtered"))
    assert latest.rows() == [("k1", 2, "answered", "2"), ("k2", 5, "bad_body", None), ("k3", 7, "truncated", "1")]
