"""Finding a needle in bytes whatever the borders of the chunks, and in values."""

import base64
import json
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.audit.matching import Matcher
from tendril_assets.audit.needles import Needle

TEXT = "Die Anbieterin Müßiggang AG legt dar, wie sie Lärm und Staub begrenzt."
MATCHER = Matcher(Needle.of_text(TEXT))
LONG = " ".join(f"Satz {i} handelt von Sache {i * 7919 % 1000}." for i in range(60))


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.sampled_from([TEXT.encode(), TEXT.encode("utf-16-le"), b"x", b"Die Anbieterin ", b"\0\xff"]), max_size=8
    ),
    st.integers(20, 200),
)
def test_every_occurrence_is_counted_once_whatever_the_chunks(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    whole = (TEXT.encode(), TEXT.encode("utf-16-le"))
    # Counted by hand: none of these pieces can overlap another.
    places = [i for form in whole for i in range(len(data)) if data.startswith(form, i)]
    hits = MATCHER.in_bytes(cut(data, size), is_text=False)
    assert hits.counts["exact"] == len(places)
    assert hits.first == min(places, default=None)


@pytest.mark.parametrize("size", [40, 64, 1000, 10**6])
@pytest.mark.parametrize(
    "written",
    [
        TEXT.upper().encode(),
        unicodedata.normalize("NFD", TEXT.upper()).encode(),
        TEXT.replace(" ", "\n   ").encode(),
        TEXT.replace("Anbieterin", "An­bie­te­rin").encode(),
        TEXT.replace("begrenzt", "be-\ngrenzt").encode(),
        TEXT.replace("Lärm", "<b>Lärm</b>").encode(),
        TEXT.replace("ä", "&#228;").replace(" ", "&nbsp;").encode(),
        json.dumps(json.dumps({"a": TEXT.replace(" ", "\n")})).encode(),
        TEXT.swapcase().encode("utf-16"),
        TEXT.swapcase().encode("cp1252"),
    ],
    ids=["upper", "nfd", "spaces", "soft", "hyphen", "tags", "entities", "json", "utf16", "cp1252"],
)
def test_the_same_letters_are_found_in_any_text(written: bytes, size: int) -> None:
    around = "Davor steht etwas. ".encode("utf-16-le" if written.startswith(b"\xff\xfe") else "utf-8")
    data = written[:2] + around * 5 + written[2:] if written.startswith(b"\xff\xfe") else around * 5 + written
    hits = MATCHER.in_bytes(cut(data, size), is_text=True)
    assert (hits.how, hits.n) == ("alike", 1)


def test_bytes_that_are_no_text_are_not_compared_by_letters() -> None:
    assert MATCHER.in_bytes([TEXT.upper().encode()], is_text=False).how is None


@settings(deadline=None, max_examples=30)
@given(st.integers(5, 60))
def test_a_short_text_is_compared_word_by_word(size: int) -> None:
    matcher = Matcher(Needle.of_text("Anna Muster"))
    assert matcher.in_bytes(cut(b"sie heisst ANNA\n  muster, und", size), is_text=True).how == "alike"
    assert matcher.in_bytes(cut(b"Susanna Musterfrau, Johanna Muster", size), is_text=True).how is None


def test_a_text_cut_short_is_found_in_pieces_and_a_shared_sentence_is_not() -> None:
    matcher = Matcher(Needle.of_text(LONG))
    assert matcher.in_bytes([b"Vor. " + LONG[: len(LONG) * 2 // 3].encode()], is_text=True).how == "pieces"
    assert matcher.in_bytes([b"Vor. " + LONG[200:300].encode()], is_text=True).how == "parts"
    # The same parts far from each other are no copy of the text.
    scattered = b"".join(LONG[i : i + 100].encode() + b"x" * 10**5 for i in range(0, len(LONG), 100))
    assert matcher.in_bytes([scattered], is_text=True).how == "parts"
    assert matcher.in_bytes([scattered.replace(b"x" * 10**5, b"")], is_text=True).how == "exact"


def test_values_are_counted_by_row_and_named() -> None:
    values = [None, TEXT, "x" + TEXT + "y", TEXT.upper(), json.dumps(TEXT.replace(" ", "\n")), "5 % & mehr <x>", ""]
    hits = MATCHER.in_values(pl.Series(values), pl.Series([f"p-{i}" for i in range(7)]))
    assert dict(hits.counts) == {"exact": 2, "alike": 2}
    assert hits.rows == ["p-1", "p-2", "p-3", "p-4"]
    assert (hits.how, hits.n) == ("exact", 2)
    assert MATCHER.in_values(pl.Series([None], dtype=pl.String)).how is None


def test_values_hold_parts_of_it() -> None:
    matcher = Matcher(Needle.of_text(LONG))
    hits = matcher.in_values(pl.Series([LONG[:1500], LONG[300:420], "Satz 1 handelt"]))
    assert dict(hits.counts) == {"pieces": 1, "parts": 1}


def test_ids_are_found_letter_by_letter() -> None:
    matcher = Matcher(Needle.of_ids(["p-0123456789abcdef0123", "g-00000000000000000000"]))
    data = b'{"id":"p-0123456789abcdef0123"}\n{"id":"P-0123456789ABCDEF0123"} g-00000000000000000000'
    assert matcher.in_bytes(cut(data, 10), is_text=True).counts["exact"] == 2
    assert matcher.in_values(pl.Series(["p-0123456789abcdef0123", "other"])).counts["exact"] == 1


def test_a_query_is_found_where_a_value_is_all_of_it() -> None:
    matcher = Matcher(Needle.of_ids(["a-wood"]))
    assert matcher.in_values(pl.Series(["a-wood", '["a-wood"]', "a-wood_2", "xa-wood"])).counts["exact"] == 2


def test_a_picture_inside_a_page() -> None:
    svg = f"<svg><text>{TEXT}</text></svg>".encode()
    page = b'<img src="data:image/svg+xml;base64,' + base64.b64encode(svg) + b'">'
    assert MATCHER.in_bytes([page], is_text=True).how == "exact"
