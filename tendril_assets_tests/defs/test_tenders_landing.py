"""The tenders landing folder through its asset: right tables from a right folder, nothing from a wrong one."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from tendril_assets.assets.landing import landing_assets
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.errors import LandingError
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import read_spec
from tendril_assets.tables import LANDING

DEFS = Path(__file__).resolve().parents[2] / "tendril_assets" / "defs"
SPEC = read_spec(DEFS / "tenders" / "defs.yaml")

CATALOG = """\
catalog: buildings
title: Hochbau
areas:
  - id: wood
    title: Holz
    text: Holz aus nachhaltiger Bewirtschaftung.
    criteria:
      - id: wood-1
        text: Das Holz trägt ein Label.
        levels: {basis: FSC Mix, gute_praxis: FSC 100 %, vorbild: Schweizer Holz}
      - {id: wood-2, text: Die Herkunft ist belegt.}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "landing" / "tenders"
    for name in ("documents/100", "catalogs", "test", "calibration"):
        (root / name).mkdir(parents=True)
    (root / "projects.csv").write_text(
        "project,title,published,language,cpv\n100,Schulhaus,2026-03-31,de,45214200\n200,École,2026-04-01,fr,\n",
        "utf-8",
    )
    (root / "documents/100/a.txt").write_text("Die Anbieterin liefert Holz mit Label.", "utf-8")
    (root / "catalogs/buildings.yaml").write_text(CATALOG, "utf-8")
    (root / "evidence.csv").write_text("project,area,tier\n100,wood,validated_relevant\n", "utf-8")
    (root / "removals.csv").write_text("kind,id,reason,date\nproject,300,Rückzug,2026-05-01\n", "utf-8")
    (root / "restriction_reviews.csv").write_text(
        "project,verdict,reason,date\n200,free,Freigabe des Autors,2026-05-02\n", "utf-8"
    )
    (root / "test/projects.csv").write_text("project\n200\n", "utf-8")
    corpus = [{"id": f"t{i}", "text": f"Text {i}", "project": "g1", "document": "d1", "page": 1} for i in (1, 2)]
    (root / "test/corpus.jsonl").write_text("\n".join(json.dumps(row) for row in corpus), "utf-8")
    query = {"id": "q1", "text": "Holz", "level": "criterion", "catalog": "buildings", "area": "wood"}
    (root / "test/queries.jsonl").write_text(json.dumps(query), "utf-8")
    (root / "test/qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tt1\t2\nq1\tt2\t0\n", "utf-8")
    pair = {
        "query_id": "q1",
        "passage_id": "t1",
        "level": "criterion",
        "query_text": "Holz",
        "passage_text": "Holz mit Label",
        "curated_grade": 2,
    }
    (root / "calibration/pairs.jsonl").write_text(json.dumps(pair), "utf-8")
    (root / "calibration/annotations.csv").write_text(
        "query_id,passage_id,annotator,grade\nq1,t1,anna,2\nq1,t1,beat,\n", "utf-8"
    )
    return root


