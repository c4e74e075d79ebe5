"""Word lists are written as running text; this takes them apart."""


def word_list(text: str) -> frozenset[str]:
    """The words of ``text``, as they stand."""
    return frozenset(text.split())
