"""The check of a passage's text: whether what stands under an id is what stood there before.

A named passage is known by its number, and another rule of cutting, another tokenizer or another text of the act puts
another text under the same number. Pairs are published with the check of their passage's text, so that this is seen.
"""

import hashlib
from collections.abc import Iterable

import polars as pl

from tendril_assets.corpus.ngrams import normalise

CHECK_DIGITS = 16
# What became of a published passage: nothing, another text stands there, no passage does.
STANDS, MOVED, GONE = "stands", "moved", "gone"


def content_check(text: str) -> str:
    """First 16 hex digits of the SHA-256 of ``text`` in normal form: NFC, case folded, white space as single blanks."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:CHECK_DIGITS]


def content_checks(texts: Iterable[str]) -> pl.Series:
    """``content_check`` of each text, as a column ``content_check``."""
    return pl.Series("content_check", [content_check(text) for text in texts], dtype=pl.String)


def standing_of(published: pl.DataFrame, corpus: pl.DataFrame) -> pl.DataFrame:
    """``published`` (passage_id, content_check, further columns) with ``state``, and ``now_at``: the lowest id under which a
    moved text stands now, empty where it stands nowhere.

    ``corpus``: passage_id and text. A row without a check stands where its passage is there at all.
    """
    present = corpus.select("passage_id", content_checks(corpus["text"]).alias("_now"))
    places = present.group_by("_now").agg(now_at=pl.col("passage_id").min())
    joined = published.join(present, on="passage_id", how="left", maintain_order="left").join(
        places, left_on="content_check", right_on="_now", how="left", maintain_order="left"
    )
    other = pl.col("content_check").is_not_null() & (pl.col("content_check") != pl.col("_now"))
    state = (
        pl.when(pl.col("_now").is_null()).then(pl.lit(GONE)).when(other).then(pl.lit(MOVED)).otherwise(pl.lit(STANDS))
    )
    return (
        joined.with_columns(state=state)
        .with_columns(now_at=pl.when(pl.col("state") == STANDS).then(None).otherwise(pl.col("now_at")))
        .drop("_now")
    )
