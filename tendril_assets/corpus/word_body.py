"""What is text in the XML of a Word file.

Read: runs, tables with merged cells, text boxes once, content controls (unless they show their prompt), tracked
insertions, formulas, symbols, notes. Not read: tracked deletions, whole deleted rows, hidden text, field codes. A
deleted paragraph mark joins two paragraphs.
"""

from collections.abc import Mapping
from typing import Protocol

from tendril_assets.corpus.blocks import BlockBuilder, Mark
from tendril_assets.corpus.textclean import SUPERSCRIPTS

NOTE_KINDS = ("footnotes", "endnotes")
_WORD_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",  # transitional, as Word writes it
    "http://purl.oclc.org/ooxml/wordprocessingml/main",  # strict
)
_MATH_NAMESPACES = (
    "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "http://purl.oclc.org/ooxml/officeDocument/math",
)
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_SKIPPED = {"moveFrom", "Fallback", "instrText", "delText"}
_TEXT_FOR = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_NO = ("0", "false", "off", "none")
_SEPARATORS = ("separator", "continuationSeparator", "continuationNotice")


class PartReader(Protocol):
    """Handlers that expat calls for one part."""

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def characters(self, data: str) -> None: ...


class _Paragraph:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.mark: Mark | None = None
        self.item = False
        self.goes_on = False  # its mark is deleted
        self.notes: list[str] = []


class BodyReader:
    """Handlers of the main part, a header or a footer. Pages are counted twice, by layout marks and by explicit breaks.

    ``notes``: text of each note by the name of its reference element and its id.
    """

    def __init__(self, max_characters: int, notes: Mapping[str, list[str]]) -> None:
        self._builder = BlockBuilder(max_characters)
        self._notes = notes
        self._waiting_notes: list[str] = []
        self._paragraphs: list[_Paragraph] = []
        self._skipping = 0
        self._path: list[str] = []
        self._in_text = False
        self._hidden = self._raised = False
        self._prompts: list[bool] = []
        self._deleted_row = False
        self._rendered = 0
        self._explicit = 0
        self._section: str | None = None
        self._carried: _Paragraph | None = None
        self._locals: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = self._local(tag)
        if self._skipping or name in _SKIPPED or (name == "del" and self._is_content_deleted(attributes)):
            self._skipping += 1
            return
        if name == "sdtContent" and self._prompts and self._prompts[-1]:
            self._skipping += 1
            return
        self._path.append(name)
        match name:
            case "p":
                self._paragraphs.append(self._carried or _Paragraph())
                self._carried = None
            case "r":
                self._hidden = self._raised = False
            case "t":
                self._in_text = True
            case "tbl":
                self._builder.open_table()
            case "tc":
                self._builder.open_cell()
            case "gridSpan":
                self._builder.widen_cell(_number(attributes))
            case "sdt":
                self._prompts.append(False)
            case "showingPlcHdr" if self._prompts:
                self._prompts[-1] = _is_on(attributes)
            case "lastRenderedPageBreak":
                self._rendered += 1
            case "sectPr":
                self._section = "nextPage"
            case "type" if self._section:
                self._section = _value(attributes)
            case _ if self._paragraphs:
                self._in_paragraph(name, attributes, self._paragraphs[-1])

    def _is_content_deleted(self, attributes: dict[str, str]) -> bool:
        """Whether a deletion holds what is deleted; in properties it tells that the paragraph mark or the row is."""
        parent = self._path[-1] if self._path else ""
        if parent == "trPr":
            self._deleted_row = True
            return False
        if parent == "rPr" and "pPr" in self._path[-2:-1] and self._paragraphs:
            self._paragraphs[-1].goes_on = True
            return False
        return True

    def _in_paragraph(self, name: str, attributes: dict[str, str], paragraph: _Paragraph) -> None:
        if name in _TEXT_FOR:
            # A tab stop in the paragraph's properties is no tab in its text.
            if not (name == "tab" and attributes):
                self._add(_TEXT_FOR[name])
            return
        match name:
            case "br":
                if any(key.endswith("type") and value == "page" for key, value in attributes.items()):
                    self._explicit += 1
                else:
                    self._add("\n")
            case "sym":
                code = next((value for key, value in attributes.items() if key.endswith("char")), "")
                if len(code) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in code):
                    self._add(chr(int(code, 16)))
            case "pageBreakBefore" if _is_on(attributes):
                self._explicit += 1
            case "numPr":
                paragraph.item = True
            case "vanish" if self._path[-3:-1] == ["r", "rPr"]:
                self._hidden = _is_on(attributes)
            case "vertAlign" if self._path[-3:-1] == ["r", "rPr"]:
                self._raised = _value(attributes) == "superscript"
            case "footnoteReference" | "endnoteReference":
                paragraph.notes += self._notes.get(f"{name}{_id(attributes)}", [])

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        name = self._path.pop()
        match name:
            case "t":
                self._in_text = False
            case "p":
                self._end_paragraph(self._paragraphs.pop())
            case "sdt":
                self._prompts.pop()
            case "tr":
                self._builder.close_row(keep=not self._deleted_row)
                self._deleted_row = False
            case "tbl":
                self._builder.close_table()
                self._place_notes((self._rendered, self._explicit))

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        if paragraph.goes_on and not self._paragraphs:
            paragraph.goes_on = False
            self._carried = paragraph
            return
        mark = paragraph.mark or (self._rendered, self._explicit)
        self._builder.paragraph("".join(paragraph.texts), mark, item=paragraph.item)
        self._waiting_notes += paragraph.notes
        self._place_notes(mark)
        if self._section and not self._paragraphs:
            self._explicit += self._section != "continuous"
            self._section = None

    def _place_notes(self, mark: Mark) -> None:
        """Notes stand behind the paragraph, or the table, that refers to them."""
        if self._builder.in_table or self._paragraphs:
            return
        for text in self._waiting_notes:
            self._builder.paragraph(text, mark)
        self._waiting_notes = []

    def characters(self, data: str) -> None:
        if self._in_text and not self._skipping and not self._hidden:
            self._add(
                "".join(SUPERSCRIPTS[c] for c in data) if self._raised and data.isdecimal() and data.isascii() else data
            )

    def _add(self, text: str) -> None:
        if self._paragraphs:
            paragraph = self._paragraphs[-1]
            paragraph.texts.append(text)
            if paragraph.mark is None and text.strip():
                paragraph.mark = (self._rendered, self._explicit)

    def _local(self, tag: str) -> str:
        """Local name in the word-processing namespaces, of text in formulas, and of Fallback; '' for others."""
        name = self._locals.get(tag)
        if name is None:
            uri, _, local = tag.rpartition(" ")
            known = uri in _WORD_NAMESPACES or (uri == _COMPATIBILITY and local == "Fallback")
            name = self._locals[tag] = local if known or (uri in _MATH_NAMESPACES and local == "t") else ""
        return name

    def pages(self) -> list[str]:
        """Text of each page; to be called when the part has ended."""
        if self._carried:
            self._builder.paragraph(
                "".join(self._carried.texts), self._carried.mark or (self._rendered, self._explicit)
            )
            self._carried = None
        use_layout = self._rendered > 0
        texts: list[list[str]] = [[] for _ in range(1 + (self._rendered if use_layout else self._explicit))]
        for (rendered, explicit), text in self._builder.blocks:
            texts[rendered if use_layout else explicit].append(text)
        return ["\n\n".join(blocks) for blocks in texts]


