"""One landing folder, four markers in four formats, and a model trained on them; removed by project, document, published
id and place. After the run that removes them no byte of them is left and nothing else has changed; the model is told to be
stale until it is trained again; a further run changes nothing.

The runs are the product's own jobs on its own command, one after another over one home; the search is this folder's
(``traces``) and shares no code with what it judges.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pytest

from tendril_assets.assets.stale_models import CHECK
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.release.model_stale import is_marked
from tendril_assets_tests.assets.http_stub import Stub, serving
from tendril_assets_tests.removal import landing, trained
from tendril_assets_tests.removal.audited import audited
from tendril_assets_tests.removal.landing import COLLECTION, MARKED, words
from tendril_assets_tests.removal.location import BASE, KILLED_IN, MODEL, VERSION
from tendril_assets_tests.removal.traces import traces

REPOSITORY = Path(__file__).resolve().parents[2]
KEY = "k" * 40
HASHER = KeyedHasher(KEY.encode())
ALL_WORDS = [word for project in MARKED for word in words(project)]
FREE = f"{COLLECTION}_corpus"
# Where each marker stands before it is removed: a search that did not find it there would prove nothing afterwards. The
# databases' own bytes are among it, so that what is deleted in them and left in free blocks would be found too.
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
# Where one of them stands, or some of their words.
SOMEWHERE = (
    "home/artifacts/tenders/exchange/training_",
    f"home/artifacts/tenders/models/{MODEL}/first_inputs.json",
    "home/snapshot.duckdb",
    "home/warehouse.duckdb",
)
# Tables whose rows tell of all projects at once, of the removal itself, or of a model that was trained anew.
TOTALS = {
    "removals", "removal_effects", "removed_passages", "erased_ids", "erasures", "releases", "released_passages",
    "split_sizes", "project_status", "masked_samples", "trained_passages",
}  # fmt: skip
FLAGGED = f"{CHECK} (WARN)"
STALE = f"SELECT DISTINCT system, stale FROM {COLLECTION}.results WHERE stale IS NOT NULL"


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
            BASE: str(self.root / "base"),
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

    def tables(self) -> dict[str, pl.DataFrame]:
        with duckdb.connect(str(self.warehouse), read_only=True) as connection:
            names = connection.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
            return {name: connection.sql(f"SELECT * FROM {schema}.{name}").pl() for schema, name in names}

    def files(self) -> dict[str, str]:
        """Hash of every file below the data folder, locks and the databases' own bytes aside."""
        home = self.root / "home"
        found = {}
        for path in sorted(home.rglob("*")):
            if path.is_file() and path.suffix not in (".lock", ".duckdb") and not path.name.startswith("."):
                found[str(path.relative_to(home))] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


class Told(NamedTuple):
    """A home as it was after a run: what the run said, tables and traces, files, what analysts read to be stale, whether
    the model's published folder says so, and the requests that were answered so far."""

    said: str
    tables: dict[str, pl.DataFrame]
    traces: dict[str, set[str]]
    files: dict[str, str]
    stale: dict[str, str]
    is_marked: bool
    paid: int


def verdict(query: str, passage: str) -> tuple[int, str, str]:
    """A grade and the passage itself: a model that thinks aloud quotes what it judges. Some answers are no verdict."""
    if not query:
        return 200, "Kurze Zusammenfassung.", "stop"
    grade = 2 if ("Holz" in passage) == ("Holz" in query) and "Label" in passage else 0
    if words("m-html")[0] in passage and "Watt" in query:
        return 200, f"Ich kann das nicht beurteilen: {passage}", "stop"
    return 200, f'{{"relevanz": {grade}, "zitat": "{" ".join(passage.split())}"}}', "stop"


def told(home: Home, stub: Stub, job: str = COLLECTION, version: str = "0.1.0") -> Told:
    ran = home.run(job, **{VERSION: version})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    data = home.homes[0]
    with duckdb.connect(str(data / "snapshot.duckdb"), read_only=True) as connection:
        stale = dict(connection.execute(STALE).fetchall())
    [card] = data.glob(f"release/{COLLECTION}/models/*/README.md")
    return Told(ran.stdout, home.tables(), home.traces(), home.files(), stale, is_marked(card.parent), stub.calls)


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with serving(verdict) as stub:
        yield stub


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, stub: Stub) -> Home:
    home = Home(tmp_path_factory.mktemp("removal"), stub.base_url)
    landing.fill(home.root / "landing")
    trained.base(home.root / "base")
    home.homes[1].mkdir()
    shutil.copyfile(REPOSITORY / "dagster.yaml", home.homes[1] / "dagster.yaml")
    return home


