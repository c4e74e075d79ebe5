"""The identifiers of a collection: their policy, the keyed-hash secret, and the warehouse both belong to."""

from tendril_assets.corpus.identifiers import KEYED, Identifiers, require_fingerprint
from tendril_assets.corpus.named_identifiers import identifiers_of
from tendril_assets.errors import HashKeyChanged
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec

HASH_KEY_FINGERPRINT = "hash_key_fingerprint"
# Noted beside the fingerprint, for readers without a specification; absent: keyed.
IDENTIFIER_POLICY = "identifier_policy"


def published_identifiers(warehouse: Warehouse, spec: CollectionSpec) -> Identifiers:
    """What makes the collection's ids. The first call for a collection notes the secret's fingerprint and the policy.

    Raises:
        MissingHashKey: no secret, or one under 32 bytes.
        HashKeyChanged: the collection was built with another secret or policy; nothing was written.
    """
    identifiers, stored = _matching(warehouse, spec)
    if stored is None:
        if identifiers.policy != KEYED:
            warehouse.meta_set(spec.collection, IDENTIFIER_POLICY, identifiers.policy)
        warehouse.meta_set(spec.collection, HASH_KEY_FINGERPRINT, identifiers.fingerprint)
    return identifiers


def refuse_other_secret(warehouse: Warehouse, spec: CollectionSpec) -> None:
    """Raises what ``published_identifiers`` raises, and notes nothing: for a step that comes before the first identifier."""
    _matching(warehouse, spec)


def _matching(warehouse: Warehouse, spec: CollectionSpec) -> tuple[Identifiers, str | None]:
    collection = spec.collection
    identifiers = identifiers_of(spec.identifiers.policy, Settings.from_env().hash_key)
    stored = warehouse.meta_get(collection, HASH_KEY_FINGERPRINT)
    require_fingerprint(stored, identifiers.fingerprint, f"collection {collection} in this warehouse")
    policy = warehouse.meta_get(collection, IDENTIFIER_POLICY) or KEYED
    if stored is not None and policy != identifiers.policy:
        raise HashKeyChanged(
            f"collection {collection} in this warehouse was built with identifiers: {policy}, the specification says "
            f"{identifiers.policy}: ids would no longer fit together. Change it back, or start in a new TENDRIL_HOME"
        )
    return identifiers, stored
