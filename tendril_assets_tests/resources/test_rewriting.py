"""The warehouse written anew: nothing of deleted rows is left in any byte, and nothing else is lost, whatever happens."""

import os
import shutil
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tendril_assets.errors import DatabaseLocked, WarehouseError
from tendril_assets.resources import rewriting
from tendril_assets.resources.rewriting import ERASED, LINKED, OPEN, old_of, partial_of
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.resources.killed import killed_before, rewrite

MARKER = "Quittengelee im Werkhofkeller"
CORPUS = TABLES["corpus"]


def warehouse_in(folder: Path, wait_s: float = 30.0) -> Warehouse:
    # Uncompressed, so that a text that is in the file can be seen there; else its absence would prove nothing.
    plain = {"force_compression": "uncompressed"}
    return Warehouse(
        database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"), wait_s=wait_s, connection_config=plain
    )


def corpus(*texts: str) -> pl.DataFrame:
    return CORPUS.frame([(f"p-{i}", text, "g-1", "d-1", 1) for i, text in enumerate(texts)])


LEFT = [f"Abschnitt {i} bleibt." for i in range(400)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse and a snapshot whose marker was deleted and replaced, and is still in free blocks."""
    folder = tmp_path_factory.mktemp("template")
    prepare(warehouse_in(folder))
    return folder


@pytest.fixture
def erased(template: Path, tmp_path: Path) -> Warehouse:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return warehouse_in(tmp_path)


def prepare(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"corpus": corpus(*LEFT, *[MARKER] * 4000)}, "test")
    warehouse.replace("other", {"corpus": corpus("Anderswo")}, "test")
    warehouse.meta_set("toy", "name", "value")
    warehouse.publish_snapshot()
    with warehouse.transaction("toy", "test") as connection:
        connection.execute("DELETE FROM corpus WHERE text = $m", {"m": MARKER})
        connection.execute("CREATE VIEW texts AS SELECT text FROM corpus")
    assert MARKER.encode() in Path(warehouse.database).read_bytes(), "else this test proves nothing"


def holding(folder: Path, text: str = MARKER) -> list[str]:
    """Files of a folder that hold ``text``."""
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes())


def state(warehouse: Warehouse) -> list[object]:
    """All there is to see: tables, declarations, comments, rows, meta, version."""
    with duckdb.connect(warehouse.database, read_only=True) as connection:
        told: list[object] = [
            connection.execute(statement).fetchall()
            for statement in (
                "SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() "
                "WHERE NOT internal ORDER BY ALL",
                "SELECT schema_name, table_name, comment FROM duckdb_tables() ORDER BY ALL",
                "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
                "SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal ORDER BY ALL",
                "SELECT * FROM main.meta ORDER BY ALL",
                "SELECT * FROM toy.corpus ORDER BY ALL",
                "SELECT * FROM other.corpus ORDER BY ALL",
            )
        ]
    return told


def test_nothing_of_a_deleted_row_is_left_and_all_else_is(erased: Warehouse, tmp_path: Path) -> None:
    before = state(erased)
    with Path(erased.database).open("rb") as former:
        done = erased.rewrite()
        assert set(former.read()) == {0}, "the former file's bytes are overwritten, not only its name removed"
    assert state(erased) == before
    # corpus of two collections and meta; 400 + 1 rows, and of meta the name, DuckDB's version and the storage version.
    assert (done.tables, done.rows, done.former) == (3, 404, ERASED)
    assert done.bytes_after < done.bytes_before
    assert holding(tmp_path) == ["s.duckdb"]
    erased.publish_snapshot(erase_former=True)
    assert holding(tmp_path) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.duckdb", "w.duckdb", "w.duckdb.lock"]


def test_written_anew_twice_is_the_same(erased: Warehouse) -> None:
    erased.rewrite()
    before = state(erased)
    assert erased.rewrite().rows == 404
    assert state(erased) == before
    erased.replace("toy", {"corpus": corpus("neu")}, "test")
    assert erased.load("toy", "corpus")["text"].to_list() == ["neu"]


def test_the_version_of_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS w (STORAGE_VERSION 'v1.2.0')")
    warehouse = warehouse_in(tmp_path)
    warehouse.replace("toy", {"corpus": corpus("eins")}, "test")
    told = "SELECT value FROM main.meta WHERE name = 'storage_version'"
    assert warehouse.frame("toy", told).item() == "v1.2.0+"
    warehouse.rewrite()
    with duckdb.connect(str(path), read_only=True) as connection:
        versions = connection.execute("SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal")
        assert versions.fetchall() == [("v1.2.0+",)]


def test_a_backup_by_hard_link_is_left_alone_and_named(erased: Warehouse, tmp_path: Path) -> None:
    backup = tmp_path / "backup.duckdb"
    os.link(erased.database, backup)
    assert erased.rewrite().former == LINKED
    assert holding(tmp_path) == ["backup.duckdb", "s.duckdb"]
    with duckdb.connect(str(backup), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM toy.corpus").fetchone() == (400,)


def test_without_hard_links_the_bytes_are_overwritten_too(
    erased: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with Path(erased.database).open("rb") as former:
        assert erased.rewrite().former == ERASED
        assert set(former.read()) == {0}
    assert holding(tmp_path) == ["s.duckdb"]


def holder(path: str, *, read_only: bool) -> subprocess.Popen[str]:
    code = f"""
        import duckdb, sys
        connection = duckdb.connect(sys.argv[1], read_only={read_only})
        print("ready", flush=True)
        sys.stdin.readline()
        print(connection.execute("SELECT count(*) FROM toy.corpus").fetchone()[0], flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_program_that_has_the_warehouse_open_is_named(erased: Warehouse, tmp_path: Path) -> None:
    before = state(erased)
    with holder(erased.database, read_only=True) as process:
        with pytest.raises(DatabaseLocked, match=rf"open in process {process.pid} outside") as caught:
            warehouse_in(tmp_path, wait_s=0.3).rewrite()
        process.communicate("\n", timeout=60)
    assert caught.value.pid == process.pid
    assert state(erased) == before
    assert erased.rewrite().former == ERASED


def test_a_reader_of_the_snapshot_goes_on_and_the_old_one_has_no_name(erased: Warehouse, tmp_path: Path) -> None:
    erased.rewrite()
    with holder(erased.snapshot, read_only=True) as process:
        assert erased.publish_snapshot(erase_former=True).former == OPEN
        assert holding(tmp_path) == []
        assert process.communicate("\n", timeout=60)[0] == "4400\n"
    assert erased.publish_snapshot(erase_former=True).former == ERASED


def test_a_full_disk_says_so_and_changes_nothing(erased: Warehouse, tmp_path: Path) -> None:
    """A file-size limit in a child process stands in for the full disk: both give a failing write in the middle."""
    erased.replace("other", {"corpus": corpus(*[f"Zeile {i} " * 20 for i in range(20_000)])}, "test")
    before = state(erased)
    code = """
        import resource, signal, sys
        from pathlib import Path
        from tendril_assets.errors import WarehouseError
        from tendril_assets_tests.resources.test_rewriting import warehouse_in
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        warehouse = warehouse_in(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
        try:
            warehouse.rewrite()
        except WarehouseError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "w.duckdb could not be written anew" in told
    assert "It is as it was" in told
    assert "run again" in told
    assert not partial_of(Path(erased.database)).exists()
    assert state(erased) == before
    assert erased.rewrite().former == ERASED
    assert state(erased) == before


CHANGED = {
    "COMMENT ON COLUMN rewritten.toy.corpus.page IS 'other'": "declared otherwise",
    "COMMENT ON TABLE rewritten.toy.corpus IS 'other'": "declared otherwise",
    "ALTER TABLE rewritten.toy.corpus ALTER page DROP NOT NULL": "declared otherwise",
    "COMMENT ON VIEW rewritten.toy.texts IS 'other'": "declared otherwise",
    "DROP VIEW rewritten.toy.texts": "declared otherwise",
    "UPDATE rewritten.toy.corpus SET page = 2 WHERE passage_id = 'p-7'": "holds other rows",
    "INSERT INTO rewritten.toy.corpus SELECT * FROM rewritten.toy.corpus LIMIT 1": "holds other rows",
}


def test_a_copy_that_is_not_the_same_is_refused(erased: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is changed after it is made, as a fault of the copying would."""
    before, compare = state(erased), rewriting._compare
    for change, told in CHANGED.items():

        def spoilt(connection: duckdb.DuckDBPyConnection, name: str, change: str = change) -> tuple[int, int]:
            connection.execute(change)
            return compare(connection, name)

        monkeypatch.setattr(rewriting, "_compare", spoilt)
        with pytest.raises(WarehouseError, match=told):
            erased.rewrite()
        assert not partial_of(Path(erased.database)).exists(), change
    assert state(erased) == before


def test_no_warehouse_is_said(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="no warehouse"):
        warehouse_in(tmp_path).rewrite()


def test_a_link_stays_and_what_it_leads_to_is_replaced_where_it_lies(template: Path, tmp_path: Path) -> None:
    disk, home = tmp_path / "disk", tmp_path / "home"
    home.mkdir()
    shutil.copytree(template, disk)
    for name in ("w.duckdb", "s.duckdb"):
        (home / name).symlink_to((disk / name).rename(disk / f"far-{name}"))
    warehouse = warehouse_in(home)
    before = state(warehouse)
    assert warehouse.rewrite().former == ERASED
    assert warehouse.publish_snapshot(erase_former=True).former == ERASED
    assert state(warehouse) == before
    assert (home / "w.duckdb").is_symlink()
    assert (home / "s.duckdb").is_symlink()
    assert holding(tmp_path) == []
    assert {p.name for p in disk.iterdir()} == {"far-w.duckdb", "far-s.duckdb", "w.duckdb.lock"}


def test_no_other_program_gets_in_while_it_is_copied(
    erased: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not after a kill between the second name and the rename: the name that is swept then is the database itself,
    and a process that closes a file loses its locks on it."""
    os.link(erased.database, old_of(Path(erased.database)))
    code = (
        "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('INSERT INTO toy.corpus SELECT * FROM other.corpus')"
    )
    copy = rewriting.copy_database
    said = []

    def copied(connection: duckdb.DuckDBPyConnection, database: Path) -> tuple[int, int]:
        command = [sys.executable, "-c", code, str(database)]
        said.append(subprocess.run(command, capture_output=True, text=True, timeout=60).stderr)
        return copy(connection, database)

    monkeypatch.setattr("tendril_assets.resources.warehouse.copy_database", copied)
    before = state(erased)
    assert erased.rewrite().former == ERASED
    assert "Could not set lock" in said[0]
    assert state(erased) == before
    assert holding(tmp_path) == ["s.duckdb"]


def test_a_snapshot_that_cannot_be_written_leaves_the_former_one_and_nothing_else(
    erased: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise duckdb.IOException("No space left on device")

    monkeypatch.setattr("tendril_assets.resources.snapshot._create_views", refuse)
    with pytest.raises(duckdb.IOException):
        erased.publish_snapshot(erase_former=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.duckdb", "w.duckdb", "w.duckdb.lock"]
    with duckdb.connect(erased.snapshot, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM toy.corpus").fetchone() == (4400,)


# All that the order of a rewrite rests on.
CHANGES = ("link", "replace", "pwrite", "unlink")


def test_killed_before_any_change_to_a_file_the_next_one_goes_on(template: Path, tmp_path: Path) -> None:
    """Before each such call, in turn, until the work gets to its end."""
    before = state(warehouse_in(template))
    moments = 0
    for moment in count():
        folder = tmp_path / str(moment)
        shutil.copytree(template, folder)
        copy = warehouse_in(folder)
        if not killed_before(moment, rewrite, copy.database, copy.snapshot, among=CHANGES):
            break
        moments += 1
        # Readers before the next rewrite find everything.
        assert state(copy) == before, moment
        rewrite(copy.database, copy.snapshot)
        assert state(copy) == before, moment
        assert holding(folder) == [], moment
        assert not any(p.suffix in (".partial", ".old", ".wal") for p in folder.iterdir()), moment
    # Of both files: linked, renamed, overwritten, unlinked.
    assert moments >= 8


def test_leftovers_of_killed_processes_go_too(erased: Warehouse, tmp_path: Path) -> None:
    spilled = tmp_path / "duckdb_temp" / "duckdb_temp_storage_DEFAULT-0.tmp"
    spilled.parent.mkdir()
    for path in (spilled, partial_of(Path(erased.database)), old_of(Path(erased.database))):
        path.write_bytes(MARKER.encode())
    erased.rewrite()
    assert holding(tmp_path) == ["s.duckdb"]
