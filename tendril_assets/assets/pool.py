"""The pool: what the queries without a gold of their own are judged on."""

from tendril_assets.assets.common import Stage
from tendril_assets.spec import CollectionSpec


def pool_assets(spec: CollectionSpec) -> Stage:
    """queries, corpus -> pool."""
    return Stage([], [])
