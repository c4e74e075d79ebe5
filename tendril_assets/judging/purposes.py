"""What the gateway is asked for, by purpose: which hand-over file holds the requests, and which step writes it."""

from collections.abc import Mapping
from typing import NamedTuple

from tendril_assets.spec import CollectionSpec

JUDGE = "judge"
CALIBRATION = "calibration"
AREA_SUMMARY = "area_summary"
GENERATION = "generation"
DRIFT = "drift"


class HandOver(NamedTuple):
    """``file``: name of the hand-over file. ``step``: the asset that writes it, which asks nothing itself."""

    file: str
    step: str


HAND_OVERS: Mapping[str, HandOver] = {
    AREA_SUMMARY: HandOver("summary_requests", "summary_requests"),
    GENERATION: HandOver("generation_requests", "generation_requests"),
    CALIBRATION: HandOver("calibration_requests", "calibration_requests"),
    JUDGE: HandOver("judge_requests", "candidates"),
    DRIFT: HandOver("drift_requests", "drift_requests"),
}


def needed(spec: CollectionSpec) -> tuple[str, ...]:
    """The purposes a collection cannot be finished without, in the order in which a run asks.

    Its queries are summaries of catalogs, or questions that were generated, or neither. The drift check has a job of its own.
    """
    generates = spec.registers is not None and spec.registers.generation is not None
    worded = ((AREA_SUMMARY,) if spec.queries else ()) + ((GENERATION,) if generates else ())
    return (*worded, CALIBRATION, JUDGE)
