"""Finding a needle in bytes that go by, and in the values of a column."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import AnyStr

import polars as pl

from tendril_assets.audit.needles import BORDERS, Needle, fold, folded, readings, three_readings

CHUNK = 4 * 2**20
EXACT, ALIKE, PIECES, PARTS = "exact", "alike", "pieces", "parts"
# How something was found, the surest first.
HOW = (EXACT, ALIKE, PIECES, PARTS)
# A form is first looked for by its beginning, all forms at once.
_BEGINNING = 64
# Parts this far apart, in bytes, besides four times the length of the text, may still be one copy in a database file.
_SCATTER = 16 * 1024
# Positions kept of each form in one chunk: a short text may stand a million times in a file, and nobody needs the count.
_MOST = 10_000
# Bytes without a space from which on they are cut anywhere.
_RUN = 64 * 1024
# Rows named of each column.
_ROWS_NAMED = 5
# Values that may read otherwise: escapes, entities, percent codes, tags.
_SPECIAL = r"\\|&#?\w+;|%[0-9a-fA-F]{2}|<[a-zA-Z/!?]"


@dataclass
class Hits:
    """How often something was found in one place: rows of a column, or positions in bytes.

    ``first``: offset in bytes of the first exact one; ``rows``: keys of a few of the rows.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    most_parts: int = 0
    rows: list[str] = field(default_factory=list)

    @property
    def how(self) -> str | None:
        """The surest way in which it was found, or None."""
        return next((how for how in HOW if self.counts[how]), None)

    @property
    def n(self) -> int:
        return self.counts[self.how] if self.how else 0


