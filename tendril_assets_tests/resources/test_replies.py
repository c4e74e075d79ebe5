import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.resources.ledger_entry import STATUSES
from tendril_assets.resources.replies import Action, read_cost, read_reply

GOOD = {"choices": [{"finish_reason": "stop", "message": {"content": "1"}}]}


def body(content: object = "1", reason: object = "stop", **fields: object) -> bytes:
    message = fields.pop("message", {"content": content})
    return json.dumps({"choices": [{"finish_reason": reason, "message": message}], **fields}).encode()


@pytest.mark.parametrize(
    "noise",
    [b"", b"\n\n   \n", b": OPENROUTER PROCESSING\n\n\n", b": a\r\n: b\r\n\r\n", b"\xef\xbb\xbf", b" \t: indented\n"],
)
def test_keep_alive_noise_before_the_reply_is_skipped(noise: bytes) -> None:
    reply = read_reply(200, noise + json.dumps(GOOD).encode())
    assert (reply.status, reply.content, reply.action) == ("answered", "1", Action.KEEP)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n   \n",
        b": OPENROUTER PROCESSING\n\n",
        b": no newline",
        b"<html>ok</html>",
        b'{"choices": [',
        b"[]",
        b"1",
        b"null",
    ],
)
def test_what_is_no_json_object_is_a_bad_body_and_worth_another_attempt(data: bytes) -> None:
    reply = read_reply(200, data)
    assert (reply.status, reply.action, reply.content) == ("bad_body", Action.RETRY, None)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": "1"},
        {"choices": [None]},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"finish_reason": "stop", "message": "1"}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": 1}}]},
    ],
)
def test_a_reply_without_a_readable_choice_is_a_bad_body(payload: dict) -> None:
    reply = read_reply(200, json.dumps(payload).encode())
    assert (reply.status, reply.action) == ("bad_body", Action.RETRY)


@pytest.mark.parametrize(
    ("status", "action"),
    [
        (400, Action.REFUSED),
        (401, Action.REFUSED),
        (402, Action.NO_CREDIT),
        (403, Action.REFUSED),
        (404, Action.REFUSED),
        (405, Action.REFUSED),
        (422, Action.REFUSED),
        (301, Action.REFUSED),
        (408, Action.RETRY),
        (429, Action.RETRY),
        (500, Action.RETRY),
        (502, Action.RETRY),
        (503, Action.RETRY),
        (524, Action.RETRY),
    ],
)
def test_the_status_is_judged_before_the_body(status: int, action: Action) -> None:
    for data in (b"<html>timeout</html>", json.dumps(GOOD).encode(), b""):
        reply = read_reply(status, data)
        assert (reply.status, reply.action, reply.content, reply.http_status) == ("error", action, None, status)


@pytest.mark.parametrize(
    ("error", "action", "shown"),
    [
        ({"code": 429, "message": "slow down"}, Action.RETRY, 429),
        ({"code": 502, "message": "provider"}, Action.RETRY, 502),
        ({"code": "503", "message": "text code"}, Action.RETRY, 503),
        ({"code": 402, "message": "credits"}, Action.NO_CREDIT, 402),
        ({"code": 404, "message": "no endpoints"}, Action.REFUSED, 404),
        ({"code": "rate_limit_exceeded"}, Action.RETRY, 429),
        ({"message": "no code"}, Action.RETRY, 200),
        ("text", Action.RETRY, 200),
    ],
)
def test_an_error_object_inside_a_200_counts_as_the_status_it_names(error: object, action: Action, shown: int) -> None:
    at_the_top = read_reply(200, json.dumps({"error": error}).encode())
    in_a_choice = read_reply(200, json.dumps({"choices": [{"error": error, "message": {"content": "2"}}]}).encode())
    for reply in (at_the_top, in_a_choice):
        assert (reply.status, reply.action, reply.http_status, reply.content) == ("error", action, shown, None)


def test_finish_reason_error_is_an_error() -> None:
    assert read_reply(200, body("2", "error")).status == "error"


def test_a_null_error_is_no_error() -> None:
    assert read_reply(200, body(error=None)).status == "answered"


@pytest.mark.parametrize(
    "data",
    [
        body(None, "content_filter"),
        body("2", "content_filter"),
        body(message={"content": "2", "refusal": "Das beantworte ich nicht."}),
        body(message={"content": None, "refusal": "no"}),
    ],
)
def test_a_filter_or_refusal_is_filtered_and_its_text_is_no_answer(data: bytes) -> None:
    reply = read_reply(200, data)
    assert (reply.status, reply.content, reply.action) == ("filtered", None, Action.RETRY)


def test_a_flagged_input_concerns_one_request_only() -> None:
    error = {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "..."}}
    for status in (403, 200):
        reply = read_reply(status, json.dumps({"error": error}).encode())
        assert (reply.status, reply.action) == ("filtered", Action.KEEP)


