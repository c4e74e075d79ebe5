"""The early-stop rule on curves worked out by hand."""

import pytest

from tendril_assets.spec_training import EarlyStop
from tendril_assets.training.stopping import gains_no_more


@pytest.mark.parametrize(
    ("values", "patience", "min_gain", "stops"),
    [
        ([0.5], 1, 0.0, False),  # the base alone
        ([0.5, 0.6], 1, 0.0, False),
        ([0.5, 0.5], 1, 0.0, True),  # an equal value is no gain
        ([0.5, 0.4], 2, 0.0, False),
        ([0.5, 0.4, 0.45], 2, 0.0, True),
        ([0.5, 0.4, 0.6, 0.55], 2, 0.0, False),  # a gain in between starts the count again
        ([0.5, 0.4, 0.6, 0.55, 0.6], 2, 0.0, True),
        ([0.5, 0.505, 0.51], 2, 0.01, True),  # gains too small, twice
        ([0.5, 0.505, 0.52], 2, 0.01, False),  # 0.015 over the best so far
        ([], 1, 0.0, False),
    ],
)
def test_rule(values: list[float], patience: int, min_gain: float, stops: bool) -> None:
    assert gains_no_more(values, EarlyStop(patience=patience, min_gain=min_gain)) is stops


def test_without_a_rule_every_epoch_is_trained() -> None:
    assert not gains_no_more([0.5, 0.1, 0.1, 0.1], None)
