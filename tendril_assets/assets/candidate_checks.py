"""What the candidates must be, by the policy that pairs them: nothing more, nothing less, and none where no judge judges."""

import dagster as dg

from tendril_assets.assets.common import table_check
from tendril_assets.assets.judge_in_use import judges
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec


def candidate_check(spec: CollectionSpec) -> dg.AssetChecksDefinition:
    return _of_the_pool(spec) if spec.candidates.policy == "pooled" else _of_groups(spec)


def _of_groups(spec: CollectionSpec) -> dg.AssetChecksDefinition:
    @table_check(
        spec,
        "candidates",
        "every_pair_of_a_group",
        description="Candidates are as many as passages times queries, summed over the groups.",
    )
    def every_pair_of_a_group(warehouse: Warehouse, artifacts: Artifacts) -> dg.AssetCheckResult:
        row = warehouse.frame(spec.collection, query("judging/expected_candidates")).row(0, named=True)
        if not judges(artifacts, spec):
            row |= {"expected": 0}
        return dg.AssetCheckResult(passed=row["candidates"] == row["expected"], metadata=row)

    return every_pair_of_a_group


def _of_the_pool(spec: CollectionSpec) -> dg.AssetChecksDefinition:
    @table_check(
        spec,
        "candidates",
        "every_pair_of_the_pool",
        description="Candidates are the pairs of the pool, each once; none where no judge was accepted.",
    )
    def every_pair_of_the_pool(warehouse: Warehouse, artifacts: Artifacts) -> dg.AssetCheckResult:
        row = warehouse.frame(spec.collection, query("judging/pooled_expected")).row(0, named=True)
        if not judges(artifacts, spec):
            row |= {"expected": 0, "judge": "none"}
        passed = row["candidates"] == row["expected"] and row["strays"] == 0
        return dg.AssetCheckResult(passed=passed, metadata=row)

    return every_pair_of_the_pool