def test_a_refusal_of_access_in_html_stops() -> None:
    assert read_reply(403, b"<html>forbidden</html>").action is Action.REFUSED


def test_length_is_truncated_and_keeps_its_text() -> None:
    assert read_reply(200, body("Die Antwort ist", "length")).status == "truncated"
    # All tokens went into reasoning: it would be the same again, so it is not asked again.
    reply = read_reply(200, body("", "length"))
    assert (reply.status, reply.action) == ("truncated", Action.KEEP)


@pytest.mark.parametrize("content", ["", "  \n", None, []])
def test_no_content_is_empty_and_worth_another_attempt(content: object) -> None:
    reply = read_reply(200, body(content))
    assert (reply.status, reply.action) == ("empty", Action.RETRY)


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "1"}, {"type": "thinking", "thinking": "0"}, {"type": "text", "text": "2"}]
    assert read_reply(200, body(parts)).content == "12"


def test_reasoning_is_not_read() -> None:
    reply = read_reply(200, body(message={"content": "", "reasoning": "2"}))
    assert (reply.status, reply.content) == ("empty", "")


def test_usage_and_route_are_taken_over() -> None:
    usage = {
        "prompt_tokens": 194,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 100},
        "cost": 0.00014,
    }
    reply = read_reply(200, body(model="toy/model-2", provider="p", usage=usage))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (194, 2, 100)
    assert (reply.answered_model, reply.provider, reply.cost) == ("toy/model-2", "p", Decimal("0.00014"))


@pytest.mark.parametrize(
    "usage", [None, [], "x", {"prompt_tokens": -1, "completion_tokens": "2", "cost": True}, {"prompt_tokens": 1.5}]
)
def test_odd_usage_is_unknown(usage: object) -> None:
    reply = read_reply(200, body(usage=usage))
    assert (reply.status, reply.prompt_tokens, reply.completion_tokens, reply.cost) == ("answered", None, None, None)


def test_costs_of_case_8() -> None:
    # 0.0001 and 0 are known, the other four are not; only text and the negative figure are complaints.
    bodies = [
        body(usage={"cost": 0.0001}),
        body(usage={"cost": 0}),
        body(usage={"cost": None}),
        body(usage={}),
        body(usage={"cost": "NaN"}),
        body(usage={"cost": -1}),
    ]
    replies = [read_reply(200, data) for data in bodies]
    known = [reply.cost for reply in replies if reply.cost is not None]
    assert (sum(known), len(known), len(replies) - len(known)) == (Decimal("0.0001"), 2, 4)
    assert [reply.warning is not None for reply in replies] == [False, False, False, False, True, True]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "0.1", True, [], Decimal("Infinity"), Decimal("-0.1"), 10**12]
)
def test_unusable_costs_are_unknown_with_a_warning(value: object) -> None:
    cost, warning = read_cost(value)
    assert cost is None
    assert warning


def test_bare_nan_in_the_json_is_unknown() -> None:
    data = b'{"choices":[{"finish_reason":"stop","message":{"content":"1"}}],"usage":{"cost":NaN}}'
    reply = read_reply(200, data)
    assert (reply.status, reply.cost) == ("answered", None)
    assert reply.warning


def test_costs_are_read_exactly() -> None:
    data = body(usage={"cost": 0}).replace(b'"cost": 0', b'"cost": 0.12345678901234567890')
    assert read_reply(200, data).cost == Decimal("0.12345678901234567890")
    assert read_reply(200, data.replace(b"0.12345678901234567890", b"1e-7")).cost == Decimal("0.0000001")


def test_only_the_first_500_characters_of_a_body_are_kept() -> None:
    reply = read_reply(502, "ü".encode() * 5000)
    assert reply.detail == "ü" * 500


def test_hostile_json_is_a_bad_body() -> None:
    for data in (
        b"[" * 100_000,
        b'{"choices":' + b"9" * 10_000 + b"}",
        b"\xff\xfe{}",
        b'{"a":1e999999999999999999999}',
    ):
        assert read_reply(200, data).status == "bad_body"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "error", "code", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(
    status=st.integers(100, 599),
    choices=json_values,
    usage=json_values,
    error=json_values,
    message=json_values,
    reason=json_values,
)
def test_no_json_makes_it_raise(status, choices, usage, error, message, reason) -> None:
    nested = [{"finish_reason": reason, "message": message, "error": error}]
    for payload in ({"choices": choices, "usage": usage}, {"choices": nested, "usage": usage}, {"error": error}):
        reply = read_reply(status, json.dumps(payload).encode())
        assert reply.status in STATUSES
        assert reply.cost is None or reply.cost >= 0


@settings(max_examples=50, deadline=None)
@given(status=st.integers(100, 599), data=st.binary(max_size=200))
def test_no_bytes_make_it_raise(status: int, data: bytes) -> None:
    assert read_reply(status, data).status in STATUSES
