"""The grammar of a verdict: what is read, and above all what is not."""

import polars as pl
import pytest

from tendril_assets.judging.answer_form import Question, QuestionForm
from tendril_assets.judging.parse import (
    MAX_DEPTH,
    PARSER_VERSION,
    Verdict,
    latest_calls,
    parse_calls,
    parse_verdict,
    without_thinking,
)
from tendril_assets.judging.prompts import load_guideline

TWO = QuestionForm(
    (Question("предмет", ("да", "нет")), Question("ответ", ("есть", "нет"))),
    ((("да", "есть"), 2), (("да", "нет"), 1), (("нет", "есть"), None), (("нет", "нет"), 0)),
)
FULL = '{"предмет": "да", "ответ": "есть"}'


def nested(depth: int) -> str:
    """An object with a grade whose other key holds arrays, ``depth`` deep in all."""
    return '{"relevanz": 1, "x": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize(
    ("content", "grade"),
    [
        ("0", 0),
        (" 2\n", 2),
        ("\ufeff1", 1),
        ("\u00a01\u2003\r\n", 1),
        ('{"relevanz": 1}', 1),
        ('{"relevanz":\r\n\t1}', 1),
        ('{"rele\\u0076anz": 1}', 1),
        ('{"begruendung": "Label 0 verlangt", "relevanz": 2}', 2),
        ('{"relevanz": 0, "details": {"relevanz": 2}}', 0),
        ('{"relevanz": 1, "x": -1.5e3, "y": [true, null, {}], "x": "\\ud800"}', 1),
        ('{"relevanz": 1, "x": ' + "1" * 5_000 + "}", 1),
        ('{"relevanz": 1, "x": "' + "[{" * 5_000 + '"}', 1),
        (nested(MAX_DEPTH), 1),
        ("<think>eher 1, doch 2</think>\n2", 2),
        ("<think></think> \ufeff <think>noch einmal</think>0", 0),
        ("<THINKING>a <think>b</think> 1 </THINKING> 2", 2),
        ('<think>```</think>\r\n```json\r\n{"relevanz": 1}\r\n```\r\n', 1),
        ('```json\n{"relevanz": 1}\n```', 1),
        ("```\n1\n```", 1),
        ("```2```", 2),
        ("~~~\n0\n~~~", 0),
        ('"1"', 1),
        ('" 1 "', 1),
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
        # Numbers in another spelling, and signs that only look like the digit.
        *("3", "-1", "-0", "1.", "1.0", "1e0", "01", "00", "+1", "0x1", "1_0", "1,", "I", "l"),
        *("１", "١", "१", "𝟏", "²", "①", "1\u0308", "1\u200b", "\u200b1", "1\x00", "\ud8001"),
        # Words beside the digit.
        *("1 2", "0 1 2", "0/1/2", "1 - relevant", "1 (teilweise)", "Antwort: 1", "Relevanz: 2", "Stufe 1", "eins"),
        *("Die Passage ist relevant (2).", "1\n\nBegründung: …", "1\n2", "1\n1"),
        # Markup.
        *("**1**", "*1*", "_1_", "# 1", "- 1", "`1`", "> 1", "<b>1</b>", "<answer>1</answer>", "\\boxed{1}", "$1$", "(1)"),
        # Other JSON values than an object.
        *("[1]", "[]", "null", "true", "NaN", '[{"relevanz": 1}]', '{"relevanz": 1} {"relevanz": 1}', "{}"),
        # Other values under the key, and the key elsewhere.
        *(f'{{"relevanz": {value}}}' for value in ("true", "false", '"1"', "1.0", "1e0", "10e-1", "-0", "3", "-1", "null")),
        *(f'{{"relevanz": {value}}}' for value in ("[1]", '{"relevanz": 1}', "１", "01", "+1", ".1", "NaN", "0x1", "1" * 5_000)),
        *('{"Relevanz": 1}', '{"relevanz ": 1}', '{"score": 1}', '{"a": {"relevanz": 1}}', '{"relevanz": 1'),
        # Named twice, also where the second spelling is escaped or inside another object.
        *('{"relevanz": 0, "relevanz": 2}', '{"relevanz": 1, "relevanz": 1}', '{"relevanz": 1, "rele\\u0076anz": 1}'),
        '{"relevanz": 1, "x": {"relevanz": 1, "relevanz": 2}}',
        # Near JSON.
        *("{'relevanz': 1}", "{relevanz: 1}", '{"relevanz": 1,}', '{"relevanz" 1}', '{"relevanz"\u00a0: 1}', '{"relevanz": 1}}'),
        *('{"relevanz": 1, "x": NaN}', '{"relevanz": 1, "x": -Infinity}', '{"relevanz": 1 /* so */}', '{"relevanz": 1} // so'),
        *('{"relevanz": 1, "x": "a\nb"}', '{"relevanz": 1, "x": "\\q"}', '{"relevanz": 1, "x": tru}', '{"relevanz": 1; "x": 2}'),
        # Words around the object.
        *('Antwort: {"relevanz": 1}', '{"relevanz": 1} Begründung: …', '"relevanz": 1', "relevanz=1"),
        # Thinking that is not closed, comes last, or holds the only verdict.
        *("<think>1", "<think>a <think>b</think> 1", "1<think>oder 2</think>", "gedacht</think>1", "<think>1</think>"),
        *("</think>1", "<think/>1", "< think>x</think>1", "<thin\u212a>x</thin\u212a>1", "<think>x</think>1</think>"),
        *("<reasoning>x</reasoning>1", "Ich denke: <think>x</think>1"),
        *("<b>x</b><think>y</think>1", "<think>x</think>Also: <think>y</think>1"),
        # Fences: several, nested, open, with words around, of other lengths.
        *("```1``` ```2```", "``````1``````", "```\n1", "1\n```", "Gern:\n```\n1\n```", "```\n1\n```\nGern.", "```1~~~"),
        *("````\n1\n````", "```json1```", "```c++\n1\n```", "~~~```1```~~~", "``1``", "``````", "```"),
        # Quotes: two pairs, unlike ones, one only, or around a fence.
        *('""1""', "\"'1'\"", '"1', '1"', "\"1'", "“1„", '"```1```"', '"', '""', '"{\\"relevanz\\": 1}"', "‘1’ ‘1’"),
    ],
)  # fmt: skip
def test_refuses_everything_else(content):
    assert parse_verdict(content, "stop") == Verdict("parse_error", None)


