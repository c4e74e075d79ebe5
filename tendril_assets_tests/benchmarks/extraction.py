"""Reading documents and building passages: pages per CPU second.

``python -m tendril_assets_tests.benchmarks.extraction [--size small|published]``

A mix as tenders have it: PDF files with justified paragraphs, headings, ruled tables, two columns, headers and footers;
Word files with tables; web pages. The baseline is pdfium's own text of the same PDF files, page by page, without any
order, column, table or line end put right. Both are taken in turns in this process, best of three; the pool of child
processes is timed apart.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docx
import pypdfium2
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Table

from tendril_assets.corpus.chunking import passages_of
from tendril_assets.corpus.extract import Extraction, read_document, read_documents
from tendril_assets_tests.corpus.documents import LIMITS

# documents of each kind; the published collection has 2,892
SIZES = {"small": 4, "published": 60}
PARAGRAPHS = 60
WORDS = """die Anbieterin legt dar wie sie Kreislauffähigkeit der Produkte sichert und Herkunft des Holzes Wege Lieferung
nachhaltige Beschaffung Kriterien Zuschlag Gewichtung Nachweis Zertifikat Emissionen Transport Verpackung Energie
ökologische soziale Mindestlöhne für alle Lose gelten Bedingungen sowie Angaben in den Beilagen"""
VOCABULARY = WORDS.split()
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=12, spaceAfter=8, alignment=TA_JUSTIFY)
HEADING = ParagraphStyle("heading", fontName="Helvetica-Bold", fontSize=13, leading=16, spaceAfter=6)
FRAMES = {1: [(50, 60, 495, 720)], 2: [(50, 60, 238, 720), (307, 60, 238, 720)]}


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choice(VOCABULARY) for _ in range(draw.randint(6, 18))).capitalize() + "."


def paragraph(draw: random.Random) -> str:
    return " ".join(sentence(draw) for _ in range(draw.randint(2, 6)))


def table_rows(draw: random.Random) -> list[list[str]]:
    head = ["Kriterium", "Nachweis", "Gewicht"]
    return [head, *([sentence(draw), sentence(draw), f"{draw.randint(1, 99)} %"] for _ in range(5))]


def make_pdf(path: Path, draw: random.Random, columns: int) -> None:
    story: list[Flowable] = []
    for i in range(PARAGRAPHS):
        if i % 5 == 0:
            story.append(Paragraph(f"{i // 5 + 1} Anforderungen an die Lieferung", HEADING))
        if i % 9 == 4 and columns == 1:
            rows = [[Paragraph(cell, BODY) for cell in row] for row in table_rows(draw)]
            table = Table(rows, colWidths=[200, 200, 80], repeatRows=1)
            table.setStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")])
            story.append(table)
        story.append(Paragraph(paragraph(draw), BODY))

    def edges(canvas: Any, document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(50, 810, "Amt für Umwelt, Ausschreibung")
        canvas.drawString(500, 30, f"Seite {document.page}")

    frames = [Frame(*frame, leftPadding=0, rightPadding=0) for frame in FRAMES[columns]]
    document = BaseDocTemplate(str(path), pagesize=A4)
    document.addPageTemplates(PageTemplate("page", frames, onPage=edges))
    document.build(story)


def make_docx(path: Path, draw: random.Random) -> None:
    document = docx.Document()
    for i in range(PARAGRAPHS):
        if i % 5 == 0:
            document.add_heading(f"{i // 5 + 1} Anforderungen an die Lieferung", level=1)
        if i % 15 == 4:
            rows = table_rows(draw)
            table = document.add_table(rows=len(rows), cols=3)
            for row, cells in zip(table.rows, rows, strict=True):
                for cell, text in zip(row.cells, cells, strict=True):
                    cell.text = text
        document.add_paragraph(paragraph(draw))
    document.save(str(path))


def make_html(path: Path, draw: random.Random) -> None:
    parts = ["<html><body>"]
    for i in range(PARAGRAPHS):
        if i % 5 == 0:
            parts.append(f"<h2>{i // 5 + 1} Anforderungen an die Lieferung</h2>")
        if i % 9 == 4:
            rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in table_rows(draw))
            parts.append(f"<table>{rows}</table>")
        parts.append(f"<p>{paragraph(draw)}</p>")
    path.write_text("".join(parts), encoding="utf-8")


def make(folder: Path, n: int) -> dict[str, list[Path]]:
    draw = random.Random(42)
    made: dict[str, list[Path]] = {"pdf": [], "docx": [], "html": []}
    for i in range(n):
        for kind, paths in made.items():
            paths.append(folder / f"{i}.{kind}")
        make_pdf(made["pdf"][-1], draw, columns=1 + i % 2)
        make_docx(made["docx"][-1], draw)
        make_html(made["html"][-1], draw)
    return made


def bare_pages(path: Path) -> int:
    """Characters of all pages, as pdfium gives them."""
    with pypdfium2.PdfDocument(path) as document:
        characters = 0
        for page in document:
            textpage = page.get_textpage()
            characters += len(textpage.get_text_range())
            textpage.close()
            page.close()
    return characters


def count_passages(extractions: list[Extraction]) -> int:
    return sum(len(passages_of(extraction.pages)) for extraction in extractions)


def cpu_of(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def measure(folder: Path, n: int) -> dict[str, Any]:
    """Figures of ``n`` documents of each kind, made in ``folder``."""
    made = make(folder, n)
    seconds = dict.fromkeys([*made, "bare", "passages"], math.inf)
    read: dict[str, list[Extraction]] = {}
    passages = 0
    for _ in range(3):
        for kind, paths in made.items():
            cpu, read[kind] = cpu_of(partial(read_all, paths))
            seconds[kind] = min(seconds[kind], cpu)
        cpu, _ = cpu_of(lambda: [bare_pages(path) for path in made["pdf"]])
        seconds["bare"] = min(seconds["bare"], cpu)
        everything = [extraction for group in read.values() for extraction in group]
        cpu, passages = cpu_of(partial(count_passages, everything))
        seconds["passages"] = min(seconds["passages"], cpu)
    jobs = [(path.name, path) for paths in made.values() for path in paths]
    begin = time.perf_counter()
    outcomes = [result.extraction.outcome for result in read_documents(jobs, LIMITS, workers=2)]
    pool_s = time.perf_counter() - begin
    pages = sum(extraction.page_count for extraction in read["pdf"])
    characters = {kind: sum(extraction.characters for extraction in group) for kind, group in read.items()}
    return {
        "documents": len(jobs),
        "read": outcomes.count("ok"),
        "pdf_pages": pages,
        "pdf_pages_per_cpu_s": pages / seconds["pdf"],
        "bare_pages_per_cpu_s": pages / seconds["bare"],
        "ratio_bare_pdfium": seconds["pdf"] / seconds["bare"],
        "docx_mb_text_per_cpu_s": characters["docx"] / seconds["docx"] / 1e6,
        "html_mb_text_per_cpu_s": characters["html"] / seconds["html"] / 1e6,
        "passages": passages,
        "passages_per_cpu_s": passages / seconds["passages"],
        "pool_documents_per_s": len(jobs) / pool_s,
    }


def read_all(paths: list[Path]) -> list[Extraction]:
    return [read_document(path, LIMITS) for path in paths]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    size = parser.parse_args().size
    with TemporaryDirectory() as folder:
        figures = {"size": size} | measure(Path(folder), SIZES[size])
    for name, value in figures.items():
        print(f"{name:34} {value:.6g}" if isinstance(value, float) else f"{name:34} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
