"""Passages that repeat held-out text.

Tender documents share boilerplate, so a training passage may stand word for word in a validation project or in the test
collection. Such a passage leaves training; the split of its group stays as it is. What repeats what is read from the
duplicate index (``corpus.duplicates``), which is exact and knows no guard: the guard keeps passages that differ in a
number from being *deleted*, but such a pair still shows the model held-out text.

Validation passages that repeat the test collection, or a test split of the corpus itself, stay where they are and are
counted: the best step is chosen on them, so a large number of them means that the choice has seen test text.

Not found is a short held-out passage inside a much longer training passage, or the other way round: the rule is Jaccard
similarity, which is low for them. A rule for contained text would also take every long passage that quotes one standard
sentence, so it is left to whoever measures it.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from tendril_assets.corpus.duplicates import CORPUS, TEST, DuplicateIndex
from tendril_assets.qrels.splits import TRAIN, VALIDATION
from tendril_assets.tables import TABLES


def find_leakage(index: DuplicateIndex, splits: pl.DataFrame, tests: Sequence[str] = ()) -> pl.DataFrame:
    """Passages that repeat what is held out from them, as a ``leakage`` frame: one row per passage and held-out set.

    The row names the most similar held-out passage (of equal ones the lowest id) and how many there are.

    Args:
        index: the duplicate index of the corpus and the test collection.
        splits: a ``splits`` frame. From groups of train every other split is held out, under its name, and the test
            collection as ``test``; from all other splits the test collection alone, from validation ``tests`` besides.
            Corpus groups without a split are neither looked at nor held out.
        tests: splits of the corpus itself that are tests.
    """
    corpus = index.texts.filter(pl.col("source") == CORPUS).join(splits, on="group_id")
    test = index.texts.filter(pl.col("source") == TEST).with_columns(split=pl.lit(TEST))
    # Counted by text first: a clause of 600 groups would otherwise be a pair for each training and held-out copy.
    causes = (
        pl.concat([corpus.filter(pl.col("split") != TRAIN), test.select(corpus.columns)])
        .group_by("text_id", cause_set="split")
        .agg(cause=pl.col("passage_id").min(), causes=pl.len())
    )
    similar = index.similar.select("text_id", "other_id", "similarity")
    itself = causes.select("text_id", other_id="text_id", similarity=1.0).unique()
    reaches = pl.concat(
        [itself, similar, similar.select(text_id="other_id", other_id="text_id", similarity="similarity")]
    )
    found = (
        corpus.select("passage_id", "split", "text_id")
        .join(reaches, on="text_id")
        .join(causes, left_on="other_id", right_on="text_id")
        .filter(
            (pl.col("split") == TRAIN)
            | (pl.col("cause_set") == TEST)
            | ((pl.col("split") == VALIDATION) & pl.col("cause_set").is_in(list(tests)))
        )
        .sort("similarity", "cause", descending=[True, False])
        .group_by("passage_id", "split", "cause_set", maintain_order=True)
        .agg(pl.first("cause", "similarity"), pl.sum("causes"))
    )
    columns = list(TABLES["leakage"].schema)
    return found.select(columns).cast(dict(TABLES["leakage"].schema)).sort("passage_id", "cause_set")


def leaking(leakage: pl.DataFrame) -> frozenset[str]:
    """Passages that must not be trained on."""
    return frozenset(leakage.filter(pl.col("split") == TRAIN)["passage_id"])


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


def groups_under_test(
    splits: pl.DataFrame, sampled: pl.DataFrame, test_projects: Iterable[str], test_corpus: Iterable[str]
) -> list[str]:
    """Groups with a split that belong to the test collection, sorted; must be empty.

    Args:
        splits: a ``splits`` frame.
        sampled: ``project``, ``group_id`` of the sampled projects.
        test_projects: the test collection's projects, by raw or published id, as its owner lists them.
        test_corpus: groups of its passages.
    """
    listed, held_out = set(test_projects), set(test_corpus)
    held_out |= listed | set(sampled.filter(pl.col("project").is_in(listed))["group_id"])
    return sorted(set(splits["group_id"]) & held_out)