@pytest.mark.parametrize(
    ("content", "status", "grade"),
    [
        (FULL, "ok", 2),
        ('{"ответ": "нет", "предмет": "да"}', "ok", 1),
        ('{"предмет": "нет", "ответ": "нет", "почему": {"цитата": "да"}}', "ok", 0),
        ('{"предмет": "нет", "ответ": "есть"}', "contradiction", None),
        (f"<think>нет</think>\n```json\n{FULL}\n```", "ok", 2),
        ('{"предмет": "\\u0434\\u0430", "ответ": "есть"}', "ok", 2),
    ],
)
def test_two_answers_make_a_grade_by_the_rule(content, status, grade):
    verdict = parse_verdict(content, "stop", answer=TWO)
    assert (verdict.status, verdict.grade) == (status, grade)
    assert verdict.answers is not None


def test_the_answers_are_kept_as_json_in_the_order_of_the_questions():
    verdict = parse_verdict('{"ответ": "есть", "x": 1, "предмет": "нет"}', "stop", answer=TWO)
    assert verdict == Verdict("contradiction", None, '{"предмет": "нет", "ответ": "есть"}')


@pytest.mark.parametrize(
    "content",
    [
        *("2", '"да"', '{"relevanz": 2}', "да, есть", '["да", "есть"]', "{}", '{"предмет": "да"}', '{"ответ": "есть"}'),
        *('{"предмет": "Да", "ответ": "есть"}', '{"предмет": "да ", "ответ": "есть"}', '{"предмет": "дa", "ответ": "есть"}'),
        *('{"предмет": true, "ответ": "есть"}', '{"предмет": ["да"], "ответ": "есть"}', '{"предмет": 1, "ответ": "есть"}'),
        *('{"предмет": null, "ответ": null}', '{"предмет": {"да": 1}, "ответ": "есть"}', '{"предмет": "есть", "ответ": "да"}'),
        '{"предмет": "да", "ответ": "есть", "ответ": "есть"}',
        '{"предмет": "да", "ответ": "есть", "x": {"ответ": 1, "ответ": 2}}',
        f"{FULL} {FULL}",
        f"Ответ: {FULL}",
        f"[{FULL}]",
    ],
)  # fmt: skip
def test_other_texts_are_no_two_answers(content):
    """The Latin a of the third object is another letter than the Cyrillic one."""
    assert parse_verdict(content, "stop", answer=TWO) == Verdict("parse_error")


