"""A message that quotes a text is known as such, however the quotation is written."""

import html
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.quoting import STRETCH, quotes

TEXT = "Die Brückenwaage am Güterbahnhof wird jeden Dienstag von Hand geölt."
RUSSIAN = "Банк России устанавливает порядок расчёта капитала."
WRITTEN = {
    "as it is": str,
    "capitals": str.upper,
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "bytes": lambda text: repr(text.encode()),
    "HTML": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace").decode(),
    "wrapped": lambda text: json.dumps(text.replace(" ", "\n")),
    "spelt": "-".join,
}


@pytest.mark.parametrize("text", [TEXT, RUSSIAN, "\U0001f3d7 Ausgeführte \U0001f3d7 Arbeiten \U0001f3d7"])
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_quotation_is_known_however_it_is_written(written, text: str) -> None:
    assert quotes(f"400: cannot read {written(text)}, sorry", text)
    assert quotes(f"400: cannot read {text}, sorry", written(text))


def test_other_words_are_no_quotation() -> None:
    assert not quotes("No endpoints found for toy/judge.", TEXT)
    assert not quotes("wird jeden Montag", TEXT)  # 15 letters of it
    assert not quotes("wird nicht angeboten", TEXT)
    assert quotes("geölt", TEXT)  # all of a short message
    assert quotes("wird jeden Dienstag nicht", TEXT)


@given(st.text(), st.integers(0, len(TEXT) - 30), st.text())
def test_no_stretch_of_a_text_gets_through(before: str, at: int, behind: str) -> None:
    assert quotes(f"{before} {TEXT[at : at + 30]} {behind}", TEXT)


@given(st.text(alphabet="abc", min_size=STRETCH), st.text(alphabet="abc"))
def test_a_shared_stretch_decides(message: str, text: str) -> None:
    stretches = {message[i : i + STRETCH] for i in range(len(message) - STRETCH + 1)}
    assert quotes(message, text) == any(stretch in text for stretch in stretches)
