import json
import random
import resource
import time
import zipfile
from pathlib import Path

import docx as python_docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.extract import Extraction, PageText, read_document
from tendril_assets.corpus.extract_text import decode
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets_tests.corpus.documents import LIMITS, docx, lines, paragraph, pdf

FIRST = "Die Anbieterin legt ein Umweltkonzept vor."
SECOND = "Das Holz stammt aus nachhaltiger Bewirtschaftung."


def texts(path: Path) -> dict[int, str]:
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "ok", extraction.message
    return {page.number: page.text for page in extraction.pages}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_word_document_of_python_docx(tmp_path: Path):
    document = python_docx.Document()
    document.add_heading("Umwelt", level=1)
    document.add_paragraph(FIRST)
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip([c for row in table.rows for c in row.cells], ["Preis", "40 %", "Qualität", ""], strict=True):
        cell.text = text
    document.add_page_break()
    document.add_paragraph("Holz", style="List Bullet")
    document.add_paragraph("Papier", style="List Bullet")
    document.save(str(tmp_path / "a.docx"))
    pages = texts(tmp_path / "a.docx")
    assert pages[1] == f"Umwelt\n\n{FIRST}\n\nPreis | 40 %\nQualität |"
    assert set(pages) == {1, 2}
    assert read_document(tmp_path / "a.docx", ExtractionSpec()).outcome == "ok"


def test_word_pages_follow_the_layout_marks_where_there_are_any(tmp_path: Path):
    explicit = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
    rendered = f"<w:p><w:r><w:lastRenderedPageBreak/><w:t>{SECOND}</w:t></w:r></w:p>"
    assert texts(docx(tmp_path / "a.docx", paragraph(FIRST) + explicit + rendered)) == {1: FIRST, 2: SECOND}
    assert texts(docx(tmp_path / "b.docx", paragraph(FIRST) + explicit + paragraph(SECOND))) == {1: FIRST, 2: SECOND}
    section = f"<w:p><w:pPr><w:sectPr/></w:pPr><w:r><w:t>{FIRST}</w:t></w:r></w:p>"
    assert texts(docx(tmp_path / "c.docx", section + paragraph(SECOND))) == {1: FIRST, 2: SECOND}
    same_page = section.replace("<w:sectPr/>", '<w:sectPr><w:type w:val="continuous"/></w:sectPr>')
    assert texts(docx(tmp_path / "d.docx", same_page + paragraph(SECOND))) == {1: f"{FIRST}\n\n{SECOND}"}


def test_word_lists_deletions_special_characters_and_text_boxes(tmp_path: Path):
    item = "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>"
    body = (
        item.format("Holz") + item.format("Papier") + "<w:p><w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr>"
        "<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>Mail</w:t><w:tab/><w:t>Nach</w:t><w:softHyphen/><w:t>haltig</w:t></w:r>"
        "<w:del><w:r><w:delText>weg</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>weg</w:t></w:r></w:moveFrom></w:p>"
        f"<w:p><w:r><w:txbxContent>{paragraph(FIRST)}</w:txbxContent>"
        f"<mc:Fallback>{paragraph(FIRST)}</mc:Fallback><w:t>danach</w:t></w:r></w:p>"
    )
    assert texts(docx(tmp_path / "a.docx", body)) == {1: f"Holz\nPapier\n\nE-Mail Nachhaltig\n\n{FIRST}\n\ndanach"}


def test_zip_bomb_in_styles_is_too_large(tmp_path: Path):
    path = docx(tmp_path / "a.docx", paragraph(FIRST), {"word/styles.xml": b" " * 200_000_000})
    assert path.stat().st_size < 400_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "too_large"
    assert time.process_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


