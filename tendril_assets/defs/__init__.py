"""One folder per collection: ``defs.yaml`` (its specification) and ``sources.py`` (what it lands)."""

DEFAULT_COLLECTION = "tenders"
