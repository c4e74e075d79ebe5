"""Reading Word files (DOCX): which parts there are, within what limits, and in what order they are read.

Parts are streamed through expat instead of loading the package with python-docx: memory does not grow with the file,
and nothing outside the parts with text (links, templates, images, chunks in other formats) is ever followed. A document
type declaration, which the format forbids, ends the reading, so no entity is ever expanded. Footnotes and endnotes are
read first and stand behind the paragraph that refers to them; headers and footers repeat on every page and are handed
over as dropped lines. What is text in a part is the matter of ``word_body``.
"""

import re
import zipfile
from pathlib import Path
from xml.parsers import expat

from tendril_assets.corpus.extraction import Limits, RawPages, Unreadable
from tendril_assets.corpus.word_body import NOTE_KINDS, BodyReader, NotesReader

_MAX_PARTS = 10_000
_MAX_RATIO = 300  # bytes unpacked per byte packed, checked in parts over 10 MB; deflate ends at 1,032
_RATIO_FROM = 10_000_000
_PIECE = 1 << 16
_TYPES = "[Content_Types].xml"
_MAIN_TYPES = (
    "wordprocessingml.document.main+xml",
    "wordprocessingml.template.main+xml",
    "ms-word.document.macroEnabled.main+xml",
    "ms-word.template.macroEnabledTemplate.main+xml",
)
_TEXT_TYPE = re.compile(r"wordprocessingml\.(footnotes|endnotes|header|footer)\+xml\Z")
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument"


def read_docx(path: Path, limits: Limits) -> RawPages:
    """Text of each page: breaks as Word last laid the document out, or explicit ones where it left no layout.

    Raises Unreadable: encrypted, unsupported (an archive that is no Word file), too_large, parse_failed.
    """
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        _check_declared(parts, limits)
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable("encrypted", "the archive is encrypted")
        kinds = _kinds(archive)
        reading = _Reading(archive, limits.max_bytes)
        notes: dict[str, list[str]] = {}
        dropped: list[str] = []
        for name, kind in kinds.items():
            if kind in NOTE_KINDS:
                reader = NotesReader(kind, limits.max_characters)
                reading.parse(name, reader)
                notes |= reader.notes
            elif kind in ("header", "footer"):
                reader = BodyReader(limits.max_characters, {})
                reading.parse(name, reader)
                dropped += [line for page in reader.pages() for line in page.split("\n") if line]
        body = BodyReader(limits.max_characters, notes)
        reading.parse(next(name for name, kind in kinds.items() if kind == "main"), body)
        # Every XML part is unpacked, so that a part that hides its size is found wherever it lies.
        for part in parts:
            if part.filename.endswith((".xml", ".rels")) and part.filename not in reading.read:
                reading.parse(part.filename, None)
    return RawPages(body.pages(), list(dict.fromkeys(dropped)))


class _Reading:
    """Unpacks parts, within one limit for all of them together."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int) -> None:
        self.read: set[str] = set()
        self._archive = archive
        self._max = self._left = max_bytes

    def parse(self, name: str, reader: BodyReader | NotesReader | None) -> None:
        """Unpack the part ``name``, and give it to ``reader`` where there is one."""
        self.read.add(name)
        parser = _parser(reader) if reader else None
        with self._archive.open(name) as stream:
            while piece := stream.read(_PIECE):
                self._left -= len(piece)
                if self._left < 0:
                    raise Unreadable("too_large", f"unpacks to more than {self._max} bytes")
                if parser:
                    parser.Parse(piece, False)
        if parser:
            parser.Parse(b"", True)


def _check_declared(parts: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(parts) > _MAX_PARTS:
        raise Unreadable("too_large", f"{len(parts)} parts in the archive, limit {_MAX_PARTS}")
    declared = sum(part.file_size for part in parts)
    if declared > limits.max_bytes:
        raise Unreadable("too_large", f"declares {declared} unpacked bytes, limit {limits.max_bytes}")
    for part in parts:
        if part.file_size > _RATIO_FROM and part.file_size > _MAX_RATIO * max(part.compress_size, 1):
            raise Unreadable(
                "too_large", f"{part.filename} unpacks {part.file_size // max(part.compress_size, 1)}-fold"
            )


def _kinds(archive: zipfile.ZipFile) -> dict[str, str]:
    """Parts with text by name: main, footnotes, endnotes, header or footer."""
    kinds: dict[str, str] = {}
    present = set(archive.namelist())

    def start(tag: str, attributes: dict[str, str]) -> None:
        name, content_type = attributes.get("PartName", "").lstrip("/"), attributes.get("ContentType", "")
        if not tag.endswith("Override") or name not in present:
            return
        if content_type.endswith(_MAIN_TYPES) and "main" not in kinds.values():
            kinds[name] = "main"
        elif match := _TEXT_TYPE.search(content_type):
            kinds[name] = match[1]

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = start
    if _TYPES not in present:
        open_document = "mimetype" in present and archive.read("mimetype")[:60].startswith(_OPEN_DOCUMENT)
        kind = "an OpenDocument file" if open_document else "an archive, but not a Word document"
        raise Unreadable("unsupported", f"{kind}; save it as DOCX or PDF, or unpack it")
    parser.Parse(archive.read(_TYPES), True)
    if "main" not in kinds.values():
        raise Unreadable("unsupported", "an Office file, but not a Word document; save it as PDF")
    return kinds


def _refuse_doctype(*_: object) -> None:
    raise Unreadable("parse_failed", "declares a document type, which the format forbids")


def _parser(reader: BodyReader | NotesReader) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.buffer_text = True
    return parser
