"""One landing folder, four markers in four formats, removed by project, document, published id and place: after the run
that removes them no byte of them is left, nothing else has changed, and a further run changes nothing.

The runs are the product's own jobs on its own command; the search is this folder's (``traces``) and shares no code with
what it judges.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pytest

from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets_tests.assets.http_stub import Stub, serving
from tendril_assets_tests.removal import landing
from tendril_assets_tests.removal.landing import COLLECTION, MARKED, words
from tendril_assets_tests.removal.location import KILLED_IN, TRAINING_FILES, VERSION
from tendril_assets_tests.removal.traces import traces

REPOSITORY = Path(__file__).resolve().parents[2]
KEY = "k" * 40
HASHER = KeyedHasher(KEY.encode())
ALL_WORDS = [word for project in MARKED for word in words(project)]
# Where each marker stands before it is removed: a search that did not find it there would prove nothing afterwards.
EVERYWHERE = (
    "home/artifacts/cache/masked",
    "home/artifacts/tenders/exchange/judge_requests.parquet!rows",
    "home/ledger/segment",
    "home/release/tenders/0.1.0/beir/corpus.jsonl",
    "home/release/tenders/0.1.0/corpus/train",
    "home/snapshot.duckdb!tenders.corpus",
    "home/snapshot.duckdb!tenders.judge_calls",
    "home/warehouse.duckdb!tenders.corpus",
    "home/warehouse.duckdb!tenders.judge_calls",
    "home/warehouse.duckdb!tenders.passages",
)
READ_FROM_FILES = ("home/artifacts/cache/extractions", "home/artifacts/cache/readings")
# Tables whose rows tell of all projects at once, or of the removal itself.
TOTALS = {
    "removals", "removal_effects", "removed_passages", "erased_ids", "erasures", "releases", "released_passages",
    "split_sizes", "project_status", "masked_samples",
}  # fmt: skip


class Home(NamedTuple):
    """``root`` holds the landing folder and both homes."""

    root: Path
    base_url: str

    @property
    def homes(self) -> tuple[Path, Path]:
        return self.root / "home", self.root / "dagster"

    @property
    def landed(self) -> Path:
        return self.root / "landing" / COLLECTION

    @property
    def warehouse(self) -> Path:
        return self.root / "home" / "warehouse.duckdb"

    def run(self, job: str = COLLECTION, **settings: str) -> subprocess.CompletedProcess[str]:
        given = {
            "TENDRIL_HOME": str(self.root / "home"),
            "TENDRIL_LANDING": str(self.root / "landing"),
            "DAGSTER_HOME": str(self.root / "dagster"),
            "TENDRIL_HASH_KEY": KEY,
            "TENDRIL_PROFILE": "sandbox",
            "TENDRIL_WORKERS": "1",
            "TENDRIL_LLM_BASE_URL": self.base_url,
            "TENDRIL_LLM_API_KEY": "test-key",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "tendril_assets_tests.removal.location", job]
        return subprocess.run(
            command, env={**os.environ, **given, **settings}, cwd=REPOSITORY, capture_output=True, text=True, timeout=600
        )  # fmt: skip

    def traces(self) -> dict[str, set[str]]:
        return traces(self.homes, ALL_WORDS)

    def rows(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        with duckdb.connect(str(self.warehouse), read_only=True) as connection:
            return connection.execute(statement, values or None).fetchall()

    def tables(self) -> dict[str, pl.DataFrame]:
        with duckdb.connect(str(self.warehouse), read_only=True) as connection:
            names = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tenders'"
            ).fetchall()
            return {name: connection.sql(f"SELECT * FROM tenders.{name}").pl() for (name,) in names}

    def files(self) -> dict[str, str]:
        """Hash of every file below the data folder, locks and the databases' own bytes aside."""
        home = self.root / "home"
        found = {}
        for path in sorted(home.rglob("*")):
            if path.is_file() and path.suffix not in (".lock", ".duckdb") and not path.name.startswith("."):
                found[str(path.relative_to(home))] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def place(self, project: str) -> tuple[str, str]:
        """Published id and address of the passage that holds a project's marker."""
        statement = "SELECT passage_id, document, page, position FROM tenders.passages WHERE project = $p AND contains(text, $w)"
        [(passage, document, page, position)] = self.rows(statement, p=project, w=words(project)[0])
        return str(passage), f"{project}/{document}/{page}/{position}"

    def copy_to(self, place: Path) -> None:
        shutil.copytree(self.root, place)

    def restore(self, copy: Path) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(copy, self.root)


