"""Which stages of the recipe the validation queries accept: one table, and a check that tells what was not accepted."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.common import Stage, store, table_assets, table_check
from tendril_assets.assets.rank_system import BM25
from tendril_assets.assets.register_shown import stage_pictures
from tendril_assets.assets.runs import INPUTS, read_inputs
from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.acceptance import recipe_stages, stage_acceptance
from tendril_assets.evaluation.held_out import under_validation
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

TABLE = "stage_acceptance"
_SHOWN = ("system", "stage", "before", "value", "before_value", "difference", "low", "high", "accepted")


def stages_assets(spec: CollectionSpec) -> Stage:
    """retrieval_runs -> stage_acceptance, where validation queries are ranked: in a collection that holds out its test."""
    collection = spec.collection

    @table_assets(spec, [TABLE], deps=[INPUTS, "retrieval_runs", "ranked_systems"], pool="cpu")
    def accept_stages(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        test = read_inputs(artifacts, spec)
        _require_present(spec, warehouse.load(collection, "ranked_systems"), test.ranked_hash)
        validated = under_validation(test)
        asked = validated.queries.filter(pl.col("level").is_in(list(spec.trained_subsets)))
        qrels = validated.qrels.join(asked, on="query_id", how="semi")
        runs = warehouse.load(collection, "retrieval_runs").join(asked, on="query_id", how="semi")
        stages = recipe_stages(list(spec.models), spec.evaluation, BM25)
        found = stage_acceptance(stages, runs, qrels, spec.evaluation, spec.seed)
        for system, reason in found.filter(~pl.col("accepted")).select("system", "reason").iter_rows():
            context.log.warning(f"stage {system} is not accepted: {reason}")
        metadata = {
            **stage_pictures(spec, found),
            "stages": dg.MetadataValue.md(markdown_table(list(_SHOWN), _rounded(found))),
            "accepted": found.filter("accepted")["system"].to_list(),
            "resamples": spec.evaluation.resamples,
            "confidence": spec.evaluation.confidence,
        }
        yield from store(context, warehouse, spec, {TABLE: found}, {TABLE: metadata})

    @table_check(
        spec,
        TABLE,
        "every_stage_raises_validation",
        description="Each stage of the recipe ranks the validation queries better than the stage before it.",
        blocking=False,
    )
    def every_stage_raises_validation(warehouse: Warehouse) -> dg.AssetCheckResult:
        left = warehouse.load(collection, TABLE).filter(~pl.col("accepted"))
        told = [f"{system}: {reason}" for system, reason in left.select("system", "reason").iter_rows()]
        return dg.AssetCheckResult(
            passed=not told,
            severity=dg.AssetCheckSeverity.WARN,
            description="; ".join(told) or None,
            metadata={"not_accepted": str(left["system"].to_list())},
        )

    return Stage([accept_stages], [every_stage_raises_validation])


def _require_present(spec: CollectionSpec, ranked: pl.DataFrame, test_hash: str) -> None:
    """Raises TendrilError where a system has no ranking of the present queries: all that it lacks would count 0."""
    of = dict(ranked.select("system", "test_hash").iter_rows())
    if lacking := [system for system in spec.systems if of.get(system) != test_hash]:
        raise TendrilError(
            f"{spec.collection}.retrieval_runs holds no ranking of the present validation queries by "
            f"{', '.join(lacking)}: materialise {spec.collection}/runs/<system> of each, then "
            f"{spec.collection}/retrieval_runs, then {spec.collection}/{TABLE}"
        )


def _rounded(found: pl.DataFrame) -> list[tuple]:
    figures = pl.col("value", "before_value", "difference", "low", "high").round(4)
    return found.with_columns(figures).select(_SHOWN).rows()