@pytest.mark.parametrize(
    "content",
    [
        nested(MAX_DEPTH + 1),
        nested(MAX_DEPTH + 1).replace("}", ', "y": []}'),
        nested(100_000),
        "{" * 100_000,
        '{"relevanz": 1, "x": ' + "[" * 100_000,
    ],
    ids=len,
)
def test_deep_nesting_is_refused_at_the_same_depth_whoever_calls(content):
    def from_below(frames: int) -> tuple[Verdict, Verdict]:
        if frames:
            return from_below(frames - 1)
        return parse_verdict(content, "stop"), parse_verdict(nested(MAX_DEPTH), "stop")

    assert from_below(0) == from_below(400) == (Verdict("parse_error"), Verdict("ok", 1))


FIVE_MILLION = 5_000_000


@pytest.mark.parametrize(
    "content",
    [
        "x" * FIVE_MILLION,
        "<think>" * (FIVE_MILLION // 7),
        "<think></think>" * (FIVE_MILLION // 15),
        "`" * FIVE_MILLION,
        "```" + "a" * FIVE_MILLION,
        '"' * FIVE_MILLION,
        '{"' + '\\"' * (FIVE_MILLION // 2),
        '{"' + "[" * 300 + '\\"' * (FIVE_MILLION // 2) + "\\",
        '{"a":' * (FIVE_MILLION // 5),
        "\ufeff " * (FIVE_MILLION // 2),
        '{"relevanz": ' + "1" * FIVE_MILLION + "}",
    ],
    ids=lambda content: content[:12],
)
def test_five_megabytes_take_linear_time(content):
    """Quadratic reading of any of them would take minutes, if not hours."""
    assert parse_verdict(content, "stop").grade is None


def test_a_long_reason_beside_the_grade_is_read():
    assert parse_verdict('{"x": "' + "ü" * FIVE_MILLION + '", "relevanz": 2}', "stop").grade == 2


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("length", "truncated"),
        ("content_filter", "filtered"),
        ("error", "error"),
        ("tool_calls", "parse_error"),
        ("STOP", "parse_error"),
        ("", "parse_error"),
        (None, "parse_error"),
    ],
)
@pytest.mark.parametrize(("content", "form"), [("1", {}), (FULL, {"answer": TWO})])
def test_reads_nothing_from_an_unfinished_reply(content, form, reason, status):
    assert parse_verdict(content, reason, **form) == Verdict(status, None)


@pytest.mark.parametrize("status", ["truncated", "filtered", "empty", "error", "bad_body"])
def test_a_failed_call_stays_the_failure_it_is(status):
    assert parse_verdict("1", "stop", status) == Verdict(status, None)


@pytest.mark.parametrize("content", [None, "", " \n\t", "\ufeff", "\u00a0\r\n"])
def test_no_text_is_empty(content):
    assert parse_verdict(content, "stop") == Verdict("empty", None)


def test_without_thinking_leaves_other_text_alone():
    assert without_thinking("  a <think>b</think>") == "a <think>b</think>"
    assert without_thinking("<b>a</b>") == "<b>a</b>"
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
    read = parse_calls(calls, load_guideline("de_short"))
    assert read.rows() == [
        ("k1", "ok", 2, None, PARSER_VERSION),
        ("k2", "parse_error", None, None, PARSER_VERSION),
        ("k3", "parse_error", None, None, PARSER_VERSION),
        ("k4", "error", None, None, PARSER_VERSION),
        ("k5", "truncated", None, None, PARSER_VERSION),
    ]
    assert (read.schema["grade"], read.schema["answers"]) == (pl.Int8, pl.String)


def test_the_form_of_the_guideline_decides_how_calls_are_read():
    answers = '{"предмет": "да", "ответ": "полный"}'
    calls = pl.DataFrame(
        {"request_key": ["k1", "k2"], "status": "answered", "finish_reason": "stop", "content": [answers, "2"]}
    )
    read = parse_calls(calls, load_guideline("ru_two_questions")).select("status", "grade", "answers")
    assert read.rows() == [("ok", 2, answers), ("parse_error", None, None)]
    read = parse_calls(calls, load_guideline("de_long")).select("status", "grade", "answers")
    assert read.rows() == [("parse_error", None, None), ("ok", 2, None)]


def test_a_reply_is_read_once_however_often_it_came(monkeypatch):
    read: list[str | None] = []

    def counted(content, *rest):
        read.append(content)
        return parse_verdict(content, *rest)

    monkeypatch.setattr("tendril_assets.judging.parse.parse_verdict", counted)
    calls = pl.DataFrame(
        {
            "request_key": [f"k{i}" for i in range(3_000)],
            "status": "answered",
            "finish_reason": "stop",
            "content": ["0", "1", "2"] * 1_000,
        }
    )
    assert parse_calls(calls, load_guideline("de_short"))["grade"].to_list() == [0, 1, 2] * 1_000
    assert sorted(read) == ["0", "1", "2"]


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
