"""Five kinds of chart, each drawn for a given width: bars, stacked bars, dots with whiskers, lines, signed columns.

On narrow pictures a row's label moves from the left gutter to a line of its own above the row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tendril_assets.release.svg import (
    LINE,
    Canvas,
    Scale,
    folded_lines,
    nice_bounds,
    shortened,
    text_width,
    tick_text,
)

_GUTTER_FROM = 520
_ROW = 27
_LEFT, _RIGHT = 4, 10
_TICK = "0.000"
# A column wider than this looks like an area.
_COLUMN = 44.0


@dataclass(frozen=True)
class Bar:
    """A length with what it says at its end; a bar with ``heading`` opens a new block."""

    label: str
    value: float
    text: str
    css: str = "c-blue"
    heading: str = ""


@dataclass(frozen=True)
class Stack:
    """A bar of parts, one length for each name of the legend, with what the whole says at its end."""

    label: str
    parts: Sequence[float]
    text: str
    heading: str = ""


@dataclass(frozen=True)
class Dot:
    """A value with its interval; ``value`` None prints ``text`` alone, the reason why there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    css: str = "c-blue"
    square: bool = False
    heading: str = ""


@dataclass(frozen=True)
class Line:
    """A named series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    css: str = "l-blue"


def bars(items: Sequence[Bar], width: int, label: str) -> str:
    """Horizontal bars from zero, values written at their ends."""
    canvas = Canvas(width)
    gutter, row = _rows_layout([b.label for b in items], width)
    room = max(text_width(b.text) for b in items) + 10
    top = max((b.value for b in items), default=0) or 1
    scale = Scale(0, top, gutter, width - _RIGHT - room)
    y, block = 4.0, 4.0
    for bar in items:
        if bar.heading:
            _axis(canvas, gutter, block, y)
            y = block = _heading(canvas, bar.heading, y)
        centre = _label(canvas, bar.label, gutter, y, row)
        length = scale(bar.value) - gutter
        canvas.rect(gutter, centre - 8, max(length, 1.5 if bar.value else 0), 16, bar.css, f"{bar.label}: {bar.text}")
        canvas.text(gutter + length + 7, centre + 4.5, bar.text, "t num")
        y += row
    _axis(canvas, gutter, block, y)
    return canvas.svg(label)


def stacks(
    items: Sequence[Stack], width: int, label: str, *, legend: Sequence[tuple[str, str]], write: Callable[[float], str]
) -> str:
    """Horizontal bars made of parts. ``legend``: name and class of each part; ``write`` gives a part's text."""
    canvas = Canvas(width)
    y = _swatches(canvas, legend)
    gutter, row = _rows_layout([s.label for s in items], width)
    room = max(text_width(s.text) for s in items) + 10
    scale = Scale(0, max(sum(s.parts) for s in items) or 1, gutter, width - _RIGHT - room)
    block = y
    for stack in items:
        if stack.heading:
            _axis(canvas, gutter, block, y)
            y = block = _heading(canvas, stack.heading, y)
        centre = _label(canvas, stack.label, gutter, y, row)
        reached = 0.0
        for (name, css), part in zip(legend, stack.parts, strict=True):
            if part:
                x = scale(reached)
                canvas.rect(
                    x,
                    centre - 8,
                    max(scale(reached + part) - x, 1.5),
                    16,
                    f"{css} part",
                    f"{stack.label}, {name}: {write(part)}",
                )
            reached += part
        canvas.text(max(scale(reached), gutter + 1) + 7, centre + 4.5, stack.text, "t num")
        y += row
    _axis(canvas, gutter, block, y)
    return canvas.svg(label)


