"""Published identifiers and named draws.

``Identifiers`` is what makes published ids from raw ones: ``KeyedHasher`` hashes, ``NamedIdentifiers`` leaves the names that
the landing folder gives, for groups that are public.

Hashed ids are HMAC-SHA-256 under the keyed-hash secret, with one domain per kind, so that equal texts in two roles
never share an id and nobody without the secret can test a guess (project numbers are short: a plain hash of one is
undone by trying all). Every part is put in Unicode NFC first and carries its length, so ("ab", "c") and ("a", "bc")
differ. Ids are strings of a one-letter prefix and ``HEX_DIGITS`` hex digits: 80 bits, a chance of about 3e-15 that any
two of 86,000 passages meet; ``refuse_collisions`` looks all the same.

``keyed_order`` names a random draw by (seed, stage, entity). The entities with the lowest values are a uniform sample,
and adding an entity never moves the others.
"""

import hashlib
import hmac
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from tendril_assets.errors import HashKeyChanged, MissingHashKey, MixedScriptId, TendrilError

MIN_KEY_BYTES = 32
HEX_DIGITS = 20
KEYED, NAMED = "keyed", "named"

# Cyrillic letters that look like a Latin one, after the confusables of Unicode TR 39, letters of equal case only.
_LOOKALIKES = str.maketrans("АВЕКМНОРСТУХІЈЅԚԜаеорсухіјѕԛԝ", "ABEKMHOPCTYXIJSQWaeopcyxijsqw")


def nfc(text: str) -> str:
    """Unicode NFC. Not NFKC, which turns "10³" into "103"."""
    return unicodedata.normalize("NFC", text)


def keyed_order(seed: int, stage: str, entity_id: str) -> int:
    """Place of ``entity_id`` in the named draw (seed, stage): an integer in [0, 2**63), fit for a BIGINT column."""
    return keyed_orders(seed, stage, (entity_id,))[0]


def keyed_orders(seed: int, stage: str, entity_ids: Iterable[str]) -> list[int]:
    """``keyed_order`` of each entity, the draw's name framed once."""
    name, blake2b, number = _framed(str(seed), stage), hashlib.blake2b, int.from_bytes
    orders = []
    for entity_id in entity_ids:
        entity = entity_id.encode() if entity_id.isascii() else nfc(entity_id).encode("utf-8", "surrogatepass")
        framed = name + len(entity).to_bytes(8, "big") + entity
        orders.append(number(blake2b(framed, digest_size=8, person=b"keyed_order").digest(), "big") >> 1)
    return orders


class Identifiers(Protocol):
    """Makes published ids from raw ones, the same ones on every run."""

    @property
    def policy(self) -> str:
        """``keyed`` or ``named``, as in the specification."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names the secret without telling it."""
        ...

    def group(self, project: str) -> str:
        """Id of a project."""
        ...

    def document(self, project: str, document: str) -> str:
        """Id of a document; equal file names in two projects differ."""
        ...

    def passage(self, project: str, document: str, text: str, occurrence: int = 0, position: int = 0) -> str:
        """Id of a passage. ``occurrence`` counts equal texts before it within the document, ``position`` is its place
        in the document; both from 0.
        """
        ...

    def trace_key(self, project: str) -> bytes:
        """32 bytes under which pieces of removed text are known again within ``project``, and nowhere else."""
        ...


