import json

import pytest

from tendril_assets.resources.replies import Action, read_reply
from tendril_assets.resources.reply_errors import find_error, judge_error

RETRY, REFUSED, NO_CREDIT, KEEP = Action.RETRY, Action.REFUSED, Action.NO_CREDIT, Action.KEEP
FULL = {"choices": [{"finish_reason": "stop", "message": {"content": "1"}}]}


def read(payload: object, http_status: int = 200):
    return read_reply(http_status, json.dumps(payload).encode())


# Bodies behind a 200, the action, and the status they count as
INSIDE = [
    # A number
    ({"error": {"code": 429, "message": "slow down"}}, RETRY, 429),
    ({"error": {"code": "503"}}, RETRY, 503),
    ({"error": {"status": 524}}, RETRY, 524),
    ({"error": {"code": 402}}, NO_CREDIT, 402),
    ({"error": {"code": "401", "message": "no key"}}, REFUSED, 401),
    ({"error": {"code": 404}}, REFUSED, 404),
    # No usable number
    ({"error": {"code": 200}}, RETRY, 200),
    ({"error": {"code": 1302}}, RETRY, 200),
    ({"error": {"code": True}}, RETRY, 200),
    ({"error": {"message": "no code"}}, RETRY, 200),
    ({"error": "upstream went away"}, RETRY, 200),
    ({"error": True}, RETRY, 200),
    ({"error": ["x"]}, RETRY, 200),
    # A name: OpenRouter's, OpenAI's, Anthropic's, TGI's
    ({"error": {"metadata": {"error_type": "provider_overloaded"}}}, RETRY, 503),
    ({"error": {"metadata": {"error_type": "payment_required"}}}, NO_CREDIT, 402),
    ({"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}, NO_CREDIT, 402),
    ({"error": {"code": "invalid_api_key", "type": "invalid_request_error"}}, REFUSED, 401),
    ({"error": {"code": "model_not_found", "type": "invalid_request_error"}}, REFUSED, 404),
    ({"error": {"code": None, "type": "server_error"}}, RETRY, 500),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, RETRY, 503),
    ({"type": "error", "error": {"type": "authentication_error"}}, REFUSED, 401),
    ({"error": "Model is overloaded", "error_type": "overloaded"}, RETRY, 503),
    ({"error": "rate_limit_exceeded"}, RETRY, 429),
    # The error itself at the top
    ({"object": "error", "message": "no such model", "type": "NotFoundError", "code": 404}, REFUSED, 404),
    ({"detail": "Not authenticated"}, RETRY, 200),
    ({"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}, RETRY, 200),
    ({"message": "Service busy", "code": 503}, RETRY, 503),
    ({"msg": "Invalid apiKey", "status": "434"}, REFUSED, 434),
    ({"success": False, "errors": [{"code": 10000, "message": "Authentication error"}], "result": None}, RETRY, 200),
    ({"success": False}, RETRY, 200),
    ([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota"}}], RETRY, 429),
    ({"error": {"error": {"code": 503, "message": "inner"}}}, RETRY, 503),
    # Wrapped by the gateway
    ({"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "x"}}}, RETRY, 502),
    ({"error": {"message": "x", "metadata": {"raw": '{"error":{"code":504,"message":"Deadline"}}'}}}, RETRY, 504),
    ({"error": {"message": "x", "metadata": {"raw": {"error": {"code": 503}}}}}, RETRY, 503),
    # The provider's quota is not ours
    ({"error": {"code": 429, "metadata": {"raw": '{"error":{"code":"insufficient_quota"}}'}}}, RETRY, 429),
]


@pytest.mark.parametrize(("payload", "action", "shown"), INSIDE, ids=[json.dumps(row[0])[:60] for row in INSIDE])
def test_an_error_inside_a_200_counts_as_what_it_says(payload: object, action: Action, shown: int) -> None:
    reply = read(payload)
    assert (reply.status, reply.action, reply.http_status, reply.content) == ("error", action, shown, None)


# HTTP status, error, action, status of the ledger, status it counts as
OUTSIDE = [
    (402, {"code": 402, "message": "Insufficient credits"}, NO_CREDIT, "error", 402),
    (402, {"code": 402, "metadata": {"limit_source": "openrouter_credits"}}, NO_CREDIT, "error", 402),
    (402, {"code": 402, "metadata": {"limit_source": "openrouter_key_limit"}}, NO_CREDIT, "error", 402),
    (402, {"code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}}, RETRY, "error", 402),
    (402, {"code": "in_flight_budget_exhausted"}, RETRY, "error", 402),
    (429, {"code": "rate_limit_exceeded", "type": "requests"}, RETRY, "error", 429),
    (429, {"code": "insufficient_quota", "type": "insufficient_quota"}, NO_CREDIT, "error", 402),
    (403, {"code": 403, "metadata": {"limit_source": "openrouter_guardrail_budget"}}, REFUSED, "error", 403),
    (400, {"code": "invalid_value", "type": "invalid_request_error"}, REFUSED, "error", 400),
    (404, {"code": 404, "message": "No endpoints found"}, REFUSED, "error", 404),
    # Not the HTTP status's own opinion: a proxy's page may carry any code inside.
    (502, {"code": 402}, RETRY, "error", 502),
    (503, {"type": "authentication_error"}, RETRY, "error", 503),
    # About one text
    (403, {"code": 403, "metadata": {"reasons": ["violence"], "flagged_input": "x"}}, KEEP, "filtered", 403),
    (403, {"code": 403, "metadata": {"error_type": "content_policy_violation"}}, KEEP, "filtered", 403),
    (400, {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}, KEEP, "filtered", 400),
    (400, {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}, KEEP, "filtered", 400),
    (400, {"code": 400, "metadata": {"raw": '{"error":{"code":"data_inspection_failed"}}'}}, KEEP, "filtered", 400),
    (400, {"code": "context_length_exceeded", "type": "invalid_request_error"}, KEEP, "error", 400),
    (400, {"code": 400, "metadata": {"error_type": "string_too_long"}}, KEEP, "error", 400),
    (400, {"code": 400, "message": "This model's maximum context length is 2048 tokens."}, KEEP, "error", 400),
    (413, {"message": "too large"}, KEEP, "error", 413),
    (413, None, KEEP, "error", 413),
    (400, {"code": 400, "metadata": {"error_type": "max_tokens_exceeded"}}, KEEP, "truncated", 400),
]


@pytest.mark.parametrize(
    ("http_status", "error", "action", "status", "shown"), OUTSIDE, ids=[json.dumps(row[:2])[:60] for row in OUTSIDE]
)
def test_an_error_status_and_what_its_body_changes(http_status, error, action, status, shown) -> None:
    reply = read({"error": error}, http_status)
    assert (reply.status, reply.action, reply.http_status, reply.content) == (status, action, shown, None)


def test_an_unauthorised_key_is_never_taken_for_a_filter() -> None:
    assert judge_error(401, {"code": "content_filter"}).action is REFUSED


@pytest.mark.parametrize(
    "payload",
    [
        FULL,
        {**FULL, "error": None},
        {**FULL, "error": {}},
        {**FULL, "error": ""},
        {**FULL, "error": {"message": "", "metadata": {"raw": None}}},
        {**FULL, "code": 0, "message": "success", "success": True},
        {**FULL, "detail": "cached"},
        {},
        [],
        None,
        "error",
        1,
    ],
)
def test_no_error_is_found_where_there_is_none(payload: object) -> None:
    assert find_error(payload) is None


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"message": " no endpoints "}}, "no endpoints"),
        ({"error": "plain"}, "plain"),
        ({"detail": [{"loc": ["body"], "msg": "field required", "input": "Vertraulich"}]}, "field required"),
        ({"success": False, "errors": [{"message": "Authentication error"}]}, "Authentication error"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": '{"error":{"message":"busy"}}'}}},
            "Provider returned error: busy",
        ),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}},
            "Provider returned error: busy",
        ),
        ({"error": {"code": 500}}, None),
    ],
)
def test_the_words_for_people(payload: object, message: str | None) -> None:
    assert read(payload, 500).message == message


def test_the_provider_that_failed_is_recorded() -> None:
    assert read({"error": {"code": 502, "metadata": {"provider_name": "Toy Cloud"}}}).provider == "Toy Cloud"


def test_messages_are_cut() -> None:
    reply = read({"error": {"message": "x" * 5000, "metadata": {"raw": "y" * 5000}}}, 500)
    assert reply.message == "x" * 200


def test_money_named_beside_an_error_is_known_and_work_done_for_it_is_not_free() -> None:
    error = {"code": 502, "message": "broke off"}
    assert not read({"error": error}).charged
    assert not read({"error": error}, 502).charged
    assert read({"error": error, "usage": {"completion_tokens": 7}}).charged
    assert read({"choices": [{"error": error, "finish_reason": "error", "message": {"content": "1"}}]}).charged
    for http_status in (200, 502):
        reply = read({"error": error, "usage": {"cost": 0.0002}}, http_status)
        assert (str(reply.cost), reply.charged) == ("0.0002", True)


def test_deep_nesting_is_no_way_to_break_it() -> None:
    deep: object = "x"
    for _ in range(400):
        deep = {"error": deep, "metadata": {"raw": deep}, "message": {"message": deep}}
        if len(json.dumps(deep)) > 20_000:
            break
    assert read({"error": deep}).status == "error"
    for opening, closing in (("[", "]"), ('{"error":', "}")):
        data = (opening * 900 + "1" + closing * 900).encode()
        assert read_reply(200, data).status in ("error", "bad_body")
