"""What is packed in a file, and what cannot be unpacked."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

import polars as pl
import pyarrow
import pytest

from tendril_assets.audit.opening import DAMAGED, kind_of, members

TEXT = b"Die Anbieterin legt dar.\n" * 200


def zstd(data: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return sink.getvalue().to_pybytes()


def zipped(name: str, data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def texts_in(data: bytes, unread: list[str] | None = None) -> dict[str, bytes]:
    unread = [] if unread is None else unread
    return {member.name: member.stream.read() for member in members(io.BytesIO(data), "f", unread)}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zlib.compress, zstd], ids=str)
def test_packed_streams(pack) -> None:
    data = pack(TEXT)
    assert kind_of(data[:1024], "x").name == "packed"
    assert list(texts_in(data).values()) == [TEXT]


def test_packings_inside_packings() -> None:
    found = texts_in(gzip.compress(zipped("a/b.txt", zlib.compress(TEXT))))
    assert found["f!f!a/b.txt!b"] == TEXT


def test_too_deep_a_packing_is_named() -> None:
    data = TEXT
    for _ in range(6):
        data = gzip.compress(data)
    unread: list[str] = []
    assert TEXT not in texts_in(data, unread).values()
    assert len(unread) == 1
    assert "packed too deep" in unread[0]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zlib.compress], ids=str)
def test_a_stream_that_ends_too_soon_is_an_error(pack) -> None:
    with pytest.raises(DAMAGED):
        texts_in(pack(bytes(range(256)) * 40)[:-20])


def test_a_member_that_cannot_be_read_is_named_and_the_others_are_read() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("first.txt", b"damaged member")
        archive.writestr("second.txt", TEXT)
    unread: list[str] = []
    found = texts_in(stream.getvalue().replace(b"damaged member", b"damaged Member"), unread)
    assert found["f!second.txt"] == TEXT
    assert unread == ["f!first.txt: Bad CRC-32 for file 'first.txt'"]


def test_a_pdf_inside_an_archive_is_named() -> None:
    unread: list[str] = []
    assert texts_in(zipped("a.pdf", b"%PDF-1.7 ..."), unread) == {"f!a.pdf": b"%PDF-1.7 ..."}
    assert unread == ["f!a.pdf: a PDF inside an archive; its bytes were searched: unpack it and search again"]


def test_a_parquet_file_inside_an_archive_comes_whole() -> None:
    stream = io.BytesIO()
    pl.DataFrame({"text": ["x"]}).write_parquet(stream)
    kinds = [member.kind.name for member in members(io.BytesIO(zipped("t.parquet", stream.getvalue())), "f", [])]
    assert kinds == ["numbers", "parquet"]


@pytest.mark.parametrize(
    ("head", "name", "kind", "has_text"),
    [
        (b"PAR1....", "x", "parquet", False),
        (b"SQLite format 3\0", "x.db", "sqlite", False),
        (b"\0" * 8 + b"DUCK", "x", "duckdb", False),
        (b"\n%PDF-1.7", "x", "document", False),
        (b"PK\x03\x04..", "x.docx", "document", False),
        (b"PK\x03\x04..", "x.npz", "archive", False),
        (b"<html>", "x.html", "document", True),
        (b"Rar!", "x", "closed", False),
        (b"\x00\x01", "model.safetensors", "numbers", False),
        (b"x^2 is no packed stream", "x.txt", "plain", True),
        (b"", "x", "plain", True),
    ],
)
def test_kinds(head: bytes, name: str, kind: str, has_text: bool) -> None:
    assert kind_of(head, name) == (kind, has_text)
