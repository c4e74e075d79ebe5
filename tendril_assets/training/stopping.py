"""When training ends before its last epoch."""

from collections.abc import Sequence

from tendril_assets.spec_training import EarlyStop


def gains_no_more(values: Sequence[float], rule: EarlyStop | None) -> bool:
    """Whether the last ``patience`` evaluations in a row did not raise the best value by more than ``min_gain``.

    ``values`` are all evaluations in their order, the base first. They are the whole state of the rule: a resumed run
    reads them from its curve.
    """
    if rule is None or not values:
        return False
    best, waited = values[0], 0
    for value in values[1:]:
        waited = 0 if value > best + rule.min_gain else waited + 1
        best = max(best, value)
    return waited >= rule.patience
