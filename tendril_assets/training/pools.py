"""What each judged pair of the training groups may become: a positive, a negative, or nothing, with the reason.

Positives are pairs of the positive grade. One of them is left out (``reason``) as

``leak``           the passage repeats held-out text (``qrels.leakage``)
``repeat``         another positive of the same query and group holds the same normalised text; the lowest id stays

All other pairs are looked at as negatives, and left out as

``partial``        a grade between irrelevant and positive: too relevant to be pushed away
``no_positive``    irrelevant, but the query has no positive in this group that it could stand beside: none, or only leaks
``leak``           as above
``contradiction``  irrelevant, but the same normalised text was judged relevant (grade 1 or more) for the same query,
                   here or in another training group: the judge disagrees with itself, and the model is not to be taught
                   both. The relevant pair stays: a passage judged relevant once is worth finding

Failed and unjudged pairs are no rows of ``qrels``, so they are neither. Equal texts among the negatives stay in the
pool, for which of them fits depends on the positive's document; no example gets a text twice (``negatives``).
"""

from collections.abc import Collection

import polars as pl

from tendril_assets.corpus.ngrams import normalise
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.splits import TRAIN, groups_of

LEAK = "leak"
REPEAT = "repeat"
PARTIAL = "partial"
NO_POSITIVE = "no_positive"
CONTRADICTION = "contradiction"
AVAILABLE = "available"
_SHOWN = 5


def judged_pairs(
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    splits: pl.DataFrame,
    leaked: Collection[str],
    positive_grade: int,
) -> pl.DataFrame:
    """Every judged pair of the training groups, ordered by query, group and passage.

    Columns: query_id, group_id, passage_id, document_id, level, ``text`` (a number; equal numbers are equal normalised
    texts), ``is_positive``, ``reason`` (see the module; null where the pair may be used).

    Args:
        qrels: accepted grades of all groups.
        corpus: ``passage_id``, ``text``, ``document_id`` of every judged passage of the training groups.
        queries: ``query_id``, ``level``.
        splits: split of each group.
        leaked: passages that leave training.
        positive_grade: lowest grade of a positive.

    Raises:
        TrainingError: a judged passage or query that is not in ``corpus`` or ``queries``.
    """
    judged = qrels.filter(pl.col("group_id").is_in(groups_of(splits, TRAIN)))
    _require_known(judged, corpus, "passage_id", "corpus")
    _require_known(judged, queries, "query_id", "queries")
    passages = corpus.select("passage_id", "document_id", "text").join(judged, on="passage_id", how="semi")
    passages = passages.with_columns(
        text=pl.Series([normalise(text) for text in passages["text"]], dtype=pl.String).rank("dense"),
        leaks=pl.col("passage_id").is_in(list(leaked)),
    )
    # Sorting decides which of equal texts stays, so it does so by id and not by the order of the input.
    pairs = (
        judged.sort("query_id", "group_id", "passage_id")
        .join(passages, on="passage_id", validate="m:1", maintain_order="left")
        .join(queries.select("query_id", "level"), on="query_id", validate="m:1", maintain_order="left")
        .with_columns(is_positive=pl.col("score") >= positive_grade)
    )
    relevant = pairs.filter(pl.col("score") > 0).select("query_id", "text", contradicts=True).unique()
    asked = pairs.filter("is_positive", ~pl.col("leaks")).select("query_id", "group_id", asked=True).unique()
    repeats = pairs.filter("is_positive", ~pl.col("leaks")).select("query_id", "group_id", "text", "passage_id")
    repeats = repeats.filter(~pl.struct("query_id", "group_id", "text").is_first_distinct())
    pairs = (
        pairs.join(relevant, on=["query_id", "text"], how="left", maintain_order="left")
        .join(asked, on=["query_id", "group_id"], how="left", maintain_order="left")
        .join(
            repeats.select("query_id", "passage_id", repeats=True),
            on=["query_id", "passage_id"],
            how="left",
            maintain_order="left",
        )
    )
    of_positive = pl.when("leaks").then(pl.lit(LEAK)).when("repeats").then(pl.lit(REPEAT))
    of_negative = (
        pl.when(pl.col("score") > 0)
        .then(pl.lit(PARTIAL))
        .when(pl.col("asked").is_null())
        .then(pl.lit(NO_POSITIVE))
        .when("leaks")
        .then(pl.lit(LEAK))
        .when("contradicts")
        .then(pl.lit(CONTRADICTION))
    )
    return pairs.select(
        "query_id",
        "group_id",
        "passage_id",
        "document_id",
        "level",
        "text",
        "is_positive",
        reason=pl.when("is_positive").then(of_positive).otherwise(of_negative),
    )


def negatives_by_reason(pairs: pl.DataFrame) -> pl.DataFrame:
    """``level``, ``reason``, ``pairs``: the judged pairs that are no positives, by what they may become, sorted."""
    other = pairs.filter(~pl.col("is_positive")).with_columns(pl.col("reason").fill_null(AVAILABLE))
    return other.group_by("level", "reason").agg(pairs=pl.len()).sort("level", "reason")


def _require_known(judged: pl.DataFrame, known: pl.DataFrame, column: str, table: str) -> None:
    unknown = judged.select(column).join(known, on=column, how="anti")[column].unique().sort()
    if len(unknown):
        raise TrainingError(
            f"{len(unknown):,} of the judged ids in {column} are not in {table}, the first: "
            f"{', '.join(unknown.head(_SHOWN))}. The judgments are older than {table}: materialise qrels again"
        )
