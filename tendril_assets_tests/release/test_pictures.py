"""Which figures each picture shows, in what order, and what it says of those it leaves out."""

import base64
import re
import xml.etree.ElementTree as ET
from datetime import date
from decimal import Decimal

import polars as pl
import pytest

from tendril_assets.release import pictures, results_pictures
from tendril_assets.release.images import markdown_image
from tendril_assets.release.pictures import Picture
from tendril_assets_tests.release import toy

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: Picture | None) -> list[str]:
    """Every text of the wide drawing; the narrow one must say the same words."""
    assert picture is not None
    wide, narrow = (
        [e.text or "" for e in ET.fromstring(one).iter(f"{SVG}text")] for one in (picture.wide, picture.narrow)
    )
    # Word by word, for a long heading stands in several lines of the narrow one; axes have ticks of their own.
    said = [{word for t in one if not re.fullmatch(r"[−\d.,]+", t) for word in t.split()} for one in (wide, narrow)]
    assert said[0] == said[1]
    return wide


def rects(svg: str) -> list[tuple[str, float]]:
    """Class and width of every rectangle."""
    return [(e.attrib["class"], float(e.attrib["width"])) for e in ET.fromstring(svg).iter(f"{SVG}rect")]


POSITIVES = pl.DataFrame(
    [
        ("Food", "area_of_action", 100, 10, 4, 0.1),
        ("Furniture", "area_of_action", 200, 40, 10, 0.2),
        ("Food", "criterion", 50, 0, 0, 0.0),
    ],
    schema=["catalog", "level", "judgments", "positives", "fully_relevant", "positive_share"],
    orient="row",
)


def test_positives_are_in_blocks_per_level_the_largest_share_first() -> None:
    picture = pictures.positives(POSITIVES)
    assert texts(picture) == [
        *("1 partially relevant", "2 relevant", "Area of action"),
        *("Furniture", "20\u00a0%  (40 of 200)", "Food", "10\u00a0%  (10 of 100)"),
        *("Criterion", "Food", "0\u00a0%  (0 of 50)"),
    ]
    parts = [(css, width) for css, width in rects(picture.wide) if css.endswith(" part")]
    # Furniture: 30 of 200 are grade 1 and 10 grade 2; Food: 6 and 4 of 100; a catalog without positives draws no part.
    assert [css for css, _ in parts] == ["c-grade1 part", "c-grade2 part"] * 2
    unit = parts[0][1] / 0.15
    assert [width / unit for _, width in parts] == pytest.approx([0.15, 0.05, 0.06, 0.04], abs=0.001)


def days(n: int, models: tuple[str, ...] = ("maker/judge", "maker/writer")) -> pl.DataFrame:
    rows = [
        (
            date.fromordinal(date(2026, 10, 1).toordinal() + i),
            model,
            Decimal("0.50") / (k + 1),
            10,
            int(i == 0 and k == 0),
        )
        for i in range(n)
        for k, model in enumerate(models)
    ]
    names = ["day", "model", "known_cost", "calls", "unknown_costs"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("known_cost").cast(pl.Decimal(18, 9)))


def test_cost_by_day_adds_up_and_counts_the_unknown_apart() -> None:
    picture = pictures.costs_over_time(days(2))
    assert picture.caption == "Known cost by day (UTC) and model"
    # 0.50 of the judge and 0.25 of the writer a day, 20 calls; one answer of the first day has no known cost.
    assert texts(picture)[-4:] == [
        "2026-10-01",
        "USD 0.7500, 20 calls, 1 unknown",
        "2026-10-02",
        "USD 0.7500, 20 calls",
    ]


def test_more_days_than_a_month_are_drawn_by_month() -> None:
    picture = pictures.costs_over_time(days(40))
    assert picture.caption == "Known cost by month and model"
    # 31 days of October and 9 of November at 0.75.
    assert [t for t in texts(picture) if "USD" in t] == ["USD 23.25, 620 calls, 1 unknown", "USD 6.75, 180 calls"]


def test_more_models_than_colours_are_drawn_together() -> None:
    models = tuple(f"maker/judge-{i}" for i in range(8))
    picture = pictures.costs_over_time(days(2, models))
    legend = texts(picture)[: len(pictures._PARTS)]
    assert legend == [*models[:5], "3 others"]
    widths = [width for css, width in rects(picture.wide) if css.endswith(" part")]
    assert widths[-1] / widths[0] == pytest.approx((1 / 6 + 1 / 7 + 1 / 8), abs=0.01)


def test_who_graded_alone_is_not_compared_with_himself() -> None:
    """Where no two people graded a pair, agreement among people is none, and the curated grades are that person's."""
    frame = toy.tables()["judge_agreement"]
    alone = frame.with_columns(value=pl.when(pl.col("raters") != "annotators").then("value"))
    picture = pictures.judge_agreement(alone, 0.95)
    assert "annotators" not in " ".join(texts(picture)).lower()
    assert "annotators" not in picture.caption
    assert set(pictures.measured_agreement(alone)["raters"]) == {"judge_vs_curated"}
    assert set(pictures.measured_agreement(frame)["raters"]) == set(frame.filter("in_use")["raters"])


