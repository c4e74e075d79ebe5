"""The encoding benchmark on the tiny twin."""

from pathlib import Path

import numpy as np
import pytest

from tendril_assets.evaluation.models import load_model
from tendril_assets_tests.benchmarks.encode import measure, product_flops, published_passages, token_counts
from tendril_assets_tests.benchmarks.large_model import TWIN, base_folder, model_spec


def test_figures_are_those_of_one_run(tmp_path: Path) -> None:
    spec = model_spec(base_folder(tmp_path, TWIN), TWIN)
    figures = measure(spec, 40, 1)
    assert figures["passages"] == 40
    assert figures["largest_tokens"] == TWIN.max_length
    assert figures["largest_difference"] < 1e-5
    assert figures["ratio_plain"] == pytest.approx(figures["ours_per_cpu_s"] / figures["plain_per_cpu_s"])
    assert figures["share_of_bound"] == pytest.approx(figures["ours_per_cpu_s"] / figures["bound_per_cpu_s"])
    model = load_model(spec, device="cpu")
    assert token_counts(model, published_passages(40)).mean() == figures["mean_tokens"]
    # 2 layers: 4 x 32 x 32 + 2 x 32 x 64 weights each; texts of 3 and 5 tokens, (9 + 25) x 4 x 32 per layer.
    assert product_flops(model, np.array([3, 5])) == 2 * 2 * 8192 * 8 + 2 * 4 * 32 * 34


def test_passages_differ_and_are_always_the_same() -> None:
    texts = published_passages(50)
    assert len(set(texts)) == 50
    assert texts == published_passages(50)
