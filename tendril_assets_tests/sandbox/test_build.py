"""The sample collection: the same bytes every time, small, complete and as hard as it is meant to be."""

import csv
import dataclasses
import hashlib
import io
import json
import math
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import docx
import pypdfium2
import pytest
import yaml

from tendril_assets.corpus.restrictions import find_restrictions
from tendril_assets.errors import LandingError
from tendril_assets.records import TIERS
from tendril_assets.sandbox import pdf
from tendril_assets.sandbox.build import LandingSummary, build_landing
from tendril_assets.sandbox.layout import PDF_NAMES
from tendril_assets.sandbox.lexicon import AREA_STEMS
from tendril_assets.sandbox.plan import STRONG, projects

MAX_BYTES = 4_000_000


@dataclasses.dataclass(frozen=True)
class Landed:
    folder: Path
    summary: LandingSummary

    def rows(self, name: str) -> list[dict[str, str]]:
        text = (self.folder / name).read_text(encoding="utf-8")
        return list(csv.DictReader(io.StringIO(text), delimiter="\t" if name.endswith(".tsv") else ","))

    def lines(self, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / name).read_text(encoding="utf-8").splitlines()]

    def files(self, pattern: str) -> list[Path]:
        return sorted(p for p in self.folder.glob(pattern) if p.is_file())


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Landed:
    target = tmp_path_factory.mktemp("landing")
    summary = build_landing(target)
    return Landed(target / "tenders", summary)


def text_of(path: Path) -> str:
    """All text of a document, whatever its format."""
    if path.suffix == ".pdf":
        password = pdf.USER_PASSWORD if "geschuetzt" in path.name else None
        with pypdfium2.PdfDocument(path, password=password) as document:
            return "\n".join(page.get_textpage().get_text_range() for page in document)
    if path.suffix == ".docx":
        word = docx.Document(str(path))
        cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
        return "\n".join([*(p.text for p in word.paragraphs), *cells])
    return path.read_text(encoding="utf-8")


def test_two_runs_write_the_same_bytes(landed: Landed, tmp_path: Path) -> None:
    build_landing(tmp_path)

    def digests(folder: Path) -> dict[str, str]:
        files = (p for p in folder.rglob("*") if p.is_file())
        return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    assert digests(tmp_path / "tenders") == digests(landed.folder)


def test_an_earlier_sample_is_replaced_and_nothing_else_is(landed: Landed, tmp_path: Path) -> None:
    shutil.copytree(landed.folder, tmp_path / "tenders")
    (tmp_path / "tenders" / "documents" / "left_over.txt").write_text("old", encoding="utf-8")
    (tmp_path / "other").mkdir()
    build_landing(tmp_path)
    assert not (tmp_path / "tenders" / "documents" / "left_over.txt").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "tenders"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "tenders" / "projects.csv"
    own.parent.mkdir()
    own.write_text("project\n1\n", encoding="utf-8")
    with pytest.raises(LandingError, match="not a sample"):
        build_landing(tmp_path)
    assert own.read_text(encoding="utf-8") == "project\n1\n"


def test_size_and_counts(landed: Landed) -> None:
    summary = landed.summary
    assert sum(p.stat().st_size for p in landed.files("**/*")) == summary.bytes < MAX_BYTES
    assert (summary.projects, summary.test_projects, summary.restricted_projects) == (45, 9, 5)
    assert summary.documents == len(landed.files("documents/*/*")) >= 80
    assert 1_600 <= summary.passages <= 2_200
    assert (summary.areas, summary.criteria) == (20, 50)
    assert summary.calibration_pairs == 160


def test_projects_and_evidence(landed: Landed) -> None:
    rows = landed.rows("projects.csv")
    numbers = {r["project"] for r in rows}
    assert len(numbers) == len(rows) == 45
    assert all(re.fullmatch(r"\d{5}", n) for n in numbers)
    assert {r["published"][:4] for r in rows} <= {"2024", "2025", "2026"}
    assert Counter(r["language"] for r in rows) == {"de": 41, "fr": 2, "it": 2}
    assert {p.parent.name for p in landed.files("documents/*/*")} == numbers
    evidence = landed.rows("evidence.csv")
    assert {r["project"] for r in evidence} == numbers
    assert {r["tier"] for r in evidence} == set(TIERS)
    assert len({(r["project"], r["area"]) for r in evidence}) == len(evidence)
    # Every area can reach three training projects, which is what the coverage rule asks for.
    training = numbers - {r["project"] for r in landed.rows("test/projects.csv")}
    reach = Counter(r["area"] for r in evidence if r["project"] in training)
    assert len(reach) == 20
    assert min(reach.values()) >= 3


def test_validated_evidence_is_true() -> None:
    for project in projects():
        for area, tier in project.tiers.items():
            if tier == "validated_relevant":
                assert project.depth[area] == STRONG
            if tier == "irrelevant":
                assert project.depth[area] == "none"


