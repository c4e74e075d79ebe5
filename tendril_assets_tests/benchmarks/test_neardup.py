"""The benchmark itself, at a size that takes no time: its figures are there, and the engine finds what is right."""

import pytest

from tendril_assets_tests.benchmarks.neardup import made_up, measure, plain_pairs


def test_small_run_finds_all_pairs_and_nothing_else() -> None:
    figures = measure(600, 700, 300)
    assert (figures["recall"], figures["wrong"]) == (1.0, 0)
    assert figures["pairs_within"] > 5
    assert {"cpu_s", "cpu_ratio_datasketch", "peak_rss_mb"} <= figures.keys()
    assert figures["datasketch_low_recall"] <= 1.0


def test_the_baseline_counts_shared_ngrams() -> None:
    # 5-grams: 3 and 4, of which 3 are shared: 3 / 4; the third text is of another scope.
    texts = ["a b c d e f g", "a b c d e f g h", "a b c d e f g"]
    assert plain_pairs(texts, [0, 0, 1]) == {(0, 1): pytest.approx(0.75)}


def test_passages_are_the_same_in_each_run() -> None:
    assert made_up(300).equals(made_up(300))
