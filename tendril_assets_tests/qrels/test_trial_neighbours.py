"""How much real neighbouring passages of published Russian acts hold of each other."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.qrels.neighbours import neighbours, overlap

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")

# First of two that stand side by side -> characters that the second repeats, read off the texts by eye.
REPEATED = {
    "446-П_22122014#0055": 161,  # clause 15.7, which ends the one and begins the other
    "446-П_22122014#0080": 297,
    "448-П_22122014#0002": 0,
    "590-П_28062017#0072": 213,
    "590-П_28062017#0085": 0,
    "6406-У_10042023#1812": 292,
}


@pytest.fixture(scope="module")
def places() -> pl.DataFrame:
    texts = {}
    for name in ("cbr_excerpts/act_chunks_sample.jsonl", "cbr_pairs/pairs.jsonl"):
        for line in (Path(DATA or "") / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts[row["chunk_id"]] = row["text"]
    rows = [(i, i.partition("#")[0], int(i.partition("#")[2]), text) for i, text in sorted(texts.items())]
    schema = {"passage_id": pl.String, "document_id": pl.String, "position": pl.Int32, "text": pl.String}
    return pl.DataFrame(rows, schema, orient="row")


def test_what_real_neighbours_repeat_is_found_to_the_letter(places):
    texts = dict(places.select("passage_id", "text").iter_rows())
    for first, characters in REPEATED.items():
        act, _, position = first.partition("#")
        one, two = texts[first], texts[f"{act}#{int(position) + 1:04d}"]
        length = len(" ".join(one.split()))
        assert overlap(one, two, before=False) == pytest.approx(characters / length)


def test_at_the_published_threshold_one_real_pair_of_six_is_a_neighbour(places):
    """Half of all neighbours share nothing and the others little, as the published collection says: 0.15 in the middle."""
    every = places.select(pl.lit("q").alias("query_id"), "passage_id")
    found = neighbours(every, places, 0.30, headed=False)
    assert [(p, g, round(share, 3)) for _, p, g, share in found.rows()] == [
        ("446-П_22122014#0055", "446-П_22122014#0056", 0.947),
        ("446-П_22122014#0056", "446-П_22122014#0055", 0.325),
    ]
