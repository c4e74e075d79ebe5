"""Queries of several registers: what people asked, what was written by hand, what was generated."""

from tendril_assets.assets.common import Stage
from tendril_assets.spec import CollectionSpec


def register_assets(spec: CollectionSpec) -> Stage:
    """acts, live_questions, generated_questions -> live_attachments -> queries, project_queries."""
    return Stage([], [])
