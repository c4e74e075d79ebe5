import json
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.resources.ledger_parquet import exact_sum
from tendril_assets.resources.replies import read_reply
from tendril_assets.resources.reply_usage import read_cost, read_usage
from tendril_assets.resources.retry import RetryPolicy


def read(usage: object, header: str | None = None, **fields: object):
    choices = [{"finish_reason": "stop", "message": {"content": "1"}}]
    return read_reply(200, json.dumps({"choices": choices, "usage": usage, **fields}).encode(), named_cost=header)


# usage, header, cost, whether it is worth a warning
COSTS = [
    ({"cost": 0.0001}, None, "0.0001", False),
    ({"cost": 0}, None, "0", False),
    ({"cost": None}, None, None, False),
    ({}, None, None, False),
    (None, None, None, False),
    ({"cost": -1}, None, None, True),
    ({"cost": "0.0001"}, None, None, True),
    ({"cost": 1e300}, None, None, True),
    ({"cost": 1e-61}, None, None, True),
    ({"cost": 1e-60}, None, "1E-60", False),
    ({"total_cost": 0.0002}, None, "0.0002", False),
    ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.0003}}, None, "0.0003", False),
    ({"cost": {"input_tokens_cost": 0.1}}, None, None, False),
    # An odd cost is not mended by a nicer one elsewhere.
    ({"cost": -1, "total_cost": 0.0002}, "0.0003", None, True),
    ({"estimated_cost": 0.0004}, None, None, False),
    # LiteLLM's header
    (None, "0.000415", "0.000415", False),
    ({"cost": None}, "1.5e-05", "0.000015", False),
    ({"cost": 0.0001}, "0.5", "0.0001", False),
    (None, "None", None, False),
    (None, "", None, False),
    (None, "NaN", None, True),
    (None, "-0.1", None, True),
    (None, "free", None, True),
    (None, "9" * 5000, None, True),
    # A provider key of one's own: fee and the provider's bill
    ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.95}}, None, "1.00", False),
    ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.95}}, None, "0.95", False),
    ({"cost": 0.05, "is_byok": True}, None, None, True),
    ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None, None, True),
    ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": -1}}, None, None, True),
    # Without that mark the upstream cost is in the cost already.
    ({"cost": 0.05, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.05}}, None, "0.05", False),
    ({"cost": 0.05, "cost_details": {"upstream_inference_cost": 0.95}}, None, "0.05", False),
    ({"cost": None, "cost_details": {"upstream_inference_cost": 0.95}}, None, None, False),
]


@pytest.mark.parametrize(("usage", "header", "cost", "warns"), COSTS)
def test_what_a_reply_cost(usage: object, header: str | None, cost: str | None, warns: bool) -> None:
    reply = read(usage, header)
    assert reply.cost == (None if cost is None else Decimal(cost))
    assert (reply.warning is not None) == warns
    assert (reply.status, reply.charged) == ("answered", True)


def test_a_bill_in_two_parts_is_exact() -> None:
    usage = {"cost": Decimal("0.000000000000000000000000000001"), "is_byok": True}
    usage["cost_details"] = {"upstream_inference_cost": Decimal("12345")}
    assert read_usage({"usage": usage})["cost"] == Decimal("12345.000000000000000000000000000001")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(-6000, 20)), min_size=2, max_size=5))
def test_costs_that_are_accepted_can_be_added_up_without_rounding(figures: list[tuple[int, int]]) -> None:
    texts = [f"{digits}e{exponent}" for digits, exponent in figures]
    costs = [cost for text in texts for cost, _ in [read_cost(Decimal(text))] if cost is not None]
    for text in texts:
        cost, warning = read_cost(Decimal(text))
        assert (cost is None) == (warning is not None)
        assert cost is None or cost == Decimal(text)
    assert exact_sum(pl.Series([f"{cost:f}" for cost in costs], dtype=pl.String)) == sum(map(Fraction, costs))


@pytest.mark.parametrize("text", ["1e-5000", "0.5" + "0" * 60])
def test_a_cost_with_more_decimals_than_money_has_is_unknown(text: str) -> None:
    reply = read_reply(
        200, b'{"choices":[{"finish_reason":"stop","message":{"content":"1"}}],"usage":{"cost":%s}}' % text.encode()
    )
    assert (reply.status, reply.cost, reply.charged) == ("answered", None, True)
    assert reply.warning == "cost has more decimals than money has"


def test_a_zero_of_any_length_is_free() -> None:
    assert read_cost(Decimal("0e-5000")) == (Decimal(0), None)


@pytest.mark.parametrize(("header", "charged", "limit"), [("0", False, 6), ("0.0002", True, 3), ("None", False, 6)])
def test_a_failed_call_that_names_no_cost_but_zero_is_not_paid_for(header: str, charged: bool, limit: int) -> None:
    reply = read_reply(502, b"", None, header)
    assert (reply.charged, RetryPolicy().limit(reply)) == (charged, limit)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 194, "completion_tokens": 2}, (194, 2, None, None)),
        (
            {
                "prompt_tokens": 194,
                "completion_tokens": 90,
                "prompt_tokens_details": {"cached_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 88},
            },
            (194, 90, 100, 88),
        ),
        # vLLM sends null details, servers without details send plain fields
        ({"prompt_tokens": 5, "prompt_tokens_details": None, "completion_tokens_details": None}, (5, None, None, None)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3, "reasoning_tokens": 1}, (5, None, 3, 1)),
        (
            {
                "input_tokens": 5,
                "output_tokens": 6,
                "input_tokens_details": {"cached_tokens": 2},
                "output_tokens_details": {"reasoning_tokens": 4},
            },
            (5, 6, 2, 4),
        ),
        ({"prompt_tokens": 10.0, "completion_tokens": 1.5}, (10, None, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": 10**10}, (None, None, None, None)),
        ({"prompt_tokens": "10", "completion_tokens": True}, (None, None, None, None)),
        ({"prompt_tokens": [1], "completion_tokens": {}}, (None, None, None, None)),
        ("many", (None, None, None, None)),
        ([{"prompt_tokens": 1}], (None, None, None, None)),
    ],
)
def test_token_counts(usage: object, counts: tuple) -> None:
    reply = read(usage)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.reasoning_tokens) == counts


def test_counts_that_are_no_numbers_at_all() -> None:
    bare = b'{"choices":[{"finish_reason":"stop","message":{"content":"1"}}],"usage":{"prompt_tokens":NaN,"cost":Infinity}}'
    reply = read_reply(200, bare)
    assert (reply.status, reply.prompt_tokens, reply.cost) == ("answered", None, None)
    assert reply.warning


def test_the_reply_s_own_name_is_kept_at_a_sane_length() -> None:
    assert read(None, id="gen-1").reply_id == "gen-1"
    assert read(None, id="x" * 5000).reply_id == "x" * 200
    assert read(None, id=7).reply_id is None
    assert read(None).reply_id is None
