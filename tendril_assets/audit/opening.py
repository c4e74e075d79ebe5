"""What is inside one file: its bytes, and by its first bytes the rows, members or pages that bytes alone do not show."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from tendril_assets.audit.matching import CHUNK

# A packed database or Parquet file up to this size is read whole; a larger one is named.
_MOST_PACKED = 256 * 2**20
_MOST_LEVELS = 4
_HEAD = 1024
# Numbers with hardly a word between them: their bytes are searched, their letters would mean nothing.
_NUMBERS = (".safetensors", ".npy", ".npz", ".pt", ".bin", ".png", ".jpg", ".jpeg", ".gif", ".woff", ".woff2")
_DOCUMENTS = (".pdf", ".docx", ".html", ".htm", ".xhtml")
# Archives that nothing here unpacks.
_CLOSED = ((b"Rar!", "a RAR archive"), (b"7z\xbc\xaf", "a 7z archive"))
DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


class Kind(NamedTuple):
    """``name``: plain, numbers, parquet, sqlite, duckdb, packed, archive, document or closed."""

    name: str
    has_text: bool


def kind_of(head: bytes, name: str) -> Kind:
    """What a file is, by its first bytes and, where those do not tell, its name."""
    lower = name.lower()
    if head.startswith(b"PAR1"):
        return Kind("parquet", False)
    if head.startswith(b"SQLite format 3\0"):
        return Kind("sqlite", False)
    if head[8:12] == b"DUCK":
        return Kind("duckdb", False)
    if _unpacker(head):
        return Kind("packed", False)
    if b"%PDF-" in head:
        return Kind("document", False)
    if head.startswith(b"PK\x03\x04"):
        return Kind("document" if lower.endswith(".docx") else "archive", False)
    if any(head.startswith(start) for start, _ in _CLOSED):
        return Kind("closed", False)
    if lower.endswith(_NUMBERS):
        return Kind("numbers", False)
    return Kind("document" if lower.endswith(_DOCUMENTS) else "plain", True)


def head_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEAD)


def chunks(stream: IO[bytes], on_read: Callable[[int], None] | None = None) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        if on_read:
            on_read(len(chunk))
        yield chunk


class Member(NamedTuple):
    """A stream inside a file. ``kind`` is parquet where ``data`` is a whole Parquet file to be read by its columns."""

    name: str
    kind: Kind
    stream: IO[bytes]


def members(stream: IO[bytes], name: str, unread: list[str], level: int = 1) -> Iterator[Member]:
    """Everything packed in ``stream``, through packings inside packings; each is to be read before the next is asked for.

    What cannot be unpacked is added to ``unread``. Raises one of ``DAMAGED``.
    """
    head = _peek(stream)
    if unpack := _unpacker(head):
        inner = name.rpartition(".")[0] or name
        with unpack(stream) as plain:
            yield from _of_one(_buffered(plain), f"{name}!{Path(inner).name}", unread, level)
    elif head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                if member.is_dir():
                    continue
                try:
                    with archive.open(member) as plain:
                        yield from _of_one(_buffered(plain), f"{name}!{member.filename}", unread, level)
                except (*DAMAGED, RuntimeError, NotImplementedError) as error:
                    unread.append(f"{name}!{member.filename}: {error}")


def _of_one(stream: io.BufferedReader, name: str, unread: list[str], level: int) -> Iterator[Member]:
    kind = kind_of(stream.peek(_HEAD)[:_HEAD], name)
    if kind.name == "document" and not stream.peek(2).startswith(b"PK"):
        if not kind.has_text:
            unread.append(f"{name}: a PDF inside an archive; its bytes were searched: unpack it and search again")
        yield Member(name, kind, stream)
    elif kind.name in ("packed", "archive", "document") and level < _MOST_LEVELS:
        data = _whole(stream, name, unread)
        if data is not None:
            yield Member(name, Kind("numbers", False), io.BytesIO(data))
            yield from members(io.BytesIO(data), name, unread, level + 1)
    elif kind.name == "parquet":
        data = _whole(stream, name, unread)
        if data is not None:
            yield Member(name, Kind("numbers", False), io.BytesIO(data))
            yield Member(name, kind, io.BytesIO(data))
    else:
        if kind.name in ("sqlite", "duckdb", "closed", "packed", "archive", "document") and not kind.has_text:
            unread.append(f"{name}: packed too deep, or a database inside an archive; only its bytes were searched")
        yield Member(name, kind, stream)


def _buffered(stream: Any) -> io.BufferedReader:
    return io.BufferedReader(stream)


def _whole(stream: IO[bytes], name: str, unread: list[str]) -> bytes | None:
    data = stream.read(_MOST_PACKED + 1)
    if len(data) <= _MOST_PACKED:
        return data
    unread.append(f"{name}: over {_MOST_PACKED // 2**20} MiB inside an archive; unpack it and search again")
    return None


def _peek(stream: IO[bytes]) -> bytes:
    at = stream.tell()
    head = stream.read(_HEAD)
    stream.seek(at)
    return head


def _unpacker(head: bytes) -> Callable[[IO[bytes]], Any] | None:
    if head.startswith(b"\x1f\x8b"):
        return lambda stream: gzip.GzipFile(fileobj=stream)
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return bz2.BZ2File
    if head.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd
    if head[:1] == b"\x78" and head[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda") and _inflates(head):
        return _zlib
    return None


def _inflates(head: bytes) -> bool:
    try:
        return bool(zlib.decompressobj().decompress(head))
    except zlib.error:
        return False


def _zstd(stream: IO[bytes]) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, mode="r"), "zstd")


def _zlib(stream: IO[bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Inflating(stream))


class _Inflating(io.RawIOBase):
    """A bare zlib stream, read a piece at a time. Raises EOFError where it ends before it should."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._inflate = stream, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = len(buffer)
        while not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._stream.read(64 * 1024)
            if not data:
                raise EOFError("the packed data end too soon")
            plain = self._inflate.decompress(data, room)
            if plain:
                buffer[: len(plain)] = plain
                return len(plain)
        return 0
