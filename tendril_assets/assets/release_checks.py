"""The blocking checks of everything a release is made of, run again where the release is made.

A red check stops a run, but not a person who materialises the release alone, nor one who publishes what is there. So the
very checks of the stages before are called again; one that is added there is repeated here without further ado.
"""

from collections.abc import Callable, Iterable
from typing import cast

import dagster as dg

from tendril_assets.assets.calibration import calibration_assets
from tendril_assets.assets.common import Stage
from tendril_assets.assets.corpus import corpus_assets
from tendril_assets.assets.erasure import erasure_assets
from tendril_assets.assets.examples import examples_assets
from tendril_assets.assets.generation import generation_assets
from tendril_assets.assets.judging import judging_assets
from tendril_assets.assets.pool import pool_assets
from tendril_assets.assets.qrels import qrels_assets
from tendril_assets.assets.queries import queries_assets
from tendril_assets.assets.registers import register_assets
from tendril_assets.assets.splits import splits_assets
from tendril_assets.release.invariants import Breach
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

MakeStage = Callable[[CollectionSpec], Stage]


def query_stages(spec: CollectionSpec) -> tuple[MakeStage, ...]:
    """The stages by which queries come about, up to what is judged: registers with a pool, or catalogs."""
    return (generation_assets, register_assets, pool_assets) if spec.registers else (queries_assets,)


def checked_stages(spec: CollectionSpec) -> tuple[MakeStage, ...]:
    """Every stage between landing and release. Models are none: data is released whether or not a model is."""
    after = (judging_assets, calibration_assets, qrels_assets, splits_assets, examples_assets)
    return (corpus_assets, erasure_assets, *query_stages(spec), *after)


def blocking_checks(spec: CollectionSpec, stages: Iterable[MakeStage] | None = None) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of these stages, by default of all of them, in their order."""
    checks = [check for stage in stages or checked_stages(spec) for check in stage(spec).checks]
    return [check for check in checks if all(one.blocking for one in check.check_specs)]


def red_checks(
    warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec, stages: Iterable[MakeStage] | None = None
) -> list[Breach]:
    """A breach for each blocking check that fails now, by the check's own judgment."""
    resources = {"warehouse": warehouse, "artifacts": artifacts}
    found = []
    # One for all: each makes a Dagster instance of its own, which takes longer than a check.
    context = dg.build_op_context()
    for check in blocking_checks(spec, stages):
        [described] = check.check_specs
        asked_for = sorted(check.required_resource_keys & resources.keys())
        result = cast(dg.AssetCheckResult, check(context, **{name: resources[name] for name in asked_for}))
        # A blocking check that fails as a warning stops no run, and no release either.
        if not result.passed and result.severity == dg.AssetCheckSeverity.ERROR:
            found.append(Breach("blocking_check", f"{'/'.join(described.asset_key.path[1:])}.{described.name}"))
    return found
