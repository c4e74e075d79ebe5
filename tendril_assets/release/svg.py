"""A small drawing surface: SVG whose text stays text, coloured by classes of ``pictures.css``.

Pictures are drawn twice, ``WIDE`` for screens and paper and ``NARROW`` for phones, instead of being scaled down until
nobody can read them. Units are CSS pixels.
"""

import math
import textwrap
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Literal

WIDE, NARROW = 752, 340
LINE = 18
_BOLD = 1.1  # bold letters, by the width of plain ones
# Average advance of a sans-serif glyph, as a share of the font size; errs on the wide side.
_ADVANCE = 0.6
FONT = 12.5

Anchor = Literal["start", "middle", "end"]


def text_width(text: str) -> float:
    """Estimated width in pixels at the pictures' font size."""
    return len(text) * FONT * _ADVANCE


def shortened(text: str, width: float) -> str:
    """``text``, cut with an ellipsis where it would be wider than ``width``."""
    fits = max(1, int(width / (FONT * _ADVANCE)))
    return text if len(text) <= fits else text[: fits - 1].rstrip() + "…"


def folded_lines(text: str, width: float) -> list[str]:
    """``text`` in lines that are no wider than ``width`` in bold letters; a word that is wider stays whole."""
    return textwrap.wrap(text, max(1, int(width / (FONT * _ADVANCE * _BOLD))), break_long_words=False) or [""]


class Scale:
    """Linear map from a domain to pixels; a domain without extent maps to the middle."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        if _is_point(self.low, self.high):
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int) -> list[float]:
        """About that many round values inside the domain."""
        return nice_ticks(self.low, self.high, about)


def _is_point(low: float, high: float) -> bool:
    """No extent, or one that is lost in the precision of a picture."""
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high]."""
    if _is_point(low, high):
        return [low]
    raw = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def nice_bounds(low: float, high: float, about: int = 5) -> tuple[float, float]:
    """The smallest round interval that holds [low, high]."""
    if _is_point(low, high):
        return low - 0.5, high + 0.5
    ticks = nice_ticks(low, high, about)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """All ticks of an axis with as many decimals as the finest needs; large numbers with thousands marks."""
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    text = f"{abs(value):,.{digits}f}"
    return f"−{text}" if value < 0 and float(text.replace(",", "")) else text


class Canvas:
    """Collects elements; ``svg()`` closes the picture at the height reached."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.height = 0.0
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, css: str = "t", anchor: Anchor = "start") -> None:
        """``y`` is the baseline."""
        self._reach(y + 5)
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        self._reach(max(y1, y2))
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>')

    def rect(self, x: float, y: float, width: float, height: float, css: str, hint: str = "") -> None:
        self._reach(y + height)
        shape = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{max(0.0, height):.1f}" class="{css}"'
        self._parts.append(f"<rect {shape}>{_title(hint)}</rect>" if hint else f"<rect {shape}/>")

    def mark(self, x: float, y: float, css: str, hint: str = "", *, square: bool = False) -> None:
        """A dot of radius 5, or a square of the same weight."""
        self._reach(y + 6)
        if square:
            shape = f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" class="{css}">'
            self._parts.append(f"{shape}{_title(hint)}</rect>")
        else:
            self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{css}">{_title(hint)}</circle>')

    def circle(self, x: float, y: float, radius: float, css: str) -> None:
        self._reach(y + radius)
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{css}"/>')

    def polyline(self, points: Sequence[tuple[float, float]], css: str) -> None:
        self._reach(max(y for _, y in points))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" class="{css}"/>')

    def svg(self, label: str) -> str:
        """The picture; ``label`` is what a screen reader says."""
        height = math.ceil(self.height + 2)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" width="{self.width}" '
            f'height="{height}" role="img" aria-label="{escape(label)}">{"".join(self._parts)}</svg>'
        )

    def _reach(self, y: float) -> None:
        self.height = max(self.height, y)


def _title(hint: str) -> str:
    return f"<title>{escape(hint)}</title>" if hint else ""
