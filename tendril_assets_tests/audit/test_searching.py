"""A text planted in each place a data folder has is found there, and nowhere once it is gone."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest
from docx import Document
from reportlab.pdfgen import canvas

from tendril_assets.audit.matching import Matcher
from tendril_assets.audit.needles import Needle
from tendril_assets.audit.places import Folders
from tendril_assets.audit.searching import Result, Search
from tendril_assets.audit.values import duckdb_columns
from tendril_assets.resources.lock import exclusive

TEXT = "Frau Müller-Rüegg von der Prüfstelle Würenlos bestätigt: «Zürich, 7. Mai» & 3 % Skonto."
MATCHER = Matcher(Needle.of_text(TEXT))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    home = tmp_path / "home"
    folders = Folders(home, home / "dagster", tmp_path / "landing")
    for folder in (home / "ledger", folders.dagster / "storage", folders.landing / "made"):
        folder.mkdir(parents=True)
    (home / "ledger" / "segment.jsonl").write_text('{"content": "Zürich, 7. Mai"}\n')
    return folders


def search(folders: Folders, wait_s: float = 1.0) -> Result:
    return Search(folders, MATCHER, wait_s=wait_s, workers=1).run()


def found(result: Result) -> list[tuple[str, str, str]]:
    return [(f.place, Path(f.file).name, f.how) for f in result.findings if f.how != "parts"]


def parquet(path: Path) -> None:
    pl.DataFrame({"id": ["p-1"], "names": [["x", TEXT]], "s": [{"a": {"b": TEXT}}], "n": [1]}).write_parquet(path)


def database(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA made; CREATE TABLE made.t (passage_id VARCHAR, text VARCHAR, names VARCHAR[])"
        )
        connection.execute("INSERT INTO made.t VALUES ('p-1', $t, ['x', $t]), ('p-2', NULL, NULL)", {"t": TEXT})


def left_in_the_log(path: Path) -> None:
    """What a process that was killed after it committed leaves: a write-ahead log."""
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE t (text VARCHAR)'); "
        "c.execute('INSERT INTO t VALUES ($t)', {'t': sys.argv[2]}); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), TEXT], check=True, timeout=60)
    assert Path(f"{path}.wal").stat().st_size


def rows(path: Path, value: str | bytes) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE event_logs (id INTEGER, event)")
        connection.execute("INSERT INTO event_logs VALUES (1, ?)", (value,))
    connection.close()


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/corpus.jsonl", json.dumps({"text": TEXT}))


PLANTED: list[tuple[str, str, str, Callable[[Path], object]]] = [
    ("warehouse", "warehouse.duckdb", "exact", database),
    ("warehouse", "warehouse.duckdb", "exact", left_in_the_log),
    ("snapshot", "snapshot.duckdb", "exact", database),
    ("ledger", "ledger/segment-1.jsonl", "exact", lambda p: p.write_text(json.dumps({"content": TEXT}) + "\n")),
    ("ledger", "ledger/compacted-1.parquet", "exact", parquet),
    (
        "ledger",
        "ledger/segment-2.jsonl",
        "exact",
        lambda p: p.write_bytes(json.dumps({"detail": json.dumps(TEXT)}).encode()),
    ),
    (
        "cache",
        "artifacts/cache/masked/ab",
        "exact",
        lambda p: p.write_bytes(bytes(range(32)) + json.dumps([TEXT]).encode()),
    ),
    ("cache", "artifacts/cache/masked/cd", "alike", lambda p: p.write_text(TEXT.replace(" ", " \n").upper())),
    ("cache", "artifacts/made/embeddings/x.npy", "exact", lambda p: p.write_bytes(b"\x93NUMPY" + TEXT.encode())),
    ("hand_over", "artifacts/made/exchange/judge_requests.parquet", "exact", parquet),
    ("training", "artifacts/made/models/m/job.json", "exact", lambda p: p.write_text(json.dumps({"first": TEXT}))),
    (
        "training",
        "artifacts/made/models/m/model.safetensors",
        "exact",
        lambda p: p.write_bytes(bytes(10**6) + TEXT.encode()),
    ),
    ("training", "artifacts/made/models/m/state.pt", "exact", zipped),
    ("training", "artifacts/made/trained/m.parquet", "exact", parquet),
    ("release", "release/made/0.1.0/beir/corpus.jsonl", "exact", lambda p: p.write_text(json.dumps({"text": TEXT}))),
    ("release", "release/made/0.1.0/beir/qrels.tsv", "exact", lambda p: p.write_text(f'q\t"{TEXT}"\t1\n')),
    (
        "report",
        "reports/made.html",
        "exact",
        lambda p: p.write_text(f"<p>{TEXT.replace('Zürich', '<b>Z&uuml;rich</b>')}</p>"),
    ),
    ("dagster", "dagster/storage/step.err", "exact", lambda p: p.write_text(f"Error: {TEXT!r}")),
    ("dagster", "dagster/storage/step.out.gz", "exact", lambda p: p.write_bytes(gzip.compress(TEXT.encode()))),
    ("dagster", "dagster/runs.db", "exact", lambda p: rows(p, json.dumps({"metadata": json.dumps([TEXT])}))),
    ("dagster", "dagster/packed.db", "exact", lambda p: rows(p, zlib.compress(TEXT.encode()))),
    ("dagster", "dagster/long.db", "exact", lambda p: rows(p, "x" * 5000 + TEXT + "y" * 9000)),
    ("left_over", "ledger/.segment.123.partial", "exact", lambda p: p.write_text(TEXT)),
    ("left_over", "duckdb_temp/x.tmp", "exact", lambda p: p.write_bytes(b"\0" + TEXT.encode())),
    ("other", "notes/utf16.txt", "exact", lambda p: p.write_text(TEXT, encoding="utf-16")),
    ("other", "notes/old.txt", "exact", lambda p: p.write_text(TEXT, encoding="cp1252")),
    ("other", "notes/backup.zip", "exact", zipped),
    ("other", "notes/Frau Müller-Rüegg.txt", "", lambda p: p.write_text("nothing")),
]


@pytest.mark.parametrize(("place", "name", "how", "plant"), PLANTED, ids=[f"{i}-{p[1]}" for i, p in enumerate(PLANTED)])
def test_it_is_found_where_it_was_planted_and_nowhere_else(
    folders: Folders, place: str, name: str, how: str, plant: Callable[[Path], object]
) -> None:
    path = folders.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    plant(path)
    result = search(folders)
    places = {(p, n.removesuffix(".wal")) for p, n, _ in found(result)}
    assert result.unread == []
    if not how:
        assert (places, result.exit_code()) == (set(), 0)
        return
    assert places == {(place, path.name)}
    assert found(result)[0][2] == how
    assert result.exit_code() == 1
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    after = search(folders)
    assert (found(after), after.exit_code()) == ([], 0)


def test_rows_and_columns_are_named(folders: Folders) -> None:
    database(folders.home / "warehouse.duckdb")
    named = {f.where: (f.n, f.rows) for f in search(folders).findings if f.where.startswith("made.")}
    assert named == {"made.t.text": (1, ("p-1",)), "made.t.names": (1, ("p-1",))}


def test_what_was_searched_is_counted(folders: Folders) -> None:
    (folders.home / "x.bin").write_bytes(bytes(1000))
    tallies = {t.place: (t.files, t.bytes) for t in search(folders).searched}
    assert tallies["other"] == (1, 1000)
    assert tallies["ledger"] == (1, len('{"content": "Zürich, 7. Mai"}\n'.encode()))


def test_the_landing_folder_is_told_apart_and_its_documents_are_read(folders: Folders) -> None:
    document = Document()
    document.add_paragraph("Vorwort")
    run = document.add_paragraph().add_run
    for word in TEXT.split(" "):
        run(f"{word} ")
    document.save(str(folders.landing / "made" / "a.docx"))
    page = canvas.Canvas(str(folders.landing / "made" / "b.pdf"), pageCompression=1)
    for i, line in enumerate((TEXT[:40], TEXT[40:])):
        page.drawString(50, 700 - 20 * i, line)
    page.save()
    (folders.landing / "made" / "scan.pdf").write_bytes(b"%PDF-1.4 broken")
    result = search(folders)
    assert {(p, n) for p, n, _ in found(result)} == {("source", "a.docx"), ("source", "b.pdf")}
    assert [(u.place, Path(u.file).name) for u in result.unread] == [("source", "scan.pdf")]
    assert result.exit_code() == 0


def test_what_duckdb_deleted_and_never_showed_again(folders: Folders) -> None:
    path = folders.home / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("PRAGMA force_compression = 'fsst'")
        texts = [f"Zeile {i * 7919 % 100003} über Lärm und Staub" for i in range(20_000)]
        connection.execute("CREATE TABLE t AS SELECT unnest($texts) AS text", {"texts": [*texts, TEXT, *texts]})
        connection.execute("CHECKPOINT")
        connection.execute("CREATE TABLE u AS SELECT range AS n FROM range(200000)")
        connection.execute("CHECKPOINT")
        connection.execute("DROP TABLE t")
        connection.execute("CHECKPOINT")
    assert TEXT.encode() not in path.read_bytes()
    result = search(folders)
    assert [(f.place, f.where) for f in result.findings] == [("warehouse", "compressed in its blocks")]
    assert "free blocks" in result.notes[0]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("snapshot.duckdb", b"\0" * 8 + b"DUCK" + bytes(9000), "its rows were not searched"),
        ("ledger/c.parquet", b"PAR1 cut off", "Parquet"),
        ("dagster/runs.db", b"SQLite format 3\0" + bytes(range(200)) * 20, "DatabaseError"),
        ("dagster/step.gz", gzip.compress(bytes(range(256)) * 9)[:-15], "EOFError"),
        ("notes.7z", b"7z\xbc\xaf" + bytes(50), "cannot be opened here"),
    ],
)
def test_what_cannot_be_read_is_named_and_its_bytes_are_searched(
    folders: Folders, name: str, data: bytes, reason: str
) -> None:
    path = folders.home / name
    path.write_bytes(data)
    result = search(folders)
    assert [(Path(u.file).name, reason in u.reason) for u in result.unread] == [(path.name, True)], result.unread
    assert result.exit_code() == 2
    path.write_bytes(data + TEXT.encode())
    assert search(folders).exit_code() == 1


def test_links_are_followed_and_those_to_nothing_are_named(folders: Folders, tmp_path: Path) -> None:
    other = tmp_path / "disk"
    other.mkdir()
    (other / "x.txt").write_text(TEXT)
    (folders.home / "artifacts").symlink_to(other)
    (other / "round").symlink_to(folders.home)
    (folders.home / "gone").symlink_to(tmp_path / "nowhere")
    result = search(folders)
    assert len(found(result)) == 1
    assert [u.reason for u in result.unread] == ["a link to a file that is gone"]


def test_a_file_that_gives_no_bytes_is_named(folders: Folders) -> None:
    # Reading another process's memory at address 0 is an error for root too.
    (folders.home / "memory").symlink_to("/proc/self/mem")
    result = search(folders)
    assert result.exit_code() == 2
    assert "OSError" in result.unread[0].reason


def test_a_warehouse_in_use_is_waited_for_and_named_after_that(folders: Folders) -> None:
    path = folders.home / "warehouse.duckdb"
    database(path)
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with exclusive(Path(f"{path}.lock"), "a step of a run", 5):
            held.set()
            free.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        held.wait(10)
        result = search(folders, wait_s=0.2)
        assert [(u.place, "a step of a run" in u.reason) for u in result.unread] == [("warehouse", True)]
        threading.Timer(0.5, free.set).start()
        assert search(folders, wait_s=30).unread == []
    finally:
        free.set()
        thread.join()


def test_another_programs_lock_is_named(folders: Folders) -> None:
    path = folders.home / "snapshot.duckdb"
    database(path)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdin
        other.stdout.readline()
        result = search(folders, wait_s=0.2)
        other.stdin.close()
        other.wait(30)
    assert "another program has it open for writing" in result.unread[0].reason
    assert search(folders).unread == []


def test_what_comes_and_changes_meanwhile_is_searched_too(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path, late = folders.home / "a.txt", folders.home / "b.txt"
    path.write_text("nothing yet")
    inner, calls = Matcher.in_bytes, iter(range(100))

    def changing(self: Matcher, chunks: Iterator[bytes], *, is_text: bool):
        hits = inner(self, chunks, is_text=is_text)
        if next(calls) == 0:
            late.write_text(TEXT)
        return hits

    monkeypatch.setattr(Matcher, "in_bytes", changing)
    assert [name for _, name, _ in found(search(folders))] == ["b.txt"]


def test_a_file_that_never_rests_is_named(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folders.home / "growing.log"
    path.write_text("x")
    inner = Matcher.in_bytes

    def growing(self: Matcher, chunks: Iterator[bytes], *, is_text: bool):
        hits = inner(self, chunks, is_text=is_text)
        with path.open("a") as stream:
            stream.write("x")
        return hits

    monkeypatch.setattr(Matcher, "in_bytes", growing)
    result = search(folders)
    assert [Path(u.file).name for u in result.unread] == ["growing.log"]
    assert result.exit_code() == 2


def test_a_file_that_is_gone_meanwhile_is_no_fault(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folders.home / "z.txt"
    path.write_text(TEXT)
    inner = Matcher.in_bytes

    def removing(self: Matcher, chunks: Iterator[bytes], *, is_text: bool):
        path.unlink(missing_ok=True)
        return inner(self, chunks, is_text=is_text)

    monkeypatch.setattr(Matcher, "in_bytes", removing)
    result = search(folders)
    assert (found(result), result.unread) == ([], [])


def test_nothing_is_written(folders: Folders) -> None:
    database(folders.home / "warehouse.duckdb")
    rows(folders.dagster / "runs.db", TEXT)
    with sqlite3.connect(folders.dagster / "wal.db") as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = {path: path.stat() for path in sorted(folders.home.rglob("*"))}
    search(folders)
    after = {path: path.stat() for path in sorted(folders.home.rglob("*"))}
    assert {p: (s.st_size, s.st_mtime_ns) for p, s in before.items()} == {
        p: (s.st_size, s.st_mtime_ns) for p, s in after.items()
    }


def test_parts_count_only_when_asked(folders: Folders) -> None:
    long = " ".join(f"Satz {i} handelt von Sache {i * 7919 % 1000}." for i in range(60))
    (folders.home / "other.txt").write_text(f"Vorwort. {long[200:300]}")
    result = Search(folders, Matcher(Needle.of_text(long)), wait_s=1, workers=1).run()
    assert [f.how for f in result.findings] == ["parts"]
    assert (result.exit_code(), result.exit_code(parts=True)) == (0, 1)


def test_folders_inside_each_other_are_gone_through_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    inside = Folders(home, home / "dagster", home / "sandbox")
    assert inside.roots == [home]
    assert inside.place_of(home / "sandbox" / "x") == "source"
    # Also where the settings name other folders: they are no files to be deleted.
    apart = Folders(home, tmp_path / "dagster", tmp_path / "landing")
    assert (apart.place_of(home / "sandbox" / "x"), apart.place_of(home / "dagster" / "x")) == ("source", "dagster")
    assert inside.place_of(home / "dagster" / "x") == "dagster"
    assert apart.roots == [home, tmp_path / "dagster", tmp_path / "landing"]
    (home / "x").parent.mkdir()
    (home / "x").write_text(TEXT)
    os.link(home / "x", home / "y")
    result = search(apart)
    assert len(result.findings) == 2
    assert [(u.place, u.reason) for u in result.unread] == [
        ("dagster", "there is no such folder"),
        ("source", "there is no such folder"),
    ]


def test_the_rows_of_a_large_table_come_in_pieces(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folders.home / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'p-' || range AS id, 'Zeile ' || range AS text FROM range(300)")
        connection.execute("UPDATE t SET text = $text WHERE id IN ('p-0', 'p-99', 'p-100', 'p-299')", {"text": TEXT})
        connection.execute("DELETE FROM t WHERE id = 'p-7'")
    monkeypatch.setattr("tendril_assets.audit.values._DUCKDB_ROWS", 100)
    columns = list(duckdb_columns(path, 1, lock=None, wait_s=1))
    assert max(len(column.texts) for column in columns) <= 100
    assert sum(len(column.texts) for column in columns if column.name == "main.t.text") == 299
    (rows,) = [f for f in search(folders).findings if f.where == "main.t.text"]
    assert (rows.n, rows.rows) == (4, ("p-0", "p-99", "p-100", "p-299"))


def test_free_blocks_of_a_newer_form_are_named(folders: Folders) -> None:
    path = folders.home / "warehouse.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS x (STORAGE_VERSION 'v1.5.0')")
        connection.execute("CREATE TABLE x.t AS SELECT range::VARCHAR AS text FROM range(200000)")
        connection.execute("CREATE TABLE x.u AS SELECT range AS n FROM range(200000)")
        connection.execute("CHECKPOINT x")
        connection.execute("DROP TABLE x.t")
        connection.execute("CHECKPOINT x")
    result = search(folders)
    assert result.exit_code() == 2
    assert "in a newer form that cannot be decoded here" in result.unread[0].reason
