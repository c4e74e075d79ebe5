"""Cases of the warehouse with real processes and real files."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tendril_assets.errors import DatabaseLocked, SchemaMismatch, UnsupportedStorageVersion, WarehouseError
from tendril_assets.resources import sql
from tendril_assets.resources.frames import content_hash
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES

QRELS = TABLES["qrels"]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"), wait_s=60)


def qrels(*rows: tuple[str, str, str, int]) -> pl.DataFrame:
    return QRELS.frame(list(rows))


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Run ``code`` in another process, which prints ``ready`` when it holds what the test is about."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


# Both hold until they are told or killed, so that none lets go before the test has looked.
HOLD_RAW = """
    import duckdb, sys
    connection = duckdb.connect(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
"""
HOLD_LOCK = """
    import sys
    from pathlib import Path
    from tendril_assets.resources.lock import exclusive
    with exclusive(Path(sys.argv[1]), "held by the test", 5):
        print("ready", flush=True)
        sys.stdin.readline()
"""


def waits_for(holder: subprocess.Popen[str], work: Callable[[], object]) -> None:
    """``work`` does not end while ``holder`` holds, and does once it has let go."""
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline() == "ready\n"
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            assert not wait([working], 0.5).done
        finally:
            holder.stdin.close()
        working.result(60)


def test_replace_and_load_round_trip(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q1", "p1", "g", 2), ("q1", "p2", "g", 0))}, "test")
    assert warehouse.load("toy", "qrels").sort("passage_id").rows() == [("q1", "p1", "g", 2), ("q1", "p2", "g", 0)]
    warehouse.replace("toy", {"qrels": qrels(("q1", "p1", "g", 1))}, "test")
    assert warehouse.load("toy", "qrels", ["score"]).rows() == [(1,)]


def test_a_writer_waits_for_a_foreign_holder_and_succeeds(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    with child(HOLD_RAW, warehouse.database) as holder:
        waits_for(holder, lambda: warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test"))
    assert warehouse.load("toy", "qrels")["score"].to_list() == [2]


def test_a_foreign_holder_that_stays_is_named(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    impatient = Warehouse(database=warehouse.database, snapshot=warehouse.snapshot, wait_s=0.5)
    with child(HOLD_RAW, warehouse.database) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(DatabaseLocked) as caught:
            impatient.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test")
        holder.kill()
    assert caught.value.pid == holder.pid
    assert warehouse.load("toy", "qrels")["score"].to_list() == [1]


def test_the_holder_of_the_lock_is_named_with_its_purpose(warehouse: Warehouse) -> None:
    impatient = Warehouse(database=warehouse.database, snapshot=warehouse.snapshot, wait_s=0.3)
    with child(HOLD_LOCK, f"{warehouse.database}.lock") as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(DatabaseLocked, match=f"process {holder.pid} holds it .held by the test") as caught:
            impatient.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test")
        holder.kill()
    assert caught.value.pid == holder.pid
    assert not Path(warehouse.database).exists()
    # The killed holder's lock is gone with it.
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test")


def test_an_exception_in_a_step_rolls_back_and_frees_the_file(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")

    def fails_after_deleting() -> None:
        with warehouse.transaction("toy", "test") as connection:
            connection.execute("DELETE FROM qrels")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_after_deleting()
    assert warehouse.load("toy", "qrels").height == 1
    with duckdb.connect(warehouse.database) as connection:
        assert connection.execute("SELECT count(*) FROM toy.qrels").fetchone() == (1,)


def test_a_nested_access_says_so_instead_of_waiting_for_itself(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    with warehouse.transaction("toy", "outer"), pytest.raises(WarehouseError, match="already has"):
        warehouse.load("toy", "qrels")


def test_two_tables_are_replaced_together_or_not_at_all(warehouse: Warehouse) -> None:
    splits = TABLES["splits"].frame([("g", "train")])
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1)), "splits": splits}, "test")
    bad = pl.DataFrame({"group_id": ["g", "g"], "split": ["train", "validation"]})
    with pytest.raises(SchemaMismatch, match="repeat a key"):
        warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 2)), "splits": bad}, "test")
    assert warehouse.load("toy", "qrels")["score"].to_list() == [1]


def test_kill_in_the_middle_of_a_write_leaves_the_old_rows(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    code = """
        import os, signal, sys
        from tendril_assets.resources.warehouse import Warehouse
        w = Warehouse(database=sys.argv[1], snapshot=sys.argv[2])
        with w.transaction("toy", "test") as connection:
            connection.execute("DELETE FROM qrels")
            connection.execute("INSERT INTO qrels VALUES ('q9', 'p9', 'g', 2)")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    with child(code, warehouse.database, warehouse.snapshot) as process:
        assert process.wait(timeout=60) == -signal.SIGKILL
    assert warehouse.load("toy", "qrels").rows() == [("q", "p", "g", 1)]


def test_processes_writing_at_once_lose_nothing(warehouse: Warehouse) -> None:
    code = """
        import sys
        import polars as pl
        from tendril_assets.resources.warehouse import Warehouse
        from tendril_assets.tables import TABLES
        w = Warehouse(database=sys.argv[1], snapshot=sys.argv[2])
        for i in range(10):
            row = TABLES["qrels"].frame([(f"q{i}", sys.argv[3], "g", i % 3)])
            w.upsert("toy", "qrels", row, "test")
    """
    writers = [child(code, warehouse.database, warehouse.snapshot, f"p{n}") for n in range(3)]
    assert [w.wait(timeout=120) for w in writers] == [0, 0, 0]
    for writer in writers:
        assert writer.stdin
        assert writer.stdout
        writer.stdin.close()
        writer.stdout.close()
    frame = warehouse.load("toy", "qrels")
    assert frame.height == 30
    assert frame.select("query_id", "passage_id").n_unique() == 30


def test_an_analyst_keeps_the_old_snapshot_open_while_a_new_one_is_published(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    warehouse.publish_snapshot()
    code = """
        import duckdb, sys
        connection = duckdb.connect(sys.argv[1], read_only=True)
        print("ready", flush=True)
        sys.stdin.readline()
        print(connection.execute("SELECT score FROM toy.qrels").fetchall(), flush=True)
    """
    analyst = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), warehouse.snapshot],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with analyst:
        assert analyst.stdout
        assert analyst.stdin
        assert analyst.stdout.readline() == "ready\n"
        warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test")
        warehouse.publish_snapshot()
        analyst.stdin.write("\n")
        analyst.stdin.flush()
        assert analyst.stdout.readline() == "[(1,)]\n"
    with duckdb.connect(warehouse.snapshot, read_only=True) as connection:
        assert connection.execute("SELECT score FROM toy.qrels").fetchall() == [(2,)]


