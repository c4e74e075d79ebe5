"""The pictures' colours stand out from the paper, and people with any colour vision tell apart those that share a picture.

Contrast is WCAG 2.2's ratio (1.4.11 asks for 3 to 1 of marks, 1.4.3 for 4.5 to 1 of text). Colour blindness is simulated
with the matrices of Machado, Oliveira and Fernandes (2009) at severity 1, in linear RGB; distances are CIELAB's (1976).
"""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tendril_assets.release import images, pictures

STYLE = (Path(images.__file__).parent / "pictures.css").read_text(encoding="utf-8")
LIGHT, DARK, PAPER = range(3)
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "none": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}
# Colours that share a picture and are told apart by colour alone. Lines have dashes and systems have shapes besides.
TOGETHER = [("grade0", "grade1", "grade2"), ("blue", "vermillion"), ("blue", "orange"), ("blue", "grade0")]
MARKS = ("blue", "sky", "orange", "vermillion", "green", "purple", "grade0", "grade1", "grade2")
# A just noticeable difference is 2.3; side by side in small areas ten are seen at once.
APART = 10


def palette(which: int) -> dict[str, np.ndarray]:
    """Linear RGB of each variable of the light, the dark or the printed style."""
    block = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)[which]
    found = {}
    for name, digits in re.findall(r"--([a-z0-9]+): #([0-9a-f]{3,6});", block):
        full = digits if len(digits) == 6 else "".join(2 * d for d in digits)
        value = np.array([int(full[i : i + 2], 16) for i in (0, 2, 4)]) / 255
        found[name] = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return found


def luminance(linear: np.ndarray) -> float:
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: np.ndarray, b: np.ndarray) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def lab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
    )
    ratio = to_xyz @ np.clip(linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_arithmetic() -> None:
    black, white, red = np.zeros(3), np.ones(3), np.array([1.0, 0, 0])
    assert contrast(black, white) == pytest.approx(21)
    assert lab(white) == pytest.approx([100, 0, 0], abs=0.02)
    assert lab(red) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)  # sRGB red in every colour table
    for name, matrix in SIGHT.items():
        assert matrix @ white == pytest.approx([1, 1, 1], abs=1e-5), name  # grey stays grey


@pytest.mark.parametrize("which", [LIGHT, DARK, PAPER])
def test_marks_and_text_stand_out_from_the_paper(which: int) -> None:
    colours = palette(which)
    low = {name: round(contrast(colours[name], colours["paper"]), 2) for name in MARKS}
    assert {name: c for name, c in low.items() if c < 3} == {}
    for name in ("ink", "muted"):
        assert contrast(colours[name], colours["paper"]) >= 4.5


@pytest.mark.parametrize("which", [LIGHT, DARK, PAPER])
@pytest.mark.parametrize("sight", SIGHT)
def test_colours_of_one_picture_are_told_apart(sight: str, which: int) -> None:
    colours = {name: lab(SIGHT[sight] @ value) for name, value in palette(which).items() if name in MARKS}
    pairs = {pair for group in TOGETHER for pair in combinations(group, 2)}
    if sight == "none":  # blue against the other hues: position, shape and dashes carry it
        pairs = set(combinations(("grade0", "grade1", "grade2"), 2)) - {("grade0", "grade1")}
    near = {pair: round(float(np.linalg.norm(colours[pair[0]] - colours[pair[1]])), 1) for pair in pairs}
    assert {pair: d for pair, d in near.items() if d < APART} == {}


@pytest.mark.parametrize("which", [LIGHT, DARK, PAPER])
@pytest.mark.parametrize("sight", [s for s in SIGHT if s != "none"])
def test_parts_of_a_stacked_bar_are_told_apart(sight: str, which: int) -> None:
    names = [css.removeprefix("c-") for css in pictures._PARTS]
    colours = {name: lab(SIGHT[sight] @ palette(which)[name]) for name in names}
    near = {(a, b): round(float(np.linalg.norm(colours[a] - colours[b])), 1) for a, b in combinations(names, 2)}
    assert {pair: d for pair, d in near.items() if d < APART} == {}


def test_every_class_that_a_picture_uses_has_a_style() -> None:
    styled = set(re.findall(r"\.([a-z][a-z0-9-]*)", STYLE))
    used = {*pictures._PARTS, *pictures._GRADE_CSS.values()}
    assert used <= styled