def test_catalogs(landed: Landed) -> None:
    catalogs = [yaml.safe_load(p.read_text(encoding="utf-8")) for p in landed.files("catalogs/*.yaml")]
    areas = [a for c in catalogs for a in c["areas"]]
    criteria = [c for a in areas for c in a["criteria"]]
    assert len(catalogs) == 4
    assert len({a["id"] for a in areas}) == len(areas) == 20
    assert len({c["id"] for c in criteria}) == len(criteria) == 50
    assert all(60 <= len(a["text"].split()) <= 130 for a in areas)
    assert all(set(c) == {"id", "text", "levels"} for c in criteria)
    assert all(list(c["levels"]) == ["basis", "gute_praxis", "vorbild"] for c in criteria)
    assert {a["id"] for a in areas} == set(AREA_STEMS)


def test_removals_name_what_exists(landed: Landed) -> None:
    removals = landed.rows("removals.csv")
    assert Counter(r["kind"] for r in removals) == {"document": 1, "project": 1}
    for row in removals:
        assert (landed.folder / "documents" / row["id"]).exists()


def test_every_pdf_opens_and_the_special_ones_are_what_they_claim(landed: Landed) -> None:
    empty_pages: dict[str, list[int]] = {}
    multi_page = 0
    for path in landed.files("documents/*/*.pdf"):
        if "geschuetzt" in path.name:
            with pytest.raises(pypdfium2.PdfiumError):
                pypdfium2.PdfDocument(path)
        with pypdfium2.PdfDocument(path, password=pdf.USER_PASSWORD) as document:
            lengths = [len(page.get_textpage().get_text_range().strip()) for page in document]
        multi_page += len(lengths) > 2
        if 0 in lengths:
            empty_pages[path.name.split("_")[0]] = [i for i, n in enumerate(lengths, start=1) if n == 0]
    # The scan has no text at all; the partial one lacks it on page 2 only.
    assert empty_pages == {"Situationsplan": [1], "Ausschreibungsunterlagen.pdf": [2]}
    assert multi_page >= 20


def test_columns_headers_and_footers(landed: Landed) -> None:
    project = next(p for p in projects() if p.position == 13)
    path = next(p for p in landed.files(f"documents/{project.number}/*.pdf") if p.name in PDF_NAMES)
    with pypdfium2.PdfDocument(path) as document:
        page = document[0]
        width = page.get_width()
        textpage = page.get_textpage()
        lefts = [textpage.get_rect(i)[0] for i in range(textpage.count_rects())]
        text = textpage.get_text_range()
    assert f"Seite 1 von {len_of(path)}" in text
    assert min(lefts) < width / 4
    assert max(lefts) > width / 2


def len_of(path: Path) -> int:
    with pypdfium2.PdfDocument(path) as document:
        return len(document)


def test_word_files_hold_tables(landed: Landed) -> None:
    files = landed.files("documents/*/*.docx")
    assert len(files) >= 20
    tables = [t for path in files for t in docx.Document(str(path)).tables]
    assert len(tables) >= 10
    assert tables[0].rows[0].cells[0].text == "Pos."


def test_restricted_projects_say_so_and_others_do_not(landed: Landed) -> None:
    restricted = {p.number: p for p in projects() if p.restriction}
    assert Counter(p.language for p in restricted.values()) == {"de": 3, "fr": 1, "it": 1}
    found = defaultdict(set)
    for path in landed.files("documents/*/*"):
        text = " ".join(text_of(path).split())
        for restriction in find_restrictions(text):
            found[path.parent.name].add(restriction.language)
    assert {number: restricted[number].language for number in restricted} == {n: min(v) for n, v in found.items()}


def test_ahv_numbers_have_valid_check_digits(landed: Landed) -> None:
    numbers = {n for p in landed.files("documents/*/*") for n in re.findall(r"756\.\d{4}\.\d{4}\.\d{2}", text_of(p))}
    assert len(numbers) >= 8
    for number in numbers:
        digits = [int(c) for c in number if c.isdigit()]
        # EAN-13: weights 1, 3, 1, 3, ... over thirteen digits give a multiple of ten.
        assert sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def test_ibans_are_97_to_one(landed: Landed) -> None:
    found = {n for p in landed.files("documents/*/*") for n in re.findall(r"CH\d{2}(?:\s\d{4}){4}\s\d", text_of(p))}
    assert len(found) >= 8
    for iban in found:
        compact = re.sub(r"\s", "", iban)
        # C = 12, H = 17, moved with the check digits to the end; ISO 13616 asks for a remainder of one.
        assert int(f"{compact[4:]}1217{compact[2:4]}") % 97 == 1


def test_no_personal_data_in_the_test_collection(landed: Landed) -> None:
    texts = [r["text"] for r in landed.lines("test/corpus.jsonl")] + [
        r["passage_text"] for r in landed.lines("calibration/pairs.jsonl")
    ]
    people = {person.name for project in projects() for person in project.people}
    for text in texts:
        assert not any(name in text for name in people)
        assert not re.search(r"@|756\.|CH\d{2} \d{4}|\+41|\(at\)", text)
    assert any("<PERSON_1>" in text for text in texts)


