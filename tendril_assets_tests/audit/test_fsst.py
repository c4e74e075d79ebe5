"""Texts that only compressed blocks of a DuckDB file hold, against DuckDB itself."""

from pathlib import Path

import duckdb
import pytest

from tendril_assets.audit.fsst import BLOCK, FIRST_BLOCK, decoded
from tendril_assets.audit.values import free_blocks

# Two symbols of two bytes and one of one, in the order of the format: two bytes first, one byte last.
TABLE = b"\x01\x03\xff\xee\x0a\x14\x34\x01" + b"\x00" + bytes([1, 2, 0, 0, 0, 0, 0, 0]) + b"Mu" + b"st" + b"e"


def test_a_table_by_hand() -> None:
    (text,) = decoded(TABLE + b"\x00\x01\x02\xffr\xff\xff\x02")
    assert text == b"Muster\xffe"


def test_a_table_that_is_cut_off_decodes_nothing() -> None:
    assert list(decoded(TABLE[:-2])) == []
    assert list(decoded(b"\x0a\x14\x34\x01 without its beginning")) == []


def blocks(path: Path) -> bytes:
    data = path.read_bytes()
    found = (text for start in range(FIRST_BLOCK, len(data), BLOCK) for text in decoded(data[start : start + BLOCK]))
    return b"\n".join(found)


def test_rows_that_duckdb_compressed_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    texts = [
        f"Auflage {i}: Die Anbieterin {i * 7919 % 100003} hält die Vorgabe № {chr(0x10400 + i % 80)} zu Lärm ein."
        for i in range(8_000)
    ]
    with duckdb.connect(str(path)) as connection:
        connection.execute("PRAGMA force_compression = 'fsst'")
        connection.execute("CREATE TABLE t AS SELECT unnest($texts) AS text", {"texts": texts})
        connection.execute("CHECKPOINT")
        (kind,) = connection.execute(
            "SELECT DISTINCT compression FROM pragma_storage_info('t') WHERE segment_type = 'VARCHAR'"
        ).fetchall()
        assert kind == ("FSST",)
        # What stands behind the dropped rows keeps the file from being cut.
        connection.execute("CREATE TABLE u AS SELECT range AS n FROM range(200000)")
        connection.execute("CHECKPOINT")
        connection.execute("DROP TABLE t")
        connection.execute("CHECKPOINT")
        (free,) = connection.execute("SELECT free_blocks FROM pragma_database_size()").fetchone() or (0,)
        assert free > 0
    # Bytes alone do not show them: what DuckDB's free blocks keep is only found decoded.
    data, held, some = path.read_bytes(), blocks(path), texts[::40]
    assert not any(text.encode() in data for text in some)
    assert sum(text.encode() in held for text in some) >= 0.99 * len(some)


@pytest.mark.parametrize(
    ("version", "is_decoded"), [("v0.10.2", True), ("v1.0.0", True), ("v1.2.0", False), ("v1.5.0", False)]
)
def test_newer_files_may_hold_what_is_not_decoded(tmp_path: Path, version: str, is_decoded: bool) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS x (STORAGE_VERSION '{version}')")
        connection.execute("CREATE TABLE x.t AS SELECT 1 AS n")
    assert free_blocks(path, lock=None, wait_s=1) == (0, is_decoded)
