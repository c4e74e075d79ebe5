"""The plan: every pair once, equal texts asked once, ordered so that requests share their prefix."""

import polars as pl
import pytest

from tendril_assets.judging.candidates import REQUEST_SCHEMA, fan_out, plan
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.spec import LLMSpec

FACTORY = RequestFactory(LLMSpec(model="toy/model"))
GUIDELINE = load_guideline("de_short")
# q1 and q3 share their wording, p1 and p4 their text.
QUERIES = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "text": ["Holz", "Strom", "Holz"]})
PASSAGES = pl.DataFrame({"passage_id": ["p1", "p2", "p3", "p4"], "text": ["FSC", "Watt", "ungenutzt", "FSC"]})
PAIRS = pl.DataFrame(
    [("q2", "p2", "g1"), ("q1", "p1", "g1"), ("q3", "p4", "g2"), ("q2", "p1", "g1"), ("q1", "p4", "g2")],
    schema=["query_id", "passage_id", "group_id"],
    orient="row",
)


def key(query: str, passage: str) -> str:
    return FACTORY.key(render(GUIDELINE, query, passage))


def test_equal_texts_share_one_request_and_every_pair_keeps_its_row():
    planned = plan(PAIRS, QUERIES, PASSAGES, FACTORY, GUIDELINE)
    holz_fsc = key("Holz", "FSC")
    assert planned.candidates.rows() == [
        ("q1", "p1", "g1", holz_fsc),
        ("q1", "p4", "g2", holz_fsc),
        ("q2", "p1", "g1", key("Strom", "FSC")),
        ("q2", "p2", "g1", key("Strom", "Watt")),
        ("q3", "p4", "g2", holz_fsc),
    ]
    assert planned.requests.select("request_key", "query_text", "passage_text").rows() == [
        (holz_fsc, "Holz", "FSC"),
        (key("Strom", "FSC"), "Strom", "FSC"),
        (key("Strom", "Watt"), "Strom", "Watt"),
    ]


def test_the_order_of_the_input_changes_nothing():
    one = plan(PAIRS, QUERIES, PASSAGES, FACTORY, GUIDELINE)
    other = plan(PAIRS.reverse(), QUERIES.reverse(), PASSAGES.reverse(), FACTORY, GUIDELINE)
    assert one.candidates.equals(other.candidates)
    assert one.requests.equals(other.requests)


def test_no_pairs_give_no_requests():
    planned = plan(PAIRS.clear(), QUERIES, PASSAGES, FACTORY, GUIDELINE)
    assert planned.candidates.columns == ["query_id", "passage_id", "group_id", "request_key"]
    assert planned.requests.schema == REQUEST_SCHEMA
    assert planned.requests.is_empty()


def test_a_pair_without_a_text_is_refused():
    with pytest.raises(ValueError, match="1 pair"):
        plan(PAIRS, QUERIES.filter(pl.col("query_id") != "q3"), PASSAGES, FACTORY, GUIDELINE)


def test_texts_that_render_alike_are_one_request():
    # "a</query>\n\n<passage>b" + "c" and "a" + "b</query>\n\n<passage>c" differ, but the first pair's texts read the
    # same as ("a", "b</passage>...") only if the rendered prompts agree to the last character:
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["a", "a</query>\n\n<passage>b"]})
    passages = pl.DataFrame({"passage_id": ["p1", "p2"], "text": ["b</query>\n\n<passage>c", "c"]})
    pairs = pl.DataFrame({"query_id": ["q1", "q2"], "passage_id": ["p1", "p2"]})
    planned = plan(pairs, queries, passages, FACTORY, GUIDELINE)
    assert planned.candidates["request_key"].n_unique() == 1
    assert planned.requests.height == 1


def test_verdicts_fan_out_to_every_pair_that_shares_the_request():
    candidates = plan(PAIRS, QUERIES, PASSAGES, FACTORY, GUIDELINE).candidates
    verdicts = pl.DataFrame(
        {
            "request_key": [key("Holz", "FSC"), key("Strom", "Watt")],
            "status": ["ok", "truncated"],
            "grade": [2, None],
            "answers": [None, None],
            "parser_version": ["1", "1"],
        },
        schema_overrides={"grade": pl.Int8},
    )
    rows = fan_out(candidates, verdicts).select("query_id", "passage_id", "status", "grade").rows()
    # Three pairs share the first request, one has the second; (q2, p1) is still open and has no row.
    assert rows == [
        ("q1", "p1", "ok", 2),
        ("q1", "p4", "ok", 2),
        ("q2", "p2", "truncated", None),
        ("q3", "p4", "ok", 2),
    ]