def test_test_collection_is_complete(landed: Landed) -> None:
    corpus = {r["id"]: r for r in landed.lines("test/corpus.jsonl")}
    queries = {r["id"]: r for r in landed.lines("test/queries.jsonl")}
    qrels = landed.rows("test/qrels.tsv")
    assert len(corpus) == landed.summary.test_passages
    assert set(corpus).isdisjoint(queries)
    assert {r["level"] for r in queries.values()} == {"area_of_action", "criterion"}
    groups: dict[str, set[str]] = defaultdict(set)
    for row in qrels:
        groups[corpus[row["corpus-id"]]["project"]].add(row["query-id"])
    # Complete: within a project every one of its queries is judged against every one of its passages.
    expected = sum(len(groups[r["project"]]) for r in corpus.values())
    assert len({(r["query-id"], r["corpus-id"]) for r in qrels}) == len(qrels) == expected
    assert len(groups) == 9
    assert {r["score"] for r in qrels} == {"0", "1", "2"}
    relevant = {(r["query-id"], corpus[r["corpus-id"]]["project"]) for r in qrels if r["score"] == "2"}
    assert relevant == {(q, g) for g, own in groups.items() for q in own}


def test_boilerplate_is_shared_with_the_test_collection(landed: Landed) -> None:
    test_texts = {r["text"] for r in landed.lines("test/corpus.jsonl")}
    test_projects = {r["project"] for r in landed.rows("test/projects.csv")}
    shared: dict[str, set[str]] = defaultdict(set)
    for path in landed.files("documents/*/*"):
        if path.parent.name not in test_projects:
            text = " ".join(text_of(path).split())
            for candidate in test_texts:
                if candidate in text:
                    shared[candidate].add(path.parent.name)
    assert len(shared) >= 3
    assert max(len(found) for found in shared.values()) >= 3


def test_calibration_pairs_and_annotators(landed: Landed) -> None:
    pairs = landed.lines("calibration/pairs.jsonl")
    annotations = landed.rows("calibration/annotations.csv")
    assert Counter(p["level"] for p in pairs) == {"area_of_action": 80, "criterion": 80}
    assert len({(p["query_id"], p["passage_id"]) for p in pairs}) == 160
    assert len(annotations) == 3 * 160
    truth = {(p["query_id"], p["passage_id"]): p["curated_grade"] for p in pairs}
    marked = [(int(a["grade"]), truth[a["query_id"], a["passage_id"]]) for a in annotations if a["grade"]]
    agreement = sum(a == b for a, b in marked) / len(marked)
    assert 0.65 < agreement < 0.9
    assert 0 < sum(not a["grade"] for a in annotations) < 40


def test_bm25_neither_wins_nor_fails_everything(landed: Landed) -> None:
    corpus: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for row in landed.lines("test/corpus.jsonl"):
        corpus[row["project"]][row["id"]] = re.findall(r"\w+", row["text"].lower())
    queries = {r["id"]: re.findall(r"\w+", r["text"].lower()) for r in landed.lines("test/queries.jsonl")}
    qrels: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    group_of = {passage: group for group, passages in corpus.items() for passage in passages}
    for row in landed.rows("test/qrels.tsv"):
        qrels[group_of[row["corpus-id"]], row["query-id"]][row["corpus-id"]] = int(row["score"])
    per_group: dict[str, list[float]] = defaultdict(list)
    for (group, query), grades in qrels.items():
        scores = _bm25(corpus[group], queries[query])
        ranked = sorted(grades, key=lambda p: (scores[p], p), reverse=True)
        per_group[group].append(_dcg([grades[p] for p in ranked]) / _dcg(sorted(grades.values(), reverse=True)))
    values = [v for found in per_group.values() for v in found]
    macro = sum(sum(v) / len(v) for v in per_group.values()) / len(per_group)
    assert 0.3 < macro < 0.75
    assert any(v < 0.2 for v in values)
    assert any(v > 0.8 for v in values)


def _bm25(passages: dict[str, list[str]], query: list[str], k1: float = 1.5, b: float = 0.75) -> dict[str, float]:
    """Okapi BM25 with idf = ln(1 + (N - n + 0.5) / (n + 0.5)), written out."""
    counts = {p: Counter(words) for p, words in passages.items()}
    frequency = Counter(word for c in counts.values() for word in c)
    mean = sum(map(len, passages.values())) / len(passages)
    scores = {}
    for passage, words in passages.items():
        norm = k1 * (1 - b + b * len(words) / mean)
        scores[passage] = sum(
            math.log(1 + (len(passages) - frequency[w] + 0.5) / (frequency[w] + 0.5))
            * counts[passage][w]
            * (k1 + 1)
            / (counts[passage][w] + norm)
            for w in query
        )
    return scores


def _dcg(grades: list[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:10], start=1))
