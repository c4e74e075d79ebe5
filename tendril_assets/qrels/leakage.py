"""Training passages that repeat held-out text.

Tender documents share boilerplate, so a training passage may stand word for word in a validation project or in the test
collection. Such a passage leaves training; the split of its group stays as it is.
"""

import polars as pl

from tendril_assets.corpus.neardup import similar_across
from tendril_assets.spec import NearDuplicateSpec
from tendril_assets.tables import TABLES

TEST = "test"


def find_leakage(training: pl.DataFrame, held_out: dict[str, pl.DataFrame], spec: NearDuplicateSpec) -> pl.DataFrame:
    """Pairs of a training passage and the held-out passage it repeats, as a ``leakage`` frame.

    Args:
        training: ``passage_id``, ``text`` of the passages of training groups.
        held_out: name of the held-out set (``validation``, ``test``) to its ``passage_id``, ``text``.
        spec: unit, n and threshold of the n-gram Jaccard similarity (inclusive). Its guard is not applied: it keeps
            passages that differ in a number from being *deleted*, but such a pair still shows the model held-out text.
    """
    unguarded = spec.model_copy(update={"guard": False})
    rows = [
        (passage, cause, name, similarity)
        for name in sorted(held_out)
        for passage, cause, similarity in similar_across(training, held_out[name], unguarded)
    ]
    return TABLES["leakage"].frame(rows).sort("passage_id", "cause_set", "cause")


def leaks_left(examples: pl.DataFrame, leakage: pl.DataFrame) -> pl.DataFrame:
    """Examples in use that still hold a leaking passage: ``query_id``, ``positive_id``, ``passage_id``; must be empty.

    Args:
        examples: a ``training_examples`` frame.
        leakage: a ``leakage`` frame.
    """
    members = examples.filter(pl.col("used")).select(
        "query_id", "positive_id", passage_id=pl.concat_list(pl.concat_list("positive_id"), "negative_ids")
    )
    return (
        members.explode("passage_id")
        .join(leakage.select("passage_id").unique(), on="passage_id", how="semi")
        .sort("query_id", "positive_id", "passage_id")
    )
