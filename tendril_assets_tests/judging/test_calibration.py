"""Requests of the grid, verdicts by guideline, and the agreement table: each level and all, both scales, gaps counted."""

import json

import polars as pl
import pytest

from tendril_assets.judging.calibration import (
    REQUEST_COLUMNS,
    agreement_table,
    calibration_requests,
    run_labels,
    verdicts_of,
)
from tendril_assets.judging.measured import Measured
from tendril_assets.judging.prompts import render
from tendril_assets.judging.systems import declared_system, systems_of
from tendril_assets.spec import JudgeSpec
from tendril_assets.spec_calibration import CalibrationSpec
from tendril_assets_tests.judging.toy_calibration import kappa, marks

LLM = {"model": "toy/judge", "max_tokens": 16}
TEXTS = pl.DataFrame(
    [("q2", "p1", "Strom", "Watt"), ("q1", "p1", "Holz {x}", "FSC"), ("q1", "p2", "Holz {x}", "FSC")],
    schema=["query_id", "passage_id", "query_text", "passage_text"],
    orient="row",
)


def judge(**calibration) -> JudgeSpec:
    return JudgeSpec.model_validate({"llm": LLM, "calibration": calibration})


GRID = judge(models=["toy/judge", "toy/other"], efforts=[None, "low"], guidelines=["de_short", "de_long"], repeats=2)


def requests(spec: JudgeSpec, pairs: pl.DataFrame = TEXTS) -> pl.DataFrame:
    return calibration_requests(pairs, systems_of(spec), spec.calibration, 42)


def test_the_declared_judge_is_asked_through_the_key_it_judges_with():
    made = requests(judge())
    assert dict(made.schema) == REQUEST_COLUMNS
    declared = declared_system(judge())
    holz, strom = render(declared.guideline, "Holz {x}", "FSC"), render(declared.guideline, "Strom", "Watt")
    assert made.select("query_id", "passage_id", "request_key").rows() == [
        ("q1", "p1", declared.factory.key(holz)),
        ("q1", "p2", declared.factory.key(holz)),
        ("q2", "p1", declared.factory.key(strom)),
    ]
    assert made["system"].unique().to_list() == ["toy/judge default de_short"]


def test_every_system_and_run_has_a_row_per_pair_and_equal_bodies_one_key():
    made = requests(GRID)
    assert made.height == 2 * 2 * 2 * 2 * 3
    # Two pairs of one text share a key; nothing else does.
    assert made["request_key"].n_unique() == 2 * 2 * 2 * 2 * 2
    assert run_labels(GRID.calibration) == ("1", "2")
    assert made.group_by("run").agg(pl.col("repeat").first(), pl.len()).sort("run").rows() == [
        ("1", None, 24),
        ("2", "2", 24),
    ]
    alone = set(requests(judge())["request_key"])
    assert alone < set(made.filter(pl.col("run") == "1")["request_key"])


def test_a_repeat_takes_its_share_of_the_pairs_the_same_ones_for_all():
    pairs = pl.DataFrame({"query_id": [f"q{i}" for i in range(40)]}).with_columns(
        passage_id=pl.lit("p"), query_text=pl.col("query_id"), passage_text=pl.lit("x")
    )
    spec = judge(models=["a", "b"], repeats=3, repeat_pairs=10)
    made = requests(spec, pairs).filter(pl.col("run") != "1")
    assert made.group_by("system", "run").len()["len"].unique().to_list() == [10]
    drawn = made.group_by("system", "run").agg(pl.col("query_id").sort())["query_id"].to_list()
    assert all(ids == drawn[0] for ids in drawn)
    # A keyed draw: fewer pairs are a part of more.
    more = requests(judge(models=["a", "b"], repeats=2, repeat_pairs=11), pairs).filter(pl.col("run") == "2")
    assert set(drawn[0]) < set(more["query_id"])


def test_rows_do_not_depend_on_the_order_of_the_pairs():
    assert requests(GRID, TEXTS.reverse()).equals(requests(GRID))


def test_verdicts_are_read_by_the_systems_guideline_and_gaps_are_open():
    spec = judge(models=["toy/judge"], guidelines=["de_short", "ru_two_questions"])
    made = requests(spec)
    keys = dict(made.filter(pl.col("query_id") == "q2").select("guideline", "request_key").iter_rows())
    calls = pl.DataFrame(
        [(keys["de_short"], "answered", "stop", "2"), (keys["ru_two_questions"], "answered", "stop", "2")],
        schema=["request_key", "status", "finish_reason", "content"],
        orient="row",
    )
    read = verdicts_of(made, calls, systems_of(spec)).sort("guideline", "query_id", "passage_id")
    # A bare digit is a verdict of one form and none of the other.
    assert read.select("guideline", "query_id", "status", "grade").rows() == [
        ("de_short", "q1", "open", None),
        ("de_short", "q1", "open", None),
        ("de_short", "q2", "ok", 2),
        ("ru_two_questions", "q1", "open", None),
        ("ru_two_questions", "q1", "open", None),
        ("ru_two_questions", "q2", "parse_error", None),
    ]


