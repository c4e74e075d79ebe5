"""The benchmark of measures at a tiny size."""

import json

import pytest

from tendril_assets_tests.benchmarks import measures


def test_figures_are_those_of_one_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(measures.SIZES, "small", (20, 12))
    monkeypatch.setattr(measures, "RESAMPLES", 200)
    monkeypatch.setattr("sys.argv", ["measures", "--size", "small"])
    measures.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["rows"] == 240
    assert figures["max_difference"] < 1e-12
    assert figures["comparisons_s"] > 0
    if "speedup_pytrec_eval" in figures:
        assert figures["speedup_pytrec_eval"] == pytest.approx(figures["pytrec_eval_s"] / figures["score_s"])
