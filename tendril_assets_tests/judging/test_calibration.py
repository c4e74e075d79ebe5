"""The agreement table: each level and all, both scales, missing marks counted."""

import json

import polars as pl
import pytest

from tendril_assets.judging.calibration import agreement_table, calibration_requests
from tendril_assets.judging.candidates import REQUEST_SCHEMA
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.spec import LLMSpec

PAIRS = pl.DataFrame(
    [
        ("q1", "p1", "area_of_action", 0),
        ("q1", "p2", "area_of_action", 1),
        ("q2", "p3", "criterion", 2),
        ("q2", "p4", "criterion", 0),
        ("q2", "p5", "criterion", None),
    ],
    schema={"query_id": pl.String, "passage_id": pl.String, "level": pl.String, "curated_grade": pl.Int8},
    orient="row",
)
VERDICTS = pl.DataFrame(
    [("q1", "p1", 0), ("q1", "p2", 2), ("q2", "p3", None), ("q2", "p4", 0), ("q2", "p5", 1)],
    schema={"query_id": pl.String, "passage_id": pl.String, "grade": pl.Int8},
    orient="row",
)
ANNOTATIONS = pl.DataFrame(
    [
        ("q1", "p1", "ann", 0),
        ("q1", "p1", "bea", 0),
        ("q1", "p2", "ann", 1),
        ("q1", "p2", "bea", 2),
        ("q2", "p3", "ann", 2),
        ("q2", "p3", "bea", None),
    ],
    schema={"query_id": pl.String, "passage_id": pl.String, "annotator": pl.String, "grade": pl.Int8},
    orient="row",
)


@pytest.fixture(scope="module")
def table():
    return agreement_table(PAIRS, ANNOTATIONS, VERDICTS, seed=42, resamples=200)


def one(table, level, scale, statistic):
    rows = table.filter(pl.col("level") == level, pl.col("scale") == scale, pl.col("statistic") == statistic)
    return rows.row(0, named=True)


def test_there_is_one_row_per_level_scale_and_statistic(table):
    assert table.height == 3 * 2 * 3
    assert set(table["level"]) == {"area_of_action", "criterion", "all"}
    assert set(table["raters"]) == {"judge_vs_curated", "annotators"}


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
    # The only pair of this level with both marks is (0, 0).
    assert (row["value"], row["reason"], row["n"], row["missing"]) == (None, "single_class", 1, 2)


def test_alpha_between_annotators_by_hand(table):
    # Units (0,0) and (1,2). Binary: (0,0), (1,1): alpha 1. The third unit has one mark and two have none.
    row = one(table, "all", "binary", "alpha")
    assert row["value"] == pytest.approx(1.0)
    assert (row["n"], row["missing"], row["confusion"]) == (2, 3, None)
    # Graded, ordinal: marks 0: 2, 1: 1, 2: 1 of 4. d(0,1) = (2/2 + 1/2)^2 = 2.25, d(0,2) = (1 + 1 + 0.5)^2 = 6.25,
    # d(1,2) = (0.5 + 0.5)^2 = 1. Observed 2*1/4 = 0.5; expected 2*(2*1*2.25 + 2*1*6.25 + 1*1*1)/(4*3) = 36/12 = 3.
    assert one(table, "all", "graded", "alpha")["value"] == pytest.approx(1 - 0.5 / 3)


def test_no_annotations_leave_alpha_undefined():
    table = agreement_table(PAIRS, ANNOTATIONS.clear(), VERDICTS, seed=42, resamples=10)
    row = one(table, "all", "graded", "alpha")
    assert (row["value"], row["reason"], row["missing"]) == (None, "no_overlap", 5)


def test_the_table_does_not_depend_on_row_order(table):
    again = agreement_table(PAIRS.reverse(), ANNOTATIONS.reverse(), VERDICTS.reverse(), seed=42, resamples=200)
    assert again.equals(table)


def test_calibration_pairs_become_requests_of_the_judge_in_their_own_wording():
    factory, guideline = RequestFactory(LLMSpec(model="toy/judge")), load_guideline("de_short")
    pairs = pl.DataFrame(
        [("q2", "p1", "Strom", "Watt"), ("q1", "p1", "Holz {x}", "FSC"), ("q1", "p2", "Holz {x}", "FSC")],
        schema=["query_id", "passage_id", "query_text", "passage_text"],
        orient="row",
    )
    requests = calibration_requests(pairs, factory, guideline)
    assert requests.columns == ["query_id", "passage_id", *REQUEST_SCHEMA]
    holz, strom = render(guideline, "Holz {x}", "FSC"), render(guideline, "Strom", "Watt")
    assert requests.select("query_id", "passage_id", "request_key", "prompt_characters").rows() == [
        ("q1", "p1", factory.key(holz), sum(len(m["content"]) for m in holz)),
        ("q1", "p2", factory.key(holz), sum(len(m["content"]) for m in holz)),
        ("q2", "p1", factory.key(strom), sum(len(m["content"]) for m in strom)),
    ]