def land(folder: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> dg.ExecuteInProcessResult:
    monkeypatch.setenv("TENDRIL_LANDING", str(folder.parent))
    monkeypatch.setenv("TENDRIL_HASH_KEY", "a secret of this test, of 32 bytes or more")
    assets = landing_assets(SPEC, landing_tables).assets
    return dg.materialize(assets, resources={"warehouse": warehouse}, raise_on_error=True)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"))


def test_a_right_folder_gives_every_landing_table(
    folder: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert land(folder, warehouse, monkeypatch).success
    sizes = {t.name: warehouse.load("tenders", t.name).height for t in LANDING}
    assert sizes == {
        "projects": 2,
        "documents": 1,
        "delivered_passages": 0,
        "areas": 1,
        "criteria": 2,
        "evidence": 1,
        "removals": 1,
        "restriction_reviews": 1,
        "test_projects": 1,
        "test_corpus": 2,
        "test_queries": 1,
        "test_qrels": 2,
        "calibration_pairs": 1,
        "calibration_annotations": 2,
    }
    assert warehouse.load("tenders", "projects").row(0) == ("100", "Schulhaus", dt.date(2026, 3, 31), "de", "45214200")
    criteria = warehouse.load("tenders", "criteria").sort("criterion")
    assert criteria["exemplary"].to_list() == ["Schweizer Holz", None]
    document = warehouse.load("tenders", "documents").row(0, named=True)
    assert (document["size_bytes"], document["delivered"]) == (38, False)


def replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / name).read_text("utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new), "utf-8")

    return change


def recode(root: Path) -> None:
    (root / "projects.csv").write_bytes((root / "projects.csv").read_text("utf-8").encode("cp1252"))


def second_document(root: Path) -> None:
    (root / "documents/999").mkdir()


def stray_file(root: Path) -> None:
    (root / "documents/a.pdf").write_bytes(b"%PDF")


def nested_folder(root: Path) -> None:
    (root / "documents/100/Beilagen").mkdir()


def no_documents(root: Path) -> None:
    (root / "documents").rename(root / "Unterlagen")


def page_zero(root: Path) -> None:
    row = {"project": "100", "document": "b.txt", "page": 0, "text": "Erste Seite"}
    (root / "passages.jsonl").write_text(json.dumps(row), "utf-8")


def removals_as_json(root: Path) -> None:
    (root / "removals.csv").rename(root / "removals.json")


def delivered_twice(root: Path) -> None:
    row = {"project": "100", "document": "a.txt", "page": 1, "text": "Noch einmal"}
    (root / "passages.jsonl").write_text(json.dumps(row), "utf-8")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (replace("projects.csv", ",language,", ",lang,"), "projects.csv: column language is missing"),
        (replace("projects.csv", ",fr,", ",rm,"), "projects.csv: row 3: language is 'rm'"),
        (replace("projects.csv", "200,", "100,"), "projects.csv: row 3: 100 occurs already in row 2"),
        (recode, "projects.csv: row 3: byte 0xc9 is not UTF-8"),
        (lambda root: (root / "evidence.csv").write_text("", "utf-8"), "evidence.csv: the file is empty"),
        (replace("evidence.csv", "validated_relevant", "relevant"), "evidence.csv: row 2: tier is 'relevant'"),
        (replace("evidence.csv", "wood", "steel"), "evidence.csv: row 2: area 'steel' is no known area"),
        (replace("evidence.csv", "100", "400"), "evidence.csv: row 2: project '400' is no known project"),
        (
            replace("catalogs/buildings.yaml", "text: Holz", "txt: Holz"),
            r"buildings.yaml: areas.0.text: Field required",
        ),
        (
            replace("catalogs/buildings.yaml", "- id: wood\n", "- id: [wood\n"),
            r"buildings.yaml: line \d+, column \d+: ",
        ),
        (replace("catalogs/buildings.yaml", "wood-2", "wood-1"), "criterion wood-1 occurs twice"),
        (replace("catalogs/buildings.yaml", "wood-2", "holz-größe"), "buildings.yaml: areas.0.criteria.1.id: .*größe"),
        (
            replace("catalogs/buildings.yaml", "id: wood\n", f"id: {'w' * 101}\n"),
            r"buildings.yaml: areas.0.id: .*1 to 100",
        ),
        (replace("removals.csv", "project,", "company,"), "removals.csv: row 2: kind is 'company'"),
        (
            replace("removals.csv", "project,300", "document,300"),
            "removals.csv: row 2: id '300' is no document; expected",
        ),
        (
            replace("removals.csv", "project,300", "passage,300/a.pdf"),
            "removals.csv: row 2: id '300/a.pdf' is no passage",
        ),
        (replace("removals.csv", "project,300,", "project,300"), "removals.csv: row 2: 3 cells, but the header has 4"),
        (replace("removals.csv", "2026-05-01", "bald"), "removals.csv: row 2: date is 'bald'; expected a date such as"),
        (replace("restriction_reviews.csv", "free", "frei"), "restriction_reviews.csv: row 2: verdict is 'frei'"),
        (replace("restriction_reviews.csv", "200", "201"), "restriction_reviews.csv: row 2: project '201' is no known"),
        (replace("restriction_reviews.csv", "Freigabe des Autors", ""), "row 2: reason is empty"),
        (replace("test/qrels.tsv", "t2\t0", "t2\t3"), "qrels.tsv: row 3: score is 3; allowed are 0, 1, 2"),
        (replace("test/qrels.tsv", "t2\t0", "t9\t0"), "qrels.tsv: row 3: corpus-id 't9' is no known passage"),
        (replace("test/queries.jsonl", "criterion", "register"), "queries.jsonl: row 1: level is 'register'"),
        (replace("test/corpus.jsonl", "t2", "t1"), "corpus.jsonl: row 2: t1 occurs already in row 1"),
        (replace("calibration/annotations.csv", "beat", "anna"), "row 3: q1, t1, anna occurs already in row 2"),
        (replace("calibration/annotations.csv", "q1,t1,beat", "q2,t1,beat"), "row 3: q2 / t1 is no pair"),
        (second_document, "documents/999: '999' is no project"),
        (
            replace("catalogs/buildings.yaml", "text: Die Herkunft ist belegt.", "text: ' '"),
            "criteria.1.text: .*at least 1",
        ),
        (
            replace("catalogs/buildings.yaml", "id: wood-2", "id: 2"),
            r"criteria.1.id: .*string, not 2: put it in quotes",
        ),
        (
            replace("catalogs/buildings.yaml", "title: Holz", "title: Holz\n    title: Wald"),
            "buildings.yaml: line 6, column 5: 'title' occurs twice",
        ),
        (no_documents, "there is no file in documents/<project>/"),
        (page_zero, "100/b.txt has page 0; pages count from 1"),
        (removals_as_json, "found removals.json; expected removals.csv"),
        (stray_file, "documents/a.pdf is in no project's folder"),
        (nested_folder, "documents/100/Beilagen is a folder"),
        (delivered_twice, "100/a.txt is there twice"),
    ],
)
def test_a_wrong_file_is_named_and_the_warehouse_stays(
    folder: Path,
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    expected: str,
) -> None:
    assert land(folder, warehouse, monkeypatch).success
    before = {t.name: warehouse.load("tenders", t.name).rows() for t in LANDING}
    change(folder)
    with pytest.raises(LandingError, match=expected):
        land(folder, warehouse, monkeypatch)
    assert {t.name: warehouse.load("tenders", t.name).rows() for t in LANDING} == before


