"""How good the stand-in's models are: their slips, how often they answer in prose, how steady they are.

``sandbox/judge`` is the one every other name stands for. Prices are the gateway's business (``gateway_money``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

USUAL = "sandbox/judge"
# Any effort makes a model slip less; a long guideline helps those that are told apart by name.
_EFFORT_SHARE = 0.7
_LENGTHS = ((2_500, 0.8), (1_200, 0.9))


@dataclass(frozen=True)
class StandInModel:
    """``slips``: thousandths of its opinions 0, 1 and 2 that it answers differently. ``prose``: share of answers that
    are a sentence instead of a verdict. ``unsteady``: share of repeated answers that differ from the first one.
    """

    name: str
    slips: Mapping[int, int] = field(repr=False)
    prose: float = 0.0
    unsteady: float = 0.03
    reads_length: bool = True

    def slips_with(self, effort: str | None, guideline_characters: int) -> dict[int, float]:
        """Slips, in thousandths, with an effort and a guideline of so many characters."""
        share = 1.0 if effort in (None, "none") else _EFFORT_SHARE
        if self.reads_length:
            share *= next((factor for least, factor in _LENGTHS if guideline_characters >= least), 1.0)
        return {grade: slips * share for grade, slips in self.slips.items()}


_USUAL = StandInModel(USUAL, {0: 6, 1: 120, 2: 90}, reads_length=False)
_MODELS = {
    model.name: model
    for model in (
        StandInModel("sandbox/judge-large", {0: 3, 1: 30, 2: 20}, unsteady=0.01),
        StandInModel("sandbox/judge-small", {0: 110, 1: 320, 2: 280}, prose=0.05, unsteady=0.12),
    )
}


def stand_in_model(name: str) -> StandInModel:
    """The model of that name; any other name answers as ``sandbox/judge`` does."""
    return _MODELS.get(name, _USUAL)