class KeyedHasher:
    """Published ids that tell nothing without the secret.

    Raises ``MissingHashKey`` for a secret under 32 bytes. The secret is in neither ``repr`` nor any error.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise MissingHashKey(
                f"the keyed-hash secret has {len(key)} bytes, {MIN_KEY_BYTES} are needed: set TENDRIL_HASH_KEY"
            )
        self._key = bytes(key)

    @property
    def policy(self) -> str:
        return KEYED

    def __repr__(self) -> str:
        return f"KeyedHasher(fingerprint={self.fingerprint!r})"

    def __reduce__(self) -> str | tuple:
        raise TypeError("KeyedHasher holds a secret and is not pickled")

    @property
    def fingerprint(self) -> str:
        """16 hex digits that name the secret without telling it."""
        return self._hex("fingerprint")[:16]

    def group(self, project: str) -> str:
        """``g-`` id of a project."""
        return "g-" + self._hex("project", checked_id(project))[:HEX_DIGITS]

    def document(self, project: str, document: str) -> str:
        """``d-`` id of a document; equal file names in two projects differ."""
        return "d-" + self._hex("document", checked_id(project), nfc(document))[:HEX_DIGITS]

    def passage(self, project: str, document: str, text: str, occurrence: int = 0, position: int = 0) -> str:
        """``p-`` id of a passage: stable when passages around it come or go.

        ``occurrence`` counts equal texts before it within the document, from 0; ``position`` does not matter.
        """
        framed = _of_document(project, document) + _framed(nfc(text), str(occurrence))
        return "p-" + hmac.digest(self._key, framed, hashlib.sha256).hex()[:HEX_DIGITS]

    def trace_key(self, project: str) -> bytes:
        """32 bytes under which pieces of removed text are known again within ``project``, and nowhere else."""
        return bytes.fromhex(self._hex("removed", nfc(project)))

    def _hex(self, domain: str, *parts: str) -> str:
        return hmac.digest(self._key, _framed(domain, *parts), hashlib.sha256).hex()


def require_fingerprint(stored: str | None, current: str, where: str) -> None:
    """Raise ``HashKeyChanged`` where ``where`` was built with another secret; None means it is new."""
    if stored is not None and stored != current:
        raise HashKeyChanged(
            f"{where} was built with the secret of fingerprint {stored}, the present one has {current}: ids would no "
            "longer fit together. Set TENDRIL_HASH_KEY to the former secret, or start in a new TENDRIL_HOME"
        )


def checked_id(raw: str) -> str:
    """``raw`` in NFC.

    Raises ``MixedScriptId`` where one run of letters mixes Latin and Cyrillic: nearly always a keyboard slip, and it
    would make two entities of one.
    """
    text = nfc(raw)
    if text.isascii():
        return text
    scripts: set[str] = set()
    for character in text:
        if not character.isalpha():
            scripts.clear()
            continue
        script = _script(character)
        if script:
            scripts.add(script)
        if len(scripts) > 1:
            raise MixedScriptId(
                f"id {raw!r} mixes Latin and Cyrillic letters in one word (at {character!r}): "
                "correct it in the landing folder"
            )
    return text


def refuse_lookalikes(ids: Iterable[str]) -> None:
    """Raise ``MixedScriptId`` for an id of mixed script, or for two that differ only in Latin for Cyrillic letters."""
    seen: dict[str, str] = {}
    for raw in ids:
        text = checked_id(raw)
        twin = seen.setdefault(text.translate(_LOOKALIKES), text)
        if twin != text:
            raise MixedScriptId(
                f"ids {twin!r} and {text!r} differ only in letters that look alike in Latin and Cyrillic: "
                "correct one of them in the landing folder"
            )


def refuse_collisions(kind: str, pairs: Iterable[tuple[str, str]]) -> None:
    """``pairs`` of (raw, published): raise ``TendrilError`` where two raw ids share a published one."""
    owner: dict[str, str] = {}
    for raw, published in pairs:
        if owner.setdefault(published, raw) != raw:
            raise TendrilError(
                f"two {kind}s have the published id {published}: lengthen HEX_DIGITS in corpus/identifiers.py"
            )


def _script(character: str) -> str | None:
    name = unicodedata.name(character, "")
    return next((script for script in ("LATIN", "CYRILLIC") if name.startswith(script)), None)


@lru_cache(maxsize=16)
def _of_document(project: str, document: str) -> bytes:
    """What all passages of one document begin with; they come one after the other."""
    return _framed("passage", checked_id(project), nfc(document))


def _framed(*parts: str) -> bytes:
    """Parts with their byte lengths: no two part lists give the same bytes."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