@pytest.fixture(scope="module")
def base(home: Home, stub: Stub) -> Told:
    """After a whole run without removals."""
    return told(home, stub)


def passage_of(base: Told, project: str) -> dict[str, object]:
    """The passage that holds a project's marker."""
    return base.tables["passages"].filter(pl.col("text").str.contains(words(project)[0])).row(0, named=True)


@pytest.fixture(scope="module")
def removed(home: Home, base: Told) -> list[tuple[str, str]]:
    """Entries of the removal list: by project, by document, by published id, by place."""
    html = passage_of(base, "m-html")
    entries = [
        ("project", "m-delivered"),
        ("document", f"m-pdf/{MARKED['m-pdf'][1]}"),
        ("passage", str(passage_of(base, "m-docx")["passage_id"])),
        ("passage", "{project}/{document}/{page}/{position}".format(**html)),
    ]
    landing.removals(home.landed, *entries)
    return entries


@pytest.fixture(scope="module")
def killed(home: Home, removed: list[tuple[str, str]]) -> dict[str, set[str]]:
    """Traces after the free job was killed in the erasing step, where the new database is complete and the old one still
    in its place; the single moments of each part have tests of their own."""
    ran = home.run(FREE, **{KILLED_IN: "tendril_assets.resources.warehouse:exchange"})
    assert ran.returncode == -9, ran.stdout + ran.stderr
    return home.traces()


@pytest.fixture(scope="module")
def erased(home: Home, stub: Stub, killed: dict[str, set[str]]) -> Told:
    """After the free job, which ends before anything is judged or trained anew."""
    return told(home, stub, FREE)


@pytest.fixture(scope="module")
def remade(home: Home, stub: Stub, erased: Told) -> Told:
    """After a whole run, of another version."""
    return told(home, stub, version="0.2.0")


def test_the_markers_are_everywhere_before_they_are_removed(base: Told) -> None:
    for project in MARKED:
        all_four = {word.lower() for word in words(project)}
        whole = [place for place, there in base.traces.items() if all_four <= there]
        wanted = EVERYWHERE if project == "m-delivered" else (*EVERYWHERE, *READ_FROM_FILES)
        missing = [part for part in wanted if not any(place.startswith(part) for place in whole)]
        assert not missing, (project, sorted(base.traces))
    assert not [part for part in SOMEWHERE if not any(place.startswith(part) for place in base.traces)]
    # Dagster keeps what is logged and reported for ever: no text of a passage may get there at all.
    assert not [place for place in base.traces if place.startswith("dagster/")]


def test_nothing_removed_costs_nothing(base: Told) -> None:
    assert base.tables["erased_ids"].is_empty()
    assert base.tables["erasures"].is_empty()
    assert base.tables["meta"].filter(pl.col("name") == "erased_ids").is_empty()


def test_after_a_kill_in_the_erasing_step_the_free_job_leaves_no_trace(
    home: Home, killed: dict[str, set[str]], erased: Told
) -> None:
    assert [place for place in killed if place.startswith("home/warehouse.duckdb")], "the exchange was done already"
    assert erased.traces == {}
    # What is judged and released is not made anew yet, and clean all the same.
    corpus = set(erased.tables["corpus"]["passage_id"])
    for table in ("candidates", "judgments", "qrels"):
        assert set(erased.tables[table]["passage_id"]) == corpus, table
    assert not list(home.homes[0].rglob("*.partial"))
    places = set(erased.tables["erasures"]["place"])
    assert places == {"warehouse", "snapshot", "ledger", "cache", "hand_over", "training", "release"}


def test_the_audit_says_so_too(home: Home, base: Told, removed: list[tuple[str, str]], erased: Told) -> None:
    """Also while the model is stale, whose own list still names what it was trained on."""
    project, document, published, _ = (entry for _, entry in removed)
    clean = audited(home.root, KEY, project, document, published)
    assert (clean["exit_code"], clean["not_looked_at"]) == (0, [])
    files = {Path(one["file"]).name for one in clean["findings"] if one["place"] == "training"}
    assert files == {f"{MODEL}.parquet"}
    assert audited(home.root, KEY, "--text", landing.marker("m-pdf"))["exit_code"] == 0
    kept = base.tables["corpus"].filter(pl.col("group_id") == HASHER.group("c-one"))["passage_id"][0]
    assert audited(home.root, KEY, kept)["exit_code"] == 1


