"""Reading a document: which reader, and one outcome whatever happens.

``read_document`` works in this process and trusts the caller with time and memory; ``read_documents`` runs it in child
processes that keep the limits. The readers are ``extract_pdf``, ``extract_office``, ``extract_html`` and
``extract_text``.
"""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from tendril_assets.corpus.extract_html import read_html
from tendril_assets.corpus.extract_office import read_docx
from tendril_assets.corpus.extract_pdf import read_pdf
from tendril_assets.corpus.extract_pool import ReadResult, read_documents
from tendril_assets.corpus.extract_text import read_text
from tendril_assets.corpus.extraction import (
    OUTCOMES,
    WITH_TEXT,
    Extraction,
    Limits,
    PageText,
    RawPages,
    Unreadable,
    settle,
)

EXTRACTOR_VERSION = "extract-3"

__all__ = [
    "EXTRACTOR_VERSION",
    "OUTCOMES",
    "WITH_TEXT",
    "Extraction",
    "Limits",
    "PageText",
    "ReadResult",
    "read_document",
    "read_documents",
]

_TEXT_SUFFIXES = {".txt", ".text", ".md"}
_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
_HEAD = 1024  # bytes that tell the type; a PDF may have as much before its header
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S
)
# What else arrives under the name of a document, by its first bytes.
_KNOWN = (
    (b"{\\rtf", "an RTF file; save it as DOCX or PDF"),
    (b"\x89PNG", "a PNG image; a scan needs text recognition first"),
    (b"\xff\xd8\xff", "a JPEG image; a scan needs text recognition first"),
    (b"II*\x00", "a TIFF image; a scan needs text recognition first"),
    (b"MM\x00*", "a TIFF image; a scan needs text recognition first"),
    (b"Rar!", "a RAR archive; unpack it"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it"),
    (b"\x1f\x8b", "a gzip archive; unpack it"),
    (b"MIME-Version:", "a saved mail or web archive; save it as PDF"),
)


def read_document(path: str | Path, limits: Limits) -> Extraction:
    """Text of one PDF, DOCX, HTML or text file by page, or the reason why there is none.

    The content decides between PDF, Word and the rest, the name between HTML and text. An error of a reader is an
    outcome (``parse_failed``) and never raised, so that one document stops no other; MemoryError is raised.
    """
    path = Path(path)
    try:
        return settle(_reader(path, limits)(path, limits), limits)
    except Unreadable as end:
        return Extraction(end.outcome, str(end))
    except MemoryError:
        raise
    except Exception as error:  # the parsers raise what they like; each becomes a counted outcome with its message
        return Extraction("parse_failed", f"{type(error).__name__}: {error}"[:300])


def _reader(path: Path, limits: Limits) -> Callable[[Path, Limits], RawPages]:
    if not path.is_file():
        raise Unreadable("parse_failed", "no such file" if not path.exists() else "not a regular file")
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise Unreadable("too_large", f"{size} bytes, limit {limits.max_bytes}")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    suffix = path.suffix.lower()
    plain = suffix in _HTML_SUFFIXES | _TEXT_SUFFIXES
    if head.startswith(b"%PDF-") or (b"%PDF-" in head and not plain):
        return read_pdf
    if head.startswith(b"PK\x03\x04"):
        if not zipfile.is_zipfile(path):
            raise Unreadable("parse_failed", "a damaged archive")
        return read_docx
    if head.startswith(_OLE):
        # A Word file with a password is wrapped into the old container.
        if "EncryptedPackage".encode("utf-16-le") in path.read_bytes():
            raise Unreadable("encrypted", "an Office file with a password")
        raise Unreadable("unsupported", "an Office file in the old binary format; save it as DOCX or PDF")
    for start, message in _KNOWN:
        if head.startswith(start):
            raise Unreadable("unsupported", message)
    is_markup = _MARKUP.match(head) is not None
    if suffix in _HTML_SUFFIXES or (is_markup and suffix in _TEXT_SUFFIXES):
        return read_html
    if suffix in _TEXT_SUFFIXES:
        return read_text
    if suffix in (".pdf", ".docx"):
        what = "the file is empty" if not size else f"the content is no {suffix[1:].upper()} file"
        page = "; it is a web page, perhaps the login or error page of the site it came from" if is_markup else ""
        raise Unreadable("parse_failed", f"{what}{page}")
    page = "; it is a web page, name it .html to have it read" if is_markup else ""
    raise Unreadable("unsupported", f"no reader for {suffix or 'files without a suffix'}{page}")