def test_agreement_stands_in_blocks_of_raters_scale_and_statistic() -> None:
    found = texts(pictures.judge_agreement(toy.tables()["judge_agreement"], 0.95))
    heads = [t for t in found if ":" in t]
    assert heads == [
        "Judge, 0/1/2: Cohen's κ",
        "Annotators, 0/1/2: Krippendorff's α",
        "Judge, relevant or not: Cohen's κ",
        "Annotators, relevant or not: Krippendorff's α",
    ]
    assert "agreement; 0 is chance, 1 is perfect" in found


def test_a_block_per_catalog_with_the_systems_asked_for() -> None:
    scores = toy.tables()["catalog_scores"]
    found = texts(results_pictures.catalogs(scores, ["mini_tuned", "bm25"], "ndcg@10", 0.95, "project"))
    assert [t for t in found if "rankings" in t] == [f"Catalog_{n}, 60 rankings in {20 + n} projects" for n in range(5)]
    assert found.count("mini, fine-tuned") == found.count("BM25") == 5
    assert "mini, base" not in found
    assert results_pictures.catalogs(scores, ["mini_tuned"], "recall@10", 0.95, "project") is None


def test_catalog_differences_are_against_the_own_base() -> None:
    comparisons = toy.tables()["catalog_comparisons"]
    other = comparisons.with_columns(baseline=pl.lit("bm25"), difference=pl.lit(0.9))
    found = texts(results_pictures.catalog_differences(pl.concat([comparisons, other]), "ndcg@10", 0.95, "project"))
    assert found.count("mini, fine-tuned − base") == 1
    # How many projects an interval rests on stands beside it.
    assert sum(t.startswith("Catalog_") and t.endswith(" projects") for t in found) == 5
    assert not any(t.startswith("+0.900") for t in found)


def test_differences_say_their_p_and_the_own_base_stands_first() -> None:
    rows = [
        ("arctic_tuned", "bm25", "all", "ndcg@10", 0.01, -0.02, 0.04, 0.5, 0.5),
        ("arctic_tuned", "arctic_base", "all", "ndcg@10", 0.05, 0.02, 0.08, 0.0002, 0.0004),
        ("arctic_tuned", "zeta_base", "all", "ndcg@10", 0.02, None, None, None, None),
    ]
    names = ["system", "baseline", "level", "measure", "difference", "low", "high", "p", "p_holm"]
    comparisons = pl.DataFrame(rows, schema=names, orient="row")
    found = [t for t in texts(results_pictures.differences(comparisons, "ndcg@10", 0.95)) if "arctic" in t or "+" in t]
    # Marks are drawn row by row: label, then figure.
    assert found == [
        *("arctic, fine-tuned − base", "+0.050 [+0.020, +0.080], p < 0.001"),
        *("arctic, fine-tuned − BM25", "+0.010 [−0.020, +0.040], p 0.500"),
        *("arctic, fine-tuned − zeta, base", "+0.020"),
    ]


def test_curves_of_many_levels_are_all_drawn_each_in_its_own_way() -> None:
    measures = ["balanced_ndcg@10", *(f"ndcg@10:level_{n}" for n in range(7))]
    curves = pl.DataFrame(
        [(step, m, 0.1 * k) for k, m in enumerate(measures) for step in (0, 10)],
        schema=["step", "measure", "value"],
        orient="row",
    )
    looks = re.findall(r'<polyline [^>]*class="([^"]+)"', results_pictures.learning_curve("m", curves, 10, 0.1).wide)
    assert len(looks) == len(set(looks)) == 8


def test_an_image_in_markdown_is_a_whole_picture_under_its_caption() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><rect class="c-blue"/></svg>'
    told = markdown_image(Picture("snake_case [95 %]\nof *all*", svg, svg))
    caption, image = told.split("\n\n")
    assert caption == r"snake\_case \[95 %\] of \*all\*"
    address = re.fullmatch(r"!\[.*\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", image)
    root = ET.fromstring(base64.b64decode(address[1]))
    style = root.find(f"{SVG}style").text
    assert ".c-blue" in style
    assert "prefers-color-scheme: dark" in style
    assert root.find(f"{SVG}rect") is not None


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: pictures.positives(POSITIVES.clear()),
        lambda: pictures.costs_over_time(days(1).clear()),
        lambda: pictures.costs_over_time(days(1)),  # one day has no course
        lambda: results_pictures.catalogs(toy.TABLES["catalog_scores"].empty(), ["bm25"], "ndcg@10", 0.95, "project"),
        lambda: results_pictures.catalog_differences(
            toy.TABLES["catalog_comparisons"].empty(), "ndcg@10", 0.95, "project"
        ),
    ],
)
def test_nothing_is_drawn_of_nothing(drawn) -> None:
    assert drawn() is None
