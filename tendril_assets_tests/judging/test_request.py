"""Request bodies and keys: everything that changes an answer, and nothing else."""

import hashlib
import json
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.candidates import plan
from tendril_assets.judging.prompts import guideline_names, load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.spec import LLMSpec

MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": "ü"}]
PLAIN = LLMSpec(model="toy/model", max_tokens=16)


def test_the_body_holds_the_request_and_always_max_tokens():
    assert RequestFactory(PLAIN).body(MESSAGES) == {
        "model": "toy/model",
        "temperature": 0.0,
        "max_tokens": 16,
        "messages": MESSAGES,
        "provider": {"require_parameters": True},
    }


def test_a_pinned_route_excludes_fallbacks():
    llm = LLMSpec(model="toy/model", providers=("one", "two"), quantizations=("fp8",), reasoning_effort="low")
    factory = RequestFactory(llm)
    body = factory.body(MESSAGES)
    assert body["provider"] == {
        "order": ["one", "two"],
        "allow_fallbacks": False,
        "quantizations": ["fp8"],
        "require_parameters": True,
    }
    assert body["reasoning"] == {"effort": "low"}
    assert factory.pinned
    assert not RequestFactory(PLAIN).pinned


def test_the_key_is_the_hash_of_the_canonical_body():
    written = (
        '{"max_tokens":16,"messages":[{"content":"s","role":"system"},{"content":"ü","role":"user"}],'
        '"model":"toy/model","provider":{"require_parameters":true},"temperature":0.0}'
    )
    assert RequestFactory(PLAIN).key(MESSAGES) == hashlib.sha256(written.encode()).hexdigest()
    assert RequestFactory(PLAIN).key(MESSAGES, "2") == hashlib.sha256(f"{written}\nrepeat 2".encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"model": "toy/other"},
        {"temperature": 0.5},
        {"max_tokens": 17},
        {"reasoning_effort": "low"},
        {"providers": ("one",)},
        {"quantizations": ("fp8",)},
        {"require_parameters": False},
    ],
)
def test_whatever_changes_an_answer_changes_the_key(change):
    changed = RequestFactory(PLAIN.model_copy(update=change))
    assert changed.key(MESSAGES) != RequestFactory(PLAIN).key(MESSAGES)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(max_size=40), min_size=1, max_size=3),
    st.lists(st.text(max_size=40), min_size=1, max_size=3),
    st.sampled_from(guideline_names()),
    st.sampled_from([None, "2", "drift 2026-11-30"]),
)
def test_keys_of_pairs_equal_the_key_of_the_rendered_messages(queries, passages, name, repeat):
    factory = RequestFactory(LLMSpec(model="toy/ä", reasoning_effort="low", providers=("p",)))
    guideline = load_guideline(name)
    pairs = [(q, p) for q in range(len(queries)) for p in range(len(passages))]
    keys = factory.pair_keys(guideline, queries, passages, pairs, repeat)
    assert keys == [factory.key(render(guideline, queries[q], passages[p]), repeat) for q, p in pairs]


@pytest.mark.parametrize("name", guideline_names())
def test_pairs_can_be_planned_by_every_guideline(name):
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["кто «раскрывает»?", 'Nur {FSC} "Mix"']})
    passages = pl.DataFrame({"passage_id": ["p1", "p2"], "text": ["5.1. В графе 2 …\n[0; 10]", "Holz"]})
    check_plan(queries, passages, queries.join(passages, how="cross").select("query_id", "passage_id"), name)


@pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")
def test_real_regulations_can_be_planned_by_the_russian_guideline():
    lines = (Path(os.environ["TENDRIL_TRIAL_DATA"]) / "cbr_pairs" / "pairs.jsonl").read_text("utf-8").splitlines()
    rows = pl.DataFrame([json.loads(line) for line in lines]).rename({"chunk_id": "passage_id"})
    queries = rows.select("query_id", text="query").unique()
    passages = rows.select("passage_id", pl.col("text")).unique()
    assert check_plan(queries, passages, rows.select("query_id", "passage_id"), "ru_two_questions") == 150


def check_plan(queries: pl.DataFrame, passages: pl.DataFrame, pairs: pl.DataFrame, name: str) -> int:
    """The keys of a plan are those of the rendered prompts; returns the number of requests."""
    factory, guideline = RequestFactory(PLAIN), load_guideline(name)
    planned = plan(pairs, queries, passages, factory, guideline)
    assert planned.candidates.height == pairs.height
    for row in planned.requests.iter_rows(named=True):
        messages = render(guideline, row["query_text"], row["passage_text"])
        assert row["request_key"] == factory.key(messages)
    assert set(planned.candidates["request_key"]) == set(planned.requests["request_key"])
    return planned.requests.height


def test_the_body_is_plain_json():
    body = RequestFactory(PLAIN).body(MESSAGES)
    assert json.loads(json.dumps(body)) == body


def test_a_declared_stack_is_part_of_every_key_and_of_no_body():
    plain, declared = RequestFactory(PLAIN), RequestFactory(PLAIN, "AWQ 4 bit; vllm 0.6.3; Tesla T4")
    assert declared.body(MESSAGES) == plain.body(MESSAGES)
    newer = RequestFactory(PLAIN, "AWQ 4 bit; vllm 0.7.0; Tesla T4")
    keys = [f.key(MESSAGES, repeat) for f in (plain, declared, newer) for repeat in (None, "2")]
    assert len(set(keys)) == 6
    guideline = load_guideline("de_short")
    (key,) = declared.pair_keys(guideline, ["a"], ["b"], [(0, 0)], "2")
    assert key == declared.key(render(guideline, "a", "b"), "2")