def test_the_model_is_stale_until_it_is_trained_again(base: Told, erased: Told, remade: Told) -> None:
    gone = {HASHER.group("m-delivered"), HASHER.document("m-pdf", MARKED["m-pdf"][1])}
    gone |= {str(passage_of(base, project)["passage_id"]) for project in MARKED}

    def learnt(at: Told) -> list[int]:
        """Removed passages that the kept weights were trained on, and that their step was chosen by."""
        is_gone = pl.any_horizontal(pl.col("passage_id", "document_id", "group_id").is_in(list(gone)))
        parts = at.tables["trained_passages"].filter(is_gone)["part"]
        return [(parts == "train").sum(), (parts != "train").sum()]

    assert base.stale == {}
    assert not base.is_marked
    assert FLAGGED not in base.said
    assert learnt(erased) == learnt(base)
    assert min(learnt(base)) > 0
    [(system, why)] = erased.stale.items()
    assert system == f"{MODEL}_tuned"
    assert [int(n) for n in re.findall(r"(?:trained on|chosen by) (\d+) passages?", why)] == learnt(base)
    assert "removed since" in why
    assert erased.is_marked
    assert FLAGGED in erased.said
    # Trained again on what is left, with other weights: all of it goes.
    assert learnt(remade) == [0, 0]
    assert remade.stale == {}
    assert not remade.is_marked
    # On what is erased it comes before the training of the same run, on what is trained after it.
    assert f"trained_passages: {FLAGGED}" not in remade.said
    weights = [at.tables["trained_models"]["weights_sha256"].item() for at in (base, erased, remade)]
    assert weights[0] == weights[1] != weights[2]


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


def test_removed_by_four_kinds_of_entry_nothing_is_left_and_nothing_else_changes(
    home: Home, base: Told, removed: list[tuple[str, str]], remade: Told
) -> None:
    assert remade.traces == {}
    # Landing folders are their owner's.
    assert traces([home.landed], ALL_WORDS)

    after = remade.tables
    gone = {HASHER.group("m-delivered")}
    different = [
        name
        for name in sorted(set(base.tables) - TOTALS)
        if {"project", "group_id"} & set(after[name].columns)
        and not others(after[name]).equals(others(base.tables[name]))
    ]
    assert different == []
    # Replies name no project: those to all requests that are still asked are as they were.
    calls = after["judge_calls"].sort("request_key")
    assert set(after["candidates"]["request_key"]) <= set(calls["request_key"])
    assert calls.equals(base.tables["judge_calls"].join(calls, on="request_key", how="semi").sort("request_key"))
    # Of the marked projects everything but the removed is there: of the first nothing, of the others all other passages.
    corpus = after["corpus"]
    assert set(corpus["group_id"]) == set(base.tables["corpus"]["group_id"]) - gone
    passages = {project: passage_of(base, project)["passage_id"] for project in MARKED}
    is_gone = pl.col("group_id").is_in(list(gone)) | pl.col("passage_id").is_in(list(passages.values()))
    assert corpus.sort("passage_id").equals(base.tables["corpus"].filter(~is_gone).sort("passage_id"))

    # What was removed is known by its ids, with the entry that removed it.
    known = {(kind, i): entry for kind, i, entry, _ in after["erased_ids"].iter_rows()}
    (_, project), (_, document), (_, published), (_, address) = removed
    assert known["project", HASHER.group(project)] == project
    assert known["document", HASHER.document(*document.split("/"))] == document
    assert known["passage", published] == published
    assert known["passage", passages["m-html"]] == address
    assert known["passage", passages["m-delivered"]] == project
    assert known["passage", passages["m-pdf"]] == document
    # The former version is withdrawn and the new one holds neither removed passages nor fewer of the others.
    versions = dict(after["releases"].select("version", "removed_rows").iter_rows())
    assert versions == {"0.1.0": base.tables["corpus"].height - corpus.height, "0.2.0": None}


def test_a_further_run_changes_no_table_and_no_file_and_asks_nothing(home: Home, stub: Stub, remade: Told) -> None:
    again = told(home, stub, version="0.2.0")
    assert again.paid == remade.paid
    assert FLAGGED not in again.said
    changed = [
        name
        for name, frame in remade.tables.items()
        if not frame.sort(frame.columns).equals(again.tables[name].sort(frame.columns))
    ]
    assert changed == []
    assert again.files == remade.files
    assert again.traces == {}