class Matcher:
    """Looks for one needle. ``in_bytes`` reads a stream once, ``in_values`` a column of texts."""

    def __init__(self, needle: Needle) -> None:
        self.needle = needle
        self._exact = set(needle.exact)
        # Two parts may be equal where a text repeats itself.
        self._parts: dict[bytes, list[int]] = {}
        for n, forms in enumerate(needle.parts):
            for form in forms:
                self._parts.setdefault(form, []).append(n)
        self._by_beginning: dict[str, list[bytes]] = {}
        for form in self._exact | self._parts.keys():
            self._by_beginning.setdefault(form[:_BEGINNING].decode("latin-1"), []).append(form)
        self._beginnings = sorted(self._by_beginning)
        self._plain = [form.decode() for form in needle.exact if _is_text(form)]
        # Letters of the shortest thing looked for: a value with fewer characters cannot hold it, for folding makes the
        # letters of one character at most four.
        self.least = min(map(len, (*needle.alike, *needle.alike_parts)), default=1) // 4

    def in_bytes(self, chunks: Iterable[bytes], *, is_text: bool) -> Hits:
        """Search bytes that go by, whatever borders the chunks have; ``is_text`` compares letters too."""
        hits, at, kept = Hits(), 0, b""
        exact: set[tuple[int, int]] = set()
        parts: set[tuple[int, int]] = set()
        texts = _Folded(self.needle) if is_text and self.needle.alike else None
        for chunk in chunks:
            data, start = kept + chunk, at - len(kept)
            if forms := self._that_may_be_in(data):
                for form in forms & self._exact:
                    exact |= {(start + i, len(form)) for i in _positions(data, form)}
                for form in forms & self._parts.keys():
                    parts |= {(start + i, n) for i in _positions(data, form) for n in self._parts[form]}
            at += len(chunk)
            kept = data[max(0, len(data) - self.needle.longest + 1) :]
            if texts:
                texts.feed(chunk)
        hits.counts[EXACT] = _apart(exact)
        hits.first = min(exact, default=(None,))[0]
        self._count_parts(hits, parts, 4 * self.needle.longest + _SCATTER)
        if texts:
            texts.finish(hits)
        return hits

    def in_values(self, texts: pl.Series, keys: pl.Series | None = None) -> Hits:
        """Rows of a column of strings, each counted in the surest way it holds the needle; ``keys`` name the rows."""
        hits = Hits()
        there = texts.is_not_null()
        texts, keys = texts.filter(there), None if keys is None else keys.filter(there)
        if texts.is_empty():
            return hits
        if not self.needle.alike:
            between = BORDERS[0] + texts + BORDERS[0]
            hits.counts[EXACT] = int(between.str.contains_any(self._plain).sum())
            return hits
        # Most rows end here: only what may hold it in one of its readings is looked at one by one.
        may = self._may_read(texts)
        special = (~may & texts.str.contains(_SPECIAL)).arg_true()
        others = [(row, reading) for row in special for n, reading in enumerate(readings(texts[row])) if n]
        again = set[int]()
        if others:
            read = self._may_read(pl.Series([reading for _, reading in others]))
            again = {row for (row, _), found in zip(others, read, strict=True) if found}
        for row in sorted({*may.arg_true(), *again}):
            how, parts = self._in_text(texts[row])
            if how:
                hits.counts[how] += 1
                hits.most_parts = max(hits.most_parts, parts)
                if keys is not None and how != PARTS and len(hits.rows) < _ROWS_NAMED:
                    hits.rows.append(str(keys[row]))
        return hits

    def _in_text(self, text: str) -> tuple[str | None, int]:
        if any(form in text for form in self._plain):
            return EXACT, len(self.needle.parts)
        most = 0
        for reading in readings(text):
            form = folded(reading, letters_only=self.needle.letters_only)
            if any(whole in form for whole in self.needle.alike):
                return ALIKE, len(self.needle.parts)
            most = max(most, sum(part in form for part in self.needle.alike_parts))
        return (PIECES if most >= self.needle.enough_parts else PARTS if most else None), most

    def _may_read(self, texts: pl.Series) -> pl.Series:
        wanted = [*self.needle.alike, *self.needle.alike_parts]
        return fold(texts, letters_only=self.needle.letters_only).str.contains_any(wanted)

    def _that_may_be_in(self, data: bytes) -> set[bytes]:
        """Forms whose beginning stands in ``data``."""
        # Each byte as the character of its number: all forms are looked for in one pass.
        text = pl.Series([data.decode("latin-1")])
        if not text.str.contains_any(self._beginnings)[0]:
            return set()
        found = text.str.extract_many(self._beginnings, overlapping=True).explode().unique()
        return {form for beginning in found for form in self._by_beginning[beginning]}

    def _count_parts(self, hits: Hits, found: set[tuple[int, int]], window: int) -> None:
        most = _close_together(sorted(found), window)
        hits.most_parts = max(hits.most_parts, most)
        if most:
            hits.counts[PIECES if most >= self.needle.enough_parts else PARTS] = 1


