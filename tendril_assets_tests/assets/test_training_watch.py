"""What the event log is told of a training: numbers, a table and pictures."""

import base64
import re
from xml.etree import ElementTree

import polars as pl
import pytest

from tendril_assets.assets import training_watch
from tendril_assets.assets.training_watch import evaluations_table, numbers, pictures
from tendril_assets.training.events import Evaluated, StepDone

CURVE = [
    (0, "balanced_ndcg@10", 0.25),
    (0, "ndcg@10:area", 0.3),
    (56, "balanced_ndcg@10", 0.5),
    (56, "ndcg@10:area", 0.4),
]
RESULT = {"best_step": 56, "best_value": 0.5}


def curves(steps: int) -> pl.DataFrame:
    loss = [(step, "loss", 1 / step) for step in range(1, steps + 1)]
    return pl.DataFrame([*CURVE, *loss], schema=["step", "measure", "value"], orient="row")


def test_what_is_not_known_is_no_number() -> None:
    event = StepDone(7, 100, 0.5, 1e-5, 12.345, 3456.78)
    assert numbers(event) == {
        "step": 7,
        "loss": 0.5,
        "learning_rate": 1e-5,
        "examples_per_s": 12.35,
        "tokens_per_s": 3456.8,
    }
    known = numbers(StepDone(7, 100, 0.5, 1e-5, 1.0, 1.0, eta_s=90, memory=3 * 2**29))
    assert (known["minutes_left"], known["device_memory_gib"]) == (1.5, 1.5)
    values = {"balanced_ndcg@10": 0.5, "ndcg@10:area": 0.4}
    assert numbers(Evaluated(56, 100, "balanced_ndcg@10", 0.5, values, 28, 0.6)) == {
        "step": 56,
        "best_step": 28,
        "best_value": 0.6,
        **values,
    }


def test_the_kept_step_is_bold_and_the_base_has_no_loss() -> None:
    assert evaluations_table(curves(60), 56) == (
        "| step | balanced_ndcg@10 | ndcg@10:area | loss |\n|---:|---:|---:|---:|\n"
        "| 0 | 0.2500 | 0.3000 | - |\n| **56** | 0.5000 | 0.4000 | 0.0179 |"
    )


@pytest.mark.parametrize("points", [1000, 20])
def test_the_pictures_stand_alone(monkeypatch: pytest.MonkeyPatch, points: int) -> None:
    monkeypatch.setattr(training_watch, "_POINTS", points)
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", pictures("tiny", curves(60), RESULT))
    drawn = [ElementTree.fromstring(base64.b64decode(one)) for one in found]
    assert len(drawn) == 2
    for picture in drawn:
        style = picture.find("{http://www.w3.org/2000/svg}style")
        assert style is not None
        assert "--paper" in (style.text or "")
    lines = list(drawn[1].iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines[0].attrib["points"].split()) == min(60, points)
