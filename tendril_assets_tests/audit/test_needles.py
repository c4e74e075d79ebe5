"""The forms in which a text may stand in a file, against the libraries that write them."""

import base64
import csv
import html
import io
import itertools
import json
import unicodedata
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.audit.needles import MOST_PARTS, Needle, folded, readings
from tendril_assets.errors import AuditError

TEXT = 'Frau Grüßli sagte: "Zürich & Söhne/AG" <bei 3\xa0% Rabatt>,\nden 7. Mai'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=60).filter(
    lambda t: len(folded(t.strip(), letters_only=True)) >= 4
)


def holds(data: bytes, needle: Needle) -> bool:
    return any(form in data for form in needle.exact)


@pytest.mark.parametrize(
    "written",
    [
        TEXT.encode(),
        unicodedata.normalize("NFD", TEXT).encode(),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32-le"),
        TEXT.encode("cp1252"),
        TEXT.replace("\n", "\r\n").encode(),
        json.dumps({"a": TEXT}).encode(),
        json.dumps({"a": TEXT}, ensure_ascii=False).encode(),
        json.dumps([json.dumps({"a": TEXT}), 1]).encode(),
        html.escape(TEXT).encode(),
        html.escape(TEXT, quote=False).encode("ascii", "xmlcharrefreplace"),
        b"Frau Gr&uuml;&szlig;li sagte: &quot;Z&uuml;rich &amp; S&ouml;hne/AG&quot; &lt;bei 3&nbsp;% Rabatt&gt;,\nden 7. Mai",
        quote(TEXT).encode(),
        quote_plus(TEXT).encode(),
        base64.b64encode(b"x" + TEXT.encode() + b"yz"),
    ],
    ids=[
        "utf8",
        "nfd",
        "utf16",
        "utf16be",
        "utf32",
        "cp1252",
        "crlf",
        "json",
        "json_text",
        "json_twice",
        "html",
        "xml",
        "entities",
        "url",
        "form",
        "base64",
    ],
)
def test_every_way_to_write_it(written: bytes) -> None:
    assert holds(written, Needle.of_text(TEXT))


@settings(deadline=None)
@given(TEXTS, st.binary(max_size=5), st.binary(max_size=5))
def test_base64_shows_it_wherever_it_begins(text: str, before: bytes, after: bytes) -> None:
    stripped = text.strip()
    if len(stripped.encode()) >= 12:
        assert holds(base64.b64encode(before + stripped.encode() + after), Needle.of_text(text))


@settings(deadline=None)
@given(TEXTS)
def test_peers_that_write_texts(text: str) -> None:
    needle, text = Needle.of_text(text), text.strip()
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(["x", text])
    assert holds(stream.getvalue().encode(), needle)
    assert holds(json.dumps({"a": [text]}).encode(), needle)
    assert holds(html.escape(text).encode(), needle)


@settings(deadline=None)
@given(TEXTS)
def test_escapes_read_as_what_was_escaped(text: str) -> None:
    text = text.replace("\\", "").replace("&", "").replace("%", "").replace("<", "")
    wanted = folded(text, letters_only=True)
    for written in (json.dumps(text), json.dumps([json.dumps(text)]), quote(text)):
        assert any(wanted in folded(reading, letters_only=True) for reading in readings(written))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lärm­schutz", "lärmschutz"),
        ("Ver-\nschmutzung", "VERSCHMUTZUNG"),
        ("café", "café"),
        ("Straße", "STRASSE"),
        ("ﬁnden", "finden"),
        ("Российский  рубль", "российский рубль"),
    ],
)
def test_letters_alone_are_equal(one: str, other: str) -> None:
    assert folded(one, letters_only=True) == folded(other, letters_only=True)


def test_words_stand_between_spaces() -> None:
    assert folded("  Anna\xad-Maria,\n7", letters_only=False) == " anna maria 7 "


def test_what_would_be_found_by_chance_is_refused() -> None:
    with pytest.raises(AuditError, match="the text has 3 letters and digits; at least 4"):
        Needle.of_text(" a-b.c ... ")


def test_an_id_of_any_length_is_not_found_in_a_longer_one() -> None:
    needle = Needle.of_ids(["a-wood"])
    for written in (b'{"q": "a-wood"}', b"x\na-wood\tp-1\t2", b"<td>a-wood</td>", b"/a-wood/"):
        assert holds(written, needle), written
    for other in (b'"a-wood_2"', b"a-woods", b"\taa-wood\t", b"a-wood-2"):
        assert not holds(other, needle), other


def test_parts_are_spread_over_the_whole_text() -> None:
    words = " ".join(f"Wort{i:04}" for i in range(500))
    needle = Needle.of_text(words)
    assert len(needle.parts) == MOST_PARTS
    places = sorted(min(words.encode().find(form) for form in part if form in words.encode()) for part in needle.parts)
    assert places[0] == 0
    assert places[-1] > len(words) - 60
    assert max(b - a for a, b in itertools.pairwise(places)) < len(words) / 14
    assert Needle.of_text(words[:90]).parts == ()
