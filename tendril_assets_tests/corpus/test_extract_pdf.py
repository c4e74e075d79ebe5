import re
from pathlib import Path

import pytest
from reportlab.lib import pdfencrypt
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageTemplate, Paragraph, SimpleDocTemplate, Table

from tendril_assets.corpus.chunking import passages_of
from tendril_assets.corpus.extract import read_document
from tendril_assets_tests.corpus.documents import LIMITS, lines, pdf

TEXT = "Die Anbieterin legt ein Umweltkonzept vor."


def read_page(path: Path) -> str:
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "ok", extraction.message
    [page] = extraction.pages
    return page.text


def test_text_on_the_second_page_only_is_partial_with_true_page_numbers(tmp_path: Path):
    extraction = read_document(pdf(tmp_path / "a.pdf", [[], lines(TEXT), []]), LIMITS)
    assert (extraction.outcome, extraction.empty_pages, extraction.page_count) == ("partial", (1, 3), 3)
    assert extraction.message == "2 of 3 pages without text"
    assert extraction.characters == len(TEXT)
    [passage] = passages_of(extraction.pages)
    assert (passage.page, passage.text) == (2, TEXT)


def test_no_text_layer(tmp_path: Path):
    extraction = read_document(pdf(tmp_path / "a.pdf", [[], []]), LIMITS)
    assert (extraction.outcome, extraction.empty_pages, extraction.pages) == ("no_text_layer", (1, 2), ())


@pytest.mark.parametrize("strength", [40, 128])
def test_empty_password_opens_and_a_real_one_does_not(tmp_path: Path, strength: int):
    for user, outcome in (("", "ok"), ("geheim", "encrypted")):
        path = tmp_path / f"{user}.pdf"
        encryption = pdfencrypt.StandardEncryption(user, ownerPassword="eigner", strength=strength)
        canvas = Canvas(str(path), encrypt=encryption)
        canvas.drawString(70, 700, TEXT)
        canvas.save()
        extraction = read_document(path, LIMITS)
        assert extraction.outcome == outcome
        assert [page.text for page in extraction.pages] == ([TEXT] if outcome == "ok" else [])


def test_headers_go_and_headings_stay(tmp_path: Path):
    bodies = ["Erste Seite mit Text.", "3 Zuschlagskriterien", "Dritte Seite mit Text.", "Vierte Seite mit Text."]
    path = pdf(
        tmp_path / "a.pdf",
        [lines(f"Amt Muster – Seite {n} von 4", body, leading=30) for n, body in enumerate(bodies, start=1)],
    )
    extraction = read_document(path, LIMITS)
    assert extraction.dropped_lines == tuple(f"Amt Muster – Seite {n} von 4" for n in range(1, 5))
    assert [page.text for page in extraction.pages] == bodies
    assert not any("Seite 2 von 4" in passage.text for passage in passages_of(extraction.pages))


def test_headers_stay_in_two_pages(tmp_path: Path):
    path = pdf(tmp_path / "a.pdf", [lines("Amt Muster", TEXT, leading=30)] * 2)
    extraction = read_document(path, LIMITS)
    assert extraction.dropped_lines == ()
    assert extraction.pages[1].text == f"Amt Muster\n\n{TEXT}"


def test_footers_and_page_numbers_go(tmp_path: Path):
    pages = [
        [*lines(f"Text {word} der Seite."), (70, 40, "Vertraulich"), (300, 28, str(n))]
        for n, word in enumerate(("eins", "zwei", "drei", "vier"), start=9)
    ]
    extraction = read_document(pdf(tmp_path / "a.pdf", pages), LIMITS)
    assert [page.text for page in extraction.pages] == [
        f"Text {w} der Seite." for w in ("eins", "zwei", "drei", "vier")
    ]
    assert extraction.dropped_lines[:2] == ("Vertraulich", "9")


LEFT, RIGHT = ("Die Kommission prüft den", "Bericht."), ("Das Budget gilt für", "2027.")


@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("offset", [0, 4])
def test_two_columns_are_read_one_after_the_other(tmp_path: Path, by_row: bool, offset: float):
    left, right = lines(*LEFT), lines(*RIGHT, x=320, top=760 - offset)
    places = [p for row in zip(left, right, strict=True) for p in row] if by_row else left + right
    text = read_page(pdf(tmp_path / "a.pdf", [places]))
    assert "prüft den Bericht." in text
    assert "gilt für 2027." in text
    assert text.index("Bericht.") < text.index("Das Budget")


def test_title_above_columns_and_uneven_columns(tmp_path: Path):
    title = [(70, 790, "Ein Titel, der über beide Spalten der ganzen Seite reicht und weiter")]
    left = lines("Links steht eine erste Zeile", "und eine zweite Zeile links", "sowie eine dritte Zeile links.")
    right = lines("Rechts steht eine erste Zeile", "und eine zweite Zeile rechts.", x=320)
    text = read_page(pdf(tmp_path / "a.pdf", [title + left + right]))
    assert text == (
        f"{title[0][2]}\n\n"
        "Links steht eine erste Zeile und eine zweite Zeile links sowie eine dritte Zeile links.\n\n"
        "Rechts steht eine erste Zeile und eine zweite Zeile rechts."
    )


