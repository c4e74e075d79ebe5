"""Which judge is applied: the declared one, or the one the calibration chose, and none where the evidence forbids it."""

import polars as pl

from tendril_assets.errors import NoJudgeAccepted
from tendril_assets.judging.systems import System, declared_system, system_named
from tendril_assets.spec import JudgeSpec


def applied_system(judge: JudgeSpec, choice: pl.DataFrame) -> System:
    """The system that may judge, by table ``judge_choice``.

    Raises:
        NoJudgeAccepted: the rule picked none, or the declared judge is not accepted where the specification refuses that;
            the message gives each system's reason.
    """
    calibration = judge.calibration
    if calibration.apply == "chosen":
        picked = choice.filter("chosen")["system"].to_list()
        if not picked:
            raise NoJudgeAccepted(
                f"no judge met the acceptance that was declared before the data, so none is applied and nothing is asked. "
                f"{_reasons(choice)}. Add systems to judge.calibration, or improve the guidelines; lowering the acceptance "
                "after the data is no acceptance"
            )
        return system_named(judge, picked[0], "judge_choice")
    declared = declared_system(judge)
    own = choice.filter(pl.col("system") == declared.name)
    if calibration.refuse and own["accepted"].to_list() != [True]:
        raise NoJudgeAccepted(
            f"the declared judge is not accepted and judge.calibration.refuse is set, so nothing is asked. "
            f"{_reasons(own) if own.height else f'{declared.name} was not measured: materialise judge_choice'}"
        )
    return declared


def _reasons(choice: pl.DataFrame) -> str:
    found = [f"{system}: {reason}" for system, reason in choice.sort("rank").select("system", "reason").iter_rows()]
    more = f"; and {len(found) - 5} more in judge_choice" if len(found) > 5 else ""
    return "; ".join(found[:5]) + more if found else "No system was measured: there are no calibration pairs"