def test_every_part_with_mistakes_is_told_at_once_and_no_consequence_of_another(folder: Path) -> None:
    replace("projects.csv", "2026-03-31", "31.3.2026")(folder)
    replace("catalogs/buildings.yaml", "title: Hochbau", "")(folder)
    replace("test/qrels.tsv", "t2\t0", "t2\t3")(folder)
    replace("evidence.csv", "100,wood", "900,steel")(folder)
    with pytest.raises(LandingError) as caught:
        landing_tables(folder, SPEC)
    first, *told = str(caught.value).split("\n")
    assert first == "3 parts have mistakes:"
    # Neither the evidence nor the documents: without projects and areas nobody knows what is wrong with them.
    assert [Path(line.split(":")[0].removeprefix("- ")).name for line in told] == [
        *("projects.csv", "buildings.yaml", "qrels.tsv")
    ]


def test_what_systems_leave_in_folders_is_no_document_and_yml_is_a_catalog_too(folder: Path) -> None:
    for name in (".DS_Store", "Thumbs.db", "~$a.docx"):
        (folder / "documents/100" / name).write_bytes(b"x")
    (folder / "documents/.DS_Store").write_bytes(b"x")
    (folder / "catalogs/buildings.yaml").rename(folder / "catalogs/buildings.yml")
    tables = landing_tables(folder, SPEC)
    assert tables["documents"]["document"].to_list() == ["a.txt"]
    assert tables["areas"].height == 1


def test_delivered_passages_stand_for_documents(
    folder: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"project": "200", "document": "b.pdf", "page": p, "text": f"Texte {p}"} for p in (1, 1, 2)]
    (folder / "passages.jsonl").write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    land(folder, warehouse, monkeypatch)
    delivered = warehouse.load("tenders", "delivered_passages").sort("position")
    assert delivered.select("page", "position", "characters").rows() == [(1, 0, 7), (1, 1, 7), (2, 2, 7)]
    assert "text" not in delivered.columns  # the texts stay where they were landed
    documents = {r["document"]: r["delivered"] for r in warehouse.load("tenders", "documents").iter_rows(named=True)}
    assert documents == {"a.txt": False, "b.pdf": True}


def test_without_test_and_calibration_folders_their_tables_are_empty(folder: Path) -> None:
    for name in ("test", "calibration"):
        for path in (folder / name).iterdir():
            path.unlink()
        (folder / name).rmdir()
    tables = landing_tables(folder, SPEC)
    assert tables["test_qrels"].height == tables["calibration_pairs"].height == 0
