"""Whether a message quotes a text. Errors are logged, and a log outlives the removal of what it quotes."""

import html
import re
import unicodedata

# A stretch of this many letters and digits that both share is taken for a quotation. The shortest passages are little
# longer.
STRETCH = 16
_BYTES = re.compile(r"(?:\\x[0-9a-fA-F]{2})+")
_UNITS = re.compile(r"(?:\\+u[0-9a-fA-F]{4})+")
_CONTROL = re.compile(r"\\+[nrtbfv]")
_NO_LETTER = re.compile(r"[\W_]+")


def quotes(message: str, text: str) -> bool:
    """Whether the two share a stretch; a message that is shorter than one quotes a text that holds all of it.

    Letters and digits alone are compared, whatever their case: a quotation may be cut, wrapped, decomposed, or escaped as
    JSON, HTML or Python's ``repr`` do.
    """
    said, letters = _letters(message), _letters(text)
    if len(said) < STRETCH:
        return said in letters
    stretches = {said[i : i + STRETCH] for i in range(len(said) - STRETCH + 1)}
    return any(letters[i : i + STRETCH] in stretches for i in range(len(letters) - STRETCH + 1))


def _letters(text: str) -> str:
    plain = _BYTES.sub(lambda found: bytes.fromhex(found[0].replace("\\x", "")).decode("utf-8", "replace"), text)
    plain = _UNITS.sub(_characters, plain)
    plain = html.unescape(_CONTROL.sub(" ", plain))
    return _NO_LETTER.sub("", unicodedata.normalize("NFKD", plain).casefold())


def _characters(found: re.Match[str]) -> str:
    """The characters of JSON's escapes, of which one outside the basic plane has two."""
    units = re.findall(r"u([0-9a-fA-F]{4})", found[0])
    return bytes.fromhex("".join(units)).decode("utf-16-be", "replace")
