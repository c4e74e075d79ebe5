"""Grade 1 for a passage beside a gold one that holds a substantial part of its text.

Passages of one document overlap where they are cut: how much, is measured on the texts themselves. Half of all neighbours
share nothing, and the others little, so that a neighbour as such is no evidence; one that holds a stated share of the gold
text physically is.
"""

import re

import polars as pl

_SPACE = re.compile(r"\s+")
_PROBE = 24
NO_NEIGHBOURS = pl.DataFrame(
    schema={"query_id": pl.String, "passage_id": pl.String, "gold_id": pl.String, "share": pl.Float64}
)


def shared_characters(first: str, second: str) -> int:
    """Length of the longest end of ``first`` that ``second`` begins with, white space run together."""
    one, two = _flat(first), _flat(second)
    at = max(0, len(one) - len(two))
    # The leftmost place that fits is the longest end. A few letters are looked for first: almost nowhere do they fit.
    while two and (at := one.find(two[: min(_PROBE, len(one) - at)], at)) >= 0 and at < len(one):
        if two.startswith(one[at:]):
            return len(one) - at
        at += 1
    return _short(one, two)


def _short(one: str, two: str) -> int:
    """The same for ends shorter than the probe, which cannot be found by it."""
    return next((n for n in range(min(_PROBE, len(one), len(two)), 0, -1) if two.startswith(one[-n:])), 0)


def overlap(gold: str, other: str, *, before: bool) -> float:
    """Share (0 to 1) of the characters of ``gold`` that its neighbour ``other`` holds where the two meet.

    ``before``: the neighbour stands before the gold passage. A text that holds the other one whole shares all of it.
    """
    length = len(_flat(gold))
    if not length:
        return 0.0
    if _flat(gold) in _flat(other):
        return 1.0
    return shared_characters(other, gold) / length if before else shared_characters(gold, other) / length


def body(text: str) -> str:
    """What stands below the heading line of a passage that has one; headings repeat, and are no part of the overlap."""
    return text.partition("\n")[2] or text


def neighbours(gold: pl.DataFrame, places: pl.DataFrame, least: float, *, headed: bool) -> pl.DataFrame:
    """The passages next to gold ones that hold at least ``least`` of their text: query_id, passage_id, gold_id, share.

    Args:
        gold: query_id, passage_id.
        places: passage_id, document_id, position, text of the corpus; neighbours are one position apart.
        headed: whether the first line of a text is its heading.

    Of two gold passages of a query beside one neighbour the larger share counts; of equal ones the lower id.
    """
    own = gold.select("query_id", gold_id="passage_id").unique()
    here = places.select("passage_id", "document_id", "position", "text")
    centre = here.rename({"passage_id": "gold_id", "text": "gold_text", "position": "at"})
    wanted = centre.join(own.select("gold_id").unique(), on="gold_id", how="semi")
    beside = pl.concat(
        [
            wanted.with_columns(position=pl.col("at") + step, before=pl.lit(step < 0)).join(
                here, on=["document_id", "position"]
            )
            for step in (-1, 1)
        ]
    )
    cut = body if headed else str
    shares = [
        overlap(cut(text), cut(other), before=before)
        for text, other, before in beside.select("gold_text", "text", "before").iter_rows()
    ]
    measured = beside.select("gold_id", "passage_id", share=pl.Series(shares, dtype=pl.Float64))
    found = own.join(measured.filter(pl.col("share") >= least), on="gold_id")
    return (
        found.sort("query_id", "passage_id", "share", "gold_id", descending=[False, False, True, False])
        .unique(["query_id", "passage_id"], keep="first", maintain_order=True)
        .select("query_id", "passage_id", "gold_id", "share")
    )


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text).strip()
