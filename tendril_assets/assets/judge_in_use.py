"""The judge that judges, handed from the step that plans the requests to those that must not open the warehouse."""

import polars as pl

from tendril_assets.judging.applied import applied_system
from tendril_assets.judging.purposes import HAND_OVERS, JUDGE
from tendril_assets.judging.systems import System, declared_system, system_named
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_HANDED_OVER = "judge_in_use"


def decide(warehouse: Warehouse, artifacts: Artifacts, spec: CollectionSpec) -> System | None:
    """The system that may judge, None where none may; from now on ``system_in_use`` gives it.

    Raises NoJudgeAccepted where the specification lets the calibration decide, it lets none, and the graph is to stop there.
    """
    if spec.judge.calibration.decides:
        system = applied_system(spec.judge, warehouse.load(spec.collection, "judge_choice"))
    else:
        system = declared_system(spec.judge)
    columns = dict.fromkeys(declared_system(spec.judge).columns, pl.String)
    artifacts.write_frame(
        spec.collection, _HANDED_OVER, pl.DataFrame([system.columns] if system else [], schema=columns)
    )
    return system


def system_in_use(artifacts: Artifacts, spec: CollectionSpec) -> System | None:
    """The declared judge, or the one that was chosen when the requests were planned; None where none was accepted.

    Raises WarehouseError where the choice is not handed over yet, SettingsError where it is no longer a system: it
    names the step that decides anew.
    """
    if spec.judge.calibration.apply == "declared" and spec.judge.calibration.none_accepted == "stop":
        return declared_system(spec.judge)
    planned = planned_judge(artifacts, spec)
    return None if planned is None else system_named(spec.judge, planned, HAND_OVERS[JUDGE].step)


def judges(artifacts: Artifacts, spec: CollectionSpec) -> bool:
    """Whether a judge was in use when the requests were planned. Only where the specification goes on without can it be none.

    Raises WarehouseError where the planning was not done yet.
    """
    return spec.judge.calibration.none_accepted == "stop" or planned_judge(artifacts, spec) is not None


def planned_judge(artifacts: Artifacts, spec: CollectionSpec) -> str | None:
    """Name of the system that the requests were last planned for, whatever the specification says by now; None where no
    judge was accepted, so that none were planned.

    Raises WarehouseError where the planning was not done yet.
    """
    return next(iter(artifacts.read_frame(spec.collection, _HANDED_OVER)["system"]), None)