def test_justified_narrow_columns_are_no_table(tmp_path: Path):
    style = ParagraphStyle("column", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=8, alignment=TA_JUSTIFY)
    columns = [
        [
            "Die Kreislaufwirtschaftsverordnung verpflichtet Anbieterinnen zur Wiederverwendung von Verpackungen. " * 3,
            "Umweltmanagementsysteme nach anerkannten Normen weisen Verbesserungen der Ressourceneffizienz nach. " * 3,
        ],
        [
            "Transportdienstleistungen erfolgen mit emissionsarmen Fahrzeugen oder mit Lastenfahrrädern. " * 3,
            "Holzwerkstoffe stammen aus nachhaltig bewirtschafteten Wäldern mit unabhängigen Herkunftsnachweisen. " * 3,
        ],
    ]
    path = tmp_path / "a.pdf"
    document = BaseDocTemplate(str(path), pagesize=A4)
    document.addPageTemplates(PageTemplate("columns", [Frame(50, 50, 190, 700), Frame(260, 50, 190, 700)]))
    left, right = ([Paragraph(text, style) for text in column] for column in columns)
    document.build([*left, FrameBreak(), *right])
    assert read_page(path).split("\n\n") == [text.strip() for column in columns for text in column]


def test_short_cells_are_a_table_row_by_row(tmp_path: Path):
    left, right = lines("Kriterium", "Preis", "Qualität"), lines("Gewicht", "40 %", "60 %", x=320)
    text = read_page(pdf(tmp_path / "a.pdf", [left + right]))
    assert text == "Kriterium | Gewicht\nPreis | 40 %\nQualität | 60 %"


def test_ruled_table_with_wrapped_cells(tmp_path: Path):
    style = ParagraphStyle("cell", fontName="Helvetica", fontSize=10, leading=12)
    cells = [
        ["Die Lieferung erfolgt in Mehrweggebinden ohne Folie", "Nachweis durch ein Konzept der Anbieterin"],
        ["Das Holz stammt aus nachhaltiger Bewirtschaftung", "Nachweis durch ein Zertifikat der Herstellerin"],
    ]
    path = tmp_path / "a.pdf"
    table = Table([[Paragraph(cell, style) for cell in row] for row in cells], colWidths=[140, 140])
    table.setStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")])
    SimpleDocTemplate(str(path), pagesize=A4).build([table])
    assert read_page(path) == "\n".join(" | ".join(row) for row in cells)


def test_paragraphs_are_unwrapped_and_hyphens_mended(tmp_path: Path):
    style = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=10)
    first = "Die Anbieterin legt dar, wie sie die Kreislauffähigkeit der Produkte sichert. " * 5
    second = "Sie nennt die Herkunft des Holzes und die Wege der Lieferung. " * 5
    path = tmp_path / "a.pdf"
    SimpleDocTemplate(str(path), pagesize=A4).build([Paragraph(first, style), Paragraph(second, style)])
    assert read_page(path) == f"{first.strip()}\n\n{second.strip()}"
    hyphens = lines("Die Angaben zur Nach-", "haltigkeit und Baden-", "Württemberg sowie Ein-", "und Ausfuhr zählen.")
    text = read_page(pdf(tmp_path / "b.pdf", [hyphens]))
    assert text == "Die Angaben zur Nachhaltigkeit und Baden-Württemberg sowie Ein- und Ausfuhr zählen."


def test_list_items_stay_lines_and_are_no_table(tmp_path: Path):
    places = [
        (70, 760, "•"),
        (100, 760, "Holz aus der Region oder mit Zertifikat"),
        (100, 748, "einer Prüfstelle"),
        (70, 736, "•"),
        (100, 736, "Papier aus Altpapier"),
    ]
    text = read_page(pdf(tmp_path / "a.pdf", [places]))
    assert text == "• Holz aus der Region oder mit Zertifikat einer Prüfstelle\n• Papier aus Altpapier"


def test_turned_page_is_read_as_it_is_seen(tmp_path: Path):
    path = tmp_path / "a.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setPageRotation(90)
    canvas.rotate(90)
    canvas.setFont("Helvetica", 10)
    for x, y, text in lines("Die erste Zeile der Seite quer", "und die zweite Zeile quer.", x=100, top=-300):
        canvas.drawString(x, y, text)
    canvas.save()
    assert read_page(path) == "Die erste Zeile der Seite quer und die zweite Zeile quer."


def test_garbage_behind_a_pdf_header_fails_without_an_exception(tmp_path: Path):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "parse_failed"
    assert "not a readable PDF" in str(extraction.message)


def test_a_wrong_cross_reference_table_is_made_anew(tmp_path: Path):
    path = pdf(tmp_path / "a.pdf", [lines(TEXT)])
    data = path.read_bytes()
    at = data.rindex(b"startxref")
    path.write_bytes(data[:at] + b"startxref\n7\n%%EOF\n")
    assert read_page(path) == TEXT
    path.write_bytes(re.sub(rb"\d{10} 00000 n", b"0000000009 00000 n", data))
    assert read_page(path) == TEXT


def test_cut_file_never_raises(tmp_path: Path):
    whole = pdf(tmp_path / "a.pdf", [lines(TEXT)] * 3).read_bytes()
    for share in (0.3, 0.6, 0.95):
        path = tmp_path / "cut.pdf"
        path.write_bytes(whole[: int(len(whole) * share)])
        assert read_document(path, LIMITS).outcome in {"ok", "partial", "no_text_layer", "parse_failed"}


def test_limits_of_characters_and_bytes(tmp_path: Path):
    path = pdf(tmp_path / "a.pdf", [lines(TEXT)] * 3)
    assert read_document(path, LIMITS._replace(max_characters=80)).outcome == "too_large"
    assert read_document(path, LIMITS._replace(max_bytes=100)).outcome == "too_large"
