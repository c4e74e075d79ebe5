"""A second reader of the verdict grammar, written from its statement and sharing nothing with the parser.

It walks the text sign by sign and knows JSON by itself, so that a mistake of the standard library's reader, or of how it
is used, shows as a difference. Slow and small on purpose.
"""

from collections.abc import Mapping

DIGITS = "0123456789"
JSON_BLANKS = " \t\n\r"
PAIRS = ['""', "''", "„“", "“”", "‚‘", "‘’", "«»", "»«", "‹›", "›‹"]
MAX_DEPTH = 200


class NoJSON(Exception):
    pass


class Number(str):
    """A JSON number as it is written."""


class Reader:
    """One JSON text; objects are lists of pairs, so that a key given twice is there twice."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.objects = text, 0, []

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, word: str) -> None:
        if not self.text.startswith(word, self.at):
            raise NoJSON
        self.at += len(word)

    def blanks(self) -> None:
        while self.peek() and self.peek() in JSON_BLANKS:
            self.at += 1

    def whole(self):
        value = self.value(0)
        self.blanks()
        if self.at != len(self.text):
            raise NoJSON
        return value

    def value(self, depth: int):
        self.blanks()
        sign = self.peek()
        if sign == "{":
            return self.object(depth + 1)
        if sign == "[":
            return self.array(depth + 1)
        if sign == '"':
            return self.string()
        for word, meaning in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.take(word)
                return meaning
        return self.number()

    def object(self, depth: int) -> list:
        if depth > MAX_DEPTH:
            raise NoJSON
        pairs: list = []
        self.objects.append(pairs)
        self.take("{")
        self.blanks()
        while self.peek() != "}":
            if pairs:
                self.take(",")
                self.blanks()
            name = self.string()
            self.blanks()
            self.take(":")
            pairs.append((name, self.value(depth)))
            self.blanks()
        self.take("}")
        return pairs

    def array(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise NoJSON
        items: list = []
        self.take("[")
        self.blanks()
        while self.peek() != "]":
            if items:
                self.take(",")
            items.append(self.value(depth))
            self.blanks()
        self.take("]")
        return tuple(items)

    def string(self) -> str:
        self.take('"')
        read = ""
        while self.peek() != '"':
            sign = self.peek()
            if not sign or ord(sign) < 0x20:
                raise NoJSON
            self.at += 1
            read += self.escape() if sign == "\\" else sign
        self.take('"')
        return read

    def escape(self) -> str:
        sign = self.peek()
        self.at += 1
        if sign == "u":
            digits = self.text[self.at : self.at + 4]
            if len(digits) != 4 or any(d not in DIGITS + "abcdefABCDEF" for d in digits):
                raise NoJSON
            self.at += 4
            return chr(int(digits, 16))
        plain = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
        if sign not in plain:
            raise NoJSON
        return plain[sign]

    def number(self) -> Number:
        start = self.at
        if self.peek() == "-":
            self.at += 1
        if self.peek() == "0":
            self.at += 1
        else:
            self.digits()
        if self.peek() == ".":
            self.at += 1
            self.digits()
        if self.peek() in ("e", "E"):
            self.at += 1
            if self.peek() in ("+", "-"):
                self.at += 1
            self.digits()
        return Number(self.text[start : self.at])

    def digits(self) -> None:
        start = self.at
        while self.peek() and self.peek() in DIGITS:
            self.at += 1
        if self.at == start:
            raise NoJSON


def bare(text: str) -> str:
    """Without blanks at both ends."""
    while text and (text[0].isspace() or text[0] == "\ufeff"):
        text = text[1:]
    while text and (text[-1].isspace() or text[-1] == "\ufeff"):
        text = text[:-1]
    return text


def tag_at(text: str, at: int) -> tuple[str, int] | None:
    """(open or close, length) of a think tag that begins there."""
    for name in ("think", "thinking"):
        for kind, tag in (("open", f"<{name}>"), ("close", f"</{name}>")):
            piece = text[at : at + len(tag)]
            if piece.isascii() and piece.lower() == tag:
                return kind, len(tag)
    return None


def thought_out(text: str) -> str | None:
    text = bare(text)
    while (found := tag_at(text, 0)) and found[0] == "open":
        depth, at = 1, found[1]
        while depth and at < len(text):
            here = tag_at(text, at)
            if here:
                depth += 1 if here[0] == "open" else -1
            at += here[1] if here else 1
        if depth:
            return None
        text = bare(text[at:])
    return text


def undressed(text: str) -> str:
    for mark in ("```", "~~~"):
        if len(text) >= 6 and text[:3] == mark and text[-3:] == mark:
            text = text[3:-3]
            letters = 0
            while letters < len(text) and text[letters].isascii() and text[letters].isalpha():
                letters += 1
            if letters and letters < len(text) and text[letters].isspace():
                text = text[letters:]
            text = bare(text)
            break
    if len(text) >= 2 and text[0] + text[-1] in PAIRS:
        text = bare(text[1:-1])
    return text


def expected(content: str, rule: Mapping[tuple[str, str], int | None] | None = None, keys=("relevanz",)):
    """(status, grade) of a finished reply; with ``rule`` of the form of two questions named by ``keys``."""
    if not bare(content):
        return "empty", None
    text = thought_out(content)
    if text is None:
        return "parse_error", None
    text = undressed(text)
    if rule is None and text in ("0", "1", "2"):
        return "ok", "012".index(text)
    if text[:1] != "{":
        return "parse_error", None
    reader = Reader(text)
    try:
        pairs = reader.whole()
    except NoJSON:
        return "parse_error", None
    if any([name for name, _ in found].count(key) > 1 for found in reader.objects for key in keys):
        return "parse_error", None
    fields = dict(pairs)
    if any(key not in fields for key in keys):
        return "parse_error", None
    values = [fields[key] for key in keys]
    if rule is None:
        value = values[0]
        return (
            ("ok", "012".index(value)) if type(value) is Number and value in ("0", "1", "2") else ("parse_error", None)
        )
    if any(type(value) is not str for value in values) or tuple(values) not in rule:
        return "parse_error", None
    grade = rule[tuple(values)]
    return ("contradiction", None) if grade is None else ("ok", grade)
