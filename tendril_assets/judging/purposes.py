"""What the gateway is asked for, by purpose: which hand-over file holds the requests, and which step writes it."""

from collections.abc import Mapping
from typing import NamedTuple

JUDGE = "judge"
CALIBRATION = "calibration"
AREA_SUMMARY = "area_summary"
DRIFT = "drift"


class HandOver(NamedTuple):
    """``file``: name of the hand-over file. ``step``: the asset that writes it, which asks nothing itself."""

    file: str
    step: str


HAND_OVERS: Mapping[str, HandOver] = {
    AREA_SUMMARY: HandOver("summary_requests", "summary_requests"),
    CALIBRATION: HandOver("calibration_requests", "calibration_requests"),
    JUDGE: HandOver("judge_requests", "candidates"),
    DRIFT: HandOver("drift_requests", "drift_requests"),
}
# Those a collection cannot be finished without, in the order in which a run asks; the drift check has a job of its own.
NEEDED = (AREA_SUMMARY, CALIBRATION, JUDGE)