class NotesReader:
    """Handlers of the footnotes or endnotes part; each note is read as a body of its own."""

    def __init__(self, kind: str, max_characters: int) -> None:
        self.notes: dict[str, list[str]] = {}
        self._reference = f"{kind.removesuffix('s')}Reference"
        self._element = kind.removesuffix("s")
        self._max = max_characters
        self._note: BodyReader | None = None
        self._key = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._note is not None:
            self._note.start(tag, attributes)
        elif self._is_note(tag) and not any(value in _SEPARATORS for value in attributes.values()):
            self._note = BodyReader(self._max, {})
            self._key = f"{self._reference}{_id(attributes)}"

    def end(self, tag: str) -> None:
        if self._note is None:
            return
        if self._is_note(tag):
            self.notes[self._key] = [text for text in self._note.pages() if text]
            self._note = None
        else:
            self._note.end(tag)

    def characters(self, data: str) -> None:
        if self._note is not None:
            self._note.characters(data)

    def _is_note(self, tag: str) -> bool:
        uri, _, local = tag.rpartition(" ")
        return local == self._element and uri in _WORD_NAMESPACES


def _value(attributes: dict[str, str]) -> str:
    return next((value for key, value in attributes.items() if key.endswith("val")), "")


def _is_on(attributes: dict[str, str]) -> bool:
    return _value(attributes) not in _NO


def _number(attributes: dict[str, str]) -> int:
    value = _value(attributes)
    return int(value) if value.isdecimal() and len(value) < 6 else 1


def _id(attributes: dict[str, str]) -> str:
    return next((value for key, value in attributes.items() if key.endswith(" id") or key == "id"), "")
