"""What a calibration may declare, and what it must not leave open."""

import pytest
from pydantic import ValidationError

from tendril_assets.spec_calibration import CalibrationSpec


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"apply": "chosen"}, "apply 'chosen' needs an acceptance"),
        ({"refuse": True}, "refuse needs an acceptance"),
        ({"refuse": True, "apply": "chosen", "acceptance": {}}, "refuse is about the declared judge"),
        ({"acceptance": {"min_repeat": 0.7}}, "min_repeat needs repeats of at least 2"),
        ({"models": [{"model": "m", "reasoning_effort": "low"}]}, "the efforts are a list of their own"),
        ({"efforts": ["low", "low"]}, "efforts: an entry occurs twice"),
        ({"models": ["m", "m"]}, "models: an entry occurs twice"),
        ({"efforts": []}, "at least 1 item"),
        ({"acceptance": {"minimum": 1.5}}, "less than or equal to 1"),
        ({"choice": {"as_good": "cheapest"}}, "tolerance"),
        ({"none_accepted": "without"}, "none_accepted: without means something only where the calibration decides"),
        ({"modles": []}, "Extra inputs are not permitted"),
    ],
)
def test_a_calibration_that_cannot_be_meant_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        CalibrationSpec.model_validate(changes)


def test_the_calibration_comes_first_only_where_it_decides():
    assert not CalibrationSpec().decides
    assert not CalibrationSpec(acceptance={}).decides
    assert CalibrationSpec(acceptance={}, refuse=True).decides
    assert CalibrationSpec(acceptance={}, apply="chosen").decides


def test_what_is_declared_is_part_of_the_identity():
    assert CalibrationSpec().fingerprint() != CalibrationSpec(acceptance={"minimum": 0.5}).fingerprint()
