"""Texts of acts read again: what was landed and nothing else, from every kind of file."""

import json
from collections.abc import Callable
from pathlib import Path

import docx
import polars as pl
import pytest

from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash
from tendril_assets.resources import act_issues
from tendril_assets.resources.act_issues import IssueText, issue_texts, joined, plain_issue
from tendril_assets.resources.act_landing import LandedActs, landed_acts
from tendril_assets.resources.act_texts import iter_acts, read_acts
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets_tests.acts_landing import ACTS, BODY, ISSUE, KEYS, lay_out, rows, write
from tendril_assets_tests.corpus.documents import lines, pdf

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
    """The same issue as Word and as HTML gives the same acts; what cannot be read, or not whole, is told."""
    text = folder / "issues" / "b1.txt"
    printed = [line for line in ISSUE.splitlines() if line]
    text.unlink()
    html = write(
        folder / "issues" / "b1.html", "<html><body>" + "".join(f"<p>{line}</p>" for line in printed) + "</body></html>"
    )
    of_html = read_acts(landed(folder).documents)
    html.unlink()
    document = docx.Document()
    for line in printed:
        document.add_paragraph(line)
    document.save(str(folder / "issues" / "b1.docx"))
    of_word = read_acts(landed(folder).documents)
    for texts in (of_html, of_word):
        words = " ".join(texts["text"][2].split())
        assert words.startswith("10 апреля 2023 года № 6406-У УКАЗАНИЕ О форме отчета 1. Отчет")
        assert words.endswith("в отношении резервов.")
    (folder / "issues" / "b1.docx").unlink()
    broken = write(folder / "issues" / "b1.pdf", "нет")
    scanned = pdf(folder / "b2.pdf", [lines("A page with a line of text"), [], lines("and a second one")])
    read = {issue.path: issue for issue in issue_texts([broken, scanned], LIMITS)}
    assert read[broken].text is None
    assert read[broken].problem == "parse_failed: the content is no PDF file"
    assert read[scanned].text == "A page with a line of text\nand a second one"
    assert read[scanned].problem == "partial: 1 of 3 pages without text"


@pytest.fixture
def as_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None, str | None], None]:
    """Stands for the extraction of every issue: its text and what was wrong."""

    def stand(text: str | None, problem: str | None) -> None:
        monkeypatch.setattr(
            act_issues, "issue_texts", lambda paths, _: (IssueText(path, text, problem) for path in paths)
        )

    return stand


def test_what_is_wrong_with_an_issue_is_told_at_its_acts(
    folder: Path, as_read: Callable[[str | None, str | None], None]
) -> None:
    as_read(ISSUE, "partial: 1 of 3 pages without text")
    acts = landed(folder).acts
    told = acts.filter(project=KEYS[2])
    assert told["outcome"].item() == "kept"
    assert told["message"].item() == (
        "b1.txt was not read whole (partial: 1 of 3 pages without text), so a part may be missing"
    )
    assert acts.filter(project=KEYS[0])["message"].item() is None
    write(folder / "issues" / "b1.txt", "Другой выпуск")
    as_read(None, "encrypted: a password is needed")
    told = landed(folder).acts.filter(project=KEYS[2])
    assert told.select("outcome", "message").row(0) == (
        "not_found", "b1.txt cannot be read: encrypted: a password is needed",
    )  # fmt: skip


def test_a_larger_limit_reads_what_was_too_large(folder: Path) -> None:
    """Also in the same home, where the refusal is remembered."""
    small = LIMITS.model_copy(update={"max_bytes": 100})
    store = folder.parent / "issues.json"
    first = landed_acts(folder, small, file_hash, store).acts.filter(project=KEYS[2])
    assert str(first["message"].item()).startswith("b1.txt cannot be read: too_large: ")
    assert landed(folder).acts.filter(project=KEYS[2])["outcome"].item() == "kept"


def test_links_to_other_names(folder: Path) -> None:
    """The list, an act and the issues lie elsewhere under other names: what stands in the landing folder tells what they are."""
    plain = read_acts(landed(folder).documents)
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    for name, other in (("acts.jsonl", "list-2026.jsonl"), (f"acts/{KEYS[1]}.txt", "a.txt"), ("issues", "bulletins")):
        (folder / name).rename(elsewhere / other)
        (folder / name).symlink_to(elsewhere / other)
    assert read_acts(landed(folder).documents).equals(plain)


def test_a_killed_run_keeps_the_issues_it_has_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "issues" / "b2.txt", ISSUE.replace("6406-У", "6407-У"))
    rows(folder / "acts.jsonl", *ACTS, {"number": "6407-У", "date": "2023-04-10", "title": "О", "issue": "b2"})
    store, plain = folder.parent / "issues.json", act_issues.plain_issue
    stored: list[int] = []

    def read(path: Path) -> str:
        stored.append(len(json.loads(store.read_bytes())[1]) if store.exists() else 0)
        return plain(path)

    monkeypatch.setattr(act_issues, "plain_issue", read)
    monkeypatch.setattr(act_issues, "_KEPT_EVERY_S", -1.0)
    landed(folder)
    assert stored == [0, 1]


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
