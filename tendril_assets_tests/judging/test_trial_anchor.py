"""The 150 real pairs of a published Russian collection as a human anchor, through the measures and the whole acceptance.

The published figures: 91 equal grades, 3 that are two steps apart, Cohen's kappa 0.408, with quadratic weights 0.611.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tendril_assets.judging.agreement import confusion_counts, confusion_table, kappas
from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_pool import ACCEPTANCE, COLLECTION, SPEC, answer, judge, resources_in, run, spec

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")

EXACT, GROSS, KAPPA, QUADRATIC = 91, 3, 0.4084, 0.6113
CALIBRATION = "calibration_requests calibration_replies judge_agreement"


def real_pairs() -> list[dict]:
    """The pairs with both grades. The judge's own is published for some of them, and for all of them together as a table of
    the two: the others are dealt so that the table comes out, for the figures depend on nothing else."""
    folder = Path(DATA or "")
    lines = (folder / "cbr_pairs" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    matrix = json.loads((folder / "cbr_excerpts" / "kappa_matrix_150.json").read_text(encoding="utf-8"))["matrix"]
    left = Counter({(j, c): n for j, row in enumerate(matrix) for c, n in enumerate(row)})
    left.subtract((p["judge_grade"], p["checker_grade"]) for p in pairs if p["judge_grade"] is not None)
    assert min(left.values()) >= 0, "a published grade of the judge contradicts the published table"
    for pair in pairs:
        if pair["judge_grade"] is None:
            cell = next(cell for cell in sorted(left) if left[cell] and cell[1] == pair["checker_grade"])
            left[cell] -= 1
            pair["judge_grade"] = cell[0]
    assert set(left.values()) == {0}
    return pairs


def test_the_published_figures_come_out_of_our_measures():
    pairs = real_pairs()
    checker, judged = ([p[name] for p in pairs] for name in ("checker_grade", "judge_grade"))
    table, missing = confusion_table(checker, judged, (0, 1, 2))
    counts = confusion_counts(json.dumps(table.tolist()))
    assert (counts.pairs, counts.exact, counts.gross, missing) == (150, EXACT, GROSS, 0)
    # All three: the judge found a full answer where the checker found nothing.
    assert (counts.higher, counts.lower) == (3, 0)
    assert kappas(table[None], "none")[0] == pytest.approx(KAPPA, abs=5e-5)
    assert kappas(table[None], "quadratic")[0] == pytest.approx(QUADRATIC, abs=5e-5)


@pytest.mark.parametrize(("minimum", "accepted"), [(0.40, True), (0.41, False)])
def test_the_whole_acceptance_by_a_gateway_that_answers_as_the_judge_did(tmp_path, monkeypatch, minimum, accepted):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    pairs = real_pairs()
    grades = {(p["query"], p["text"]): p["judge_grade"] for p in pairs}
    rows = [(p["query_id"], p["chunk_id"], "live", p["query"], p["text"], p["checker_grade"]) for p in pairs]
    marks = [(p["query_id"], p["chunk_id"], "checker", p["checker_grade"]) for p in pairs]

    def as_published(query: str, passage: str) -> tuple[int, str, str]:
        known = grades.get((query, passage))
        return judge(query, passage) if known is None else (200, answer(known), "stop")

    declared = {**ACCEPTANCE, "minimum": minimum, "min_pairs": 150, "min_repeat": 0.70}
    calibration = {**SPEC["judge"]["calibration"], "acceptance": declared, "repeats": 2, "resamples": 2000}
    chosen = spec(judge={**SPEC["judge"], "calibration": calibration})
    with serving(as_published, cost=None) as stub:
        given = resources_in(tmp_path, stub.base_url, calibration_pairs=rows, calibration_annotations=marks)
        selection = f"{CALIBRATION} pool candidates"
        assert run(chosen, given, selection).success
        assert stub.calls == 300
    load = given["warehouse"].load
    (ruling,) = load(COLLECTION, "judge_choice").iter_rows(named=True)
    assert (ruling["accepted"], ruling["in_use"]) == (accepted, accepted)
    assert (ruling["pairs"], ruling["repeat"], ruling["stack_met"]) == (150.0, 1.0, True)
    assert ruling["agreement"] == pytest.approx(KAPPA, abs=5e-5)
    if not accepted:
        assert "0.408 under 0.410" in ruling["reason"]
    # The pool is put to the judge only if it was accepted.
    assert (load(COLLECTION, "candidates").height > 0) is accepted
    figures = load(COLLECTION, "judge_agreement").filter(level="all", scale="graded", raters="judge_vs_curated")
    found = {row["statistic"]: row for row in figures.iter_rows(named=True)}
    assert found["kappa_quadratic"]["value"] == pytest.approx(QUADRATIC, abs=5e-5)
    # An interval of 150 resampled pairs is about a quarter wide; that of the same table by R's percentile bootstrap too.
    low, high = found["kappa"]["low"], found["kappa"]["high"]
    assert 0.26 < low < 0.33 < KAPPA < 0.48 < high < 0.55
    view = given["warehouse"].frame(COLLECTION, _view(), "read the view").row(0, named=True)
    assert (view["pairs"], view["exact"], view["gross"], view["two_for_zero"]) == (150, EXACT, GROSS, 3)


def _view() -> str:
    from tendril_assets.resources.sql import query

    return f"SELECT * FROM ({query('views/judge_disagreements')}) WHERE level = 'all'"