def test_the_snapshot_has_comments_and_no_private_text(warehouse: Warehouse) -> None:
    marker = "Geheimtext 4711"
    passages = TABLES["passages"].frame([("p1", "12345", "a.pdf", 1, 0, marker, len(marker))])
    warehouse.replace("toy", {"passages": passages}, "test")
    path = warehouse.publish_snapshot().path
    assert marker.encode() in Path(warehouse.database).read_bytes()
    assert marker.encode() not in path.read_bytes()
    with duckdb.connect(str(path), read_only=True) as connection:
        comment = connection.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'passages' AND column_name = 'page'"
        ).fetchone()
        names = [row[0] for row in connection.execute("SELECT column_name FROM duckdb_columns()").fetchall()]
    assert comment == ("page it starts on, from 1",)
    assert "text" not in names


def test_a_file_of_a_newer_duckdb_is_refused_before_any_write(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    with duckdb.connect(warehouse.database) as connection:
        connection.execute("UPDATE main.meta SET value = 'v9.0.1' WHERE name = 'duckdb_version'")
    with pytest.raises(UnsupportedStorageVersion, match=r"9\.0\.1"):
        warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 2))}, "test")
    with duckdb.connect(warehouse.database) as connection:
        assert connection.execute("SELECT score FROM toy.qrels").fetchall() == [(1,)]


def test_the_first_write_records_version_and_storage(warehouse: Warehouse) -> None:
    warehouse.meta_set("toy", "key_fingerprint", "abc")
    assert warehouse.meta_get("", "duckdb_version") == duckdb.__version__
    assert warehouse.meta_get("", "storage_version")
    assert warehouse.meta_get("toy", "key_fingerprint") == "abc"
    assert warehouse.meta_get("toy", "absent") is None


