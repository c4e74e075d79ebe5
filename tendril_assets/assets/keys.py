"""The keyed-hash secret and the warehouse it belongs to."""

from tendril_assets.corpus.identifiers import KeyedHasher, require_fingerprint
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings

HASH_KEY_FINGERPRINT = "hash_key_fingerprint"


def keyed_hasher(warehouse: Warehouse, collection: str) -> KeyedHasher:
    """The hasher of the settings' secret. The first call for a collection notes the secret's fingerprint.

    Raises:
        MissingHashKey: no secret, or one under 32 bytes.
        HashKeyChanged: the collection was built with another secret; nothing was written.
    """
    hasher, stored = _matching(warehouse, collection)
    if stored is None:
        warehouse.meta_set(collection, HASH_KEY_FINGERPRINT, hasher.fingerprint)
    return hasher


def refuse_other_secret(warehouse: Warehouse, collection: str) -> None:
    """Raises what ``keyed_hasher`` raises, and notes nothing: for a step that comes before the first identifier."""
    _matching(warehouse, collection)


def _matching(warehouse: Warehouse, collection: str) -> tuple[KeyedHasher, str | None]:
    hasher = KeyedHasher(Settings.from_env().hash_key)
    stored = warehouse.meta_get(collection, HASH_KEY_FINGERPRINT)
    require_fingerprint(stored, hasher.fingerprint, f"collection {collection} in this warehouse")
    return hasher, stored
