"""Published ids that are the names of the landing folder, for groups that are public: acts of a regulator.

A group is its name, a document ``<group>/<document>``, a passage ``<group>#<position>`` with at least four digits. So a
passage's id says where it stands, not what it says: another rule of cutting, or another text of the act, puts another text
under the same id. ``content_check`` tells, and what an entry of the removal list took out keeps its id: no other text is
ever put there (see ``removed_passages``). A group has one document, for passages are counted per group.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote

from tendril_assets.corpus.identifiers import KEYED, NAMED, Identifiers, KeyedHasher, checked_id, nfc
from tendril_assets.errors import TendrilError

# A group's name stands in ids, file names and tables; these would make two names of one, or one of two.
_NAME = re.compile(r"[^\W_][^\s#/\\|,;\"'`<>:()\[\]{}]{0,99}")
# Percent-encoded it names a folder, alone and with a document's name.
_MOST_BYTES = 150
_PASSAGE = re.compile(r"(?P<group>[^\s#/]+)#(?P<position>\d{4,9})")
POSITION_DIGITS = 4


class NamedIdentifiers:
    """The names themselves. The secret of ``keyed`` still keys the traces of removed texts."""

    def __init__(self, keyed: KeyedHasher) -> None:
        self._keyed = keyed

    @property
    def policy(self) -> str:
        return NAMED

    @property
    def fingerprint(self) -> str:
        return self._keyed.fingerprint

    def group(self, project: str) -> str:
        return checked_id(project)

    def document(self, project: str, document: str) -> str:
        return f"{checked_id(project)}/{nfc(document)}"

    def passage(self, project: str, document: str, text: str, occurrence: int = 0, position: int = 0) -> str:
        return f"{checked_id(project)}#{position:0{POSITION_DIGITS}d}"

    def trace_key(self, project: str) -> bytes:
        return self._keyed.trace_key(project)


def identifiers_of(policy: str, secret: bytes) -> Identifiers:
    """Raises ``MissingHashKey`` for a secret under 32 bytes, ValueError for an unknown policy."""
    keyed = KeyedHasher(secret)
    if policy == KEYED:
        return keyed
    if policy == NAMED:
        return NamedIdentifiers(keyed)
    raise ValueError(f"unknown policy of identifiers {policy!r}; there are {KEYED} and {NAMED}")


def named_passage(entry: str) -> str | None:
    """The group of a named passage's id, or None for what is no such id."""
    found = _PASSAGE.fullmatch(entry)
    return found["group"] if found else None


def refuse_unnameable(projects: Iterable[str]) -> None:
    """Raise ``TendrilError`` for projects whose names cannot stand in published ids."""
    names = {project: nfc(project) for project in projects}
    wrong = sorted(p for p, name in names.items() if not _NAME.fullmatch(name) or len(quote(name)) > _MOST_BYTES)
    if wrong:
        raise TendrilError(
            f"{len(wrong)} project name(s) cannot be published ids, such as {wrong[0]!r}: with named identifiers a name has 1 "
            f"to 100 characters ({_MOST_BYTES} when percent-encoded: 25 Cyrillic letters), begins with a letter or digit, and "
            "has no blanks, quotes, brackets, slashes, '#', '|', ',', ';' or ':'"
        )
