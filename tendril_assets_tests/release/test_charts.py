"""Axes are round, marks stand where their values are, and no text leaves the picture at either width."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.release.charts import Bar, Dot, Line, Stack, bars, columns, dots, lines, stacks
from tendril_assets.release.scatter import Point, scatter
from tendril_assets.release.svg import NARROW, WIDE, Scale, nice_bounds, nice_ticks, shortened, text_width, tick_text

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def test_ticks_are_multiples_of_one_two_or_five() -> None:
    assert nice_ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(0.37, 0.71, 6) == [0.4, 0.5, 0.6, 0.7]
    assert nice_ticks(0, 224, 8) == [0, 50, 100, 150, 200]
    assert nice_ticks(3, 3) == [3]
    assert nice_bounds(0.37, 0.71, 6) == pytest.approx((0.3, 0.8))


@settings(max_examples=50, deadline=None)
@given(FINITE, FINITE)
def test_bounds_hold_the_values_and_ticks_lie_inside(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    bottom, top = nice_bounds(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert bottom <= low + slack
    assert top >= high - slack
    assert all(bottom - slack <= t <= top + slack for t in nice_ticks(bottom, top))


def test_tick_texts_share_their_decimals() -> None:
    assert [tick_text(t, [0, 0.05, 0.1]) for t in (0, 0.05, -0.1)] == ["0.00", "0.05", "−0.10"]
    assert tick_text(10_000, [0, 10_000]) == "10,000"


def test_scale_maps_ends_and_middle() -> None:
    scale = Scale(0, 2, 10, 30)
    assert [scale(v) for v in (0, 1, 2)] == [10, 20, 30]
    assert Scale(1, 1, 10, 30)(1) == 20


def test_long_labels_are_cut() -> None:
    assert shortened("short", 200) == "short"
    assert text_width(shortened("x" * 100, 120)) <= 120
    assert shortened("x" * 100, 120).endswith("…")


def elements(svg: str, tag: str) -> list[dict[str, str]]:
    return [e.attrib for e in ET.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]


def texts(svg: str) -> list[tuple[float, float, str, str]]:
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [(float(e.attrib["x"]), float(e.attrib["y"]), e.attrib["text-anchor"], e.text or "") for e in found]


DOTS = [
    Dot("mini, fine-tuned", 0.642, 0.596, 0.690, "0.642 [0.596, 0.690]", heading="All levels"),
    Dot("mini, base", 0.547, 0.509, 0.585, "0.547 [0.509, 0.585]", "open-orange"),
    Dot("a system with a name that is far too long for any gutter of a chart", None, None, None, "undefined"),
]
DRAWN = {
    "bars": lambda w: bars([Bar("near duplicate", 11, "11 (10 %)", heading="Head"), Bar("none", 0, "0")], w, "Bars"),
    "dots": lambda w: dots(DOTS, w, "Dots"),
    "lines": lambda w: lines(
        [Line("balanced", [(0, 0.62), (56, 0.74)]), Line("criterion", [(0, 0.65), (56, 0.741)])],
        w,
        "Lines",
        x_title="step",
        ring=(56, 0.74, "kept: step 56, 0.740"),
    ),
    "stacks": lambda w: stacks(
        [
            Stack("Construction_Civil_Engineering_Infrastructure", [0.1, 0.05], "15 % (1,234 of 8,227)", "Area"),
            Stack("Food", [0.0, 0.0], "0 % (0 of 50)", "Criterion"),
        ],
        w,
        "Stacks",
        legend=[
            ("1 partially relevant", "c-grade1"),
            ("a part with a name too long for a phone's one line", "c-grade2"),
        ],
        write=str,
    ),
    "scatter": lambda w: scatter(
        [
            Point(0.01, 0.5, 0.4, 0.6, "hint", "a judge with a name of many words that no row can hold (judges)"),
            Point(0.4, 0.7, None, None, "hint", "another-judge-with-one-very-long-word (chosen)", ring=True),
        ],
        w,
        "Scatter",
        x_title="USD per 1,000 requests",
        guide=(0.55, "annotators, α 0.55"),
    ),
    "columns": lambda w: columns([("g1", 0.2), ("g2", -0.1)], w, "Columns", mean=0.05, mean_text="mean +0.050"),
}


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", sorted(DRAWN))
def test_texts_stay_inside_the_picture(name: str, width: int) -> None:
    svg = DRAWN[name](width)
    root = ET.fromstring(svg)
    height = float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {width} {root.attrib['height']}"
    assert root.attrib["aria-label"].lower() == name
    for x, y, anchor, text in texts(svg):
        start = x - {"start": 0, "middle": 0.5, "end": 1}[anchor] * text_width(text)
        assert start >= -1, text
        assert start + text_width(text) <= width + 1, text
        assert 0 < y <= height, text


def test_bar_lengths_are_proportional() -> None:
    svg = bars([Bar("a", 10, "10"), Bar("b", 5, "5"), Bar("c", 0, "0")], WIDE, "Bars")
    widths = [float(r["width"]) for r in elements(svg, "rect")]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.1)
    assert widths[2] == 0


def test_parts_of_a_stack_follow_each_other_and_are_proportional() -> None:
    legend = [("one", "c-grade1"), ("two", "c-grade2"), ("three", "c-blue")]
    svg = stacks([Stack("a", [4, 0, 2], "6"), Stack("b", [0, 0, 0], "0")], WIDE, "S", legend=legend, write=str)
    first, second = (r for r in elements(svg, "rect") if r["class"].endswith(" part"))
    assert (first["class"], second["class"]) == ("c-grade1 part", "c-blue part")  # no part of nothing
    assert float(first["width"]) == pytest.approx(2 * float(second["width"]), abs=0.2)
    assert float(first["x"]) + float(first["width"]) == pytest.approx(float(second["x"]), abs=0.15)
    assert "<title>a, three: 2</title>" in svg


def test_few_columns_stay_narrow_and_many_fit() -> None:
    few = elements(columns([("g1", 0.2), ("g2", -0.1)], WIDE, "C", mean=0.05, mean_text="m"), "rect")
    many = elements(columns([(f"g{i}", 0.1) for i in range(200)], WIDE, "C", mean=0.1, mean_text="m"), "rect")
    assert max(float(r["width"]) for r in few) <= 44
    assert max(float(r["x"]) + float(r["width"]) for r in many) <= WIDE


def test_names_in_a_scatter_are_folded_not_cut() -> None:
    words = [text for *_, text in texts(DRAWN["scatter"](NARROW))]
    assert "(judges)" in " ".join(words)
    assert "no row can hold (judges)" in " ".join(words)


def test_dots_stand_on_their_axis() -> None:
    svg = dots(DOTS[:2], WIDE, "Dots", bounds=(0.0, 1.0))
    centres = [float(c["cx"]) for c in elements(svg, "circle")]
    ticks = {text: x for x, _, _, text in texts(svg) if re.fullmatch(r"\d\.\d", text)}
    at = Scale(0, 1, ticks["0.0"], ticks["1.0"])
    assert centres == pytest.approx([at(0.642), at(0.547)], abs=0.2)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_grid_line_runs_through_a_heading(width: int) -> None:
    items = [Dot("row", 0.5, 0.1, 0.9, "0.500", heading=f"A heading as wide as the plot, number {n}") for n in range(3)]
    drawn = dots(items, width, "test")
    heads = [float(t["y"]) for t in elements(drawn, "text") if t["class"] == "t head"]
    grid = [(float(e["y1"]), float(e["y2"])) for e in elements(drawn, "line") if e["class"] == "grid"]
    assert len(heads) == 3
    assert len(grid) >= 9
    assert not [(y, line) for y in heads for line in grid if line[0] < y and line[1] > y - 9]


def test_an_undefined_value_draws_no_mark() -> None:
    svg = dots([DOTS[2]], WIDE, "Dots")
    assert elements(svg, "circle") == []
    assert any(text == "undefined" for *_, text in texts(svg))


def test_columns_below_zero_have_another_colour_and_start_at_zero() -> None:
    up, down = elements(columns([("g1", 0.2), ("g2", -0.1)], WIDE, "C", mean=0.05, mean_text="m"), "rect")
    assert (up["class"], down["class"]) == ("c-blue", "c-vermillion")
    assert float(up["y"]) + float(up["height"]) == pytest.approx(float(down["y"]), abs=0.15)
    assert float(up["height"]) == pytest.approx(2 * float(down["height"]), abs=0.2)


def test_markup_in_labels_is_escaped() -> None:
    svg = bars([Bar("<b>&", 1, "1")], WIDE, 'say "hi"')
    assert "<b>" not in svg
    assert ET.fromstring(svg).attrib["aria-label"] == 'say "hi"'


def test_two_pictures_with_one_range_put_the_same_step_in_the_same_place() -> None:
    """The guide of the lower one stands below the ring of the upper one: both know the same x range and the same names."""
    upper = lines(
        [Line("a long name", [(0, 0.5), (56, 0.7), (224, 0.6)])],
        WIDE,
        "",
        x_title="",
        ring=(56, 0.7, "kept"),
        x_range=(0, 224),
    )
    lower = lines(
        [Line("loss", [(1, 0.9), (200, 0.3)])], WIDE, "", x_title="", guide=56, x_range=(0, 224), room="a long name"
    )
    ring = float(re.search(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5" class="ring"', upper)[1])
    guide = float(re.search(r'<line x1="([\d.]+)" [^>]*class="guide"', lower)[1])
    assert guide == ring


def test_a_heading_that_is_too_long_stands_in_several_lines() -> None:
    heading = "Live without 590-П_28062017: 1,142 queries of 112 acts, 73 % generated, 80 % of one act"
    drawn = bars([Bar("first", 1, "1", heading=heading), Bar("second", 1, "1")], 340, "Bars")
    lines = re.findall(r'class="t head"[^>]*>([^<]+)<', drawn)
    assert " ".join(lines) == heading
    assert len(lines) > 1
    assert max(map(text_width, lines)) <= 340
    tops = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*class="t head"', drawn)]
    rows = [float(y) for y in re.findall(r'<rect[^>]* y="([\d.]+)"', drawn)]
    assert min(rows) > max(tops)
