import zipfile
from pathlib import Path

import docx as python_docx
import pytest

from tendril_assets.corpus.extract import read_document
from tendril_assets_tests.corpus.documents import LIMITS, docx, paragraph, word_part

FIRST = "Die Anbieterin legt ein Umweltkonzept vor."
SECOND = "Das Holz stammt aus nachhaltiger Bewirtschaftung."


def text_of(path: Path) -> str:
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "ok", extraction.message
    [page] = extraction.pages
    return page.text


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_merged_cells_keep_columns_in_line_and_give_their_text_once(tmp_path: Path):
    document = python_docx.Document()
    made = document.add_table(rows=3, cols=3)
    for i, text in enumerate(["Los 1", "", "", "Umwelt", "Konzept", "30 %", "", "Label", "10 %"]):
        made.rows[i // 3].cells[i % 3].text = text
    made.cell(0, 0).merge(made.cell(0, 2))
    made.cell(1, 0).merge(made.cell(2, 0))
    document.save(str(tmp_path / "a.docx"))
    assert text_of(tmp_path / "a.docx") == "Los 1 | |\nUmwelt | Konzept | 30 %\n| Label | 10 %"


def test_a_span_of_millions_of_columns_is_bounded(tmp_path: Path):
    body = table(cell("Preis", '<w:gridSpan w:val="99999"/>') + cell("40 %"))
    assert text_of(docx(tmp_path / "a.docx", body)).replace(" |", "") == "Preis 40 %"


def test_table_within_a_cell_is_part_of_its_text(tmp_path: Path):
    inner = table(cell("Holz") + cell("FSC"), cell("Papier") + cell("Blauer Engel"))
    body = table(f"<w:tc>{paragraph('Label:')}{inner}{paragraph('gültig')}</w:tc>" + cell("20 %"))
    assert text_of(docx(tmp_path / "a.docx", body)) == "Label: Holz | FSC Papier | Blauer Engel gültig | 20 %"


@pytest.mark.parametrize(("part", "element", "reference"), [
    ("footnotes", "footnote", "footnoteReference"),
    ("endnotes", "endnote", "endnoteReference"),
])  # fmt: skip
def test_notes_stand_behind_the_paragraph_that_refers_to_them(tmp_path: Path, part: str, element: str, reference: str):
    notes = "".join(
        f'<w:{element} w:id="{number}" {kind}>{paragraph(text)}</w:{element}>'
        for number, kind, text in [(0, 'w:type="separator"', "weg"), (1, "", "Norm ISO 14001."), (2, "", "Ohne Bezug.")]
    )
    body = f'<w:p>{run("Ein Umweltmanagement")}<w:r><w:{reference} w:id="1"/></w:r>{run(" liegt vor.")}</w:p>'
    path = docx(tmp_path / "a.docx", body + paragraph(SECOND), {f"word/{part}.xml": word_part(part, notes)})
    assert text_of(path) == f"Ein Umweltmanagement liegt vor.\n\nNorm ISO 14001.\n\n{SECOND}"


def test_note_of_a_cell_stands_behind_the_table(tmp_path: Path):
    notes = word_part("footnotes", f'<w:footnote w:id="1">{paragraph("Ohne Mehrwertsteuer.")}</w:footnote>')
    noted = f'<w:tc><w:p>{run("Preis")}<w:r><w:footnoteReference w:id="1"/></w:r></w:p></w:tc>'
    path = docx(tmp_path / "a.docx", table(noted + cell("40 %")) + paragraph(FIRST), {"word/footnotes.xml": notes})
    assert text_of(path) == f"Preis | 40 %\n\nOhne Mehrwertsteuer.\n\n{FIRST}"


def test_headers_and_footers_are_dropped_lines(tmp_path: Path):
    parts: dict[str, str | bytes] = {
        "word/header1.xml": word_part("hdr", paragraph("Amt Muster")),
        "word/footer1.xml": word_part("ftr", paragraph("Nur für die Offertstellung") * 2),
    }
    extraction = read_document(docx(tmp_path / "a.docx", paragraph(FIRST), parts), LIMITS)
    assert [page.text for page in extraction.pages] == [FIRST]
    assert extraction.dropped_lines == ("Amt Muster", "Nur für die Offertstellung")


def test_tracked_changes_are_read_as_accepted(tmp_path: Path):
    deleted = '<w:del w:id="1"><w:r><w:delText>weg</w:delText></w:r></w:del>'
    body = (
        f"<w:p>{run('Die Frist beträgt ')}{deleted}<w:ins>{run('30')}</w:ins>{run(' Tage.')}</w:p>"
        f"<w:p><w:moveTo>{run('Verschoben.')}</w:moveTo></w:p><w:p><w:moveFrom>{run('Verschoben.')}</w:moveFrom></w:p>"
        # A deleted paragraph mark joins what was two paragraphs, a deleted row is gone with its cells.
        f"<w:p><w:pPr><w:rPr><w:del w:id='2'/></w:rPr></w:pPr>{run('Die Anbieterin ')}</w:p>{paragraph('haftet.')}"
        + table("<w:trPr><w:del w:id='3'/></w:trPr>" + cell("weg"), "<w:trPr><w:ins/></w:trPr>" + cell("Neu"))
    )
    assert text_of(docx(tmp_path / "a.docx", body)) == (
        "Die Frist beträgt 30 Tage.\n\nVerschoben.\n\nDie Anbieterin haftet.\n\nNeu"
    )


def test_content_controls_give_their_content_but_not_their_prompt(tmp_path: Path):
    control = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    prompt = control.format("<w:showingPlcHdr/>", run("Klicken Sie hier, um Text einzugeben."))
    body = (
        f"<w:p>{run('Firma: ')}{control.format('', run('Muster AG'))}</w:p><w:p>{run('Ort: ')}{prompt}{run('.')}</w:p>"
        + control.format('<w:showingPlcHdr w:val="0"/>', paragraph(FIRST))
    )
    assert text_of(docx(tmp_path / "a.docx", body)) == f"Firma: Muster AG\n\nOrt: .\n\n{FIRST}"


def test_hidden_text_powers_symbols_and_formulas(tmp_path: Path):
    high, low = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
    hidden, shown = "<w:vanish/>", '<w:vanish w:val="0"/>'
    runs = [
        *(run("10"), run("3", high), run(" m"), run("2", high), run(", CO"), run("2", low)),
        *(run("geheim", hidden), run(" sichtbar", shown)),
    ]
    body = (
        f"<w:p>{''.join(runs)}</w:p>"
        f'<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>{run(" ja")}</w:p>'
        "<w:p><m:oMath><m:r><m:t>P=40</m:t></m:r></m:oMath></w:p>"
    )
    assert text_of(docx(tmp_path / "a.docx", body)) == "10³ m², CO2 sichtbar\n\n☒ ja\n\nP=40"


def test_a_part_named_twice_is_read_once(tmp_path: Path):
    path = docx(tmp_path / "a.docx", paragraph(FIRST))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("word/document.xml", zipfile.ZipFile(path).read("word/document.xml"))
    assert text_of(path) == FIRST
