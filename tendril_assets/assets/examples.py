"""Training examples, and the files that hand them to the training process.

The files hold what training reads and nothing more: texts of the examples in use, and of the validation groups the
passages, queries and grades that the best step is chosen by.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets import trained_passages
from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.mining import MINED, bm25_ranking, mined_negatives_asset, training_pairs, validation_qrels
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.leakage import leaks_left
from tendril_assets.qrels.splits import TRAIN, VALIDATION, groups_of, too_few
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.training.examples import (
    ExchangeSet,
    by_fate,
    examples_of,
    exchange_set,
    misgraded,
    unaccounted,
    unequal_levels,
    wrong_negatives,
)
from tendril_assets.training.job import data_hash
from tendril_assets.training.mining import wrongly_mined
from tendril_assets.training.pools import negatives_by_reason
from tendril_assets.training.trained_on import trained_on
from tendril_assets.training.validation_pool import validation_passages


def _exchange_name(part: str) -> str:
    return f"training_{part}"


def exchange_files(spec: CollectionSpec, artifacts: Artifacts) -> dict[str, Path]:
    """Hand-over file of each part of ``ExchangeSet``."""
    return {part: artifacts.exchange(spec.collection, _exchange_name(part)) for part in ExchangeSet._fields}


def examples_assets(spec: CollectionSpec) -> Stage:
    """splits, leakage -> training_examples; where negatives are mined, mined_negatives in between."""
    mined = [mined_negatives_asset(spec)] if spec.examples.negatives == "mined" else []
    return Stage([*mined, _examples_asset(spec)], _checks(spec))


def _examples_asset(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection = spec.collection
    read = ["qrels", "corpus", "queries", "splits", "split_sizes", "leakage"]
    more = [MINED] if spec.examples.negatives == "mined" else []
    own = ["project_queries"] if spec.registers else []

    @table_assets(spec, ["training_examples"], deps=[*read, *more, *own], version="2")
    def write_training_examples(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        corpus, queries, splits = (warehouse.load(collection, table) for table in ("corpus", "queries", "splits"))
        pairs = training_pairs(warehouse, spec)
        examples = examples_of(pairs, spec.training, spec.seed)
        fates, negatives = by_fate(examples), negatives_by_reason(pairs)
        metadata: dict[str, Any] = {
            "used_by_level": counts(examples.filter("used"), "level"),
            "positives_by_fate": dg.MetadataValue.md(markdown_table(fates.columns, fates.rows())),
            "other_pairs_by_reason": dg.MetadataValue.md(markdown_table(negatives.columns, negatives.rows())),
        }
        refusal: TrainingError | None = None
        if spec.models:  # a collection that only publishes data needs no validation set
            try:
                if short := too_few(
                    warehouse.load(collection, "split_sizes"), spec.trained_subsets, spec.splits.min_validation_groups
                ):
                    raise TrainingError("; ".join(short))
                qrels = validation_qrels(warehouse, spec)
                ranked = validated_passages(spec, qrels, corpus, queries, splits)
                exchange = exchange_set(examples, qrels, corpus, queries, splits, ranked=ranked)
                for part, frame in exchange._asdict().items():
                    artifacts.write_frame(collection, _exchange_name(part), frame)
                data = data_hash(exchange)
                trained_passages.hand_over(artifacts, collection, trained_on(examples, exchange.corpus, corpus), data)
                metadata |= {
                    "validation_queries": exchange.queries.height,
                    "validation_passages": exchange.corpus.height,
                    "data_hash": data,
                }
            except TrainingError as error:
                refusal = error
                stale = (
                    *exchange_files(spec, artifacts).values(),
                    artifacts.exchange(collection, trained_passages.HAND_OVER),
                )
                for path in stale:
                    path.unlink(missing_ok=True)  # nobody trains on examples that the table does not hold any more
        # The table is there in any case: it tells for each positive why it is not trained on.
        yield from store(context, warehouse, spec, {"training_examples": examples}, {"training_examples": metadata})
        if refusal:
            raise refusal

    return write_training_examples


def validated_passages(
    spec: CollectionSpec, qrels: pl.DataFrame, corpus: pl.DataFrame, queries: pl.DataFrame, splits: pl.DataFrame
) -> pl.Series | None:
    """Passages that validation ranks where a query may be answered from anywhere; None where only from its own group.

    ``qrels`` are those of ``validation_qrels``.
    """
    if spec.evaluation.scope == "group":
        return None
    validated = qrels.filter(pl.col("group_id").is_in(groups_of(splits, VALIDATION)))
    asked = queries.join(validated, on="query_id", how="semi")
    depth, tests = spec.examples.mined_depth, spec.splits.test
    return validation_passages(asked, validated, corpus, splits, tests, bm25_ranking(spec), depth)


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "training_examples",
        "no_leak_in_training",
        description="No example in use holds a passage that repeats validation or test text.",
    )
    def no_leak_in_training(warehouse: Warehouse) -> dg.AssetCheckResult:
        left = leaks_left(warehouse.load(collection, "training_examples"), warehouse.load(collection, "leakage"))
        return dg.AssetCheckResult(
            passed=left.is_empty(), metadata={"examples_with_leak": left.height, "first": str(left.head(20).rows())}
        )

    @table_check(
        spec,
        "training_examples",
        "only_training_groups",
        description="Every example, and every passage in it, comes from a group of the training split.",
    )
    def only_training_groups(warehouse: Warehouse) -> dg.AssetCheckResult:
        train = groups_of(warehouse.load(collection, "splits"), TRAIN)
        examples = warehouse.load(collection, "training_examples")
        used = examples.filter("used")
        members = pl.concat([used["positive_id"], used["negative_ids"].explode()]).drop_nulls().unique()
        held = warehouse.load(collection, "corpus", ["passage_id", "group_id"])
        held = held.filter(pl.col("passage_id").is_in(members.implode()))
        groups = pl.concat([examples["group_id"], held["group_id"]]).unique()
        foreign = groups.filter(~groups.is_in(train)).sort().head(20)
        return dg.AssetCheckResult(passed=foreign.is_empty(), metadata={"groups": str(foreign.to_list())})

    @table_check(
        spec,
        "training_examples",
        "every_positive_accounted",
        description="Examples used and positives left out, by reason, add up to the positives of the training groups, and "
        "every example in use has its full number of different, irrelevant negatives.",
    )
    def every_positive_accounted(warehouse: Warehouse) -> dg.AssetCheckResult:
        examples, pairs = warehouse.load(collection, "training_examples"), training_pairs(warehouse, spec)
        odd, wrong = unaccounted(examples, pairs), wrong_negatives(examples, pairs, spec.training.n_negatives)
        fates = by_fate(examples)
        positives = pairs.filter("is_positive").height
        return dg.AssetCheckResult(
            passed=odd.is_empty() and wrong.is_empty() and positives == fates["examples"].sum(),
            metadata={
                "positives": positives,
                "by_fate": dg.MetadataValue.md(markdown_table(fates.columns, fates.rows())),
                "unaccounted": str(odd.head(20).rows()),
                "wrong_negatives": str(wrong.head(20).rows()),
            },
        )

    @table_check(
        spec,
        "training_examples",
        "grades_as_judged",
        description="By the accepted grades themselves: each positive in use has the positive grade, and each of its negatives "
        + (
            "was mined for this query and is relevant to it by no grade."
            if spec.examples.negatives == "mined"
            else "is irrelevant, for the same query and in the same group."
        ),
    )
    def grades_as_judged(warehouse: Warehouse) -> dg.AssetCheckResult:
        examples, qrels = (warehouse.load(collection, name) for name in ("training_examples", "qrels"))
        if spec.examples.negatives == "mined":
            positives = examples.with_columns(negative_ids=pl.lit([], dtype=pl.List(pl.String)))
            graded = misgraded(positives, qrels, spec.training.positive_grade)
            wrong = pl.concat([graded, wrongly_mined(examples, warehouse.load(collection, MINED), qrels)])
        else:
            wrong = misgraded(examples, qrels, spec.training.positive_grade)
        return dg.AssetCheckResult(
            passed=wrong.is_empty(), metadata={"misgraded": wrong.height, "first": str(wrong.head(20).rows())}
        )

    @table_check(
        spec,
        "training_examples",
        "levels_balanced",
        description="Every level has the same number of examples in use, and none has none.",
        blocking=False,
    )
    def levels_balanced(warehouse: Warehouse) -> dg.AssetCheckResult:
        examples = warehouse.load(collection, "training_examples", ["level", "used"])
        told = unequal_levels(examples, spec.trained_subsets)
        return dg.AssetCheckResult(passed=told is None, severity=dg.AssetCheckSeverity.WARN, description=told)

    return [no_leak_in_training, only_training_groups, every_positive_accounted, grades_as_judged, levels_balanced]
