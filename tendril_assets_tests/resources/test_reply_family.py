"""Replies that look like success and are not, each with what it must count as."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.parse import parse_verdict
from tendril_assets.resources.ledger_entry import STATUSES
from tendril_assets.resources.replies import Action, read_reply

USAGE = {"prompt_tokens": 10, "completion_tokens": 1, "cost": 0.0001}


def completion(content: object = "1", reason: object = "stop", **fields: object) -> dict:
    """One choice; ``message_`` adds to its message, ``choice_`` to the choice, anything else to the top."""
    message = {"role": "assistant", "content": content, **fields.pop("message_", {})}
    choice = {"index": 0, "finish_reason": reason, "message": message, **fields.pop("choice_", {})}
    return {"choices": [choice], "usage": USAGE, **fields}


def without(payload: dict, *path: object) -> dict:
    inner = payload
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return payload


ANSWERED = [
    ("the plain case", completion()),
    ("the provider's own name of a natural end", completion(choice_={"native_finish_reason": "end_turn"})),
    ("a native name nobody knows", completion(choice_={"native_finish_reason": "completed"})),
    ("no tool called", completion(message_={"tool_calls": [], "function_call": None, "refusal": None})),
    ("reasoning beside the answer", completion(message_={"reasoning": "0", "reasoning_content": "2"})),
    ("no role", without(completion(), "choices", 0, "message", "role")),
    ("an empty error object beside it", completion(error={"message": "", "type": "", "param": None, "code": 0})),
    ("no error", completion(error=None, success=True, status="ok", message="success", code=0)),
    (
        "reasoning among the parts",
        completion([{"type": "thinking", "thinking": [{"text": "0"}]}, {"type": "text", "text": "1"}]),
    ),
    ("another model", completion(model="other/model-20260101")),
    ("usage null", completion(usage=None)),
    ("usage a list", completion(usage=[1])),
]


@pytest.mark.parametrize(("why", "payload"), ANSWERED, ids=[why for why, _ in ANSWERED])
def test_a_final_answer_is_answered(why: str, payload: dict) -> None:
    reply = read_reply(200, json.dumps(payload).encode())
    assert (reply.status, reply.action, reply.content, reply.finish_reason) == ("answered", Action.KEEP, "1", "stop")
    assert parse_verdict(reply.content, reply.finish_reason, reply.status).grade == 1


# What would parse as grade 1, and must never be one.
HIDDEN = [
    # Verdict in the wrong place
    ("reasoning only", completion("", message_={"reasoning": "1"}), "empty"),
    ("reasoning_content only", completion(None, message_={"reasoning_content": "1"}), "empty"),
    ("reasoning_details only", completion(None, message_={"reasoning_details": [{"text": "1"}]}), "empty"),
    ("a tool call instead", completion(None, "tool_calls", message_={"tool_calls": [{"id": "1"}]}), "empty"),
    ("a function call instead", completion(None, "function_call", message_={"function_call": {"a": 1}}), "empty"),
    ("a tool call beside it", completion(message_={"tool_calls": [{"id": "x"}]}), "bad_body"),
    ("a function call beside it", completion(message_={"function_call": {"name": "x"}}), "bad_body"),
    ("text of the legacy form", {"choices": [{"finish_reason": "stop", "text": "1"}]}, "bad_body"),
    ("a chunk of a stream", {"choices": [{"finish_reason": "stop", "delta": {"content": "1"}}]}, "bad_body"),
    ("a chunk by name", completion(object="chat.completion.chunk"), "bad_body"),
    ("message beside choices", {"message": {"content": "1"}, "done": True, "choices": None}, "bad_body"),
    ("a message list", {"choices": [{"finish_reason": "stop", "message": [{"content": "1"}]}]}, "bad_body"),
    ("content an object", completion({"relevanz": 1}), "bad_body"),
    ("content a number", completion(1), "bad_body"),
    ("content true", completion(True), "bad_body"),
    ("content a list of texts", completion(["1"]), "bad_body"),
    ("content without a kind", completion([{"text": "1"}]), "bad_body"),
    ("content with a picture", completion([{"type": "text", "text": "1"}, {"type": "image_url"}]), "bad_body"),
    ("content with a null text", completion([{"type": "text", "text": None}]), "bad_body"),
    ("reasoning parts only", completion([{"type": "reasoning", "text": "1"}]), "empty"),
    ("the user's words", completion(message_={"role": "user"}), "bad_body"),
    ("a tool's words", completion(message_={"role": "tool"}), "bad_body"),
    # Refused
    ("a refusal beside it", completion(message_={"refusal": "nein"}), "filtered"),
    ("a refusal instead", completion(None, message_={"refusal": "1"}), "filtered"),
    ("a refusal that is no text", completion(message_={"refusal": {"reason": "x"}}), "filtered"),
    ("a refusal among the parts", completion([{"type": "refusal", "refusal": "1"}]), "filtered"),
    # Several choices
    ("the second choice", {"choices": [completion("")["choices"][0], completion()["choices"][0]]}, "bad_body"),
    ("two choices", {"choices": completion()["choices"] * 2}, "bad_body"),
    ("choices an object", {"choices": {"0": completion()["choices"][0]}}, "bad_body"),
    ("choices null", {"choices": None, "usage": USAGE}, "bad_body"),
    ("choices of nothing", {"choices": [None]}, "bad_body"),
    # Not known to be whole
    ("no finish reason", without(completion(), "choices", 0, "finish_reason"), "bad_body"),
    ("finish reason null", completion(reason=None), "bad_body"),
    ("finish reason empty", completion(reason=""), "bad_body"),
    ("finish reason unknown", completion(reason="finish_reason_unspecified"), "bad_body"),
    ("finish reason a number", completion(reason=1), "bad_body"),
    ("finish reason a list", completion(reason=["stop"]), "bad_body"),
    ("finish reason tool_calls", completion(reason="tool_calls"), "bad_body"),
    ("finish reason pause_turn", completion(reason="pause_turn"), "bad_body"),
    ("finish reason null, a native one", completion(reason=None, choice_={"native_finish_reason": "stop"}), "bad_body"),
    ("finish reason null, no text", completion("", None), "empty"),
    # Known not to be whole, with a whole verdict before it
    ("length", completion(reason="length"), "truncated"),
    ("max_tokens", completion(reason="max_tokens"), "truncated"),
    ("MAX_TOKENS", completion(reason="MAX_TOKENS"), "truncated"),
    ("model_length", completion(reason="model_length"), "truncated"),
    ("stop, but the provider says MAX_TOKENS", completion(choice_={"native_finish_reason": "MAX_TOKENS"}), "truncated"),
    ("content_filter", completion(reason="content_filter"), "filtered"),
    ("SAFETY", completion(reason="SAFETY"), "filtered"),
    ("sensitive", completion(reason="sensitive"), "filtered"),
    ("stop, but the provider says RECITATION", completion(choice_={"native_finish_reason": "RECITATION"}), "filtered"),
    ("error", completion(reason="error"), "error"),
    ("abort", completion(reason="abort"), "error"),
    ("network_error", completion(reason="network_error"), "error"),
    ("insufficient_system_resource", completion(reason="insufficient_system_resource"), "error"),
    # An error beside a whole verdict
    ("error at the top", completion(error={"code": 502, "message": "x"}), "error"),
    ("error as text", completion(error="upstream went away"), "error"),
    ("error in the choice", completion(choice_={"error": {"code": 502}}), "error"),
    ("error in the message", completion(message_={"error": {"message": "x"}}), "error"),
    ("object error", completion(object="error"), "error"),
    ("success false", completion(success=False), "error"),
    ("code 500", completion(code=500), "error"),
    ("status error", completion(status="error"), "error"),
    # Wrapped
    ("a list", [completion()], "bad_body"),
    ("a text", json.dumps(completion()), "bad_body"),
    ("in data", {"data": completion()}, "bad_body"),
]


@pytest.mark.parametrize(("why", "payload", "status"), HIDDEN, ids=[why for why, *_ in HIDDEN])
def test_what_looks_like_an_answer_is_none(why: str, payload: object, status: str) -> None:
    reply = read_reply(200, json.dumps(payload).encode())
    assert reply.status == status
    assert parse_verdict(reply.content, reply.finish_reason, reply.status).grade is None
    # Only a length limit would strike the same way again.
    assert reply.action is (Action.KEEP if status == "truncated" else Action.RETRY)
    if status in ("filtered", "error", "bad_body"):
        assert reply.content is None
        assert reply.detail


WHOLE = json.dumps(completion()).encode()
CHUNK = json.dumps({"choices": [{"delta": {"content": "1"}, "finish_reason": "stop"}], "usage": USAGE}).encode()
BODIES = [
    ("stream of a whole reply", b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n"),
    ("stream of chunks", b": PROCESSING\n\ndata: " + CHUNK + b"\n\ndata: [DONE]\n\n"),
    ("two replies", WHOLE + WHOLE),
    ("two lines", WHOLE + b"\n" + WHOLE),
    ("a comment behind it", WHOLE + b"\n: PROCESSING\n"),
    ("bytes behind it", WHOLE + b"\0"),
    ("cut", WHOLE[:-1]),
    ("cut before the end of usage", WHOLE[: WHOLE.index(b'"usage"')]),
    ("gzip nobody declared", gzip.compress(WHOLE)),
    ("UTF-16", WHOLE.decode().encode("utf-16")),
    ("Latin-1", json.dumps(completion("Gebäude"), ensure_ascii=False).encode("latin-1")),
    ("content twice", WHOLE.replace(b'"content": "1"', b'"content": "0", "content": "1"')),
    ("finish reason twice", WHOLE.replace(b'"stop"', b'"length", "finish_reason": "stop"')),
    ("error twice", WHOLE[:-1] + b', "error": {"code": 502}, "error": null}'),
    ("page", b"<!DOCTYPE html><html><title>1</title></html>"),
    ("nothing", b""),
]


@pytest.mark.parametrize(("why", "data"), BODIES, ids=[why for why, _ in BODIES])
def test_a_body_that_is_not_one_json_object_is_a_bad_body(why: str, data: bytes) -> None:
    reply = read_reply(200, data)
    assert (reply.status, reply.action, reply.content, reply.charged) == ("bad_body", Action.RETRY, None, True)


def test_a_byte_order_mark_and_blanks_around_it_are_no_part_of_it() -> None:
    assert read_reply(200, b"\xef\xbb\xbf\r\n" + WHOLE + b"\r\n\t ").status == "answered"


@pytest.mark.parametrize("status", [201, 202, 203, 204, 205, 206, 207, 226])
def test_only_200_is_a_reply(status: int) -> None:
    for data in (WHOLE, b""):
        reply = read_reply(status, data)
        assert (reply.status, reply.action, reply.content) == ("bad_body", Action.RETRY, None)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_a_refusal(status: int) -> None:
    reply = read_reply(status, WHOLE)
    assert (reply.status, reply.action, reply.content) == ("error", Action.REFUSED, None)


@pytest.mark.parametrize("name", ["eos", "EOS", "eos_token", "end_turn", "stop_sequence", "STOP", "Stop", "COMPLETE"])
def test_a_natural_end_under_another_name_is_stop_and_its_name_is_kept(name: str) -> None:
    reply = read_reply(200, json.dumps(completion(reason=name)).encode())
    assert (reply.status, reply.finish_reason, reply.detail) == ("answered", "stop", f"finish_reason {name!r}")


def test_a_stream_nobody_asked_for_still_tells_its_cost_and_its_error() -> None:
    reply = read_reply(200, b"data: " + CHUNK + b"\n\ndata: [DONE]\n\n")
    assert (str(reply.cost), reply.completion_tokens) == ("0.0001", 1)
    broke = b'data: {"id":"gen-1","choices":[]}\n\ndata: {"error":{"code":402,"message":"out"}}\n\n'
    reply = read_reply(200, broke)
    assert (reply.status, reply.action, reply.http_status, reply.reply_id) == ("error", Action.NO_CREDIT, 402, "gen-1")


def test_the_excerpt_of_a_failure_is_kept() -> None:
    reply = read_reply(200, json.dumps(completion("", message_={"reasoning": "hm"})).encode())
    assert reply.detail is not None
    assert '"reasoning": "hm"' in reply.detail


words = st.sampled_from(["stop", "length", "eos", "content_filter", "tool_calls", "error", "", "1", "0", "assistant"])
names = st.sampled_from(
    (
        *(
            "choices",
            "message",
            "content",
            "finish_reason",
            "native_finish_reason",
            "error",
            "code",
            "role",
            "text",
            "type",
            "refusal",
        ),
        *("tool_calls", "usage", "cost", "object", "delta", "detail", "metadata", "raw", "success", "status", "data"),
    )
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
)


def may_be_answered(payload: object) -> bool:
    """The least that an answer needs, told apart from how the reader goes about it."""
    try:
        (choice,) = payload["choices"]
        content, reason = choice["message"]["content"], choice["finish_reason"]
    except (TypeError, KeyError, ValueError, IndexError):
        return False
    text = (
        content if isinstance(content, str) else "".join(p.get("text", "") for p in content if p.get("type") == "text")
    )
    return bool(text.strip()) and reason.lower() in (
        "stop",
        "eos",
        "eos_token",
        "end_turn",
        "stop_sequence",
        "complete",
    )


@settings(max_examples=50, deadline=None)
@given(status=st.sampled_from([200, 200, 200, 202, 206, 302, 402, 429, 500]), payload=anything, nested=anything)
def test_no_json_raises_or_is_answered_without_a_finished_text(status: int, payload: object, nested: object) -> None:
    whole = completion()
    whole["choices"][0]["message"] = nested
    for value in (payload, {"choices": [{"finish_reason": "stop", "message": nested}]}, whole, {"error": nested}):
        reply = read_reply(status, json.dumps(value).encode())
        assert reply.status in STATUSES
        assert (reply.action is Action.KEEP) or reply.status != "answered"
        if reply.status == "answered":
            assert status == 200
            assert may_be_answered(value)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_reply_cut_or_changed_by_a_byte_never_raises(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    changed = WHOLE[:at] + data.draw(st.binary(max_size=2)) + WHOLE[at + 1 :]
    assert read_reply(200, changed).status in STATUSES
    assert read_reply(200, WHOLE[:at]).status == "bad_body"