def verdict(query: str, passage: str) -> tuple[int, str, str]:
    """A grade and the passage itself: a model that thinks aloud quotes what it judges. Some answers are no verdict."""
    if not query:
        return 200, "Kurze Zusammenfassung.", "stop"
    grade = 2 if ("Holz" in passage) == ("Holz" in query) and "Label" in passage else 0
    if words("m-html")[0] in passage and "Watt" in query:
        return 200, f"Ich kann das nicht beurteilen: {passage}", "stop"
    return 200, f'{{"relevanz": {grade}, "zitat": "{" ".join(passage.split())}"}}', "stop"


def entries(home: Home) -> list[tuple[str, str]]:
    """By project, by document, by published id, by place."""
    return [
        ("project", "m-delivered"),
        ("document", f"m-pdf/{MARKED['m-pdf'][1]}"),
        ("passage", home.place("m-docx")[0]),
        ("passage", home.place("m-html")[1]),
    ]


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with serving(verdict) as stub:
        yield stub


class Base(NamedTuple):
    """A home after a whole run, copies of it to go back to, and what stood in it."""

    home: Home
    copy: Path
    tables: dict[str, pl.DataFrame]
    entries: list[tuple[str, str]]
    passages: dict[str, str]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, stub: Stub) -> Base:
    folder = tmp_path_factory.mktemp("removal")
    home = Home(folder / "place", stub.base_url)
    landing.fill(home.root / "landing")
    home.homes[1].mkdir()
    shutil.copyfile(REPOSITORY / "dagster.yaml", home.homes[1] / "dagster.yaml")
    for job in (COLLECTION, TRAINING_FILES):
        ran = home.run(job)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    home.copy_to(folder / "copy")
    passages = {project: home.place(project)[0] for project in MARKED}
    return Base(home, folder / "copy", home.tables(), entries(home), passages)


def test_the_markers_are_everywhere_before_they_are_removed(base: Base) -> None:
    base.home.restore(base.copy)
    for project in MARKED:
        found = traces(base.home.homes, words(project))
        wanted = EVERYWHERE if project == "m-delivered" else (*EVERYWHERE, *READ_FROM_FILES)
        missing = [place for place in wanted if not any(there.startswith(place) for there in found)]
        assert not missing, (project, sorted(found))
        whole = [place for place, there in found.items() if len(there) == len(words(project))]
        assert len(whole) >= len(wanted), found
    trained = [place for place in base.home.traces() if "exchange/training_" in place]
    assert trained, "what is handed to the training holds a marker"
    # Dagster keeps what is logged and reported for ever: no text of a passage may get there at all.
    assert not [place for place in base.home.traces() if place.startswith("dagster/")]
    # Nothing is removed yet, and that costs nothing.
    assert base.tables["erased_ids"].is_empty()
    assert base.tables["erasures"].is_empty()
    assert base.home.rows("SELECT * FROM main.meta WHERE name = 'erased_ids'") == []


def remove_all(base: Base) -> None:
    base.home.restore(base.copy)
    landing.removals(base.home.landed, *base.entries)


