"""What is done to a text before personal data is looked for."""

import unicodedata

from tendril_assets.corpus.first_names import FIRST_NAMES
from tendril_assets.corpus.lazy_pattern import lazy_pattern

# E-mail and web addresses broken at a line end, with the hyphen of the break or without one. Whether a hyphen was part
# of the address cannot be told; the whole address is masked in either case. Without a hyphen only what can be no new
# sentence is joined: the rest of a domain, a first name or initial in front of a dot.
_BREAK = r"[ \t]*\n[ \t]*"
_TOP = r"(?:ch|com|org|net|eu|li|de|fr|it|at|swiss|info)"
_BROKEN_ADDRESS = tuple(
    lazy_pattern(pattern)
    for pattern in (
        rf"(?<![\w.%+-])([\w.%+-]+)-{_BREAK}(?=[\w.%+-]*@\w)",
        rf"(@[\w.-]*)-{_BREAK}(?=[\w.-]*\.[A-Za-z]{{2,}})",
        rf"(\w@){_BREAK}(?=[\w-]+\.[A-Za-z]{{2,}})",
        rf"(\w){_BREAK}(?=@[\w-]+\.[A-Za-z]{{2,}})",
        rf"(@[\w-]+(?:\.[\w-]+)*\.){_BREAK}(?=(?:[a-z0-9-]+\.)*{_TOP}\b)",
        rf"(@[\w-]+(?:\.[\w-]+)*){_BREAK}(?=\.{_TOP}\b)",
        rf"(?<![\w.%+-])([a-z]{{1,2}}[._]){_BREAK}(?=[a-z][\w.%+-]*@\w)",
        rf"((?:https?://|\bwww\.)[^\s<>()]*)-{_BREAK}(?=[^\s<>()]*[/.]\w)",
        rf"((?:https?://|\bwww\.)[^\s<>()]*[/_=?&]){_BREAK}(?=[a-z0-9][^\s<>()]*[/._=?&-]\w)",
    )
)


_BROKEN_NAME = lazy_pattern(rf"(?<![\w.%+-])(([^\W\d_]{{3,20}})[._]){_BREAK}(?=[a-z][\w.%+-]*@\w)")


def prepare(text: str) -> str:
    """NFC, soft hyphens removed, addresses broken at a line end joined. Applying it twice changes nothing."""
    text = unicodedata.normalize("NFC", text.replace("\u00ad", ""))
    if "\n" not in text or not any(sign in text for sign in ("@", "www.", "://")):
        return text
    before = None
    while text != before:
        before = text
        for broken in _BROKEN_ADDRESS:
            text = broken.sub(r"\1", text)
        text = _BROKEN_NAME.sub(lambda m: m[1] if m[2] in FIRST_NAMES else m[0], text)
    return text
