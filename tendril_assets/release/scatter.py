"""A chart of values with intervals over a quantity of several orders of magnitude."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tendril_assets.release.svg import (
    WIDE,
    Canvas,
    Scale,
    nice_bounds,
    nice_ticks,
    shortened,
    text_width,
    tick_text,
)

_RIGHT = 14
# From this ratio of largest to smallest on, the quantity is drawn by its logarithm.
_LOGARITHMIC_FROM = 5


@dataclass(frozen=True)
class Point:
    """A value over a quantity, with its interval. ``name``, where it has one, stands at the foot of the plot; ``hint`` is
    its tooltip."""

    x: float
    y: float
    low: float | None
    high: float | None
    hint: str
    name: str = ""
    css: str = "c-blue"
    square: bool = False
    ring: bool = False


class _Across:
    """Map of the quantity to pixels: linear, or logarithmic where the values are positive and far apart."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        self.logarithmic = low > 0 and high / low >= _LOGARITHMIC_FROM
        if self.logarithmic:
            self._scale = Scale(math.log10(low), math.log10(high), start, end)
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            self.ticks = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
        else:
            low, high = nice_bounds(min(low, 0.0), high, 5)
            self._scale = Scale(low, high, start, end)
            self.ticks = nice_ticks(low, high, 5)

    def __call__(self, value: float) -> float:
        return self._scale(math.log10(value) if self.logarithmic else value)

    def text(self, value: float) -> str:
        return f"{value:g}" if self.logarithmic else tick_text(value, self.ticks)


def scatter(
    points: Sequence[Point],
    width: int,
    label: str,
    *,
    x_title: str,
    guide: tuple[float, str] | None = None,
    height: int = 260,
) -> str:
    """Points with whiskers; ``guide`` is a dashed level line with its text."""
    canvas = Canvas(width)
    ends = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    ends += [guide[0]] if guide else []
    named = sum(bool(p.name) for p in points) * (1 if width >= WIDE else 2)
    # Names stand at the foot of the plot: it reaches lower by their height.
    span = max(ends) - min(ends)
    low, high = nice_bounds(min(ends) - span * named * 17 / height, max(ends), 5)
    top = 30.0
    up = Scale(low, high, top + height, top)
    ticks = up.ticks(5)
    left = max(text_width(tick_text(t, ticks)) for t in ticks) + 8
    across = _Across([p.x for p in points], left + 16, width - _RIGHT - 16)
    for tick in ticks:
        canvas.line(left, up(tick), width - _RIGHT, up(tick), "grid")
        canvas.text(left - 6, up(tick) + 4.5, tick_text(tick, ticks), "t tick", "end")
    free = -math.inf
    for tick in across.ticks:
        text = across.text(tick)
        if across(tick) - text_width(text) / 2 > free:
            canvas.text(across(tick), top + height + 18, text, "t tick", "middle")
            free = across(tick) + text_width(text) / 2 + 6
    scale = f"{x_title}, logarithmic" if across.logarithmic else x_title
    canvas.text((left + width - _RIGHT) / 2, top + height + 36, scale, "t muted", "middle")
    if guide:
        canvas.line(left, up(guide[0]), width - _RIGHT, up(guide[0]), "mean")
        # Its text stands above the plot, where no whisker crosses it.
        canvas.line(left, 10, left + 28, 10, "mean")
        canvas.text(left + 36, 14.5, shortened(guide[1], width - left - 36 - _RIGHT))
    for point in points:
        _whiskers(canvas, point, across(point.x), up)
    for point in points:
        canvas.mark(across(point.x), up(point.y), point.css, point.hint, square=point.square)
    for point in points:
        if point.ring:
            canvas.circle(across(point.x), up(point.y), 9, "ring")
    _names(canvas, points, across, up, (left, width - _RIGHT))
    return canvas.svg(label)


def _whiskers(canvas: Canvas, point: Point, x: float, up: Scale) -> None:
    if point.low is not None and point.high is not None:
        canvas.line(x, up(point.low), x, up(point.high), point.css.replace("open-", "w-").replace("c-", "w-") + " thin")


def _names(canvas: Canvas, points: Sequence[Point], across: _Across, up: Scale, bounds: tuple[float, float]) -> None:
    """Names at the foot of the plot, the first lowest, each tied to its point by a line."""
    y = up(up.low) - 6
    for point in (p for p in points if p.name):
        x = across(point.x)
        rows = _folded(point.name, bounds[1] - bounds[0])
        canvas.line(x, up(point.y) + 10, x, y - 17 * (len(rows) - 1) - 11, "guide")
        for text in reversed(rows):
            half = text_width(text) / 2
            canvas.text(min(max(x, bounds[0] + half), bounds[1] - half), y, text, "t halo", "middle")
            y -= 17


def _folded(name: str, width: float) -> list[str]:
    """The name in as many rows as it takes, broken between words; a word wider than a row is cut."""
    rows: list[str] = []
    for word in name.split():
        if rows and text_width(f"{rows[-1]} {word}") <= width:
            rows[-1] = f"{rows[-1]} {word}"
        else:
            rows.append(shortened(word, width))
    return rows
