from pathlib import Path

import pytest

from tendril_assets.corpus.extract import read_document
from tendril_assets_tests.corpus.documents import LIMITS

FIRST = "Die Anbieterin legt ein Umweltkonzept vor."


def text_of(folder: Path, content: str | bytes, name: str = "a.html") -> str:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    extraction = read_document(folder / name, LIMITS)
    assert extraction.outcome == "ok", extraction.message
    return extraction.pages[0].text


def test_merged_cells_keep_columns_in_line(tmp_path: Path):
    html = """<table><tr><th colspan=3>Los 1</th></tr><tr><td rowspan=2>Umwelt</td><td>Konzept</td><td>30 %</td></tr>
    <tr><td>Label</td><td>10 %</td></tr><tr><td>Preis</td><td rowspan="2">Offerte</td><td>60 %</td></tr>
    <tr><td>Termin</td><td>0 %</td></tr><tr><td>Summe</td><td></td><td>100 %</td></tr></table>"""
    assert text_of(tmp_path, html).split("\n") == [
        "Los 1 | |",
        "Umwelt | Konzept | 30 %",
        "| Label | 10 %",
        "Preis | Offerte | 60 %",
        "Termin | | 0 %",
        "Summe | | 100 %",
    ]


def test_spans_of_millions_are_bounded(tmp_path: Path):
    text = text_of(tmp_path, "<table><tr><td colspan=99999 rowspan=99999>a</td><td>b</td></tr><tr><td>c</table>")
    assert len(text) < 1000
    assert text.replace("|", "").split() == ["a", "b", "c"]


def test_nested_tables_and_lists(tmp_path: Path):
    html = "<table><tr><td>Label<table><tr><td>Holz<td>FSC</table></td><td>20 %</td></tr></table>"
    assert text_of(tmp_path, html) == "Label Holz | FSC | 20 %"
    html = f"<p>{FIRST}</p><ul><li>Holz<ul><li>Fichte</li><li>Buche</li></ul></li><li>Papier</li></ul>"
    assert text_of(tmp_path, html) == f"{FIRST}\n\nHolz\nFichte\nBuche\nPapier"


@pytest.mark.parametrize(
    "hidden",
    [
        "<nav>weg</nav>", "<div role=navigation>weg</div>", "<p hidden>weg</p>", "<p aria-hidden=true>weg</p>",
        "<p style='visibility:hidden'>weg</p>", "<p style='DISPLAY : NONE !important'>weg</p>", "<script>weg</script>",
        "<style>weg</style>", "<noscript>weg</noscript>", "<template>weg</template>", "<del>weg</del>", "<!-- weg -->",
        "<select><option>weg</select>", "<input value=weg>", "<iframe src=file:///etc/passwd>weg</iframe>",
        "<svg><text>weg</text></svg>",
    ],
)  # fmt: skip
def test_what_a_visitor_does_not_see_is_no_text(tmp_path: Path, hidden: str):
    assert text_of(tmp_path, f"<body>{hidden}<p>{FIRST}</p>{hidden}") == FIRST


def test_breaks_powers_and_text_set_as_it_is(tmp_path: Path):
    html = (
        "<p>Amt<br>Muster, 10<sup>3</sup> m<sup>2</sup>, CO<sub>2</sub>, Note<sup>a)</sup></p><pre>eins\n  zwei</pre>"
    )
    assert text_of(tmp_path, html) == "Amt\nMuster, 10³ m², CO2, Notea)\n\neins\nzwei"


GREEN = "Grün – «für» 10 €"


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("<meta charset=iso-8859-1>", "cp1252"),  # as browsers read it: dashes and the euro are in windows-1252 only
        ("<meta charset='us-ascii'>", "cp1252"),
        ("<meta charset=utf-8>", "cp1252"),  # a lie
        ("<meta charset=utf-16>", "cp1252"),  # a lie that could not even be read
        ("<meta charset=windows-1251>", "utf-8"),  # a lie
        ("<meta charset=no-such-code>", "cp1252"),
        ("<meta http-equiv=Content-Type content='text/html; charset=iso-8859-15'>", "iso-8859-15"),
        ('<?xml version="1.0" encoding="windows-1252"?>', "cp1252"),
        ("", "utf-16"),
        ("", "utf-8-sig"),
    ],
)
def test_encodings_declared_truly_or_not(tmp_path: Path, declared: str, encoding: str):
    text = "Grün für 10 €" if encoding == "iso-8859-15" else GREEN
    assert text_of(tmp_path, f"{declared}<body><p>{text}</p>".encode(encoding)) == text


def test_a_web_page_under_another_name(tmp_path: Path):
    page = f"<!DOCTYPE html>\n<html><body><p>{FIRST}</p></body></html>"
    assert text_of(tmp_path, page, "a.txt") == FIRST
    (tmp_path / "a.pdf").write_text(page)
    extraction = read_document(tmp_path / "a.pdf", LIMITS)
    assert extraction.outcome == "parse_failed"
    assert "web page, perhaps the login or error page" in str(extraction.message)


def test_deep_trees_and_entities(tmp_path: Path):
    assert text_of(tmp_path, "<b>" * 20_000 + FIRST) == FIRST
    assert (
        text_of(tmp_path, f'<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/passwd">]><p>{FIRST}&a;')
        == f"]>\n\n{FIRST}&a;"
    )
