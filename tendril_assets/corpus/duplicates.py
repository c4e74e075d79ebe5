"""The duplicate index: which passages of the whole collection hold equal or similar text, across all groups.

Tender documents share boilerplate by the hundreds of projects, so equal normalised texts are one *text*, and pairs are
told between texts: a clause that 600 projects repeat word for word is one text and no pair. Pairs of texts that both
stand in one and the same group only are left out; within a group the near-duplicate rule decides (``neardup``). The
similarity is that rule's, exact and inclusive, without its guard: a text that differs in a number is known from the
other side all the same.

The index answers leakage exactly (``qrels.leakage``). What it does not hold is a short passage inside a long one, whose
Jaccard similarity is low by definition; ``containment`` is only a further figure of the pairs found.
"""

import hashlib
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.ngrams import Ints, normalise, shingle, similar_pairs
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.tables import TABLES

INDEX_VERSION = "index-1"
CORPUS, TEST = "corpus", "test"
_ID_BYTES = 10


class DuplicateIndex(NamedTuple):
    """Rows of ``passage_texts`` and of ``similar_texts``, sorted."""

    texts: pl.DataFrame
    similar: pl.DataFrame


class Texts(NamedTuple):
    """``frame``: rows of ``passage_texts``; ``normalised``: each text id with its normalised text."""

    frame: pl.DataFrame
    normalised: dict[str, str]


def duplicate_index(corpus: pl.DataFrame, test: pl.DataFrame, spec: NearDuplicateSpec) -> DuplicateIndex:
    """The index over two frames of passage_id, group_id, text; see ``passage_texts`` and ``similar_texts``."""
    texts = passage_texts(corpus, test)
    return DuplicateIndex(texts.frame, similar_texts(texts, spec))


def passage_texts(corpus: pl.DataFrame, test: pl.DataFrame) -> Texts:
    """The text of each passage of two frames of passage_id, group_id, text; ids are unique within each."""
    names: dict[str, str] = {}
    frames = []
    for source, frame in ((CORPUS, corpus), (TEST, test)):
        ids = []
        for text in map(normalise, frame["text"]):
            if text not in names:
                names[text] = text_id(text)
            ids.append(names[text])
        frames.append(
            frame.select(
                "passage_id", pl.lit(source).alias("source"), "group_id", pl.Series("text_id", ids, dtype=pl.String)
            )
        )
    return Texts(pl.concat(frames).sort("source", "passage_id"), {name: text for text, name in names.items()})


def similar_texts(texts: Texts, spec: NearDuplicateSpec) -> pl.DataFrame:
    """Pairs of different texts that are similar and stand in different groups, as rows of ``similar_texts``.

    A text without an n-gram is in no pair. Groups of the two sources are never the same group.
    """
    ids = sorted(texts.normalised)
    pairs = similar_pairs(
        shingle([texts.normalised[i] for i in ids], [0] * len(ids), spec.unit, spec.n), spec.threshold
    )
    only = _only_group(texts.frame)
    across = (only[pairs.first] < 0) | (only[pairs.first] != only[pairs.second])
    names = pl.Series(ids, dtype=pl.String)
    # Texts are in the order of their ids, so the first of a pair has the lower one, and the pairs are sorted.
    return pl.DataFrame(
        {
            "text_id": names.gather(pairs.first[across]),
            "other_id": names.gather(pairs.second[across]),
            "similarity": pairs.similarity[across],
            "containment": pairs.containment[across],
        },
        schema=TABLES["similar_texts"].schema,
    )


def text_id(normalised: str) -> str:
    """Name of a normalised text: the same in every run and every collection."""
    return "t-" + hashlib.blake2b(normalised.encode(), digest_size=_ID_BYTES, person=b"text").hexdigest()


def _only_group(frame: pl.DataFrame) -> Ints:
    """For each text, in the order of the ids, the number of the one group it stands in, or -1 where in several."""
    group = pl.struct("source", "group_id").rank("dense").cast(pl.Int64).alias("group")
    by_text = frame.with_columns(group).group_by("text_id").agg(pl.min("group"), several=pl.n_unique("group") > 1)
    return by_text.sort("text_id").select(pl.when("several").then(-1).otherwise("group")).to_series().to_numpy()
