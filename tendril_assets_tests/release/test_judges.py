"""How card and report speak of the judges: the one that judged, the declared acceptance, the table and the picture."""

import xml.etree.ElementTree as ET

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError, SettingsError
from tendril_assets.release.judges import choice_as_html, quality_and_price, who_judges
from tendril_assets.release.label_quality import (
    declared_acceptance,
    how_it_was_chosen,
    label_quality,
    published_judge,
    require_planned_judge,
)
from tendril_assets.release.pictures import judge_agreement
from tendril_assets.release.report_tables import agreement_table
from tendril_assets.release.scatter import Point, scatter
from tendril_assets.spec_calibration import AcceptanceSpec, CalibrationSpec
from tendril_assets_tests.release import toy

CALIBRATION = {
    "models": ["maker/judge-1"],
    "efforts": ["low"],
    "guidelines": ["de_long"],
    "repeats": 2,
    "acceptance": {"min_repeat": 0.7, "max_failures": 0.05, "min_pairs": 40, "stack": "recorded"},
}


def spec(**changes):
    return toy.spec(judge={"llm": {"model": "maker/judge-2"}, "calibration": CALIBRATION | changes})


@pytest.fixture(scope="module")
def tables():
    return toy.tables()


def test_the_acceptance_in_words():
    assert declared_acceptance(spec().judge.calibration) == (
        "Cohen's kappa against the curated grades (0/1/2, mean over the levels) of at least 0.40, equal grades in two runs "
        "for at least 70\u00a0%, at most 5.0\u00a0% of the pairs without a grade, at least 40 pairs and a recorded "
        "inference stack"
    )
    strict = CalibrationSpec(
        repeats=2,
        acceptance=AcceptanceSpec(bound="low", repeat="kappa", min_repeat=0.6, levels="each", min_pairs=1, stack="one"),
    )
    assert declared_acceptance(strict) == (
        "lower end of the interval of Cohen's kappa against the curated grades (0/1/2, lowest level) of at least 0.40, kappa "
        "of two runs of at least 0.60, at least 1 pair and one recorded inference stack"
    )


def test_the_card_says_how_the_judge_was_chosen_from_the_table(tables):
    text = how_it_was_chosen(spec(), tables["judge_choice"])
    assert text.startswith("2 systems (2 models, 2 reasoning efforts and 2 guidelines) graded the calibration pairs.")
    assert "1 of 2 met all of it; the declared rule picks `maker/judge-2 default de_short`." in text
    assert text.endswith(
        "The judge that was used, `maker/judge-2 default de_short`, was named beforehand; it is among the accepted."
    )
    none = tables["judge_choice"].with_columns(accepted=pl.lit(False), chosen=pl.lit(False))
    text = how_it_was_chosen(spec(), none)
    assert "0 of 2 met all of it; the declared rule picks none." in text
    assert text.endswith("it is **not** among the accepted.")
    assert text in label_quality(spec(), tables["judge_agreement"], none)


def test_without_acceptance_or_calibration_the_card_says_nothing_of_a_choice(tables):
    assert how_it_was_chosen(spec(acceptance=None), tables["judge_choice"]) == ""
    assert how_it_was_chosen(spec(), tables["judge_choice"].clear()) == ""


def test_only_the_judge_in_use_is_in_the_label_quality(tables):
    other = (
        tables["judge_agreement"]
        .filter(pl.col("system") != "humans")
        .with_columns(system=pl.lit("other"), in_use=pl.lit(False), value=pl.lit(0.99))
    )
    both = pl.concat([tables["judge_agreement"], other])
    assert label_quality(spec(), both, tables["judge_choice"]) == label_quality(
        spec(), tables["judge_agreement"], tables["judge_choice"]
    )


def test_the_judge_in_use_is_the_chosen_one_where_that_judges(tables):
    assert published_judge(spec(), tables["judge_choice"]).name == "maker/judge-2 default de_short"
    swapped = tables["judge_choice"].with_columns(in_use=~pl.col("in_use"))
    assert published_judge(spec(), swapped).name == "maker/judge-1 low de_long"
    assert published_judge(spec(), tables["judge_choice"].clear()).declared
    none = tables["judge_choice"].with_columns(in_use=pl.lit(False))
    assert published_judge(spec(), none) is None


def test_a_judge_that_is_no_system_any_more_is_not_taken_for_the_declared_one(tables):
    gone = tables["judge_choice"].with_columns(system=pl.col("system") + " of old")
    with pytest.raises(SettingsError, match=r"no system 'maker/judge-2 default de_short of old'.*judge_choice again"):
        published_judge(spec(), gone)


def test_the_published_judge_is_the_one_whose_requests_were_planned(tables):
    choice, planned = tables["judge_choice"], "maker/judge-2 default de_short"
    assert require_planned_judge(spec(), choice, planned).name == planned
    with pytest.raises(ExportInvariantError, match=r"names maker/judge-2 .* planned for maker/judge-1 low de_long"):
        require_planned_judge(spec(), choice, "maker/judge-1 low de_long")
    with pytest.raises(ExportInvariantError, match="names no judge"):
        require_planned_judge(spec(), choice.with_columns(in_use=pl.lit(False)), planned)


