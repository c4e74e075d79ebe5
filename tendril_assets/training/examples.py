"""Training examples (query, positive, own negatives) and the validation set, from accepted grades.

One row per positive of the training split, used or not, with the reason it is left out:

``leak``               the positive repeats held-out text (``qrels.leakage``)
``too_few_negatives``  fewer different irrelevant texts than the recipe asks for
``balance``            taken out so that no level outweighs another, or by the recipe's cap per level
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.splits import TRAIN, VALIDATION, groups_of
from tendril_assets.spec import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.negatives import Pooled, choose_negatives, normalised

LEAK = "leak"
TOO_FEW_NEGATIVES = "too_few_negatives"
BALANCE = "balance"
_NEGATIVE_DRAW = "negatives"
_BALANCE_DRAW = "balance"


class ExchangeSet(NamedTuple):
    """What training reads: texts instead of ids, and no warehouse.

    ``train``: example (number of the row), level, query_id, positive_id, and the texts query, positive, negative_1 ...
    negative_n (``text_columns``), in the order of the examples. ``corpus``: passage_id, group_id, text. ``queries``:
    query_id, level, text. ``qrels``: query_id, passage_id, group_id, score. The last three hold the validation groups.
    """

    train: pl.DataFrame
    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame


def text_columns(exchange: ExchangeSet) -> list[str]:
    """The columns of ``exchange.train`` that a model reads: the query first, then the positive, then its negatives."""
    return [name for name in exchange.train.columns if name not in ("example", "level", "query_id", "positive_id")]


def build_examples(
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    splits: pl.DataFrame,
    leaked: Collection[str],
    recipe: TrainingSpec,
    seed: int,
) -> pl.DataFrame:
    """A ``training_examples`` frame, ordered by query and positive.

    Args:
        qrels: accepted grades; grades between 0 and ``recipe.positive_grade`` are neither positives nor negatives.
        corpus: ``passage_id``, ``text``, ``document_id`` of every passage named in ``qrels``.
        queries: ``query_id``, ``level``.
        splits: split of each group; only training groups give examples.
        leaked: passage ids that leave training, as positives and as negatives.
        recipe: number and origin of the negatives, grade of a positive, cap per level.
        seed: the collection's seed, which names the draws.
    """
    graded = (
        qrels.filter(pl.col("group_id").is_in(groups_of(splits, TRAIN)))
        .join(corpus.select("passage_id", "text", "document_id"), on="passage_id", how="inner", validate="m:1")
        .join(queries.select("query_id", "level"), on="query_id", how="inner", validate="m:1")
        .filter((pl.col("score") == 0) | (pl.col("score") >= recipe.positive_grade))
    )
    rows = [
        row
        for (query_id, group_id), part in graded.group_by("query_id", "group_id", maintain_order=True)
        for row in _examples_of(str(query_id), str(group_id), part, frozenset(leaked), recipe, seed)
    ]
    frame = TABLES["training_examples"].frame(rows).sort("query_id", "positive_id")
    return balance_levels(frame, recipe.max_examples_per_level, seed)


def _examples_of(
    query_id: str, group_id: str, part: pl.DataFrame, leaked: frozenset[str], recipe: TrainingSpec, seed: int
) -> Iterator[tuple]:
    """Rows of one query in one group, in ``training_examples`` column order, before balancing."""
    level = part["level"][0]
    passages = [
        (passage, document, normalised(text), score)
        for passage, document, text, score in part.select("passage_id", "document_id", "text", "score").iter_rows()
    ]
    pool = [(p, d, t) for p, d, t, score in passages if score == 0 and p not in leaked]
    for positive, document, text, score in passages:
        if score < recipe.positive_grade:
            continue
        if positive in leaked:
            yield query_id, level, group_id, positive, [], False, LEAK
            continue
        drawn = [Pooled(p, d, t, keyed_order(seed, _NEGATIVE_DRAW, f"{query_id}|{positive}|{p}")) for p, d, t in pool]
        chosen = choose_negatives(
            text, document, drawn, wanted=recipe.n_negatives, same_document=recipe.same_document_negatives
        )
        enough = len(chosen) == recipe.n_negatives
        yield query_id, level, group_id, positive, chosen, enough, None if enough else TOO_FEW_NEGATIVES


def balance_levels(examples: pl.DataFrame, cap: int | None, seed: int) -> pl.DataFrame:
    """Down-sample each level to the size of the smallest one, and to ``cap``, by keyed order.

    Only levels with usable examples count: one that has none cannot be balanced against, and its zero shows in the
    counts. Examples taken out get ``used`` false and the reason ``balance``.
    """
    usable = examples.filter(pl.col("used"))
    if usable.is_empty():
        return examples
    smallest = min(usable.group_by("level").len()["len"].to_list())
    kept_per_level = min(smallest, cap or smallest)
    order = [
        keyed_order(seed, _BALANCE_DRAW, f"{query}|{positive}")
        for query, positive in usable.select("query_id", "positive_id").iter_rows()
    ]
    surplus = (
        usable.with_columns(order=pl.Series(order, dtype=pl.Int64))
        .sort("order", "query_id", "positive_id")
        .with_columns(place=pl.int_range(pl.len()).over("level"))
        .filter(pl.col("place") >= kept_per_level)
        .select("query_id", "positive_id", surplus=True)
    )
    return (
        examples.join(surplus, on=["query_id", "positive_id"], how="left", maintain_order="left")
        .with_columns(
            used=pl.col("used") & pl.col("surplus").is_null(),
            reason=pl.when(pl.col("surplus").is_not_null()).then(pl.lit(BALANCE)).otherwise(pl.col("reason")),
        )
        .drop("surplus")
    )


def exchange_set(
    examples: pl.DataFrame,
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    splits: pl.DataFrame,
    *,
    whole_corpus: bool = False,
) -> ExchangeSet:
    """Texts of the used examples, and the validation groups' passages, queries and grades.

    ``whole_corpus``: validation queries rank every passage, not only those of their own group.

    Raises:
        TrainingError: no usable example.
    """
    used = examples.filter(pl.col("used"))
    if used.is_empty():
        if examples.is_empty():
            raise TrainingError(
                "no training example: no passage of a training group has the positive grade. Judge more groups first"
            )
        counts = dict(examples.group_by("reason").len().sort("reason").iter_rows())
        raise TrainingError(f"no usable training example; left out by reason: {counts}. Judge more groups first")
    texts = corpus.select("passage_id", "text")
    wide = used.select("query_id", "level", "positive_id", "negative_ids").with_row_index("example")
    train = wide.join(queries.select("query_id", query="text"), on="query_id", how="left").join(
        texts.rename({"passage_id": "positive_id", "text": "positive"}), on="positive_id", how="left"
    )
    columns = ["example", "level", "query_id", "positive_id", "query", "positive"]
    for number in range(max(used["negative_ids"].list.len().to_list())):
        name = f"negative_{number + 1}"
        train = train.with_columns(negative_id=pl.col("negative_ids").list.get(number)).join(
            texts.rename({"passage_id": "negative_id", "text": name}), on="negative_id", how="left"
        )
        train = train.drop("negative_id")
        columns.append(name)
    held_out = qrels.filter(pl.col("group_id").is_in(groups_of(splits, VALIDATION)))
    ranked = corpus if whole_corpus else corpus.join(held_out.select("group_id").unique(), on="group_id", how="semi")
    return ExchangeSet(
        train=train.sort("example").select(columns),
        corpus=ranked.select("passage_id", "group_id", "text").sort("passage_id"),
        queries=queries.join(held_out, on="query_id", how="semi").select("query_id", "level", "text").sort("query_id"),
        qrels=held_out.select("query_id", "passage_id", "group_id", "score").sort("query_id", "passage_id"),
    )
