"""Training examples (query, positive, own negatives) and the validation set, from accepted grades.

One row per positive of the training groups, used or not, with the reason it is left out:

``leak``               the positive repeats held-out text (``qrels.leakage``)
``repeat``             another positive of the same query and group holds the same text
``too_few_negatives``  fewer different irrelevant texts than the recipe asks for
``balance``            usable, taken out so that no level outweighs another
``cap``                usable, taken out by the recipe's cap per level, where it has one

The examples *available* are those used and those taken out for balance or by the cap. What a judged pair may become is
decided in ``pools``, which negatives an example gets in ``negatives``.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import keyed_orders
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.splits import VALIDATION, groups_of
from tendril_assets.records import GRADES
from tendril_assets.spec import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.negatives import Pooled, choose_negatives
from tendril_assets.training.pools import judged_pairs

TOO_FEW_NEGATIVES = "too_few_negatives"
BALANCE = "balance"
CAP = "cap"
USED = "used"
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
    """A ``training_examples`` frame from the tables: ``pools.judged_pairs``, then ``examples_of``."""
    return examples_of(judged_pairs(qrels, corpus, queries, splits, leaked, recipe.positive_grade), recipe, seed)


def examples_of(pairs: pl.DataFrame, recipe: TrainingSpec, seed: int) -> pl.DataFrame:
    """A ``training_examples`` frame, ordered by query and positive; it does not depend on the order of ``pairs``.

    Args:
        pairs: ``pools.judged_pairs``, which says what may be a positive and what a negative.
        recipe: number and origin of the negatives, cap per level.
        seed: the collection's seed, which names the draws.
    """
    rows = list(_before_balancing(pairs, recipe, seed))
    frame = TABLES["training_examples"].frame(rows).sort("query_id", "positive_id")
    return balance_levels(frame, recipe.max_examples_per_level, seed)


def _before_balancing(pairs: pl.DataFrame, recipe: TrainingSpec, seed: int) -> Iterator[tuple]:
    """Rows in ``training_examples`` column order, before levels are compared."""
    columns = ("query_id", "group_id", "passage_id", "document_id", "text")
    pools: defaultdict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    may_be_negative = pairs.filter(~pl.col("is_positive"), pl.col("reason").is_null())
    for query_id, group_id, *passage in may_be_negative.select(columns).iter_rows():
        pools[query_id, group_id].append(tuple(passage))
    positives = pairs.filter("is_positive").select(*columns, "level", "reason")
    for query_id, group_id, positive, document, text, level, reason in positives.iter_rows():
        if reason is not None:
            yield query_id, level, group_id, positive, [], False, reason
            continue
        pool = pools[query_id, group_id]
        draws = keyed_orders(seed, _NEGATIVE_DRAW, (f"{query_id}|{positive}|{passage}" for passage, _, _ in pool))
        drawn = [Pooled(order, *passage) for passage, order in zip(pool, draws, strict=True)]
        chosen = choose_negatives(
            text, document, drawn, wanted=recipe.n_negatives, same_document=recipe.same_document_negatives
        )
        enough = len(chosen) == recipe.n_negatives
        yield query_id, level, group_id, positive, chosen, enough, None if enough else TOO_FEW_NEGATIVES


def balance_levels(examples: pl.DataFrame, cap: int | None, seed: int) -> pl.DataFrame:
    """Down-sample each level to the size of the smallest one, and to ``cap``, by keyed order.

    Each example has a place of its own in the draw, so a new positive takes the place of one other at most in each level.
    Only levels with usable examples count: one that has none cannot be balanced against, and its zero shows in the
    counts. Examples taken out get ``used`` false and the reason ``balance``, or ``cap`` where the cap alone takes them.
    """
    usable = examples.filter(pl.col("used"))
    if usable.is_empty():
        return examples
    smallest = min(usable.group_by("level").len()["len"].to_list())
    pairs = usable.select("query_id", "positive_id").iter_rows()
    order = keyed_orders(seed, _BALANCE_DRAW, (f"{query}|{positive}" for query, positive in pairs))
    place = pl.col("place")
    surplus = (
        usable.with_columns(order=pl.Series(order, dtype=pl.Int64))
        .sort("order", "query_id", "positive_id")
        .with_columns(place=pl.int_range(pl.len()).over("level"))
        .filter(place >= min(smallest, cap or smallest))
        .select(
            "query_id", "positive_id", surplus=pl.when(place < smallest).then(pl.lit(CAP)).otherwise(pl.lit(BALANCE))
        )
    )
    return (
        examples.join(surplus, on=["query_id", "positive_id"], how="left", maintain_order="left")
        .with_columns(used=pl.col("used") & pl.col("surplus").is_null(), reason=pl.coalesce("surplus", "reason"))
        .drop("surplus")
    )


def by_fate(examples: pl.DataFrame) -> pl.DataFrame:
    """``level``, ``fate`` (``used``, or the reason), ``examples``: what became of every positive, sorted."""
    fate = pl.coalesce("reason", pl.lit(USED)).alias("fate")
    return examples.group_by("level", fate).agg(examples=pl.len()).sort("level", "fate")


def unaccounted(examples: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """``query_id``, ``positive_id`` of positives without a row in ``examples`` and rows without a positive; must be empty.

    With ``by_fate`` it says that the examples available and the positives left out for each reason add up to the
    positives of the training groups.
    """
    key = ["query_id", "positive_id"]
    positives = pairs.filter("is_positive").select("query_id", positive_id="passage_id")
    rows = examples.select(key)
    odd = (positives.join(rows, on=key, how="anti"), rows.join(positives, on=key, how="anti"))
    twice = rows.filter(rows.is_duplicated()).unique()
    return pl.concat([*odd, twice]).sort(key)


def wrong_negatives(examples: pl.DataFrame, pairs: pl.DataFrame, wanted: int) -> pl.DataFrame:
    """``query_id``, ``positive_id`` of examples in use that break the rule for negatives; must be empty.

    The rule: exactly ``wanted`` of them, each a pair of the same query and group that may be a negative, and the
    positive's and their normalised texts all different.

    Args:
        examples: a ``training_examples`` frame.
        pairs: ``pools.judged_pairs`` of the same tables.
        wanted: negatives per example.
    """
    key = ["query_id", "positive_id"]
    used = examples.filter("used")
    allowed = pairs.filter(pl.col("reason").is_null()).select(
        "query_id", "group_id", "text", "is_positive", member="passage_id"
    )
    negatives = used.select(*key, "group_id", member="negative_ids", is_positive=False).explode("member")
    positives = used.select(*key, "group_id", member="positive_id", is_positive=True)
    members = pl.concat([positives, negatives]).join(
        allowed, on=["query_id", "group_id", "member", "is_positive"], how="inner"
    )
    different = members.group_by(key).agg(texts=pl.col("text").n_unique())
    counted = used.select(*key, negatives=pl.col("negative_ids").list.len()).join(different, on=key, how="left")
    right = (pl.col("texts") == wanted + 1) & (pl.col("negatives") == wanted)
    return counted.filter(~right.fill_null(False)).select(key).sort(key)


def misgraded(examples: pl.DataFrame, qrels: pl.DataFrame, positive_grade: int) -> pl.DataFrame:
    """Passages of examples in use that have another grade than their place asks for; must be empty.

    Read straight off the grades, so that it is a witness of its own against the rules of ``pools``: a positive has at
    least ``positive_grade`` and a negative 0, both for the example's query and in its group.

    Args:
        examples: a ``training_examples`` frame.
        qrels: accepted grades.
        positive_grade: lowest grade of a positive.

    Returns:
        query_id, positive_id, passage_id, ``score`` (null where the pair has no accepted grade in the group), sorted.
    """
    used = examples.filter("used")
    key = ["query_id", "positive_id", "group_id"]
    positives = used.select(*key, passage_id="positive_id", low=pl.lit(positive_grade), high=pl.lit(max(GRADES)))
    negatives = used.select(*key, passage_id="negative_ids", low=pl.lit(0), high=pl.lit(0)).explode("passage_id")
    graded = pl.concat([positives, negatives]).join(qrels, on=["query_id", "group_id", "passage_id"], how="left")
    right = pl.col("score").is_between(pl.col("low"), pl.col("high"))
    wrong = graded.filter(~right.fill_null(False))
    return wrong.select("query_id", "positive_id", "passage_id", "score").sort("query_id", "positive_id", "passage_id")


def unequal_levels(examples: pl.DataFrame, levels: Sequence[str]) -> str | None:
    """A sentence where the levels are not trained on in equal numbers, which happens where one has no usable example."""
    used = dict(examples.filter("used").group_by("level").len().iter_rows())
    found = {level: int(used.get(level, 0)) for level in levels}
    if len(set(found.values())) == 1 and all(found.values()):
        return None
    listed = ", ".join(f"{level} {n:,}" for level, n in found.items())
    return f"examples in use by level: {listed}. A level without one teaches nothing: judge more groups"


def exchange_set(
    examples: pl.DataFrame,
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    splits: pl.DataFrame,
    *,
    whole_corpus: bool = False,
    ranked: pl.Series | None = None,
) -> ExchangeSet:
    """Texts of the used examples, and the validation groups' passages, queries and grades.

    ``whole_corpus``: validation queries rank every passage, not only those of their own group. ``ranked``: they rank the
    passages with these ids, which hold all that was judged for them.

    Raises:
        TrainingError: no usable example, or one whose query or passages ``queries`` and ``corpus`` lack.
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
    if lacking := train.filter(pl.any_horizontal(pl.col(columns).is_null())).height:
        raise TrainingError(
            f"{lacking:,} training examples name a query or passage that is not there any more: materialise "
            "training_examples again"
        )
    held_out = qrels.filter(pl.col("group_id").is_in(groups_of(splits, VALIDATION)))
    if ranked is not None:
        passages = corpus.filter(pl.col("passage_id").is_in(ranked.implode()))
    elif whole_corpus:
        passages = corpus
    else:
        passages = corpus.join(held_out.select("group_id").unique(), on="group_id", how="semi")
    return ExchangeSet(
        train=train.sort("example").select(columns),
        corpus=passages.select("passage_id", "group_id", "text").sort("passage_id"),
        queries=queries.join(held_out, on="query_id", how="semi").select("query_id", "level", "text").sort("query_id"),
        qrels=held_out.select("query_id", "passage_id", "group_id", "score").sort("query_id", "passage_id"),
    )