def test_the_confidence_is_the_declared_one(tables):
    agreement, choice = tables["judge_agreement"], tables["judge_choice"]
    assert "with 95 % bootstrap intervals" in label_quality(spec(), agreement, choice)
    assert "with 99.5 % bootstrap intervals" in label_quality(spec(confidence=0.995), agreement, choice)
    assert "with 90 % intervals" in quality_and_price(spec(confidence=0.9), choice, agreement).caption
    assert "Agreement with 80 % intervals" in judge_agreement(agreement, 0.8).caption
    assert "80 % interval" in agreement_table(agreement, 0.8)


def test_the_table_is_best_first_and_says_who_judges(tables):
    page = choice_as_html(tables["judge_choice"], tables["calibration_systems"])
    assert page.index("maker/judge-2") < page.index("maker/judge-1")
    assert "(chosen, judges)<small>chosen: the best of the accepted systems (0.505)</small></td>" in page
    # The reason stands under the name, in the one column that may be wide.
    assert "<th class=left>System</th>" in page
    assert "Reason" not in page
    assert "33.3% of the pairs without a grade" in page
    assert "<small>20 pairs</small>" in page
    assert "30 parse error" in page


def test_the_judge_in_use_stands_open_however_far_down_it_is(tables):
    row, facts = tables["judge_choice"].head(1), tables["calibration_systems"].head(1)
    name = pl.format("system {}", "rank")
    choice = pl.concat([row] * 12).with_columns(
        rank=pl.int_range(1, 13, dtype=row["rank"].dtype),
        chosen=pl.int_range(1, 13) == 1,
        in_use=pl.int_range(1, 13) == 9,
    )
    choice = choice.with_columns(system=name)
    systems = pl.concat([facts] * 12).with_columns(system=choice["system"])
    shown, _, rest = choice_as_html(choice, systems).partition("<summary>6 other systems, in the same order</summary>")
    assert [n for n in range(1, 13) if f"system {n}<" in shown or f"system {n} (" in shown] == [1, 2, 3, 4, 5, 9]
    assert [n for n in range(1, 13) if f"system {n}<" in rest] == [6, 7, 8, 10, 11, 12]
    assert who_judges(choice) == "system 9 judges, as the specification says; the declared rule picks system 1."
    nobody = choice.with_columns(in_use=False)
    assert who_judges(nobody) == "None of them judges."
    alone = choice.with_columns(chosen=pl.col("in_use"))
    assert who_judges(alone) == "system 9 judges, as the declared rule picks it."
    refused = choice.with_columns(chosen=False)
    assert who_judges(refused) == "system 9 judges, as the specification says; the declared rule picks none."


def test_the_picture_marks_the_choice_and_the_annotators(tables):
    picture = quality_and_price(spec(), tables["judge_choice"], tables["judge_agreement"])
    for drawn in (picture.wide, picture.narrow):
        ET.fromstring(drawn)
        assert drawn.count('class="ring"') == 1
        assert "annotators" in drawn
    assert "maker/judge-2 default de_short (chosen, judges)" in picture.wide
    assert "annotators, α 0.58" in picture.wide
    unknown = tables["judge_choice"].with_columns(price_per_1000=pl.lit(None, dtype=pl.Float64))
    assert quality_and_price(spec(), unknown, tables["judge_agreement"]) is None


@pytest.mark.parametrize("prices", [[0.0, 0.0], [0.01, 30.0], [0.2, 0.21], [0.0, 5.0]])
@pytest.mark.parametrize("width", [340, 752])
def test_points_of_any_price_stay_on_the_canvas(prices, width):
    points = [
        Point(x, 0.4, 0.1, 0.6, "hint <&>", "a name that is far too long for any picture " * 3, ring=True)
        for x in prices
    ]
    root = ET.fromstring(scatter(points, width, "label", x_title="USD"))
    marks = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(marks) == 4
    assert all(0 <= float(e.get("cx")) <= width for e in marks)


def test_one_select_ranks_the_judges_for_analysts(tables):
    read = toy.reader(toy.database(tables))
    rows = read("views/judge_systems")
    assert rows.select("rank", "system", "kappa_all", "kappa_worst_level", "chosen", "in_use").rows() == [
        (1, "maker/judge-2 default de_short", 0.52, 0.48, True, True),
        (2, "maker/judge-1 low de_long", None, None, False, False),
    ]
    # Undefined on one level: that level may be the worst.
    hole = (pl.col("level") == "criterion") & (pl.col("scale") == "graded") & (pl.col("statistic") == "kappa")
    agreement = tables["judge_agreement"].with_columns(value=pl.when(hole).then(None).otherwise("value"))
    rows = toy.reader(toy.database({**tables, "judge_agreement": agreement}))("views/judge_systems")
    assert rows.select("kappa_all", "kappa_worst_level").row(0) == (0.52, None)