def dots(
    items: Sequence[Dot],
    width: int,
    label: str,
    *,
    x_title: str = "",
    zero: bool = False,
    bounds: tuple[float, float] | None = None,
) -> str:
    """Dots with interval whiskers on one shared axis; ``zero`` draws the line of no difference."""
    canvas = Canvas(width)
    gutter, row = _rows_layout([d.label for d in items], width)
    wide = width >= _GUTTER_FROM
    # Where a label and its value do not fit side by side, every value gets a line of its own.
    own_line = not wide and any(text_width(d.label + d.text) + 12 > width - _LEFT - _RIGHT for d in items)
    row += LINE if own_line else 0
    right = width - _RIGHT - (max(text_width(d.text) for d in items) + 12 if wide else 0)
    low, high = bounds or _extent(items, zero=zero)
    scale = Scale(low, high, gutter + 14, right - 12)
    ticks = scale.ticks(6 if wide else 4)
    y, drawn, blocks = 4.0, [], []
    for dot in items:
        y = _heading(canvas, dot.heading, y)
        if dot.heading or not blocks:
            blocks.append([y, y])
        drawn.append((dot, y))
        y += row
        blocks[-1][1] = y
    for tick in ticks:
        css = "zero" if zero and tick == 0 else "grid"
        if wide:  # block by block, so that no line runs through a heading
            for top, bottom in blocks:
                canvas.line(scale(tick), top, scale(tick), bottom, css)
        else:  # beside the dots only: the labels stand where the rest of the line would run
            for _, top in drawn:
                canvas.line(scale(tick), top + row - _ROW + 2, scale(tick), top + row - 4, css)
        canvas.text(scale(tick), y + 15, tick_text(tick, ticks), "t tick", "middle")
    if x_title:
        canvas.text((scale.start + scale.end) / 2, y + 33, x_title, "t muted", "middle")
    for dot, top in drawn:
        centre = _label(canvas, dot.label, gutter, top, row)
        _dot(canvas, dot, scale, centre)
        css = "t num halo" if dot.value is not None else "t muted halo"
        if own_line:
            canvas.text(gutter, top + 13 + LINE, dot.text, css)
        else:
            canvas.text(width - _RIGHT, centre + 4.5 if wide else top + 13, dot.text, css, "end")
    return canvas.svg(label)


def lines(
    series: Sequence[Line],
    width: int,
    label: str,
    *,
    x_title: str,
    ring: tuple[float, float, str] | None = None,
    guide: float | None = None,
    x_range: tuple[float, float] | None = None,
    room: str = "",
    height: int = 240,
) -> str:
    """Lines over a shared x; names stand at the line ends, or above the picture where it is narrow.

    ``ring`` marks one point (x, y, text), ``guide`` one x. ``x_range`` holds the x of another picture too, and ``room`` is
    the longest name of that one, so that both pictures can be read one below the other.
    """
    canvas = Canvas(width)
    wide = width >= _GUTTER_FROM
    xs = [x for s in series for x, _ in s.points]
    ys = [y for s in series for _, y in s.points]
    top = 12.0 if wide else _legend(canvas, series)
    names = max(text_width(name) for name in (room, *(s.name for s in series))) + 18 if wide else _RIGHT
    low, high = nice_bounds(min(ys), max(ys), 5)
    up = Scale(low, high, top + height, top)
    ticks = up.ticks(5)
    # Pictures that share an x range share the room for their y ticks too.
    left = max(text_width(text) for text in (_TICK if x_range else "", *(tick_text(t, ticks) for t in ticks))) + 8
    ends = x_range or (min(xs), max(xs))
    across = Scale(*ends, left + 4, width - names)
    for tick in ticks:
        canvas.line(left, up(tick), width - names, up(tick), "grid")
        canvas.text(left - 6, up(tick) + 4.5, tick_text(tick, ticks), "t tick", "end")
    x_ticks = across.ticks(8 if wide else 4)
    for tick in x_ticks:
        canvas.text(across(tick), top + height + 18, tick_text(tick, x_ticks), "t tick", "middle")
    canvas.text((left + width - names) / 2, top + height + 36, x_title, "t muted", "middle")
    for one in series:
        canvas.polyline([(across(x), up(y)) for x, y in one.points], one.css)
    if guide is not None:
        canvas.line(across(guide), top, across(guide), top + height, "guide")
    if ring:
        _ring(canvas, across(ring[0]), up(ring[1]), ring[2], (left, top, width - names, top + height))
    if wide:
        _end_names(canvas, series, up, width - names + 12)
    return canvas.svg(label)


def columns(
    values: Sequence[tuple[str, float]],
    width: int,
    label: str,
    *,
    mean: float,
    mean_text: str,
    x_title: str = "",
    height: int = 190,
) -> str:
    """One signed column per (name, value), in the order given; above zero and below in two colours."""
    canvas = Canvas(width)
    numbers = [v for _, v in values]
    low, high = nice_bounds(min(0.0, *numbers), max(0.0, *numbers), 5)
    up = Scale(low, high, 14 + height, 14)
    ticks = up.ticks(5)
    left = max(text_width(tick_text(t, ticks)) for t in ticks) + 8
    step = min((width - left - _RIGHT) / len(values), _COLUMN)
    # Few columns do not fill the width: the plot ends with them, and is wide enough for its texts.
    right = min(width - _RIGHT, max(left + step * len(values), left + text_width(max(x_title, mean_text, key=len))))
    for tick in ticks:
        canvas.line(left, up(tick), right, up(tick), "zero" if tick == 0 else "grid")
        canvas.text(left - 6, up(tick) + 4.5, tick_text(tick, ticks), "t tick", "end")
    for i, (name, value) in enumerate(values):
        y, css = (up(value), "c-blue") if value >= 0 else (up(0), "c-vermillion")
        gap = min(3.0, step * 0.2)
        canvas.rect(left + i * step + gap / 2, y, step - gap, abs(up(value) - up(0)), css, f"{name}: {value:+.3f}")
    canvas.line(left, up(mean), right, up(mean), "mean")
    # Above the line, or below it where the columns of a loss end: on the side the last column is not on.
    below = values[-1][1] > mean
    canvas.text(right, up(mean) + (15 if below else -5), mean_text, "t halo", "end")
    if x_title:
        canvas.text((left + right) / 2, 14 + height + 18, x_title, "t muted", "middle")
    return canvas.svg(label)


