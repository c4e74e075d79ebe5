"""Request bodies and keys: everything that changes an answer, and nothing else."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.prompts import load_guideline, render
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
    st.sampled_from(["de_short", "de_long"]),
    st.sampled_from([None, "2", "drift 2026-11-30"]),
)
def test_keys_of_pairs_equal_the_key_of_the_rendered_messages(queries, passages, name, repeat):
    factory = RequestFactory(LLMSpec(model="toy/ä", reasoning_effort="low", providers=("p",)))
    guideline = load_guideline(name)
    pairs = [(q, p) for q in range(len(queries)) for p in range(len(passages))]
    keys = factory.pair_keys(guideline, queries, passages, pairs, repeat)
    assert keys == [factory.key(render(guideline, queries[q], passages[p]), repeat) for q, p in pairs]


def test_the_body_is_plain_json():
    body = RequestFactory(PLAIN).body(MESSAGES)
    assert json.loads(json.dumps(body)) == body
