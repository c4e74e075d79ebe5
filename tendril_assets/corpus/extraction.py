"""What reading a document gives: the records shared by the readers, the pool and the stages behind them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Protocol

from tendril_assets.corpus.textclean import clean, closed_up, garbled_share, squeeze

OUTCOMES = (
    "ok",
    "partial",
    "no_text_layer",
    "encrypted",
    "too_large",
    "garbled",
    "parse_failed",
    "unsupported",
)
WITH_TEXT = ("ok", "partial")


class Limits(Protocol):
    """Limits of one document; ``spec.ExtractionSpec`` is one."""

    @property
    def timeout_s(self) -> float: ...
    @property
    def memory_mb(self) -> int: ...
    @property
    def max_bytes(self) -> int: ...
    @property
    def max_characters(self) -> int: ...
    @property
    def max_garbled_share(self) -> float: ...


class ReadingLimits(NamedTuple):
    """The limits as they travel to a worker process, which does without pydantic."""

    timeout_s: float
    memory_mb: int
    max_bytes: int
    max_characters: int
    max_garbled_share: float

    @classmethod
    def of(cls, limits: Limits) -> "ReadingLimits":
        return cls(*(getattr(limits, name) for name in cls._fields))


class PageText(NamedTuple):
    """Text of one page: paragraphs parted by an empty line, table rows by a line break, cells by `` | ``."""

    number: int
    text: str


@dataclass(frozen=True)
class Extraction:
    """Outcome of reading one document.

    ``pages`` holds the pages with text (numbers from 1, as in the document); it is empty unless ``outcome`` is ``ok``
    or ``partial``. ``empty_pages`` are those without text, ``dropped_lines`` the repeated headers and footers taken
    out, in page order, ``characters`` the sum over ``pages``. ``message`` says what is wrong, None for ``ok``.
    ``transient``: a time-out or a crash, which another run or machine may not repeat; not to be kept in a cache.
    """

    outcome: str
    message: str | None = None
    pages: tuple[PageText, ...] = ()
    page_count: int = 0
    empty_pages: tuple[int, ...] = ()
    dropped_lines: tuple[str, ...] = ()
    characters: int = 0
    transient: bool = False

    @property
    def page_characters(self) -> tuple[int, ...]:
        """Characters of each page, the first one first; 0 for a page without text, none at all without a page kept."""
        lengths = {page.number: len(page.text) for page in self.pages}
        return tuple(lengths.get(number, 0) for number in range(1, self.page_count + 1)) if lengths else ()

    def to_bytes(self) -> bytes:
        """UTF-8 JSON, for caches and pipes; ``from_bytes`` gives the equal record back."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Extraction":
        fields = json.loads(data)
        fields["pages"] = tuple(PageText(*page) for page in fields["pages"])
        fields["empty_pages"] = tuple(fields["empty_pages"])
        fields["dropped_lines"] = tuple(fields["dropped_lines"])
        return cls(**fields)


class Unreadable(Exception):
    """A reader's early end with an outcome. It never leaves ``extract.read_document``, which turns it into a record."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class RawPages(NamedTuple):
    """What a reader hands over: text per page, not yet cleaned, page by page from 1; None where a page has none.

    ``blank_is_fault``: a page without text means a missing text layer (PDF) and not just a blank page (Word).
    """

    texts: Sequence[str]
    dropped_lines: Sequence[str] = ()
    blank_is_fault: bool = False
    note: str | None = None


def settle(raw: RawPages, limits: Limits) -> Extraction:
    """Clean the pages and decide the outcome: ok, partial, no_text_layer, garbled or too_large."""
    texts = [squeeze(closed_up(clean(text))) for text in raw.texts]
    pages = tuple(PageText(number, text) for number, text in enumerate(texts, start=1) if text)
    empty = tuple(number for number, text in enumerate(texts, start=1) if not text)
    characters = sum(len(page.text) for page in pages)
    seen = Extraction("ok", None, (), len(texts), empty, tuple(clean(line) for line in raw.dropped_lines))
    if characters > limits.max_characters:
        message = f"{characters} characters of text, limit {limits.max_characters}"
        return replace(seen, outcome="too_large", message=message)
    if not pages:
        besides = ", repeated headers and footers aside" if raw.dropped_lines else ""
        message = raw.note or f"no text on any of {len(texts)} pages{besides}"
        return replace(seen, outcome="no_text_layer", message=message)
    share = garbled_share("".join(page.text for page in pages))
    if share > limits.max_garbled_share:
        message = f"{share:.1%} unreadable characters, limit {limits.max_garbled_share:.1%}"
        return replace(seen, outcome="garbled", message=message)
    read = replace(seen, pages=pages, characters=characters)
    if empty and raw.blank_is_fault:
        message = raw.note or f"{len(empty)} of {len(texts)} pages without text"
        return replace(read, outcome="partial", message=message)
    return read
