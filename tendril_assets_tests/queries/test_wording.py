"""Wordings and summaries: what is accepted, and what is a status instead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.queries.wording import Summary, criterion_wording, read_summary


def test_a_criterion_is_followed_by_its_ambition_levels_in_order():
    levels = {"exemplary": "100 %  FSC", "basis": "Herkunft\nbekannt", "good_practice": "50 % FSC"}
    assert criterion_wording("Holz aus\nnachhaltiger Waldwirtschaft", levels) == (
        "Holz aus nachhaltiger Waldwirtschaft\nBasis: Herkunft bekannt\nGute Praxis: 50 % FSC\nVorbild: 100 % FSC"
    )


def test_absent_levels_leave_no_line():
    assert (
        criterion_wording("Text", {"basis": None, "good_practice": "  ", "exemplary": "Mehr"}) == "Text\nVorbild: Mehr"
    )
    assert criterion_wording("Text", {}) == "Text"


def test_wordings_are_nfc():
    assert criterion_wording("Fla\u0308che 10³ m", {}) == "Fläche 10³ m"


def test_a_summary_at_the_limit_is_accepted_and_one_word_more_is_not():
    text = " ".join(["Wort"] * 100)
    assert read_summary(text, "stop", 100) == Summary("ok", text, 100)
    assert read_summary(text + " zuviel", "stop", 100) == Summary("too_long", text + " zuviel", 101)


def test_a_summary_is_one_line_without_its_thoughts():
    assert read_summary("<think>hm</think>\nEin  Satz.\nNoch einer.", "stop", 10) == Summary(
        "ok", "Ein Satz. Noch einer.", 4
    )


@pytest.mark.parametrize(
    ("content", "reason", "call", "status"),
    [
        ("Halber Sa", "length", "answered", "truncated"),
        ("Text", "content_filter", "answered", "filtered"),
        ("Text", None, "answered", "parse_error"),
        ("<think>Text", "stop", "answered", "parse_error"),
        ("<think>Text</think>", "stop", "answered", "empty"),
        (" \n", "stop", "answered", "empty"),
        (None, "stop", "answered", "empty"),
        ("Text", "stop", "error", "error"),
    ],
)
def test_anything_else_is_a_status_without_a_text(content, reason, call, status):
    assert read_summary(content, reason, 10, call) == Summary(status)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200), st.integers(1, 20))
def test_a_text_is_accepted_only_within_its_limit(content, limit):
    summary = read_summary(content, "stop", limit)
    if summary.status == "ok":
        assert 1 <= summary.words <= limit
        assert len(summary.text.split(" ")) == summary.words
