"""Headings and short words around a publication's own text, in its language; the table is ``notice_words.tsv``."""

from functools import cache
from pathlib import Path

# Of the rendering as a whole: these words and the rules of ``notices``, which takes longer to load.
NOTICE_VERSION = "notice-1"


@cache
def _words() -> dict[str, dict[str, str]]:
    rows = (line.split("\t") for line in Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines())
    _, *languages = next(rows)
    return {key: dict(zip(languages, cells, strict=True)) for key, *cells in rows}


def word(key: str, language: str) -> str | None:
    """The word for ``key``, or None where there is none, as for ``not_specified`` and for values new in the API."""
    return _words().get(key, {}).get(language)
