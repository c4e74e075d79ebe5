"""Reading a document: which reader, and one outcome whatever happens.

``read_document`` works in this process and trusts the caller with time and memory; ``read_documents`` runs it in child
processes that keep the limits. The readers are ``extract_pdf``, ``extract_office`` and ``extract_text``.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path

from tendril_assets.corpus.extract_office import read_docx
from tendril_assets.corpus.extract_pdf import read_pdf
from tendril_assets.corpus.extract_pool import ReadResult, read_documents
from tendril_assets.corpus.extract_text import read_html, read_text
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

EXTRACTOR_VERSION = "extract-2"

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
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


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
        head = file.read(1024)
    if b"%PDF-" in head:
        return read_pdf
    if head.startswith(b"PK\x03\x04"):
        if not zipfile.is_zipfile(path):
            raise Unreadable("parse_failed", "a damaged archive")
        return read_docx
    if head.startswith(_OLE):
        # A Word file with a password is wrapped into the old container.
        if "EncryptedPackage".encode("utf-16-le") in path.read_bytes():
            raise Unreadable("encrypted", "an Office file with a password")
        raise Unreadable("unsupported", "an Office file in the old binary format")
    suffix = path.suffix.lower()
    if suffix in _HTML_SUFFIXES:
        return read_html
    if suffix in _TEXT_SUFFIXES:
        return read_text
    if suffix in (".pdf", ".docx"):
        raise Unreadable("parse_failed", f"the content is no {suffix[1:].upper()} file")
    raise Unreadable("unsupported", f"no reader for {suffix or 'files without a suffix'}")