def _rows_layout(labels: Sequence[str], width: int) -> tuple[float, int]:
    """Left edge of the plot and height of a row."""
    if width < _GUTTER_FROM:
        return float(_LEFT), _ROW + LINE
    return _LEFT + min(max(text_width(t) for t in labels) + 12, width * 0.38), _ROW


def _label(canvas: Canvas, text: str, gutter: float, top: float, row: int) -> float:
    """Write a row's label; returns the centre of what the row draws."""
    if row > _ROW:
        canvas.text(gutter, top + 13, shortened(text, canvas.width - gutter - _RIGHT), "t halo")
        return top + row - _ROW / 2 - 1
    canvas.text(gutter - 10, top + _ROW / 2 + 4.5, shortened(text, gutter - 14), "t", "end")
    return top + _ROW / 2


def _heading(canvas: Canvas, text: str, y: float) -> float:
    if not text:
        return y
    y += 8 if y > 10 else 0
    lines_of_text = folded_lines(text, canvas.width - _LEFT - _RIGHT)
    for place, line in enumerate(lines_of_text):
        canvas.text(_LEFT, y + 13 + place * LINE, line, "t head")
    return y + len(lines_of_text) * LINE + 4


def _axis(canvas: Canvas, x: float, top: float, bottom: float) -> None:
    # On narrow pictures the labels stand where the line would run.
    if bottom > top and canvas.width >= _GUTTER_FROM:
        canvas.line(x, top, x, bottom - 2, "axis")


def _extent(items: Sequence[Dot], *, zero: bool) -> tuple[float, float]:
    ends = [v for d in items for v in (d.value, d.low, d.high) if v is not None]
    if zero:
        ends.append(0.0)
    return nice_bounds(min(ends), max(ends), 6) if ends else (0.0, 1.0)


def _dot(canvas: Canvas, dot: Dot, scale: Scale, y: float) -> None:
    if dot.value is None:
        return
    if dot.low is not None and dot.high is not None:
        line = dot.css.replace("open-", "c-").replace("c-", "w-")
        canvas.line(scale(dot.low), y, scale(dot.high), y, line)
        for end in (dot.low, dot.high):
            canvas.line(scale(end), y - 4, scale(end), y + 4, line)
    canvas.mark(scale(dot.value), y, dot.css, f"{dot.label}: {dot.text}", square=dot.square)


def _swatches(canvas: Canvas, legend: Sequence[tuple[str, str]]) -> float:
    """Coloured squares with their names, side by side as long as they fit; returns where the chart may begin."""
    x, y = float(_LEFT), 4.0
    for name, css in legend:
        room = canvas.width - _LEFT - _RIGHT - 18
        text = shortened(name, room)
        if x > _LEFT and x + 18 + text_width(text) > canvas.width - _RIGHT:
            x, y = float(_LEFT), y + LINE
        canvas.rect(x, y + 2, 12, 12, css)
        canvas.text(x + 18, y + 12.5, text)
        x += 18 + text_width(text) + 14
    return y + LINE + 8


def _legend(canvas: Canvas, series: Sequence[Line]) -> float:
    y = 4.0
    for one in series:
        canvas.line(_LEFT, y + 8, _LEFT + 22, y + 8, one.css)
        canvas.text(_LEFT + 29, y + 12.5, one.name)
        y += LINE
    return y + 10


def _ring(canvas: Canvas, x: float, y: float, text: str, plot: tuple[float, float, float, float]) -> None:
    """Ring one point and name it at the foot of the plot (left, top, right, bottom), where no line runs."""
    left, _, right, bottom = plot
    canvas.line(x, y + 6, x, bottom - 22, "guide")
    canvas.mark(x, y, "ring")
    half = text_width(text) / 2
    canvas.text(min(max(x, left + half), right - half), bottom - 7, text, "t halo", "middle")


def _end_names(canvas: Canvas, series: Sequence[Line], up: Scale, x: float) -> None:
    """Names at the line ends, pushed apart where they would touch."""
    placed = sorted(((up(s.points[-1][1]) + 4.5, s.name) for s in series), key=lambda p: p[0])
    floor = float("-inf")
    for y, name in placed:
        floor = max(y, floor + 15)
        canvas.text(x, floor, name)
