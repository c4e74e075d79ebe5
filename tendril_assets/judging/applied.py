"""Which judge is applied: the declared one, or the one the calibration chose, and none where the evidence forbids it."""

import polars as pl

from tendril_assets.errors import NoJudgeAccepted
from tendril_assets.judging.systems import System, declared_system, system_named
from tendril_assets.spec import JudgeSpec


def applied_system(judge: JudgeSpec, choice: pl.DataFrame) -> System | None:
    """The system that may judge, by table ``judge_choice``; None where none may and the specification goes on without.

    Raises:
        NoJudgeAccepted: the rule picked none, or the declared judge is not accepted where the specification refuses that,
            and it is to stop there; the message gives each system's reason.
    """
    calibration = judge.calibration
    if calibration.apply == "chosen":
        picked = choice.filter("chosen")["system"].to_list()
        if not picked and calibration.none_accepted == "without":
            return None
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
        if calibration.none_accepted == "without":
            return None
        raise NoJudgeAccepted(
            f"the declared judge is not accepted and judge.calibration.refuse is set, so nothing is asked. "
            f"{_reasons(own) if own.height else f'{declared.name} was not measured: materialise judge_choice'}"
        )
    return declared


def why_none(choice: pl.DataFrame) -> str:
    """Each system's reason, by table ``judge_choice``, for a log or a card that says that no judge's labels are applied."""
    return _reasons(choice)


def _reasons(choice: pl.DataFrame) -> str:
    found = [f"{system}: {reason}" for system, reason in choice.sort("rank").select("system", "reason").iter_rows()]
    more = f"; and {len(found) - 5} more in judge_choice" if len(found) > 5 else ""
    return "; ".join(found[:5]) + more if found else "No system was measured: there are no calibration pairs"
