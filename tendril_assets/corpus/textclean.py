"""Cleaning of text as it comes out of files, character by character. Line ends are the matter of ``line_ends``.

Unicode is composed by NFC and never by NFKC, which would turn ``10³`` into ``103``; the Latin ligatures alone are
taken apart, by a table. Glyphs of the symbol fonts of Word (bullets, ticks, boxes) have places in the private use area;
a table gives the common ones their signs, and any other private character at the start of a line is a bullet. Elsewhere
it is a letter that nobody can read, and counts as unreadable.
"""

import re
import unicodedata
from itertools import pairwise

REPLACEMENT = "\ufffd"
SOFT_HYPHEN = "\u00ad"

SUPERSCRIPTS = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
# Vertical tab, next line, line and paragraph separator end a line: dropping them would glue two words together.
_LINE_BREAKS = dict.fromkeys((0x0B, 0x0C, 0x85, 0x2028, 0x2029), "\n")
_CONTROLS = dict.fromkeys((*range(0x09), *range(0x0E, 0x20), *range(0x7F, 0x85), *range(0x86, 0xA0)))
# Zero-width space and joiners, byte order mark, direction marks, invisible operators.
_INVISIBLE = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF))
_NONCHARACTERS = dict.fromkeys(
    (*range(0xFDD0, 0xFDF0), *(p << 16 | low for p in range(17) for low in (0xFFFE, 0xFFFF)))
)
_TABLE = {**_CONTROLS, **_LINE_BREAKS, **_INVISIBLE, **_NONCHARACTERS, **_LIGATURES}

# Symbol and Wingdings, as Word and its PDF writer leave them: bullets, arrows, ticks and boxes.
_BULLET = "\u2022"
_SYMBOLS = {
    **dict.fromkeys((0xF02D, 0xF0BE), "\u2013"),
    **dict.fromkeys((0xF06E, 0xF0A7, 0xF0B7, 0xF0D8, 0xF076, 0xF06C), _BULLET),
    **dict.fromkeys((0xF06F, 0xF071, 0xF0A8), "\u2610"),
    **dict.fromkeys((0xF078, 0xF0FD, 0xF0FE, 0xF054), "\u2612"),
    **dict.fromkeys((0xF050, 0xF0FC), "\u2713"),
    **dict.fromkeys((0xF0AE, 0xF0E0, 0xF0E8), "\u2192"),
    0xF0B0: "\u00b0", 0xF0B1: "\u00b1", 0xF0B3: "\u2265", 0xF0A3: "\u2264", 0xF0B4: "\u00d7", 0xF0E5: "\u2211",
}  # fmt: skip
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_PRIVATE_BULLET = re.compile(r"^([ \t]*)[\ue000-\uf8ff](?=\s)", re.MULTILINE)
# Five letters or more with blanks between them; two or more blanks part the words.
_LETTER_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ \u00a0]{1,4}[^\W\d_]){4,}(?![^\W_])")
_BETWEEN_WORDS = re.compile(r"[ \u00a0]{2,}")

_NEEDS_TABLE = re.compile("[" + "".join(re.escape(chr(c)) for c in sorted(_TABLE)) + "]")
# Anything that needs a closer look; most texts are done after one search.
_SUSPECT = re.compile(
    f"[{''.join(re.escape(chr(c)) for c in sorted(_TABLE))}\r{SOFT_HYPHEN}\ud800-\udfff\ue000-\uf8ff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SOFT_BREAK = re.compile(r"\u00ad[ \t]*\n[ \t]*")
_BLANKS = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")  # all but a single space, which is right as it is
_LOOSE_BREAK = re.compile(r" ?\n ?")
_MANY_BREAKS = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """``text`` in NFC, without control, zero-width and non-characters, with ``\\n`` line breaks.

    Tabs and line breaks stay. Surrogate pairs are joined, lone surrogates become U+FFFD. Ligatures U+FB00 to U+FB06
    are taken apart. Soft hyphens go, together with a line break behind them. Private characters become the signs they
    stand for, or U+FFFD. Idempotent.
    """
    if _SUSPECT.search(text) is None:
        return unicodedata.normalize("NFC", text)
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _NEEDS_TABLE.search(text):
        text = text.translate(_TABLE)
    if SOFT_HYPHEN in text:
        text = _SOFT_BREAK.sub("", text).replace(SOFT_HYPHEN, "")
    if _PRIVATE.search(text):
        text = _PRIVATE_BULLET.sub(rf"\1{_BULLET}", text.translate(_SYMBOLS))
        text = _PRIVATE.sub(REPLACEMENT, text)
    return unicodedata.normalize("NFC", text)


def closed_up(text: str) -> str:
    """``text`` with headings set letter by letter ("Z U S C H L A G") written as words; an alphabet stays."""

    def close(match: re.Match[str]) -> str:
        words = [word.split() for word in _BETWEEN_WORDS.split(match[0])]
        letters = [letter for word in words for letter in word]
        if any(len(word) == 1 for word in words) or all(ord(b) - ord(a) == 1 for a, b in pairwise(letters)):
            return match[0]
        return " ".join("".join(word) for word in words)

    return _LETTER_SPACED.sub(close, text)


def squeeze(text: str) -> str:
    """``text`` with each run of blanks (no-break spaces too) as one space and at most one empty line in a row."""
    text = _BLANKS.sub(" ", text)
    text = _LOOSE_BREAK.sub("\n", text)
    return _MANY_BREAKS.sub("\n\n", text).strip()


def garbled_share(text: str) -> float:
    """Share of U+FFFD among the characters that are no white space; 0.0 for an empty text."""
    bad = text.count(REPLACEMENT)
    return bad / sum(len(word) for word in text.split()) if bad else 0.0
