"""Where any of some words is left below a folder: an own search for the tests, that shares no code with what it proves.

Every file is read as bytes. Formats that pack their texts are decoded besides: Parquet, DuckDB and SQLite databases with
what is packed in their cells, gzip, zlib and zip. A file of such a format that cannot be decoded fails the search, for
nobody could tell what it holds.
"""

import gzip
import io
import sqlite3
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import polars as pl


def traces(roots: Iterable[Path], words: Iterable[str]) -> dict[str, set[str]]:
    """Relative path (with what is inside it, after ``!``) -> the words found there, of all files below ``roots``.

    Names of files and folders are searched too. Words are in ASCII alone, so that JSON, HTML and URL escapes leave them as
    they are, and the wide encodings put nothing but zeros between their letters.
    """
    wanted = sorted({word.lower() for word in words})
    assert all(word.isascii() for word in wanted)
    found: dict[str, set[str]] = defaultdict(set)
    for root in roots:
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root.parent))
            found[f"{name} (name)"] |= {word for word in wanted if word in path.name.lower()}
            if path.is_file() and not path.is_symlink():
                for inside, data in _layers(path):
                    found[f"{name}{inside}"] |= _in(data, wanted)
    return {place: there for place, there in found.items() if there}


def _in(data: bytes, words: list[str]) -> set[str]:
    small = data.replace(b"\0", b"").lower()
    return {word for word in words if word.encode() in small}


def _layers(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    yield "", data
    yield from _decoded(data, "")
    if data[8:12] == b"DUCK":
        yield from _tables(path)
    elif data[:16] == b"SQLite format 3\0":
        yield from _rows(path)


def _decoded(data: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    if data[:4] == b"PAR1":
        yield f"{place}!rows", str(pl.read_parquet(io.BytesIO(data)).to_dicts()).encode()
    elif data[:2] == b"\x1f\x8b":
        inner = gzip.decompress(data)
        yield f"{place}!gzip", inner
        yield from _decoded(inner, f"{place}!gzip")
    elif data[:2] in (b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
        yield f"{place}!zlib", zlib.decompress(data)
    elif data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield f"{place}!{name}", archive.read(name)
                yield from _decoded(archive.read(name), f"{place}!{name}")


def _tables(path: Path) -> Iterator[tuple[str, bytes]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
        for schema, table in tables:
            rows = connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall()
            yield f"!{schema}.{table}", str(rows).encode()


def _rows(path: Path) -> Iterator[tuple[str, bytes]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
            yield f"!{table}", str(rows).encode()
            for cell in (cell for row in rows for cell in row if isinstance(cell, bytes)):
                yield from _decoded(cell, f"!{table}")
