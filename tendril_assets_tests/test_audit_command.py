"""``tendril audit`` as a user runs it."""

import io
import json
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from tendril_assets.audit.places import remedy
from tendril_assets.cli import main
from tendril_assets.cli_audit import _progress
from tendril_assets_tests.audit.small_home import KEPT, make

TEXT = "Die Anbieterin legt dar, wie sie Lärm und Staub begrenzt."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_PROFILE", "sandbox")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["audit", *arguments], input=given)


def test_nothing_is_left(home: Path) -> None:
    (home / "x.txt").write_text("something else")
    done = run("--text", TEXT)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Nothing is left of it.\n")
    assert "│ other" in done.output


def test_where_it_is_and_what_takes_it_out(home: Path) -> None:
    (home / "ledger").mkdir()
    (home / "ledger" / "segment.jsonl").write_text(f'{{"content": "{TEXT}"}}\n')
    done = run("--text-file", "-", given=f"  {TEXT}\n")
    assert done.exit_code == 1
    assert done.output.startswith(
        "Found in 1 place. What takes it out:\n"
        "  ledger, 1 place: name it in removals.csv; the next tendril run erases it\n"
        "ledger, 1 place\n  ledger/segment.jsonl: byte 13, 1 (byte for byte)\n"
    )


def test_the_row_that_holds_it_says_which_id_to_put_on_the_list(home: Path, made: Path) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    done = run("--text", "one and only sentence of that passage")
    assert done.exit_code == 0, done.output
    done = run(KEPT, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["subjects"][0]["kind"] == "passage"
    assert {"place", "file", "where", "how", "n", "rows", "remedy"} == told["findings"][0].keys()
    assert told["exit_code"] == 1


def test_what_could_not_be_looked_at(home: Path) -> None:
    (home / "c.parquet").write_bytes(b"PAR1 cut off")
    done = run("--text", TEXT)
    assert done.exit_code == 2
    assert done.output.startswith(
        "Not everything could be looked at. Nothing was found in the rest.\n  not looked at (other): c.parquet: "
    )


def test_the_landing_folder_alone_is_no_trace(home: Path) -> None:
    folder = home.parent / "landing" / "tenders"
    folder.mkdir(parents=True)
    (folder / "passages.jsonl").write_text(f'{{"text": "{TEXT}"}}\n')
    done = run("--text", TEXT)
    assert done.exit_code == 0
    assert "The landing folder, which is yours, holds it too, in 1 place." in done.output
    assert "source, 1 place\n" in done.output
    assert "yours: no run touches the landing folder" in done.output


def test_tables_that_copy_the_landing_folder_are_told_so(home: Path) -> None:
    from tendril_assets.tables import TABLES
    from tendril_assets_tests.audit.small_home import COLLECTION, Warehouse

    rows = TABLES["test_corpus"].frame([("t-1", TEXT, "g", None, None)])
    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
    warehouse.replace(COLLECTION, {"test_corpus": rows}, "test")
    done = run("--text", TEXT)
    assert done.exit_code == 1
    assert "tenders.test_corpus.text, 1 (byte for byte), such as t-1" in done.output
    # Which remedy belongs to which line, where one place has two.
    assert (
        "    goes with its rows: a run that erases writes the file anew\n"
        "  warehouse.duckdb: tenders.test_corpus.text, 1 (byte for byte), such as t-1\n"
        "    the landing folder holds it: correct the file there"
    ) in done.output


def test_keys_of_rows_are_few_and_short(home: Path) -> None:
    keys = [f"{i:064x}" for i in range(5)]
    frame = pl.DataFrame({"request_key": keys, "passage_text": TEXT})
    folder = home / "artifacts" / "tenders" / "exchange"
    folder.mkdir(parents=True)
    frame.write_parquet(folder / "judge_requests.parquet", compression="uncompressed", use_pyarrow=True)
    lines = run("--text", TEXT).output.splitlines()
    (line,) = [one for one in lines if "passage_text" in one]
    assert line.endswith("passage_text, 5 (byte for byte), such as 000000000000…, 000000000000…, 000000000000…")


def test_what_nobody_knows_is_told_with_the_verdict(home: Path, made: Path) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    done = run("999")
    assert done.exit_code == 2
    assert done.output.startswith(
        "Nothing was found, and that proves nothing:\n  999: nobody knows this id: a misspelt one proves nothing\n"
    )


def test_the_same_words_under_other_ids_are_pointed_at(home: Path, made: Path) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    line = "The same words may stand in other projects under other ids: tendril audit --text looks for them."
    assert run("101/b.pdf").output.splitlines()[-1] == line
    assert line not in run("--text", TEXT).output


def test_rows_of_the_landing_folder_are_told_apart_from_ids(home: Path, made: Path) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    lines = run("101/b.pdf").output.splitlines()
    at = lines.index("rows of what the landing folder holds, which is yours")
    assert lines[at + 1] == "  warehouse.duckdb: tenders.documents.project"


@pytest.mark.parametrize(
    ("place", "file", "where"),
    [
        ("warehouse", "warehouse.duckdb", "tenders.queries.text"),
        ("snapshot", "snapshot.duckdb", "tenders.criteria.text"),
        ("release", "release/tenders/1.0.0/queries/train.parquet", "text"),
        ("release", "release/tenders/1.0.0/beir/queries.jsonl", "byte 7"),
        ("hand_over", "artifacts/tenders/exchange/judge_requests.parquet", "query_text"),
    ],
)
def test_the_text_of_a_query_is_corrected_in_the_catalog(place: str, file: str, where: str) -> None:
    told = remedy(place, file, where)
    assert told.startswith("correct the catalog in the landing folder, and the next tendril run lands it anew")
    assert ("raise release.version" in told) == (place == "release")
    # A passage beside it is not.
    assert not remedy("hand_over", file, "passage_text").startswith("correct the catalog") or "queries" in file


def test_the_remedy_of_what_is_listed_is_a_run(home: Path, made: Path) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    done = run("101/b.pdf")
    assert done.exit_code == 1
    assert "it is on the removal list: the next tendril run erases it" in done.output
    assert "name it in removals.csv" not in done.output
    assert "ids alone, which stay and are no text\n" in done.output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_stays_on_one_line_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in {"COLUMNS": "60", "LINES": "20", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with _progress() as on_progress:
        on_progress(Path(f"/home/{'long_name_' * 8}.txt"), 10**6, 3 * 10**8)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    frames = drawn.replace("\n", "\r").split("\r")
    assert any("long" in frame for frame in frames), drawn
    assert max(map(len, frames)) <= 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name either ids, or --text TEXT, or --text-file FILE"),
        (("p-1", "--parts"), "--parts is for texts"),
        (("p-1", "--text", TEXT), "name either ids, or --text TEXT, or --text-file FILE"),
        (("--text", "ab"), "the text has 2 letters and digits; at least 4"),
    ],
)
def test_mistakes(home: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_there_is_no_data_folder(home: Path) -> None:
    home.rmdir()
    done = run("--text", TEXT)
    assert "there is no data folder" in done.output
    assert done.exit_code == 2