def test_an_all_empty_first_batch_keeps_the_declared_type(warehouse: Warehouse) -> None:
    columns = list(TABLES["judgments"].schema)
    empty = pl.DataFrame(
        {**{c: ["x"] for c in columns if c != "grade"}, "grade": [None]}, schema_overrides={"grade": pl.Null}
    )
    warehouse.replace("toy", {"judgments": empty}, "test")
    kind = warehouse.frame(
        "toy", "SELECT data_type FROM duckdb_columns() WHERE table_name = 'judgments' AND column_name = $c", c="grade"
    )
    assert kind.item() == "TINYINT"
    warehouse.upsert("toy", "judgments", empty.with_columns(passage_id=pl.lit("y"), grade=pl.lit(2)), "test")
    total = warehouse.frame("toy", "SELECT sum(grade) AS total, count(*) AS n FROM judgments")
    assert total.schema == {"total": pl.Int64(), "n": pl.Int64()}
    assert total.row(0) == (2, 2)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_latest_row_of_a_key_wins_in_an_upsert(warehouse: Warehouse, order: tuple[int, int]) -> None:
    rows = [("q", "p", "g", 0), ("q", "p", "g", 2)]
    warehouse.upsert("toy", "qrels", qrels(*(rows[i] for i in order)), "test")
    assert warehouse.load("toy", "qrels").rows() == [rows[order[-1]]]


def test_values_never_become_sql(warehouse: Warehouse) -> None:
    nasty = "x'); DROP TABLE qrels; --"
    warehouse.replace("toy", {"qrels": qrels((nasty, "p", "g", 1))}, "test")
    found = warehouse.frame("toy", "SELECT score FROM qrels WHERE query_id = $q", q=nasty)
    assert found.rows() == [(1,)]
    with pytest.raises(WarehouseError, match="no identifier"):
        warehouse.load(nasty, "qrels")
    with pytest.raises(SchemaMismatch, match="no table"):
        warehouse.load("toy", nasty)
    assert warehouse.load("toy", "qrels").height == 1


def test_frames_that_do_not_fit_are_named(warehouse: Warehouse) -> None:
    good = qrels(("q", "p", "g", 1))
    with pytest.raises(SchemaMismatch, match=r"columns missing \['score'\]"):
        warehouse.replace("toy", {"qrels": good.drop("score")}, "test")
    with pytest.raises(SchemaMismatch, match="300"):
        warehouse.replace("toy", {"qrels": good.with_columns(score=pl.lit(300))}, "test")
    with pytest.raises(SchemaMismatch, match=r"1 empty value\(s\) in group_id"):
        warehouse.replace("toy", {"qrels": good.with_columns(group_id=pl.lit(None))}, "test")
    # A text in the wrong column is not quoted, here or by what this came of: Dagster logs both for good.
    message, text = r"1 value\(s\) of score are String, and no Int8", "wägend"[::-1]
    with pytest.raises(SchemaMismatch, match=message) as error:
        warehouse.replace("toy", {"qrels": good.with_columns(score=pl.lit(text))}, "test")
    assert text not in "".join(traceback.format_exception(error.value))
    assert not Path(warehouse.database).exists()


def test_a_missing_table_says_what_to_do(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="no warehouse"):
        warehouse.load("toy", "qrels")
    warehouse.meta_set("toy", "a", "b")
    with pytest.raises(WarehouseError, match="Materialise the asset that makes it"):
        warehouse.load("toy", "qrels")


def test_decimal_money_is_exact(warehouse: Warehouse) -> None:
    warehouse.meta_set("toy", "a", "b")
    total = warehouse.frame("toy", "SELECT sum(c) AS s FROM (VALUES (0.1::DECIMAL(18,9)), (0.2)) t(c)").item()
    assert total == Decimal("0.3")


def test_content_hash_ignores_row_order_and_sees_every_change() -> None:
    rows = [("q1", "p1", "g", 2), ("q1", "p2", "g", 0)]
    same = content_hash(QRELS, qrels(*rows))
    assert content_hash(QRELS, qrels(*reversed(rows))) == same
    assert content_hash(QRELS, qrels(rows[0], ("q1", "p2", "g", 1))) != same
    # Moving a character between neighbouring values must not give the same bytes.
    assert content_hash(QRELS, qrels(("q1p", "1", "g", 2))) != content_hash(QRELS, qrels(("q1", "p1", "g", 2)))


def test_full_disk_leaves_the_snapshot_and_warehouse_readable(tmp_path: Path) -> None:
    """A file-size limit in a child process stands in for the full disk: both give a failing write in the middle."""
    warehouse = Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"))
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    warehouse.publish_snapshot()
    code = """
        import resource, signal, sys
        import polars as pl
        from tendril_assets.resources.warehouse import Warehouse
        from tendril_assets.tables import TABLES
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
        w = Warehouse(database=sys.argv[1], snapshot=sys.argv[2])
        rows = [(f"q{i * 7919}", f"p{i * 104729}", f"g{i * 1299709}", i % 3) for i in range(400_000)]
        try:
            w.replace("toy", {"qrels": TABLES["qrels"].frame(rows)}, "test")
        except Exception as error:
            print(type(error).__name__)
            sys.exit(3)
    """
    with child(code, warehouse.database, warehouse.snapshot) as process:
        assert process.wait(timeout=120) == 3
    assert warehouse.load("toy", "qrels").rows() == [("q", "p", "g", 1)]
    assert os.path.getsize(warehouse.snapshot) > 0
    warehouse.publish_snapshot()