@pytest.fixture(scope="module")
def table():
    spec = judge(models=["toy/other"], resamples=200)
    names = [system.name for system in systems_of(spec)]
    graded = {names[0]: [[0, 2, None, 0, 1]], names[1]: [[0, 1, 2, 0, 1]]}
    people = {"ann": [0, 1, 2, None, None], "bea": [0, 2, None, None, None]}
    levels = ["area_of_action", "area_of_action", "criterion", "criterion", "criterion"]
    measured = Measured(marks([0, 1, 2, 0, None], graded, people, levels), spec.calibration, 42)
    return agreement_table(measured, systems_of(spec), names[0])


def one(table, level, scale, statistic, raters="judge_vs_curated", system="toy/judge default de_short"):
    rows = table.filter(
        pl.col("level") == level,
        pl.col("scale") == scale,
        pl.col("statistic") == statistic,
        pl.col("raters") == raters,
        pl.col("system") == system,
    )
    return rows.row(0, named=True)


def test_there_is_one_row_per_figure(table):
    # 3 levels x 2 scales; each system 2 kappas and an alpha; people 2 x 2 against curated, 2 between them, alpha.
    assert table.height == 3 * 2 * (2 * 3 + 4 + 2 + 1)
    assert set(table["level"]) == {"area_of_action", "criterion", "all"}
    assert table.select("system", "level", "scale", "statistic", "raters", "who").is_unique().all()
    assert set(table["resampled"]) == {"queries"}
    assert dict(table.group_by("system").agg(pl.col("in_use").first()).iter_rows()) == {
        "humans": True,
        "toy/judge default de_short": True,
        "toy/other default de_short": False,
    }


def test_kappa_over_all_by_hand(table):
    # Pairs with both marks: (0,0), (1,2), (0,0). Observed 2/3; chance (2*2 + 1*0 + 0*1)/9 = 4/9; (6/9-4/9)/(5/9) = 0.4.
    row = one(table, "all", "graded", "kappa")
    assert row["value"] == pytest.approx(0.4)
    assert (row["n"], row["missing"], row["reason"]) == (3, 2, None)
    assert json.loads(row["confusion"]) == [[2, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_on_the_binary_scale_grades_one_and_two_are_relevant(table):
    row = one(table, "all", "binary", "kappa")
    assert row["value"] == pytest.approx(1.0)
    assert json.loads(row["confusion"]) == [[2, 0], [0, 1]]


def test_one_class_is_reported_as_such(table):
    row = one(table, "criterion", "graded", "kappa")
    assert (row["value"], row["reason"], row["n"], row["missing"]) == (None, "single_class", 1, 2)


def test_alpha_between_annotators_by_hand(table):
    # Units (0,0) and (1,2); a third has one mark, two have none. Binary: (0,0), (1,1): alpha 1.
    row = one(table, "all", "binary", "alpha", "annotators", "humans")
    assert (row["value"], row["n"], row["missing"], row["confusion"]) == (pytest.approx(1.0), 2, 3, None)
    # Graded, ordinal: marks 0: 2, 1: 1, 2: 1 of 4. d(0,1) = (2/2 + 1/2)^2 = 2.25, d(0,2) = (1 + 1 + 0.5)^2 = 6.25,
    # d(1,2) = (0.5 + 0.5)^2 = 1. Observed 2*1/4 = 0.5; expected 2*(2*1*2.25 + 2*1*6.25 + 1*1*1)/(4*3) = 36/12 = 3.
    assert one(table, "all", "graded", "alpha", "annotators", "humans")["value"] == pytest.approx(1 - 0.5 / 3)


def test_people_against_the_curated_grades_and_each_other(table):
    row = one(table, "all", "graded", "kappa", "annotator_vs_curated", "humans")
    assert (row["who"], row["value"], row["n"]) == ("ann, curated", pytest.approx(1.0), 3)
    row = one(table, "all", "graded", "kappa", "annotator_vs_annotator", "humans")
    assert (row["who"], row["n"], row["value"]) == (
        "ann, bea",
        2,
        pytest.approx(kappa([0, 1], [0, 2], (0, 1, 2))),
    )


def test_no_annotations_leave_alpha_undefined():
    spec = judge()
    measured = Measured(marks([0, 1], {systems_of(spec)[0].name: [[0, 1]]}), CalibrationSpec(resamples=100), 1)
    row = one(agreement_table(measured, systems_of(spec), None), "all", "graded", "alpha", "annotators", "humans")
    assert (row["value"], row["reason"], row["n"], row["missing"], row["who"]) == (None, "no_overlap", 0, 2, "")