def test_ratio_and_hidden_sizes_are_found_below_the_byte_limit(tmp_path: Path):
    path = docx(tmp_path / "a.docx", paragraph(FIRST), {"word/styles.xml": b" " * 20_000_000})
    extraction = read_document(path, LIMITS)
    assert (extraction.outcome, "word/styles.xml unpacks" in str(extraction.message)) == ("too_large", True)
    path = docx(tmp_path / "b.docx", paragraph(FIRST), {"word/styles.xml": b" " * 20_000_000})
    # The directory at the end of the archive claims 1,000 bytes for the 20 million.
    path.write_bytes(path.read_bytes().replace((20_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert read_document(path, LIMITS).outcome == "parse_failed"


def test_too_many_parts(tmp_path: Path):
    path = docx(tmp_path / "a.docx", paragraph(FIRST), {f"word/{i}.bin": b"" for i in range(10_001)})
    assert read_document(path, LIMITS).outcome == "too_large"


def test_zip64_word_document_is_read(tmp_path: Path):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(docx(tmp_path / "b.docx", paragraph(FIRST))) as source, zipfile.ZipFile(path, "w") as target:
        for part in source.infolist():
            with target.open(part.filename, "w", force_zip64=True) as stream:
                stream.write(source.read(part))
    assert texts(path) == {1: FIRST}


def test_entities_and_external_links_are_never_followed(tmp_path: Path):
    prolog = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    extraction = read_document(docx(tmp_path / "a.docx", paragraph("&a;&b;"), prolog=prolog), LIMITS)
    assert (extraction.outcome, extraction.pages) == ("parse_failed", ())
    assert "document type" in str(extraction.message)
    link = '<w:altChunk xmlns:r="r" r:id="x1"/>'
    relation = (
        '<Relationships><Relationship Id="x1" TargetMode="External" Target="file:///etc/passwd"/></Relationships>'
    )
    path = docx(tmp_path / "b.docx", paragraph(FIRST) + link, {"word/_rels/document.xml.rels": relation})
    assert texts(path) == {1: FIRST}


def test_deep_nesting_is_read(tmp_path: Path):
    depth = 50_000
    body = "<w:sdt>" * depth + paragraph(FIRST) + "</w:sdt>" * depth
    assert texts(docx(tmp_path / "a.docx", body)) == {1: FIRST}
    assert texts(write(tmp_path / "a.html", "<div>" * 2000 + FIRST)) == {1: FIRST}


def test_html_blocks_lists_tables_and_hidden_text(tmp_path: Path):
    html = f"""<html><head><title>weg</title><style>weg</style></head><body><h1>Umwelt</h1>
    <p>Die Anbieterin legt <b>ein</b>\n Umwelt&shy;konzept vor.</p><script>weg()</script>
    <ul><li>Holz</li><li><p>Papier</p></li></ul>
    <table><tr><th>Kriterium</th><th>Gewicht</th></tr><tr><td>Preis</td><td>40&nbsp;%</td></tr></table>
    <p hidden>weg</p><p style="display: none">weg</p>eins<br>zwei<img src="file:///etc/passwd" alt="weg">{SECOND}"""
    assert texts(write(tmp_path / "a.html", html)) == {
        1: f"Umwelt\n\n{FIRST}\n\nHolz\nPapier\n\nKriterium | Gewicht\nPreis | 40 %\n\neins\nzwei{SECOND}"
    }


def test_html_in_a_declared_code_page(tmp_path: Path):
    html = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Закон о закупках</p>'
    assert texts(write(tmp_path / "a.htm", html.encode("cp1251"))) == {1: "Закон о закупках"}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Fläche 10 m²", "utf-8"),
        ("Fläche 10 m²", "utf-8-sig"),
        ("Fläche 10 m²", "cp1252"),
        ("Fläche 10 m²", "utf-16"),
        ("Fläche 10 m²", "utf-16-le"),
        ("Fläche 10 m²", "utf-16-be"),
        ("Закон о закупках", "cp1251"),
        ("Prüfung der Bäume und Flächen, schön", "cp850"),
        ("«Prüfung» der Bäume – schön", "cp1252"),
        ("L’école a été créée à Genève", "cp1252"),
    ],
)
def test_decode(text: str, encoding: str):
    assert decode(text.encode(encoding)) == text


def test_decode_keeps_utf8_with_a_broken_byte():
    assert decode("Fläche für Bäume".encode() + b"\xff") == "Fläche für Bäume\ufffd"
    assert decode("Grün".encode("latin-1"), declared="no-such-code") == "Grün"
    assert decode("Grün".encode("latin-1"), declared="hex") == "Grün"


def test_text_pages_headers_and_wrapped_lines(tmp_path: Path):
    pages = [
        f"Amt Muster, Seite {n}\n\n{body}"
        for n, body in enumerate(
            ("Die Angaben zur Umwelt und zur Nach-\nhaltigkeit der Lieferung zählen.", "Zweite.\nDritte.", "a\tb"),
            start=1,
        )
    ]
    extraction = read_document(write(tmp_path / "a.txt", "\f".join(pages)), LIMITS)
    assert [page.text for page in extraction.pages] == [
        "Die Angaben zur Umwelt und zur Nachhaltigkeit der Lieferung zählen.",
        "Zweite.\nDritte.",
        "a | b",
    ]
    assert extraction.dropped_lines == ("Amt Muster, Seite 1", "Amt Muster, Seite 2", "Amt Muster, Seite 3")


def test_one_long_line_does_not_stop_the_rest_from_flowing(tmp_path: Path):
    item = "- Ein Scanner für alle gängigen Codes, " + "mit einer langen Aufzählung, " * 4 + "und mehr"
    assert len(item) > 130
    wrapped = "Die Geräte werden während der ganzen Laufzeit des\nVertrags gewartet und bei Bedarf ersetzt."
    text = f"{wrapped}\n\nVerlangt sind:\n{item}\n- Ein Akku"
    (page,) = read_document(write(tmp_path / "a.txt", text), LIMITS).pages
    assert page.text == text.replace("des\nVertrags", "des Vertrags")


def test_lines_that_are_paragraphs_keep_their_breaks(tmp_path: Path):
    text = "\n".join(f"Absatz {n} sagt etwas über die Umwelt und noch etwas mehr. " * 3 + "Ende." for n in range(3))
    (page,) = read_document(write(tmp_path / "a.txt", text), LIMITS).pages
    assert page.text.count("\n") == 2


def test_garbled_text_is_not_kept(tmp_path: Path):
    # 6 of 100 signs are replacement characters; at 5 the share is not over 5 %.
    path = write(tmp_path / "a.txt", "\ufffd" * 6 + "a" * 94)
    extraction = read_document(path, LIMITS)
    assert (extraction.outcome, extraction.pages) == ("garbled", ())
    assert read_document(write(tmp_path / "b.txt", "\ufffd" * 5 + "a" * 95), LIMITS).outcome == "ok"


@pytest.mark.parametrize(
    ("name", "content", "outcome"),
    [
        ("a.txt", b"", "no_text_layer"),
        ("a.html", b"", "no_text_layer"),
        ("a.pdf", b"", "parse_failed"),
        ("a.docx", b"", "parse_failed"),
        ("a.docx", b"PK\x03\x04 damaged", "parse_failed"),
        ("a.pdf", b"<html>", "parse_failed"),
        ("a.xyz", b"abc", "unsupported"),
        ("a", b"abc", "unsupported"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "unsupported"),
        ("a.docx", b"{\\rtf1 Text}", "unsupported"),
        ("a.pdf", b"\x89PNG\r\n", "unsupported"),
        ("a.txt", b"\x1f\x8b\x08", "unsupported"),
        ("a.doc", b"<html><body>Text", "unsupported"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    ],
)
def test_outcomes_without_text(tmp_path: Path, name: str, content: bytes, outcome: str):
    extraction = read_document(write(tmp_path / name, content), LIMITS)
    assert (extraction.outcome, extraction.pages, extraction.characters) == (outcome, (), 0)
    assert extraction.message


def test_archives_that_are_no_word_file_and_missing_files(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.txt", "text")
    assert read_document(tmp_path / "a.zip", LIMITS).outcome == "unsupported"
    assert read_document(tmp_path / "none.pdf", LIMITS).message == "no such file"
    assert read_document(tmp_path, LIMITS).message == "not a regular file"


def test_the_content_decides_and_the_message_says_what_to_do(tmp_path: Path):
    whole = pdf(tmp_path / "a.pdf", [lines(FIRST)])
    assert texts(write(tmp_path / "a.docx", whole.read_bytes())) == {1: FIRST}
    assert texts(write(tmp_path / "b.pdf", docx(tmp_path / "b.docx", paragraph(FIRST)).read_bytes())) == {1: FIRST}
    # A PDF may have anything before its header; a text that speaks of one is none.
    assert texts(write(tmp_path / "c.pdf", b"\r\njunk\r\n" + whole.read_bytes())) == {1: FIRST}
    assert texts(write(tmp_path / "c.txt", "Dateien beginnen mit %PDF-1.7 oder PK.")) == {
        1: "Dateien beginnen mit %PDF-1.7 oder PK."
    }
    with zipfile.ZipFile(tmp_path / "a.odt", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<office:document-content/>")
    messages = {
        "a.odt": "an OpenDocument file; save it as DOCX or PDF, or unpack it",
        "a.rtf": "an RTF file; save it as DOCX or PDF",
        "a.doc": "an Office file in the old binary format; save it as DOCX or PDF",
        "empty.pdf": "the file is empty",
    }
    write(tmp_path / "a.rtf", rb"{\rtf1 Text}")
    write(tmp_path / "a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    write(tmp_path / "empty.pdf", b"")
    assert {name: read_document(tmp_path / name, LIMITS).message for name in messages} == messages


def test_characters_of_each_page(tmp_path: Path):
    extraction = read_document(pdf(tmp_path / "a.pdf", [[], lines(FIRST), []]), LIMITS)
    assert extraction.page_characters == (0, len(FIRST), 0)
    assert read_document(write(tmp_path / "a.txt", ""), LIMITS).page_characters == ()


def test_record_survives_its_bytes():
    record = Extraction("partial", "1 of 2", (PageText(2, "Fläche"),), 2, (1,), ("Kopf",), 6)
    assert Extraction.from_bytes(record.to_bytes()) == record
    assert json.loads(record.to_bytes())["pages"] == [[2, "Fläche"]]


@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.html", "a.pdf", "a.docx"]))
@settings(max_examples=50, deadline=None)
def test_no_content_raises(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str):
    path = write(tmp_path_factory.mktemp("fuzz") / name, content)
    extraction = read_document(path, LIMITS)
    assert extraction.pages == () or extraction.outcome in {"ok", "partial"}
    json.dumps([page.text for page in extraction.pages]).encode()


def test_random_bytes_named_text_are_no_text(tmp_path: Path):
    noise = tmp_path / "noise.txt"
    noise.write_bytes(random.Random(7).randbytes(20_000))
    found = read_document(noise, LIMITS)
    assert found.outcome == "unsupported"
    assert "control characters: no text" in str(found.message)
    # A stray one, or an old end-of-file mark, is no reason.
    stray = tmp_path / "stray.txt"
    stray.write_bytes(b"Das Holz stammt aus der Region.\x00 Es ist gehobelt.\x1a")
    assert read_document(stray, LIMITS).outcome == "ok"
