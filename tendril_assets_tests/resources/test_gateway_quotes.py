"""An error says what the gateway said, never what it was asked: errors are logged, and a log outlives a removal."""

import pytest

from tendril_assets.resources.gateway_stops import _quotable

PASSAGE = "Die Brückenwaage am Güterbahnhof wird jeden Dienstag von Hand geölt."
BODY = {
    "model": "toy/judge",
    "messages": [{"role": "system", "content": "Urteile."}, {"role": "user", "content": PASSAGE}],
}


@pytest.mark.parametrize(
    "message",
    [
        f"invalid input: {PASSAGE}",
        f"cannot parse '{PASSAGE[:30]}'",
        PASSAGE.upper(),
        "wird\n  jeden\tDienstag von\u00a0Hand",
        "w-i-r-d j-e-d-e-n D-i-e-n-s-t-a-g",
        "geölt.",
        "the key sk-secret is not valid",
    ],
)
def test_words_that_quote_a_request_or_the_key_are_left_out(message: str) -> None:
    assert _quotable(message, "sk-secret", BODY) == ""


@pytest.mark.parametrize(
    "message", ["No endpoints found for toy/judge.", "insufficient credits", "wird nicht angeboten"]
)
def test_other_words_are_told_in_one_line(message: str) -> None:
    assert _quotable(message.replace(" ", " \n"), "sk-secret", BODY) == f' ("{message}")'
    assert _quotable(None, "sk-secret", BODY) == ""
