"""``tendril audit`` as a user runs it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tendril_assets.cli import main
from tendril_assets_tests.audit.small_home import KEPT, make

TEXT = "Die Anbieterin legt dar, wie sie Lärm und Staub begrenzt."


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
    assert done.output.endswith("nothing is left below TENDRIL_HOME and DAGSTER_HOME\n")
    assert "│ other" in done.output


def test_where_it_is_and_what_takes_it_out(home: Path) -> None:
    (home / "ledger").mkdir()
    (home / "ledger" / "segment.jsonl").write_text(f'{{"content": "{TEXT}"}}\n')
    done = run("--text-file", "-", given=f"  {TEXT}\n")
    assert done.exit_code == 1
    assert "segment.jsonl: byte 13, 1 (byte for byte)" in done.output
    assert "what takes it out: name it in removals.csv; the next tendril run erases it, and tendril ledger remove" in (
        done.output
    )


def test_the_row_that_holds_it_says_which_id_to_put_on_the_list(home: Path) -> None:
    make(home)
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
    assert f"not looked at (other) {home / 'c.parquet'}: " in done.output
    assert done.output.endswith("not everything could be looked at: nothing was found in the rest\n")


def test_the_landing_folder_alone_is_no_trace(home: Path) -> None:
    folder = home.parent / "landing" / "tenders"
    folder.mkdir(parents=True)
    (folder / "passages.jsonl").write_text(f'{{"text": "{TEXT}"}}\n')
    done = run("--text", TEXT)
    assert done.exit_code == 0
    assert "source: 1 places" in done.output
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
    assert "what takes it out: the landing folder holds it: correct the file there" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name either ids, or --text TEXT, or --text-file FILE"),
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
