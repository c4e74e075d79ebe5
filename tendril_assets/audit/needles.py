"""What is looked for, in every form in which a file may hold it.

*Exact* is the text byte for byte: as given, in NFC and in NFD; in UTF-8, UTF-16, UTF-32 and Windows-1252; with the escapes
of JSON (also of JSON inside JSON), HTML, URLs, CSV and SQL; in base64. *Alike* compares letters and digits alone, without
accents and in lower case, so that white space, soft hyphens, line breaks and quotes do not count; a short text is compared
word by word instead, for a few letters run together stand in many texts. *Parts* are pieces of the text spread over it: what
was cut short or lies scattered over pages of a database file still holds some of them.
"""

import base64
import html
import html.entities
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote

import polars as pl

from tendril_assets.corpus.removals import PUBLISHED as _PUBLISHED
from tendril_assets.errors import AuditError

# Letters and digits from which on a text is known by them alone, without its spaces.
LETTERS = 16
# Shorter ones would be found by chance in any large file.
LEAST = 4
# Characters of one part, the most parts, and the least letters and digits that tell a part from other text.
PART, MOST_PARTS, PART_LETTERS = 48, 16, 24
# Least bytes of a text looked for in base64: at its ends up to three characters depend on what stands beside it.
_BASE64_LEAST = 12
# What stands beside an id in tables, JSON, pages and sentences.
BORDERS = "\n\r\t \"'`,;:|()[]{}<>/\\"
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp1252")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrtbf])")
_TAG = re.compile(r"<[^<>]{0,4000}>")


