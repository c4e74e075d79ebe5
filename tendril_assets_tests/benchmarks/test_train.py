"""The training benchmark with the tiny twin, both arms in this process."""

from pathlib import Path

import pytest

from tendril_assets_tests.benchmarks import train
from tendril_assets_tests.benchmarks.large_model import TWIN, base_folder, model_spec
from tendril_assets_tests.benchmarks.train import Size, measure, one_arm
from tendril_assets_tests.benchmarks.training_arms import made_up_exchange


def test_both_arms_train_the_same_rows_and_ours_pads_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_spec(base_folder(tmp_path, TWIN), TWIN).model_dump(mode="json", exclude={"batch", "licence"})
    monkeypatch.setattr(train, "_child", lambda arm, size, model: one_arm(arm, size, model))
    figures = measure(Size(4, 1, 1), model | {"licence": "MIT"})
    assert figures["loss_ours"] == pytest.approx(figures["loss_plain"], rel=1e-4)
    assert figures["real_tokens_ours"] == figures["real_tokens_plain"] > 0
    assert 0 <= figures["padding_ours"] <= figures["padding_plain"]
    assert figures["ratio_plain"] == figures["cpu_s_ours"] / figures["cpu_s_plain"]


def test_texts_have_the_published_lengths() -> None:
    """Passages of 20 to 5,000 characters with a mean of about 90 words and a long tail; queries of at most 100 words."""
    train_rows = made_up_exchange(200).train
    words = train_rows["positive"].str.split(" ").list.len()
    characters = train_rows["positive"].str.len_chars()
    assert 50 < words.mean() < 100
    assert 20 <= characters.min() <= characters.max() <= 5000
    assert characters.max() > 2000
    assert train_rows["query"].str.split(" ").list.len().max() <= 100
    assert train_rows["level"].to_list()[:2] == ["area", "criterion"]
