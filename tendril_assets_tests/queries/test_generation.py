"""Summary requests and their replies: asked once, asked again only where the first was too long."""

import polars as pl
import pytest

from tendril_assets.judging.request import RequestFactory
from tendril_assets.queries.generation import choose_summaries, load_summary_prompt, summary_requests
from tendril_assets.spec import LLMSpec

FACTORY = RequestFactory(LLMSpec(model="toy/writer"))
PROMPT = load_summary_prompt()
AREAS = pl.DataFrame({"area": ["b", "a"], "title": ["Strom {x}", "Holz"], "text": ["{title} sparen", "FSC"]})
REQUESTS = summary_requests(AREAS, FACTORY, PROMPT, 10)
KEYS = {(area, attempt): key for area, attempt, key in REQUESTS.select("area", "attempt", "request_key").iter_rows()}


def test_the_prompt_holds_the_area_and_the_limit():
    system, user = PROMPT.messages("Strom {x}", "{title} sparen", 10)
    assert system["role"] == "system"
    assert user["content"].endswith("<area>Strom {x}\n{title} sparen</area>")
    assert "höchstens 10 Wörter" in user["content"]


def test_the_second_attempt_is_the_first_with_a_note():
    first = PROMPT.messages("Holz", "FSC", 10)[1]["content"]
    second = PROMPT.messages("Holz", "FSC", 10, attempt=2)[1]["content"]
    assert second.startswith(first + "\n\n")
    assert "10 Wörter" in second[len(first) :]


def test_each_area_has_two_requests_with_keys_of_their_own():
    assert REQUESTS.select("area", "attempt").rows() == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert REQUESTS["request_key"].n_unique() == 4
    assert KEYS["b", 1] == FACTORY.key(PROMPT.messages("Strom {x}", "{title} sparen", 10))


def test_another_limit_is_another_request():
    assert not set(summary_requests(AREAS, FACTORY, PROMPT, 11)["request_key"]) & set(REQUESTS["request_key"])


LONG = " ".join(["Wort"] * 11)


def calls(*replies):
    schema = ["request_key", "status", "finish_reason", "content"]
    rows = [(KEYS[key], status, reason, content) for key, status, reason, content in replies]
    return pl.DataFrame(rows, schema=dict.fromkeys(schema, pl.String), orient="row")


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([(("a", 1), "answered", "stop", "Holz sparen.")], ("ok", "Holz sparen.", 2, 1)),
        ([], ("open", None, None, 1)),
        ([(("a", 1), "answered", "stop", LONG)], ("open", None, None, 2)),
        (
            [(("a", 1), "answered", "stop", LONG), (("a", 2), "answered", "stop", "Kurz.")],
            ("ok", "Kurz.", 1, 2),
        ),
        (
            [(("a", 1), "answered", "stop", LONG), (("a", 2), "answered", "stop", LONG + " mehr")],
            ("too_long", LONG + " mehr", 12, 2),
        ),
        ([(("a", 1), "truncated", "length", "Holz")], ("truncated", None, None, 1)),
        # A second reply is not used where the first was not too long.
        (
            [(("a", 1), "answered", "stop", "Erste."), (("a", 2), "answered", "stop", "Zweite.")],
            ("ok", "Erste.", 1, 1),
        ),
    ],
)
def test_the_reply_that_counts(replies, expected):
    status, text, words, attempt = expected
    row = choose_summaries(REQUESTS, calls(*replies), "toy/writer", 10).row(0, named=True)
    assert row == {
        "area": "a",
        "status": status,
        "text": text,
        "words": words,
        "model": "toy/writer",
        "request_key": KEYS["a", attempt],
    }


def test_every_area_has_a_row_whatever_its_reply():
    table = choose_summaries(REQUESTS.reverse(), calls((("b", 1), "error", None, None)), "toy/writer", 10)
    assert table.select("area", "status").rows() == [("a", "open"), ("b", "error")]