@dataclass(frozen=True)
class Needle:
    """``exact``: byte forms of the whole; ``parts``: byte forms of each part; ``alike`` and ``alike_parts``: the same, folded.

    ``letters_only``: how ``fold`` treats what is compared with it.
    """

    exact: tuple[bytes, ...]
    parts: tuple[tuple[bytes, ...], ...] = ()
    alike: tuple[str, ...] = ()
    alike_parts: tuple[str, ...] = ()
    letters_only: bool = True

    @classmethod
    def of_text(cls, text: str) -> "Needle":
        """Raises AuditError for a text of fewer than four letters and digits."""
        text = text.strip().encode("utf-8", "replace").decode()
        n = len(folded(text, letters_only=True))
        if n < LEAST:
            raise AuditError(
                f"the text has {n} letters and digits; at least {LEAST} are needed, for fewer are found by chance in any file"
            )
        letters_only = n >= LETTERS
        pieces = _pieces(text)
        return cls(
            exact=tuple(sorted(_forms(text), key=lambda form: (-len(form), form))),
            parts=tuple(tuple(sorted(_forms(piece))) for piece in pieces),
            alike=_alike(text, letters_only=letters_only),
            alike_parts=tuple(folded(piece, letters_only=True) for piece in pieces),
            letters_only=letters_only,
        )

    @classmethod
    def of_ids(cls, ids: Iterable[str]) -> "Needle":
        """Any of these ids, letter by letter; one without a fixed length only where no longer id goes on with it."""
        forms: set[bytes] = set()
        for one in ids:
            if _PUBLISHED.fullmatch(one):
                forms.update(one.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
            else:
                # A named passage is its group and a number: where it stands, its group is named too.
                forms.update(f"{left}{one}{right}".encode() for left in BORDERS for right in (*BORDERS, "#"))
        return cls(exact=tuple(sorted(forms)))

    @property
    def longest(self) -> int:
        """Bytes of the longest form."""
        return max(map(len, (*self.exact, *(form for part in self.parts for form in part))))

    @property
    def enough_parts(self) -> int:
        """So many parts close together are the text in pieces; fewer may be another text with the same words."""
        return max(2, (len(self.parts) + 1) // 2)


def fold(texts: pl.Series, *, letters_only: bool) -> pl.Series:
    """Texts as they are compared: lower case without accents, and letters and digits alone or words between spaces."""
    text = pl.col("text").str.normalize("NFKD").str.to_lowercase().str.replace_all("ß", "ss", literal=True)
    if letters_only:
        text = text.str.replace_all(r"[^\p{L}\p{N}]+", "")
    else:
        joined = text.str.replace_all(r"[\u00ad\u200b-\u200d\u2060\ufeff\p{M}]+", "")
        text = " " + joined.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars(" ") + " "
    return texts.to_frame("text").select(text).to_series()


def folded(text: str, *, letters_only: bool) -> str:
    """``fold`` of one text."""
    return fold(pl.Series([text]), letters_only=letters_only)[0]


def three_readings(text: str) -> tuple[str, str, str]:
    """``text`` as it stands, without escapes, and without escapes and tags."""
    plain = _without_escapes(text)
    resolved = _resolved(plain)
    return text, resolved, _resolved(_TAG.sub(" ", plain)) if "<" in plain else resolved


def readings(text: str) -> list[str]:
    """The different ones of ``three_readings``, as it stands first."""
    return list(dict.fromkeys(three_readings(text)))


def _without_escapes(text: str) -> str:
    """Escapes of JSON and of program text as what they stand for, however often they were escaped again."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else " ", text)
    # Pairs of surrogates become their character; a lone one has none.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _resolved(text: str) -> str:
    if "&" in text:
        text = html.unescape(text)
    return unquote(text) if "%" in text else text


def _alike(text: str, *, letters_only: bool) -> tuple[str, ...]:
    found = list(dict.fromkeys(folded(reading, letters_only=letters_only) for reading in readings(text)))
    # What looks like a tag may be most of a text: what is left would be found anywhere.
    return tuple(form for form in found if len(form) >= 0.8 * len(found[0]))


def _pieces(text: str) -> list[str]:
    """Parts spread over the text, none where it is too short for two."""
    n = min(MOST_PARTS, len(text) // PART)
    if n < 2:
        return []
    starts = [round(i * (len(text) - PART) / (n - 1)) for i in range(n)]
    pieces = dict.fromkeys(text[start : start + PART].strip() for start in starts)
    return [piece for piece in pieces if len(folded(piece, letters_only=True)) >= PART_LETTERS]


def _forms(text: str) -> set[bytes]:
    found: set[bytes] = set()
    for written in _written(text):
        for encoding in _ENCODINGS:
            try:
                found.add(written.encode(encoding))
            except UnicodeEncodeError:
                continue  # it cannot stand in a file of this encoding
        found.update(_base64(written.encode()))
        found.update(escaped.encode() for escaped in _escaped(written))
    return found


def _written(text: str) -> set[str]:
    normal = {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}
    with_ends = {form.replace("\r\n", "\n") for form in normal}
    return normal | with_ends | {form.replace("\n", "\r\n") for form in with_ends}


def _escaped(text: str) -> set[str]:
    once = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    found = once | {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in once for ascii_only in (True, False)}
    found |= {re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), form) for form in once}
    found |= {form.replace("/", "\\/") for form in once}
    markup = {html.escape(text, quote=False), html.escape(text), html.escape(text).replace("&#x27;", "&#39;")}
    found |= markup
    for form in markup:
        found.add(form.encode("ascii", "xmlcharrefreplace").decode())
        found.add("".join(c if c.isascii() else f"&#x{ord(c):x};" for c in form))
        found.add("".join(c if c.isascii() else _entity(c) for c in form))
    return found | {quote(text), quote_plus(text), text.replace('"', '""'), text.replace("'", "''")}


def _entity(character: str) -> str:
    name = html.entities.codepoint2name.get(ord(character))
    return f"&{name};" if name else f"&#{ord(character)};"


def _base64(data: bytes) -> Iterator[bytes]:
    """What base64 shows of ``data`` at each of the three places it may begin at, whatever stands before and after."""
    if len(data) < _BASE64_LEAST:
        return
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data)
        first = -(-before * 8 // 6)
        last = (before + len(data)) * 8 // 6
        yield encoded[first:last]
