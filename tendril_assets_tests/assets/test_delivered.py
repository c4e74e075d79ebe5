"""Passages delivered by an upstream pipeline give the tables that extraction would."""

import time
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.corpus.extract import EXTRACTOR_VERSION
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.spec import read_spec
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.test_corpus import KEY, Home

PAGES = (
    "3.2 Zuschlagskriterien\n\nDie Anbieterin legt ein Umweltkonzept vor und nennt die Nach-\nhaltigkeit der Lieferung.",
    "Kriterium\tGewicht\nPreis\t40 %\n\nDas Holz trägt ein Label, und die Herkunft ist bis in die Wälder belegt.\n\nEnde gut.",
    "Das Holz trägt ein Label, und die Herkunft ist bis in die Wälder belegt.",
)


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Home, Home]:
    monkeypatch.setenv("TENDRIL_HASH_KEY", KEY)
    monkeypatch.setenv("TENDRIL_WORKERS", "1")
    made = Home(tmp_path / "files"), Home(tmp_path / "passages")
    for home in made:
        home.root.mkdir()
        home.projects = ["alpha", "beta"]
    return made


def test_a_collection_delivered_equals_the_same_one_extracted(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, delivered = homes
    files.write("alpha", "a.txt", "\f".join(PAGES))
    files.write("beta", "b.txt", "\f".join(reversed(PAGES)))
    monkeypatch.setenv("TENDRIL_HOME", str(files.root))
    files.run()
    rows = files.rows("passages", "project", "document", "page", "position", "text")
    # The heading of the first page is kept with its text, the table and the scrap below the last paragraph too.
    assert [row[2] for row in sorted(rows) if row[0] == "alpha"] == [1, 2, 2, 3]

    delivered.delivered = [(*row[:4], row[4].replace("ä", "a\u0308")) for row in reversed(rows)]
    monkeypatch.setenv("TENDRIL_HOME", str(delivered.root))
    delivered.run()
    for table in ("passages", "passage_decisions", "corpus"):
        assert sorted(delivered.rows(table)) == sorted(files.rows(table)), table
    status = {home: home.rows("document_status", "document", "outcome", "pages", "characters") for home in homes}
    assert [row[:3] for row in status[delivered]] == [row[:3] for row in status[files]]
    versions = [{row[0] for row in home.rows("document_status", "extractor_version")} for home in homes]
    assert versions == [{EXTRACTOR_VERSION}, {"delivered"}]
    assert {tuple(row[0]) for row in delivered.rows("document_status", "page_characters")} == {()}


def test_pages_are_accounted_for_one_by_one(homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch) -> None:
    home, _ = homes
    home.write("alpha", "a.txt", f"{PAGES[2]}\f\f{PAGES[2]}")
    monkeypatch.setenv("TENDRIL_HOME", str(home.root))
    home.run()
    [(pages, empty, characters, of_pages)] = home.rows(
        "document_status", "pages", "empty_pages", "characters", "page_characters"
    )
    assert (pages, empty, characters, of_pages) == (3, [2], 2 * len(PAGES[2]), [len(PAGES[2]), 0, len(PAGES[2])])


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_large_delivery_lands_fast(tmp_path: Path, kind: str) -> None:
    """20,000 passages in seconds; the time is far above what it takes, and far below a cost that grows by square."""
    folder = tmp_path / "tenders"
    (folder / "catalogs").mkdir(parents=True)
    criterion = "{id: wood-1, text: Label}"
    area = f"{{id: wood, title: Holz, text: Holz., criteria: [{criterion}]}}"
    (folder / "catalogs" / "c.yaml").write_text(f"catalog: c\ntitle: C\nareas: [{area}]\n")
    (folder / "projects.csv").write_text(
        "project,title,published,language,cpv\n" + "".join(f"p{i},x,,de,\n" for i in range(160))
    )
    (folder / "evidence.csv").write_text("project,area,tier\np1,wood,unsure\n")
    rows = [
        (f"p{i // 125}", f"d{i // 25}.pdf", 1 + i % 25 // 3, f"Passage {i} über Holz. " * 20) for i in range(20_000)
    ]
    frame = pl.DataFrame(rows, schema=["project", "document", "page", "text"], orient="row")
    write = frame.write_ndjson if kind == "jsonl" else frame.write_parquet
    write(folder / f"passages.{kind}")
    spec = read_spec(Path(__file__).parents[2] / "tendril_assets" / "defs" / "tenders" / "defs.yaml")
    begin = time.process_time()
    tables = landing_tables(folder, spec)
    assert time.process_time() - begin < 15
    assert tables["delivered_passages"].height == 20_000
    assert tables["documents"].filter("delivered").height == 800
    assert list(tables["delivered_passages"].schema) == list(TABLES["delivered_passages"].schema)