def others(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that name none of the marked projects, neither by their raw name nor by their id.

    Aside from what depends on the others by its nature: the rank in the sample, in which whoever comes after a removed one
    moves up, and which examples are left out to balance the levels.
    """
    frame = frame.drop("rank", *(("used", "reason") if "used" in frame.columns else ()), strict=False)
    for column, ids in (("project", set(MARKED)), ("group_id", {HASHER.group(project) for project in MARKED})):
        if column in frame.columns:
            frame = frame.filter(~pl.col(column).is_in(list(ids)).fill_null(False))
    return frame.sort(frame.columns)


def test_removed_by_four_kinds_of_entry_nothing_is_left_and_nothing_else_changes(base: Base, stub: Stub) -> None:
    remove_all(base)
    ran = base.home.run(**{VERSION: "0.2.0"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert base.home.traces() == {}
    # The markers are still where the landing folder has them, and nowhere else below the root.
    assert {place.split("/")[0] for place in traces([base.home.root], ALL_WORDS)} <= {"place"}

    after = base.home.tables()
    gone = {HASHER.group("m-delivered")}
    different = [
        name
        for name in sorted(set(base.tables) - TOTALS)
        if {"project", "group_id"} & set(after[name].columns)
        and not others(after[name]).equals(others(base.tables[name]))
    ]
    assert different == []
    # Of the marked projects everything but the removed is there: 7 passages, of the first none, of the second the others.
    corpus = after["corpus"]
    assert set(corpus["group_id"]) == set(base.tables["corpus"]["group_id"]) - gone
    left = base.tables["corpus"].filter(~pl.col("group_id").is_in(list(gone)))
    removed = {base.passages[project] for project in ("m-pdf", "m-docx", "m-html")}
    assert set(corpus["passage_id"]) == set(left["passage_id"]) - removed
    assert corpus.sort("passage_id").equals(left.filter(~pl.col("passage_id").is_in(list(removed))).sort("passage_id"))

    # What was removed is known by its ids, with the entry that removed it.
    known = {(kind, i): entry for kind, i, entry, _ in after["erased_ids"].iter_rows()}
    (_, project), (_, document), (_, published), (_, address) = base.entries
    assert known["project", HASHER.group(project)] == project
    assert known["document", HASHER.document(*document.split("/"))] == document
    assert known["passage", published] == published
    assert known["passage", base.passages["m-html"]] == address
    assert known["passage", base.passages["m-delivered"]] == project
    assert known["passage", base.passages["m-pdf"]] == document
    places = set(after["erasures"]["place"])
    assert places == {"warehouse", "snapshot", "ledger", "cache", "hand_over", "release"}
    # The former version is withdrawn and the new one holds neither removed passages nor fewer of the others.
    versions = dict(base.home.rows("SELECT version, removed_rows FROM tenders.releases"))  # type: ignore[arg-type]
    all_gone = base.tables["corpus"].height - corpus.height
    assert versions == {"0.1.0": all_gone, "0.2.0": None}
    paid = stub.calls

    # A further run changes no table, no file, and asks nothing.
    files, tables = base.home.files(), after
    again = base.home.run(**{VERSION: "0.2.0"})
    assert again.returncode == 0, again.stdout + again.stderr
    assert stub.calls == paid
    now = base.home.tables()
    changed = [
        name for name, frame in tables.items() if not frame.sort(frame.columns).equals(now[name].sort(frame.columns))
    ]
    assert changed == []
    assert base.home.files() == files
    assert base.home.traces() == {}


def test_killed_in_the_erasing_step_the_next_run_goes_on(base: Base) -> None:
    """Killed where the new database is complete and the old one still in its place; the single moments of each part have
    tests of their own."""
    remove_all(base)
    job = f"{COLLECTION}_corpus"
    assert base.home.run(job, **{KILLED_IN: "tendril_assets.resources.warehouse:exchange"}).returncode == -9
    assert base.home.traces() != {}
    ran = base.home.run(job)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # The free job ends here: what is judged and released is not made anew, and clean all the same.
    assert base.home.traces() == {}
    left = base.home.tables()
    corpus = set(left["corpus"]["passage_id"])
    for table in ("candidates", "judgments", "qrels"):
        assert set(left[table]["passage_id"]) == corpus, table
    assert not list(base.home.homes[0].rglob("*.partial"))
