"""Sentences of tender documents, and the folded spelling in which rules look for words.

Delivered text is not always clean: words broken at a line's end, lists whose introduction holds the verb, headings in
capitals without accents, ligatures. ``sentences`` mends what belongs together; ``fold`` takes spelling out of the way.
"""

import re
import unicodedata
from dataclasses import dataclass

from tendril_assets.corpus.lazy_pattern import lazy_pattern

_SPELLING = (("’", "'"), ("‘", "'"), ("´", "'"), ("\u00ad", ""), ("\u00a0", " "), ("–", "-"), ("—", "-"), ("‑", "-"))
_BULLET = lazy_pattern(r"(?:[-–—•*▪‣·o]|\uf0b7|\(?\d{1,2}[.)]|\(?[a-z]{1,3}\))\s+(?=\S)")
# "4.2 Preise und Mengen": numbered, short, without a full stop at its end.
_HEADING = lazy_pattern(r"\d{1,2}(?:\.\d{1,2})*\.?\s+[A-ZÄÖÜÀ-Ý][^.:;!?]{0,80}")
_SENTENCE_END = lazy_pattern(r"[.!?…][)»”\"]?(?=\s+[A-ZÄÖÜÀ-Ý«\"„(\d])\s+")
# An abbreviation, an initial or a number in front of the full stop: the sentence goes on.
_ABBREVIATION = lazy_pattern(
    r"(?:\b(?:z\.\s?B|d\.\s?h|u\.\s?a|i\.\s?S|o\.\s?ä|z\.\s?T|i\.\s?d\.\s?R|s\.\s?o|v\.\s?a|bzw|resp|inkl|exkl|ca|gem|vgl"
    r"|Art|Abs|Ziff|Nr|Kap|Bst|lit|Dr|Prof|Hr|Fr|St|usw|etc|evtl|ev|sog|betr|Pos|Tel|Std|Str|Bd|Abb|Tab|max|min"
    r"|p\.\s?ex|c\.-?à-?d|cf|al|(?<!\.)ch|no|let|cpv|chap|env|Mme|MM?|art|cpv|ecc|es|p\.\s?es|Sig|Sigg|Dott|lett|cap|pag)"
    r"|\b[A-Z]|\b\d{1,2})\.$"
)
_BROKEN_WORD = lazy_pattern(
    r"(?<=[^\W\d_])[-\u00ad]\n\s*(?=[a-zäöüàâçéèêëîïôûùìò])(?!(?:und|oder|bzw|sowie|et|ou|e|o)\b)"
)
_LONGEST_BRACKET = 120


@dataclass(frozen=True)
class Sentence:
    """``opening`` is the heading, or the words that introduce the list, which the sentence stands below."""

    text: str
    opening: str = ""

    @property
    def is_introduced(self) -> bool:
        """True where the sentence begins in ``opening``: that ends with a colon or comma."""
        return _introduces(self.opening)

    @property
    def whole(self) -> str:
        return f"{self.opening} {self.text}" if self.opening else self.text


def fold(text: str) -> str:
    """Lower case in ASCII: without accents, ligatures and soft hyphens, with plain apostrophes; "ß" becomes "ss".

    Signs that have no plain form are dropped.
    """
    if text.isascii():
        return text.casefold()
    for sign, plain in _SPELLING:
        if sign in text:
            text = text.replace(sign, plain)
    return unicodedata.normalize("NFD", text.casefold()).encode("ascii", "ignore").decode()


def mended(text: str) -> str:
    """Words that the end of a line breaks are put together; "Ausschreibungs-" before "und" stays."""
    return _BROKEN_WORD.sub("", text) if "-\n" in text or "\u00ad\n" in text else text


def sentences(text: str) -> list[Sentence]:
    """Sentences of ``text`` in order, line breaks and words broken by them mended.

    A list whose introduction is left open ("Es ist untersagt," and lines with bullets) gives a sentence per item, with
    the introduction as ``opening``; so does a heading for what stands below it. Rows of a table stay apart.
    """
    found: list[Sentence] = []
    for paragraph in re.split(r"\n\s*\n", mended(text)):
        found += _of_paragraph([line for raw in paragraph.split("\n") if (line := " ".join(raw.split()))])
    return found


def is_open(text: str) -> bool:
    """True where a sentence goes on after ``text``: it ends without a full stop, or with a colon or comma."""
    return re.search(r"[.!?…][)»”\"']*$", text.rstrip()) is None


def _of_paragraph(lines: list[str]) -> list[Sentence]:
    pieces: list[tuple[str, str]] = []  # (opening, text)
    introduction = ""
    for line in lines:
        last = pieces[-1][1] if pieces else ""
        if bullet := _BULLET.match(line):
            if not pieces or not introduction:
                introduction = last if is_open(last) else ""
            pieces.append((introduction, line[bullet.end() :] if introduction else line))
        elif not pieces or "|" in line or "|" in last:  # the first line, and rows of a table
            introduction = ""
            pieces.append(("", line))
        elif _HEADING.fullmatch(last) and line[0].isupper():
            pieces.append((last, line))
        elif introduction and line[0].isupper() and not is_open(last):
            introduction = ""
            pieces.append(("", line))
        else:
            pieces[-1] = (pieces[-1][0], f"{last} {line}")
    return [sentence for opening, piece in pieces for sentence in _split(piece, opening)]


def _split(text: str, opening: str) -> list[Sentence]:
    parts, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        so_far = text[start : end.start() + 1]
        if _ABBREVIATION.search(so_far[-15:]) is None and not _in_brackets(so_far):
            parts.append(text[start : end.end()].strip())
            start = end.end()
    parts.append(text[start:].strip())
    parts = [part for part in parts if part]
    return [Sentence(part, opening if i == 0 or not _introduces(opening) else "") for i, part in enumerate(parts)]


def _in_brackets(so_far: str) -> bool:
    """True within brackets opened a short way back; one never closed ends nothing but itself."""
    opened = so_far.rfind("(")
    return opened > so_far.rfind(")") and len(so_far) - opened <= _LONGEST_BRACKET


def _introduces(text: str) -> bool:
    return text.endswith((":", ","))
