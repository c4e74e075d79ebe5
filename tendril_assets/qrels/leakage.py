"""Training passages that repeat held-out text.

Tender documents share boilerplate, so a training passage may stand word for word in a validation project or in the test
collection. Such a passage leaves training; the split of its group stays as it is. What repeats what is read from the
duplicate index (``corpus.duplicates``), which is exact and knows no guard: the guard keeps passages that differ in a
number from being *deleted*, but such a pair still shows the model held-out text.

Not found is a short held-out passage inside a much longer training passage, or the other way round: the rule is Jaccard
similarity, which is low for them. A rule for contained text would also take every long passage that quotes one standard
sentence, so it is left to whoever measures it.
"""

import polars as pl

from tendril_assets.corpus.duplicates import CORPUS, TEST, DuplicateIndex
from tendril_assets.qrels.splits import TRAIN
from tendril_assets.tables import TABLES


def find_leakage(index: DuplicateIndex, splits: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a training passage and the held-out passage it repeats, as a ``leakage`` frame.

    Args:
        index: the duplicate index of the corpus and the test collection.
        splits: a ``splits`` frame. Groups of train are looked at, other splits are held out under their name, the test
            collection as ``test``; corpus groups without a split are neither.
    """
    corpus = index.texts.filter(pl.col("source") == CORPUS).join(splits, on="group_id")
    is_training = pl.col("split") == TRAIN
    training = corpus.filter(is_training).select("passage_id", "text_id")
    test = index.texts.filter(pl.col("source") == TEST).with_columns(split=pl.lit(TEST))
    columns = [pl.col("passage_id").alias("cause"), pl.col("split").alias("cause_set"), "text_id"]
    held_out = pl.concat([corpus.filter(~is_training).select(columns), test.select(columns)])
    equal = training.join(held_out, on="text_id").with_columns(similarity=pl.lit(1.0))
    pairs = index.similar.select("text_id", "other_id", "similarity")
    both_ways = pl.concat([pairs, pairs.select(text_id="other_id", other_id="text_id", similarity="similarity")])
    near = training.join(both_ways, on="text_id").join(held_out, left_on="other_id", right_on="text_id")
    found = pl.concat([frame.select(list(TABLES["leakage"].schema)) for frame in (equal, near)])
    return found.sort("passage_id", "cause_set", "cause")


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
