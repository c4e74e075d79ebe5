"""Component types that collections are declared with."""

from tendril_assets.components.retrieval_collection import RetrievalCollection

__all__ = ["RetrievalCollection"]
