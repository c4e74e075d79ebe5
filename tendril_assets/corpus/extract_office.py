"""Reading Word files (DOCX) straight from their main part.

The part is streamed through expat instead of loading the package with python-docx: text boxes, content controls and
page breaks are read too, tracked deletions are not, memory does not grow with the file, and nothing outside the main
part (links, templates, images, chunks in other formats) is ever followed. A document type declaration, which the format
forbids, ends the reading, so no entity is ever expanded.
"""

import zipfile
from pathlib import Path
from xml.parsers import expat

from tendril_assets.corpus.blocks import BlockBuilder, Mark
from tendril_assets.corpus.extraction import Limits, RawPages, Unreadable

_MAX_PARTS = 10_000
_MAX_RATIO = 300  # bytes unpacked per byte packed, checked in parts over 10 MB; deflate ends at 1,032
_RATIO_FROM = 10_000_000
_PIECE = 1 << 16
_MAIN_TYPE = "wordprocessingml.document.main+xml", "wordprocessingml.template.main+xml"
_MAIN_MACRO_TYPES = "ms-word.document.macroEnabled.main+xml", "ms-word.template.macroEnabledTemplate.main+xml"


def read_docx(path: Path, limits: Limits) -> RawPages:
    """Text of each page: breaks as Word last laid the document out, or explicit ones where it left no layout.

    Raises Unreadable: encrypted, unsupported (an archive that is no Word file), too_large, parse_failed.
    """
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        _check_declared(parts, limits)
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable("encrypted", "the archive is encrypted")
        main = _main_part(archive)
        reader = _BodyReader(limits.max_characters)
        unpacked = 0
        # Every XML part is unpacked, so that a part that hides its size is found wherever it lies.
        for part in parts:
            if not part.filename.endswith((".xml", ".rels")):
                continue
            parser = _parser(reader) if part.filename == main else None
            with archive.open(part) as stream:
                while piece := stream.read(_PIECE):
                    unpacked += len(piece)
                    if unpacked > limits.max_bytes:
                        raise Unreadable("too_large", f"unpacks to more than {limits.max_bytes} bytes")
                    if parser:
                        parser.Parse(piece, False)
            if parser:
                parser.Parse(b"", True)
    return RawPages(reader.pages())


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


def _main_part(archive: zipfile.ZipFile) -> str:
    names: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = attributes.get("ContentType", "")
        if tag.endswith("Override") and kind.endswith((*_MAIN_TYPE, *_MAIN_MACRO_TYPES)):
            names.append(attributes.get("PartName", "").lstrip("/"))

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = start
    if "[Content_Types].xml" not in archive.namelist():
        raise Unreadable("unsupported", "an archive, but not a Word document")
    parser.Parse(archive.read("[Content_Types].xml"), True)
    if not names or names[0] not in archive.namelist():
        raise Unreadable("unsupported", "an Office file, but not a Word document")
    return names[0]


def _refuse_doctype(*_: object) -> None:
    raise Unreadable("parse_failed", "declares a document type, which the format forbids")


def _parser(reader: "_BodyReader") -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.buffer_text = True
    return parser


_WORD_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",  # transitional, as Word writes it
    "http://purl.oclc.org/ooxml/wordprocessingml/main",  # strict
)
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_SKIPPED = {"del", "moveFrom", "Fallback", "instrText", "delText"}
_TEXT_FOR = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


class _BodyReader:
    """Handlers of the main part. Pages are counted twice, by layout marks and by explicit breaks."""

    def __init__(self, max_characters: int) -> None:
        self._builder = BlockBuilder(max_characters)
        self._paragraphs: list[_Paragraph] = []
        self._skipping = 0
        self._in_text = False
        self._rendered = 0
        self._explicit = 0
        self._section: str | None = None
        self._locals: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = self._local(tag)
        if self._skipping or name in _SKIPPED:
            self._skipping += 1
            return
        paragraph = self._paragraphs[-1] if self._paragraphs else None
        if name == "p":
            self._paragraphs.append(_Paragraph())
        elif name == "t":
            self._in_text = True
        elif name == "tbl":
            self._builder.open_table()
        elif name == "tc":
            self._builder.open_cell()
        elif name == "lastRenderedPageBreak":
            self._rendered += 1
        elif name == "sectPr":
            self._section = "nextPage"
        elif name == "type" and self._section:
            self._section = _value(attributes)
        elif paragraph is not None:
            self._in_paragraph(name, attributes, paragraph)

    def _in_paragraph(self, name: str, attributes: dict[str, str], paragraph: "_Paragraph") -> None:
        if name in _TEXT_FOR:
            # A tab stop in the paragraph's properties is no tab in its text.
            if not (name == "tab" and attributes):
                self._add(_TEXT_FOR[name])
        elif name == "br":
            if any(key.endswith("type") and value == "page" for key, value in attributes.items()):
                self._explicit += 1
            else:
                self._add("\n")
        elif name == "pageBreakBefore" and _value(attributes) not in ("0", "false", "off"):
            self._explicit += 1
        elif name == "numPr":
            paragraph.item = True

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        name = self._local(tag)
        if name == "t":
            self._in_text = False
        elif name == "p":
            paragraph = self._paragraphs.pop()
            mark = paragraph.mark or (self._rendered, self._explicit)
            self._builder.paragraph("".join(paragraph.texts), mark, item=paragraph.item)
            if self._section and not self._paragraphs:
                self._explicit += self._section != "continuous"
                self._section = None
        elif name == "tr":
            self._builder.close_row()
        elif name == "tbl":
            self._builder.close_table()

    def characters(self, data: str) -> None:
        if self._in_text and not self._skipping:
            self._add(data)

    def _add(self, text: str) -> None:
        if self._paragraphs:
            paragraph = self._paragraphs[-1]
            paragraph.texts.append(text)
            if paragraph.mark is None and text.strip():
                paragraph.mark = (self._rendered, self._explicit)

    def _local(self, tag: str) -> str:
        """Local name in the word-processing namespaces (transitional and strict) and of Fallback; '' for others."""
        name = self._locals.get(tag)
        if name is None:
            uri, _, local = tag.rpartition(" ")
            known = uri in _WORD_NAMESPACES or (uri == _COMPATIBILITY and local == "Fallback")
            name = self._locals[tag] = local if known else ""
        return name

    def pages(self) -> list[str]:
        use_layout = self._rendered > 0
        texts = [""] * (1 + (self._rendered if use_layout else self._explicit))
        for (rendered, explicit), text in self._builder.blocks:
            page = rendered if use_layout else explicit
            texts[page] = f"{texts[page]}\n\n{text}" if texts[page] else text
        return texts


class _Paragraph:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.mark: Mark | None = None
        self.item = False


def _value(attributes: dict[str, str]) -> str:
    return next((value for key, value in attributes.items() if key.endswith("val")), "")
