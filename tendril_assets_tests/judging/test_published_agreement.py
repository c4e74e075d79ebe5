"""Published agreement tables as facts: whoever computed them, the same counts give the same figures."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tendril_assets.judging.agreement import alphas, kappas
from tendril_assets.judging.marks import coincidences
from tendril_assets.judging.measured import ALL, CURATED, Measured
from tendril_assets.spec_calibration import CalibrationSpec
from tendril_assets_tests.judging.toy_calibration import marks

# LLMJudge, arXiv 2502.13908, table 3: people (rows) against four published label sets, 4,423 pairs, grades 0 to 3;
# Cohen's kappa, quadratic kappa, ordinal alpha.
LLMJUDGE = {
    "Olz-gpt4o": (
        ((1492, 392, 89, 32), (560, 434, 142, 97), (171, 315, 204, 118), (35, 133, 69, 140)),
        (0.2625, 0.5069, 0.5020),
    ),
    "NISTRetrieval-reason0": (
        ((833, 847, 325, 0), (255, 627, 351, 0), (52, 337, 419, 0), (19, 111, 245, 2)),
        (0.1844, 0.3943, 0.3874),
    ),
    "h2oloo-fewself": (
        ((1586, 229, 98, 92), (602, 302, 183, 146), (225, 143, 212, 228), (57, 58, 64, 198)),
        (0.2774, 0.5046, 0.4958),
    ),
    "TREMA-direct": (
        ((1447, 34, 125, 399), (678, 25, 90, 440), (224, 21, 97, 466), (55, 7, 30, 285)),
        (0.1742, 0.3708, 0.3729),
    ),
}


@pytest.mark.parametrize("name", LLMJUDGE)
def test_people_against_published_judges(name):
    counts, (kappa, quadratic, alpha) = LLMJUDGE[name]
    table = np.array(counts)
    assert table.sum() == 4423
    assert kappas(table[None], "none")[0] == pytest.approx(kappa, abs=5e-5)
    assert kappas(table[None], "quadratic")[0] == pytest.approx(quadratic, abs=5e-5)
    raters = np.array([cell for cell, n in np.ndenumerate(table) for _ in range(n)]).T
    counted = coincidences(raters, 4).sum(axis=0).reshape(1, 4, 4)
    assert alphas(counted, (0, 1, 2, 3), "ordinal")[0] == pytest.approx(alpha, abs=5e-5)


needs_data = pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")


@needs_data
def test_the_files_hold_these_tables():
    root = Path(os.environ["TENDRIL_TRIAL_DATA"])
    published = json.loads((root / "agreement" / "llmjudge_confusions.json").read_text("utf-8"))
    assert {e["name"]: tuple(map(tuple, e["matrix"])) for e in published["sets"]} == {
        n: t for n, (t, _) in LLMJUDGE.items()
    }


@needs_data
def test_pairs_with_both_grades_among_the_150():
    """The checker against the judge, over the pairs whose judge grade is known, gaps counted as gaps."""
    lines = (Path(os.environ["TENDRIL_TRIAL_DATA"]) / "cbr_pairs" / "pairs.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    checker, judge = ([row[f"{who}_grade"] for row in rows] for who in ("checker", "judge"))
    assert (len(rows), [checker.count(g) for g in (0, 1, 2)]) == (150, [48, 74, 28])
    measured = Measured(marks(checker, {"judge": [judge]}), CalibrationSpec(resamples=200), 42)
    figure = measured.kappa(("judge", CURATED), ALL, "graded", "kappa")
    # By hand over the 36: rows checker 0, 1, 2: (15, 0, 0), (1, 10, 6), (0, 1, 3). Observed 28/36;
    # chance (15*16 + 17*11 + 4*9)/36^2 = 463/1296; (1008/1296 - 463/1296) / (833/1296) = 545/833.
    assert figure.confusion == ((15, 0, 0), (1, 10, 6), (0, 1, 3))
    assert (figure.n, figure.missing) == (36, 114)
    assert figure.value == pytest.approx(545 / 833)
