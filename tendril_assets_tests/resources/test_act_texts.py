"""Texts of acts read again: what was landed and nothing else, from every kind of file."""

from collections.abc import Callable
from pathlib import Path

import docx
import polars as pl
import pytest

from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash
from tendril_assets.resources.act_issues import joined, plain_issue
from tendril_assets.resources.act_landing import LandedActs, landed_acts
from tendril_assets.resources.act_texts import iter_acts, read_acts
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets_tests.acts_landing import BODY, ISSUE, KEYS, lay_out, rows, write

LIMITS = ExtractionSpec()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "landing")


def landed(folder: Path) -> LandedActs:
    return landed_acts(folder, LIMITS, file_hash, folder.parent / "issues.json")


def test_texts_in_the_order_asked_for(folder: Path) -> None:
    documents = landed(folder).documents.reverse()
    texts = read_acts(documents)
    assert texts.columns == ["project", "document", "text"]
    assert texts["project"].to_list() == list(reversed(KEYS))
    assert texts["text"][2] == BODY
    assert texts["text"][1] == "1. Проверку начинают по приказу.\n2. Она длится десять дней."
    assert texts["text"][0].startswith("10 апреля 2023 года № 6406-У\nУКАЗАНИЕ")
    assert texts["text"][0].endswith("в отношении резервов.")


def test_a_part_of_the_acts(folder: Path) -> None:
    documents = landed(folder).documents
    assert [name for name, _, _ in iter_acts(documents.filter(project=KEYS[2]))] == [KEYS[2]]
    assert read_acts(documents.head(0)).is_empty()


def change_list(folder: Path) -> None:
    rows(folder / "acts.jsonl", {"number": "590-П", "date": "2017-06-28", "text": BODY + "!"})


def change_file(folder: Path) -> None:
    write(folder / "acts" / f"{KEYS[1]}.txt", "1. Проверку начинают по письму.")


def change_issue(folder: Path) -> None:
    write(folder / "issues" / "b1.txt", ISSUE.replace("составляют", "готовят"))


def lose_file(folder: Path) -> None:
    (folder / "acts" / f"{KEYS[1]}.txt").unlink()


def take_from_the_issue(folder: Path) -> None:
    rows(folder / "acts.jsonl", {"number": "590-П", "date": "2017-06-28", "text": BODY})


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (change_list, KEYS[0]),
        (change_file, KEYS[1]),
        (change_issue, KEYS[2]),
        (lose_file, KEYS[1]),
        (take_from_the_issue, KEYS[2]),
    ],
)
def test_what_changed_since_landing_is_refused(folder: Path, change: Callable[[Path], None], key: str) -> None:
    documents = landed(folder).documents
    change(folder)
    with pytest.raises(LandingError, match=f"{key}/act.txt.*materialise the landing assets again"):
        read_acts(documents.filter(project=key))
    with pytest.raises(LandingError):
        read_acts(documents)


def test_a_change_elsewhere_is_no_change(folder: Path) -> None:
    documents = landed(folder).documents
    change_file(folder)
    assert read_acts(documents.filter(pl.col("project") != KEYS[1])).height == 2


def test_issues_of_other_formats(folder: Path) -> None:
    """The same issue as Word and as HTML gives the same acts; one that cannot be read says so at each of its acts."""
    text = folder / "issues" / "b1.txt"
    lines = [line for line in ISSUE.splitlines() if line]
    text.unlink()
    html = write(
        folder / "issues" / "b1.html", "<html><body>" + "".join(f"<p>{line}</p>" for line in lines) + "</body></html>"
    )
    of_html = read_acts(landed(folder).documents)
    html.unlink()
    document = docx.Document()
    for line in lines:
        document.add_paragraph(line)
    document.save(str(folder / "issues" / "b1.docx"))
    of_word = read_acts(landed(folder).documents)
    for texts in (of_html, of_word):
        words = " ".join(texts["text"][2].split())
        assert words.startswith("10 апреля 2023 года № 6406-У УКАЗАНИЕ О форме отчета 1. Отчет")
        assert words.endswith("в отношении резервов.")
    (folder / "issues" / "b1.docx").unlink()
    write(folder / "issues" / "b1.pdf", "нет")
    acts = landed(folder).acts.filter(project=KEYS[2])
    assert acts["outcome"].item() == "not_found"
    assert acts["message"].item() == "b1.pdf cannot be read: parse_failed: the content is no PDF file"


def test_a_plain_issue_loses_its_running_headers(tmp_path: Path) -> None:
    words = ("срок", "отчет", "учет", "архив")
    pages = [f"ВЕСТНИК    № 3 (2020)\n\n{n}. Это {word}.\n\n{n}\n" for n, word in enumerate(words, start=1)]
    path = tmp_path / "b.txt"
    path.write_bytes("\f".join(pages).encode("cp1251"))
    assert plain_issue(path) == "1. Это срок.\n\n2. Это отчет.\n\n3. Это учет.\n\n4. Это архив."


def test_cells_of_a_table_stay_apart(tmp_path: Path) -> None:
    assert plain_issue(write(tmp_path / "b.txt", "Срок\tДней\nДа\t5\n")) == "Срок | Дней\nДа | 5"


def test_a_sentence_goes_on_over_the_page() -> None:
    assert joined(["Банк хранит", "документы.", "", "Второй"]) == "Банк хранит\nдокументы.\n\nВторой"