class _Folded:
    """The letters of a text that goes by in chunks, in each encoding it may have and each way to read its escapes."""

    def __init__(self, needle: Needle) -> None:
        self._needle = needle
        self._wanted = [*needle.alike, *needle.alike_parts]
        self._rest = b""
        self._keep = max(map(len, self._wanted)) - 1
        self._encoding: str | None = None
        self._tails: dict[_Lane, tuple[int, str]] = {}
        self._whole: Counter[_Lane] = Counter()
        self._parts: dict[_Lane, set[tuple[int, int]]] = {}

    def feed(self, chunk: bytes) -> None:
        data = self._rest + chunk
        if self._encoding is None:
            self._encoding = _encoding(data)
        if self._encoding == "utf-8":
            # Between two words, so that neither a character nor an escape is cut; a long run without spaces is cut anywhere.
            cut = max(data.rfind(b" "), data.rfind(b"\n")) + 1 or (len(data) if len(data) > _RUN else 0)
        else:
            cut = len(data) // 4 * 4
        self._take(data[:cut])
        self._rest = data[cut:]

    def finish(self, hits: Hits) -> None:
        self._take(self._rest)
        n = max(self._whole.values(), default=0)
        hits.counts[ALIKE] = max(0, n - hits.counts[EXACT])
        window = 4 * self._keep
        for found in self._parts.values():
            most = _close_together(sorted(found), window)
            hits.most_parts = max(hits.most_parts, most)
            if most and not n:
                hits.counts[PIECES if most >= self._needle.enough_parts else PARTS] = 1

    def _take(self, data: bytes) -> None:
        if not data:
            return
        texts: dict[_Lane, str] = {}
        for encoding, text in _decodings(data, self._encoding or "utf-8", also=("cp1252", 0) in self._tails):
            texts |= {(encoding, n): reading for n, reading in enumerate(three_readings(text))}
        before = dict(self._tails)
        forms = {text: folded(text, letters_only=self._needle.letters_only) for text in texts.values()}
        for lane, text in texts.items():
            origin = _origin(lane)
            if origin and lane not in before:
                # It reads as the one it comes from until the first place where it does not.
                if text == texts[origin]:
                    continue
                self._tails[lane] = before.get(origin, before.get(("utf-8", 0), (0, "")))
            self._look(lane, forms[text])

    def _look(self, lane: "_Lane", form: str) -> None:
        at, tail = self._tails.get(lane, (0, ""))
        # Words stand between spaces: the one at the end of the tail is also the one before the next.
        joined = tail + (form.lstrip(" ") if tail.endswith(" ") else form)
        start = at - len(tail)
        if pl.Series([joined]).str.contains_any(self._wanted)[0]:
            # The tail is shorter than any whole by one letter at least, so none is counted twice.
            self._whole[lane] += sum(_occurrences(joined, whole, len(tail)) for whole in self._needle.alike)
            parts = self._parts.setdefault(lane, set())
            for n, part in enumerate(self._needle.alike_parts):
                parts |= {(start + i, n) for i in _positions(joined, part)}
        self._tails[lane] = start + len(joined), joined[max(0, len(joined) - self._keep) :]


# An encoding, and the number of one of ``three_readings``.
_Lane = tuple[str, int]


def _origin(lane: _Lane) -> _Lane | None:
    encoding, n = lane
    if encoding == "cp1252":
        return "utf-8", n
    return (encoding, 0) if n else None


def _occurrences(text: str, whole: str, tail: int) -> int:
    """How often ``whole`` stands in ``text``, without those that end inside its first ``tail`` letters."""
    return sum(i + len(whole) > tail for i in _positions(text, whole))


def _positions(data: AnyStr, form: AnyStr) -> Iterator[int]:
    at = data.find(form)  # ty: ignore[invalid-argument-type]
    for _ in range(_MOST):
        if at < 0:
            return
        yield at
        at = data.find(form, at + 1)  # ty: ignore[invalid-argument-type]


def _apart(found: set[tuple[int, int]]) -> int:
    """How many of these (position, length) do not overlap: two forms may match at one place."""
    n = end = 0
    for at, length in sorted(found):
        if at >= end:
            n, end = n + 1, at + length
    return n


def _close_together(found: list[tuple[int, int]], window: int) -> int:
    """The most different parts whose positions lie within ``window``."""
    most, first = 0, 0
    inside: Counter[int] = Counter()
    for at, part in found:
        inside[part] += 1
        while found[first][0] < at - window:
            inside[found[first][1]] -= 1
            if not inside[found[first][1]]:
                del inside[found[first][1]]
            first += 1
        most = max(most, len(inside))
    return most


def _is_text(form: bytes) -> bool:
    try:
        return "\0" not in form.decode()
    except UnicodeDecodeError:
        return False


def _encoding(data: bytes) -> str:
    head = data[: 2**12]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head.count(0) > len(head) / 5:
        return "utf-16"
    return "utf-8"


def _decodings(data: bytes, encoding: str, *, also: bool) -> Iterator[tuple[str, str]]:
    """``also``: whether the file was found not to be UTF-8 before."""
    if encoding == "utf-16":
        yield from ((name, data.decode(name, "replace")) for name in ("utf-16-le", "utf-16-be"))
        return
    text = data.decode("utf-8", "replace")
    yield "utf-8", text
    if also or "\ufffd" in text:
        yield "cp1252", data.decode("cp1252", "replace")
