"""Questions that language models write over passages, and the filters they pass."""

from tendril_assets.assets.common import Stage
from tendril_assets.spec import CollectionSpec


def generation_assets(spec: CollectionSpec) -> Stage:
    """corpus, splits -> generation_requests -> generation_replies -> generated_questions."""
    return Stage([], [])
