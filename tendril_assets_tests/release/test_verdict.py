"""The words of the paired tests, against cases worked by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.release.verdict import Change, holm, relation, verdict

FOUR = ("ndcg@10", "recall@10", "recall@100", "p@10")
CASES = {
    # The two published cards: all measures below 0.01; of all measures only one below 0.05.
    "all": (
        [(0.095, 0.004), (0.1, 0.0004), (0.02, 0.009), (0.03, 0.002)],
        "the gain is significant for all reported measures (p < 0.01).",
    ),
    "one": (
        [(0.02, 0.09), (0.027, 0.2), (0.007, 0.4), (0.01, 0.03)],
        "the gain is significant only for P@10 (p < 0.05).",
    ),
    "two": (
        [(0.02, 0.0002), (0.027, 0.0009), (0.007, 0.4), (0.01, 0.3)],
        "the gain is significant only for nDCG@10 and Recall@10 (p < 0.001).",
    ),
    "most": (
        [(0.02, 0.01), (0.027, 0.02), (0.007, 0.03), (0.01, 0.3)],
        "the gain is significant for all reported measures but P@10 (p < 0.05).",
    ),
    "none": (
        [(0.02, 0.09), (0.027, 0.2), (0.007, 0.4), (0.01, 0.3)],
        "no reported measure changes significantly (smallest p = 0.090).",
    ),
    # p equal to the level is not below it.
    "at the level": (
        [(0.02, 0.05), (0.027, 0.2), (0.1, 0.4), (0.1, 0.3)],
        "no reported measure changes significantly (smallest p = 0.050).",
    ),
    "at a usual level": (
        [(0.02, 0.01), (0.027, 0.001), (0.1, 0.001), (0.1, 0.001)],
        "the gain is significant for all reported measures (p < 0.05).",
    ),
    "loss": (
        [(-0.02, 0.004), (-0.1, 0.003), (-0.1, 0.002), (-0.1, 0.001)],
        "the loss is significant for all reported measures (p < 0.01).",
    ),
    "both": (
        [(0.02, 0.0004), (-0.1, 0.03), (0.1, 0.6), (0.1, 0.5)],
        "the gain is significant only for nDCG@10 (p < 0.001) and the loss is significant only for Recall@10 (p < 0.05).",
    ),
    "no test": (
        [(0.02, None), (0.1, None), (0.1, None), (0.1, None)],
        "nothing can be said: with one group there is no test.",
    ),
    "some untested": (
        [(0.02, 0.004), (0.1, None), (0.1, 0.003), (0.1, 0.002)],
        "the gain is significant for all reported measures (p < 0.01). Recall@10 could not be tested.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words_follow_from_the_numbers(case: str) -> None:
    numbers, words = CASES[case]
    assert verdict(dict(zip(FOUR, (Change(*n) for n in numbers), strict=True)), 0.05) == words


def test_one_measure_is_named() -> None:
    assert verdict({"ndcg@10": Change(0.1, 0.003)}, 0.05) == "the gain is significant for nDCG@10 (p < 0.01)."
    assert verdict({"ndcg@10": Change(0.1, 0.3)}, 0.05) == "nDCG@10 does not change significantly (p = 0.300)."


def test_the_level_is_that_of_the_intervals() -> None:
    tested = {"ndcg@10": Change(0.1, 0.03), "p@10": Change(0.1, 0.07)}
    assert "(p < 0.1)" in verdict(tested, 0.1)
    assert verdict(tested, 0.01) == "no reported measure changes significantly (smallest p = 0.030)."


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=2, max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_measure_is_called_significant_only_below_the_level(numbers: list[tuple[float, float]]) -> None:
    said = verdict(dict(zip(FOUR, (Change(*n) for n in numbers), strict=False)), 0.05)
    significant = [n for n in numbers if n[1] < 0.05 and n[0] != 0]
    assert ("is significant" in said) == bool(significant)
    assert ("the loss" in said) == any(d < 0 for d, _ in significant)


def test_correction_and_relation() -> None:
    assert holm(4) == "Holm's correction over the 4 fine-tuned models"
    assert holm(1) == "Holm's correction (over one fine-tuned model, so it changes nothing)"
    assert [relation(p) for p in (0.0004, 0.012, None)] == ["< 0.001", "= 0.012", "undefined"]
