from pathlib import Path

from tendril_assets.corpus.extract import read_document
from tendril_assets_tests.benchmarks.extraction import bare_pages, make, measure
from tendril_assets_tests.corpus.documents import LIMITS


def test_every_document_is_read_and_none_of_its_text_is_lost(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    [extraction] = [read_document(path, LIMITS) for path in made["pdf"]]
    # Headers, footers, hyphens and blanks aside: what pdfium gives, less two lines a page, more the cell separators.
    assert 0.97 < extraction.characters / bare_pages(made["pdf"][0]) < 1.01
    assert len(extraction.dropped_lines) == 2 * extraction.page_count + sum(
        line.startswith("Kriterium") for line in extraction.dropped_lines
    )


def test_figures_add_up(tmp_path: Path) -> None:
    figures = measure(tmp_path, 1)
    assert figures["documents"] == figures["read"] == 3
    assert figures["passages"] > 3 * 60 * 0.5
    assert figures["ratio_bare_pdfium"] > 1