def test_a_damaged_file_is_named_as_damaged_and_at_once(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    with open(warehouse.database, "r+b") as stream:
        stream.write(b"x" * 4096)
    begin = time.monotonic()
    with pytest.raises(WarehouseError, match="cannot be opened") as caught:
        warehouse.load("toy", "qrels")
    assert not isinstance(caught.value, DatabaseLocked)
    assert time.monotonic() - begin < 30  # of the 60 s a held file is waited for


def test_publishing_waits_for_a_foreign_holder(warehouse: Warehouse) -> None:
    warehouse.replace("toy", {"qrels": qrels(("q", "p", "g", 1))}, "test")
    with child(HOLD_RAW, warehouse.database) as holder:
        waits_for(holder, warehouse.publish_snapshot)
    assert Path(warehouse.snapshot).exists()


def earlier_leakage(warehouse: Warehouse, collection: str, columns: str) -> None:
    """``collection`` with a table ``leakage`` as an earlier version made it, beside a present one."""
    warehouse.replace(collection, {"qrels": qrels(("q", "p", "g", 1))}, "test")
    for name in ("splits", "queries", "passage_texts", "training_examples"):
        warehouse.replace(collection, {name: TABLES[name].empty()}, "test")
    with duckdb.connect(warehouse.database) as connection:
        connection.execute(f"CREATE TABLE {collection}.leakage ({columns})")
        connection.execute(f"INSERT INTO {collection}.leakage (passage_id, cause, cause_set) VALUES ('p', 'c', 'test')")


EARLIER = {
    "a column less": "passage_id VARCHAR, cause VARCHAR, cause_set VARCHAR",
    "another type": "passage_id VARCHAR, cause VARCHAR, cause_set VARCHAR, split VARCHAR, similarity VARCHAR, causes INTEGER",
}


@pytest.mark.parametrize("kind", EARLIER)
def test_a_table_of_an_earlier_version_is_named_and_can_be_made_again(warehouse: Warehouse, kind: str) -> None:
    earlier_leakage(warehouse, "toy", EARLIER[kind])
    message = "table leakage was written by an earlier version; materialise toy/leakage again"
    present = TABLES["leakage"].frame([("p", "train", "c", "test", 1.0, 1)])
    for columns in (None, ["passage_id"]):
        with pytest.raises(SchemaMismatch, match=message):
            warehouse.load("toy", "leakage", columns)
    with pytest.raises(SchemaMismatch, match=message):
        warehouse.upsert("toy", "leakage", present, "test")
    warehouse.replace("toy", {"leakage": present}, "test")
    assert warehouse.load("toy", "leakage").equals(present)


def test_a_query_over_a_table_of_an_earlier_version_names_it(warehouse: Warehouse) -> None:
    earlier_leakage(warehouse, "toy", EARLIER["a column less"])
    with pytest.raises(SchemaMismatch, match="table leakage was written by an earlier version"):
        warehouse.frame("toy", sql.query("views/negatives_by_reason"))
    with pytest.raises(duckdb.BinderException, match="no_such_column"):
        warehouse.frame("toy", "SELECT no_such_column FROM qrels")


def test_the_snapshot_leaves_out_what_an_earlier_version_wrote_and_names_it(warehouse: Warehouse) -> None:
    """Views over it are left out too; the other collection has its table and all its views."""
    earlier_leakage(warehouse, "old", EARLIER["a column less"])
    earlier_leakage(warehouse, "toy", EARLIER["a column less"])
    warehouse.replace("toy", {"leakage": TABLES["leakage"].empty()}, "test")
    made = warehouse.publish_snapshot()
    assert made.stale == ["old.leakage"]
    assert made.left_out_views == ["old.negatives_by_reason", "old.unused_positives"]
    with duckdb.connect(warehouse.snapshot, read_only=True) as connection:
        found = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE NOT internal"
        ).fetchall()
        assert connection.execute("SELECT count(*) FROM old.qrels").fetchone() == (1,)
    names = {(schema, name) for schema, name in found if name in ("leakage", "negatives_by_reason", "unused_positives")}
    assert names == {("toy", "leakage"), ("toy", "negatives_by_reason"), ("toy", "unused_positives")}
