"""The judge that judges, handed from the step that plans the requests to those that must not open the warehouse."""

import polars as pl

from tendril_assets.judging.applied import applied_system
from tendril_assets.judging.purposes import HAND_OVERS, JUDGE
from tendril_assets.judging.systems import System, declared_system, system_named
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_HANDED_OVER = "judge_in_use"


def decide(warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec) -> System:
    """The system that may judge; from now on ``system_in_use`` gives it.

    Raises NoJudgeAccepted where the specification lets the calibration decide and it lets none.
    """
    if spec.judge.calibration.decides:
        system = applied_system(spec.judge, warehouse.load(spec.collection, "judge_choice"))
    else:
        system = declared_system(spec.judge)
    artifacts.write_frame(spec.collection, _HANDED_OVER, pl.DataFrame([system.columns]))
    return system


def system_in_use(artifacts: Artifacts, spec: CollectionSpec) -> System:
    """The declared judge, or the one that was chosen when the requests were planned.

    Raises WarehouseError where the choice is not handed over yet, SettingsError where it is no longer a system: it
    names the step that decides anew.
    """
    if spec.judge.calibration.apply == "declared":
        return declared_system(spec.judge)
    return system_named(spec.judge, planned_judge(artifacts, spec), HAND_OVERS[JUDGE].step)


def planned_judge(artifacts: Artifacts, spec: CollectionSpec) -> str:
    """Name of the system that the requests were last planned for, whatever the specification says by now.

    Raises WarehouseError where none were planned yet.
    """
    return artifacts.read_frame(spec.collection, _HANDED_OVER)["system"][0]
