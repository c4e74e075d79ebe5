"""Reading order of PDF pages as documents have them: columns, tables, forms, turned and spaced text."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from reportlab.lib import colors
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    HRFlowable,
    LongTable,
    PageTemplate,
    Paragraph,
    Table,
)

from tendril_assets.corpus.extract import read_document
from tendril_assets_tests.corpus.documents import LIMITS, lines, pdf

A = "Die Anbieterin legt dar, wie sie die Wiederverwendung der Verpackungen im Betrieb sichert und nachweist."
B = "Der Transport erfolgt mit emissionsarmen Fahrzeugen, welche die Norm Euro 6 oder eine bessere erfüllen."
C = "Das Holz stammt aus nachhaltiger Bewirtschaftung und trägt ein Label einer unabhängigen Prüfstelle."
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=8)
JUSTIFIED = ParagraphStyle("justified", parent=BODY, alignment=TA_JUSTIFY)
HEADING = ParagraphStyle("heading", fontName="Helvetica-Bold", fontSize=14, leading=17, spaceAfter=6)
WIDE = [(50, 300, 495, 450)]
GRID = ("GRID", (0, 0), (-1, -1), 0.5, "black")
CRITERIA = [["Kriterium", "Nachweis", "Gewicht"], ["Preis", "Offerte", "40 %"], ["Umwelt", C, "30 %"]]
AS_ROWS = f"Kriterium | Nachweis | Gewicht\nPreis | Offerte | 40 %\nUmwelt | {C} | 30 %"


def page_of(path: Path, frames: Sequence[tuple[float, float, float, float]], story: Sequence[Flowable]) -> str:
    document = BaseDocTemplate(str(path / "a.pdf"), pagesize=A4)
    bare = [Frame(*frame, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0) for frame in frames]
    document.addPageTemplates(PageTemplate("page", bare))
    document.build(list(story))
    return text_of(path / "a.pdf")


def text_of(path: Path) -> str:
    extraction = read_document(path, LIMITS)
    assert extraction.outcome == "ok", extraction.message
    [page] = extraction.pages
    return page.text


def drawn(path: Path, draw: Callable[[Canvas], object]) -> Path:
    canvas = Canvas(str(path / "a.pdf"), pagesize=A4)
    canvas.setFont("Helvetica", 10)
    draw(canvas)
    canvas.save()
    return path / "a.pdf"


def table(rows: list[list[str]], style: list[tuple], widths: tuple[int, ...] = (100, 200, 60)) -> Table:
    cells = [[Paragraph(cell, BODY) if len(cell) > 20 else cell for cell in row] for row in rows]
    made = Table(cells, colWidths=widths)
    made.setStyle(style)
    return made


@pytest.mark.parametrize("style", [BODY, JUSTIFIED], ids=["ragged", "justified"])
def test_wide_text_above_between_and_below_columns(tmp_path: Path, style: ParagraphStyle):
    frames = [
        (50, 700, 495, 60), (50, 550, 235, 145), (310, 550, 235, 145), (50, 490, 495, 55),
        (50, 300, 235, 185), (310, 300, 235, 185), (50, 200, 495, 90),
    ]  # fmt: skip
    texts = [
        f"OBEN {C} {C}",
        f"LINKS {A} {A}",
        f"RECHTS {B} {B} {B}",
        f"MITTE {C} {C}",
        f"L2 {C} {A}",
        f"R2 {A} {B}",
        C,
    ]
    story: list[Flowable] = []
    for text in texts:
        story += [Paragraph(text, style), FrameBreak()]
    assert page_of(tmp_path, frames, story[:-1]).split("\n\n") == texts


def test_three_columns_with_headings_at_one_height(tmp_path: Path):
    frames = [(50, 400, 155, 350), (220, 400, 155, 350), (390, 400, 155, 350)]
    columns = [["1 Umwelt", f"{A} {A} {A}"], ["2 Holz", f"{B} {B}", C], ["3 Verkehr", f"{C} {C} {C}"]]
    story: list[Flowable] = []
    for heading, *texts in columns:
        story += [Paragraph(heading, HEADING), *(Paragraph(text, BODY) for text in texts), FrameBreak()]
    assert page_of(tmp_path, frames, story[:-1]).split("\n\n") == [text for column in columns for text in column]


def test_a_table_over_the_whole_width_parts_the_columns_above_from_those_below(tmp_path: Path):
    frames = [(50, 600, 235, 150), (310, 600, 235, 150), (50, 480, 495, 110), (50, 300, 235, 175), (310, 300, 235, 175)]
    above, below = [f"{A} {A}", f"{B} {B}"], [f"{C} {A}", f"{A} {C}"]
    story: list[Flowable] = [Paragraph(above[0], BODY), FrameBreak(), Paragraph(above[1], BODY), FrameBreak()]
    story += [table(CRITERIA, [GRID], (150, 250, 95)), FrameBreak(), Paragraph(below[0], BODY), FrameBreak()]
    assert page_of(tmp_path, frames, [*story, Paragraph(below[1], BODY)]).split("\n\n") == [*above, AS_ROWS, *below]


def test_a_table_within_a_column_stays_there(tmp_path: Path):
    frames = [(50, 300, 235, 450), (310, 300, 235, 450)]
    small = table([["Kriterium", "Gewicht"], ["Preis", "40 %"]], [GRID], (120, 60))
    story = [Paragraph(A, BODY), small, Paragraph(B, BODY), FrameBreak(), Paragraph(" ".join([C] * 5), BODY)]
    assert page_of(tmp_path, frames, story).split("\n\n") == [
        A,
        "Kriterium | Gewicht\nPreis | 40 %",
        B,
        " ".join([C] * 5),
    ]


@pytest.mark.parametrize(
    "style",
    [
        [GRID],
        [GRID, ("VALIGN", (0, 0), (-1, -1), "MIDDLE")],
        [("LINEABOVE", (0, 0), (-1, 0), 1, "black"), *[("LINEBELOW", (0, y), (-1, y), 1, "black") for y in (0, -1)]],
        [("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey)],
        [("ROWBACKGROUNDS", (0, 0), (-1, -1), [colors.white, colors.lightgrey])],
        [("BOX", (0, 0), (-1, -1), 1, "black"), ("LINEAFTER", (0, 0), (1, -1), 1, "black")],
    ],
    ids=["grid", "middle", "head and foot", "shaded head", "shaded rows", "verticals"],
)  # fmt: skip
def test_tables_drawn_in_many_ways_are_read_row_by_row(tmp_path: Path, style: list[tuple]):
    top = ("VALIGN", (0, 0), (-1, -1), "TOP")
    story = [Paragraph(A, BODY), table(CRITERIA, [top, *style]), Paragraph(B, BODY)]
    assert page_of(tmp_path, WIDE, story).split("\n\n") == [A, AS_ROWS, B]


def test_a_table_without_lines_whose_cells_are_sentences(tmp_path: Path):
    rows = [["Anforderung", "Nachweis"], [f"K1 {A}", f"N1 {B} {B}"], [f"K2 {C} {C}", f"N2 {A}"], [f"K3 {C}", f"N3 {A}"]]
    for align in ("TOP", "MIDDLE"):
        story = [Paragraph(A, BODY), table(rows, [("VALIGN", (0, 0), (-1, -1), align)], (240, 240)), Paragraph(B, BODY)]
        assert page_of(tmp_path, WIDE, story).split("\n\n") == [A, "\n".join(" | ".join(row) for row in rows), B]


def test_columns_with_paragraphs_at_equal_heights_are_no_table(tmp_path: Path):
    frames = [(50, 300, 235, 450), (310, 300, 235, 450)]
    story: list[Flowable] = [*[Paragraph(A, BODY)] * 3, FrameBreak(), *[Paragraph(B, BODY)] * 3]
    assert page_of(tmp_path, frames, story).split("\n\n") == [A] * 3 + [B] * 3


def test_merged_and_narrow_cells(tmp_path: Path):
    rows = [["Los 1", "", ""], ["Umwelt", "Konzept", "30 %"], ["", "Label", "10 %"], ["Preis", "Offerte", "60 %"]]
    spans = [("SPAN", (0, 0), (-1, 0)), ("SPAN", (0, 1), (0, 2)), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    assert page_of(tmp_path, WIDE, [table(rows, [GRID, *spans])]) == (
        "Los 1\nUmwelt | Konzept | 30 %\n| Label | 10 %\nPreis | Offerte | 60 %"
    )
    narrow = [GRID, ("LEFTPADDING", (0, 0), (-1, -1), 2), ("RIGHTPADDING", (0, 0), (-1, -1), 2)]
    text = page_of(tmp_path, WIDE, [table([["Kriterium", "G", "P"], ["Preis", "40 %", "5"]], narrow, (60, 24, 14))])
    assert text == "Kriterium | G | P\nPreis | 40 % | 5"


def test_a_frame_and_ruled_off_paragraphs_are_text(tmp_path: Path):
    frame = table([[f"{A} {A}"]], [("BOX", (0, 0), (-1, -1), 1, "black")], (400,))
    story = [Paragraph(B, BODY), frame, HRFlowable("100%"), Paragraph(C, BODY), HRFlowable("100%"), Paragraph(B, BODY)]
    assert page_of(tmp_path, WIDE, story).split("\n\n") == [B, f"{A} {A}", C, B]


def test_the_head_of_a_table_over_several_pages_stays_once_and_its_rows_stay(tmp_path: Path):
    rows = [["Kriterium", "Nachweis", "Punkte"], *([f"Kriterium Nummer {i}", f"Beleg {i}", str(i)] for i in range(90))]
    long = LongTable(rows, colWidths=[200, 150, 80], repeatRows=1)
    long.setStyle([GRID])
    document = BaseDocTemplate(str(tmp_path / "a.pdf"), pagesize=A4)
    document.addPageTemplates(PageTemplate("page", [Frame(50, 100, 495, 650)]))
    document.build([long])
    extraction = read_document(tmp_path / "a.pdf", LIMITS)
    assert extraction.page_count == 3
    assert "\n".join(page.text for page in extraction.pages) == "\n".join(" | ".join(row) for row in rows)
    assert extraction.dropped_lines == ("Kriterium Nachweis Punkte",) * 2


def test_an_address_keeps_its_lines_and_a_table_of_contents_its_entries(tmp_path: Path):
    address = ["Kanton Muster", "Tiefbauamt", "Reiterstrasse 11", "3011 Bern"]
    text = page_of(tmp_path, WIDE, [Paragraph("<br/>".join(address), BODY), Paragraph(f"{A} {A}", BODY)])
    assert text == "\n".join(address) + f"\n\n{A} {A}"
    entries = ["1 Allgemeines ................................ 3", "2 Zuschlagskriterien ..................... 4"]
    assert text_of(pdf(tmp_path / "b.pdf", [lines(*entries)])) == "\n".join(entries)


def test_words_set_letter_by_letter(tmp_path: Path):
    text = text_of(pdf(tmp_path / "a.pdf", [[(70, 760, "Z U S C H L A G   U N D   P R E I S"), (70, 720, A)]]))
    assert text == f"ZUSCHLAG UND PREIS\n\n{A}"

    def one_by_one(canvas: Canvas) -> None:
        x = 70.0
        for char in "Zeichen für Zeichen":
            if char != " ":
                canvas.drawString(x, 760, char)
            x += canvas.stringWidth(char)

    assert text_of(drawn(tmp_path, one_by_one)) == "Zeichen für Zeichen"


def test_powers_are_powers(tmp_path: Path):
    text = page_of(
        tmp_path, WIDE, [Paragraph("Auf 120 m<super>2</super>, 10<super>3</super> Stück, CO<sub>2</sub>.", BODY)]
    )
    assert text == "Auf 120 m², 10³ Stück, CO2."


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_text_is_read_in_the_direction_it_is_set(tmp_path: Path, angle: int):
    def turned(canvas: Canvas) -> None:
        canvas.translate(300, 400)
        canvas.rotate(angle)
        for x, y, text in lines("Die erste Zeile a b c der Seite", "und die zweite Zeile quer.", x=-150, top=50):
            canvas.drawString(x, y, text)

    assert text_of(drawn(tmp_path, turned)) == "Die erste Zeile a b c der Seite und die zweite Zeile quer."


def test_text_in_the_margin_comes_last_and_a_slanted_stamp_is_dropped(tmp_path: Path):
    def stamped(canvas: Canvas) -> None:
        for x, y, text in lines(A, B, leading=30):
            canvas.drawString(x, y, text)
        canvas.saveState()
        canvas.translate(30, 400)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Kanton Muster, Form 12")
        canvas.restoreState()
        canvas.translate(200, 400)
        canvas.rotate(45)
        canvas.drawString(0, 0, "ENTWURF 3")

    extraction = read_document(drawn(tmp_path, stamped), LIMITS)
    assert extraction.pages[0].text == f"{A}\n\n{B}\n\nKanton Muster, Form 12"
    assert extraction.dropped_lines == ("ENTWURF 3",)


def test_text_off_the_page_is_left_out(tmp_path: Path):
    assert text_of(pdf(tmp_path / "a.pdf", [[(70, 760, A), (70, 2000, "unsichtbar"), (-900, 500, "unsichtbar")]])) == A


def test_values_of_a_form_stand_at_their_place(tmp_path: Path):
    def form(canvas: Canvas) -> None:
        fields = canvas.acroForm
        for y, label in ((760, "Firma:"), (730, "ISO 14001:"), (700, "Land:"), (670, "Geheim:"), (640, "Leer:")):
            canvas.drawString(70, y, label)
        fields.textfield(name="firma", x=150, y=755, width=200, height=16, value="Muster AG", borderWidth=0)
        fields.checkbox(name="ja", x=150, y=727, size=12, checked=True)
        fields.checkbox(name="nein", x=190, y=727, size=12, checked=False)
        fields.choice(
            name="land", x=150, y=695, width=99, height=16, value="CH", options=[("Schweiz", "CH"), ("FL", "LI")]
        )
        fields.textfield(name="pin", x=150, y=665, width=99, height=16, value="1234", fieldFlags="password")
        fields.textfield(name="leer", x=150, y=635, width=99, height=16, value="")
        canvas.freeTextAnnotation("Gilt auch für Los 2", "/Helv 10 Tf", Rect=[70, 600, 300, 620])
        canvas.textAnnotation("Kommentar der Prüferin", Rect=[400, 600, 420, 620])

    text = text_of(drawn(tmp_path, form))
    assert [line.replace(" | ", " ") for line in text.split("\n") if line] == [
        "Firma: Muster AG", "ISO 14001: ☒ ☐", "Land: CH", "Geheim:", "Leer:", "Gilt auch für Los 2"
    ]  # fmt: skip
