"""Cleaning of text as it comes out of files: characters, line breaks, line-end hyphens.

Unicode is composed by NFC and never by NFKC, which would turn ``10³`` into ``103``; the Latin ligatures alone are
taken apart, by a table. Three things that look alike are kept apart at a line end: the hyphen that only marks the
break ("Nach-/haltigkeit"), the real hyphen ("Baden-/Württemberg", "EU-/weit") and the suspended compound
("Ein-/und Ausfuhr"); the soft hyphen is a fourth, invisible one and always goes.
"""

import re
import unicodedata
from collections.abc import Sequence

REPLACEMENT = "\ufffd"
HYPHENS = "-\u2010\u2011"
SOFT_HYPHEN = "\u00ad"

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

_NEEDS_TABLE = re.compile("[" + "".join(re.escape(chr(c)) for c in sorted(_TABLE)) + "]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SOFT_BREAK = re.compile(r"\u00ad[ \t]*\n[ \t]*")
_BLANKS = re.compile(r"[^\S\n]+")
_LOOSE_BREAK = re.compile(r" ?\n ?")
_MANY_BREAKS = re.compile(r"\n{3,}")

_CONJUNCTIONS = frozenset(
    {
        "und",
        "oder",
        "bzw",
        "beziehungsweise",
        "sowie",
        "resp",
        "respektive",
        "u",
        "o",
        "bis",
        "als",
        "noch",
        "wie",
        "statt",
        "et",
        "ou",
        "e",
        "od",
        "and",
        "or",
        "и",
        "или",
    }
)
_LIST_ITEM = re.compile(
    r"(?:[•·▪◦‣■●*–—-]\s|\(?\d{1,3}(?:\.\d{1,3})*[.)]\s|\d{1,3}(?:\.\d{1,3})+\s|\(?[a-zA-Z]\)\s|§\s?\d)"
)


def clean(text: str) -> str:
    """``text`` in NFC, without control, zero-width and non-characters, with ``\\n`` line breaks.

    Tabs and line breaks stay. Surrogate pairs are joined, lone surrogates become U+FFFD. Ligatures U+FB00 to U+FB06
    are taken apart. Soft hyphens go, together with a line break behind them. Idempotent.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _NEEDS_TABLE.search(text):
        text = text.translate(_TABLE)
    if SOFT_HYPHEN in text:
        text = _SOFT_BREAK.sub("", text).replace(SOFT_HYPHEN, "")
    return unicodedata.normalize("NFC", text)


def squeeze(text: str) -> str:
    """``text`` with each run of blanks (no-break spaces too) as one space and at most one empty line in a row."""
    text = _BLANKS.sub(" ", text)
    text = _LOOSE_BREAK.sub("\n", text)
    return _MANY_BREAKS.sub("\n\n", text).strip()


def garbled_share(text: str) -> float:
    """Share of U+FFFD among the characters that are no white space; 0.0 for an empty text."""
    bad = text.count(REPLACEMENT)
    return bad / sum(len(word) for word in text.split()) if bad else 0.0


def is_list_item(line: str) -> bool:
    """Whether ``line`` opens with a bullet or a numbering such as ``1.``, ``2.3``, ``a)`` or ``§ 4``."""
    return _LIST_ITEM.match(line) is not None


def join_lines(first: str, second: str) -> str:
    """Two consecutive lines of one paragraph as one text, with a hyphen between them mended.

    The hyphen is taken out where the word goes on in lower case; it stays before a capital or a digit, after an
    abbreviation, a number or a single letter ("CO2-", "E-"), and before a conjunction (suspended compound), where the
    blank stays too.
    """
    first, second = first.rstrip(), second.lstrip()
    if not first or not second:
        return first or second
    if first[-1] == SOFT_HYPHEN:
        return first[:-1] + second
    if first[-1] not in HYPHENS or len(first) < 2 or not first[-2].isalnum():
        return f"{first} {second}"
    if re.split(r"[\s/]", second, maxsplit=1)[0].rstrip(".,;:").casefold() in _CONJUNCTIONS:
        return f"{first} {second}"
    if second[0].islower() and not _keeps_hyphen(re.split(r"[^\w]", first[:-1])[-1]):
        return first[:-1] + second
    return first + second if second[0].isalnum() or second[0] == "/" else f"{first} {second}"


def _keeps_hyphen(stem: str) -> bool:
    return len(stem) == 1 or not stem.isalpha() or (stem.isupper() and len(stem) > 1)


def mend_hyphens(text: str) -> str:
    """``text`` with hyphens at line ends mended by the rule of ``join_lines``; other line breaks stay."""
    mended: list[str] = []
    for line in text.split("\n"):
        if mended and line.strip() and mended[-1].rstrip().endswith((*HYPHENS, SOFT_HYPHEN)):
            joined = join_lines(mended[-1], line)
            if joined != f"{mended[-1].rstrip()} {line.lstrip()}" or _is_suspended(mended[-1]):
                mended[-1] = joined
                continue
        mended.append(line)
    return "\n".join(mended)


def _is_suspended(line: str) -> bool:
    bare = line.rstrip()
    return len(bare) > 1 and bare[-1] in HYPHENS and bare[-2].isalnum()


def flow(lines: Sequence[str], full: Sequence[bool]) -> str:
    """Lines of one paragraph as flowing text.

    ``full[i]`` says that line i is full, so that line i + 1 continues it (the last line needs none). A line that is
    not, or is followed by a list item, ends with a line break; a word cut by a hyphen is mended in any case.
    """
    text = ""
    for i, line in enumerate(lines):
        if not text:
            text = line
        elif is_list_item(line) or not (full[i - 1] or _is_suspended(lines[i - 1])):
            text = f"{text}\n{line}"
        else:
            text = join_lines(text, line)
    return text
