"""The GPU script on its tiny twin: every part runs, figures are there, and the arithmetic is right."""

from pathlib import Path

import pytest

from tendril_assets_tests.benchmarks import gpu_training
from tendril_assets_tests.benchmarks.gpu_training import ARMS, NO_GPU, main, measure, peak_of
from tendril_assets_tests.benchmarks.large_model import LARGE, TWIN, base_folder, model_flops


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the twin from the first test that makes it."""
    return tmp_path_factory.mktemp("gpu")


def test_all_parts_run_on_the_twin(folder: Path) -> None:
    figures = measure(TWIN, "cpu", folder, limit_s=600)
    assert figures["left_out"] == []
    for arm, checkpointing in ARMS:
        key = f"{arm}_checkpointing" if checkpointing else arm
        assert figures[f"{key}_tokens_per_s"] > 0
        assert figures[f"{key}_computed_tokens_per_s"] >= figures[f"{key}_tokens_per_s"] * 0.5
    # Without dropout both trainers compute the same loss from the same rows.
    assert figures["ours_loss_first"] == pytest.approx(figures["plain_loss_first"], rel=1e-4)
    assert figures["ours_loss_last"] == pytest.approx(figures["plain_loss_last"], rel=1e-3)
    assert figures["curve_near"]
    assert figures["split_near"]
    # In float32 terms near 1 round at 6e-8, beside a gradient of norm 6e-4: 1e-4 of it. test_trainer compares in float64.
    assert figures["split_difference"] < 1e-3
    assert figures["resume_near"]
    assert (figures["fit_steps"], figures["fit_evaluations"]) == (2, 2)
    assert figures["ratio_plain"] == figures["ours_step_s"] / figures["plain_step_s"]


def test_parts_for_which_no_time_is_left_are_named(folder: Path) -> None:
    figures = measure(TWIN, "cpu", folder, limit_s=0)
    assert figures["left_out"][:2] == ["ours", "plain"]
    assert "ratio_plain" not in figures


def test_the_shape_counts_the_parameters_that_the_model_has(folder: Path) -> None:
    from safetensors.torch import load_file

    weights = load_file(base_folder(folder, TWIN) / "model.safetensors")
    pooled = {name: weight.numel() for name, weight in weights.items()}
    layers = sum(count for name, count in pooled.items() if "encoder.layer" in name)
    assert layers == TWIN.layer_parameters
    assert sum(pooled.values()) == TWIN.parameters
    # XLM-R large is known as a model of 560 M, 303 M of them in its layers.
    assert (LARGE.parameters // 10**6, LARGE.layer_parameters // 10**6) == (567, 302)
    assert LARGE.max_length == 8192


def test_flops_by_hand() -> None:
    """6 x 302,309,376 parameters are 1.814 GFLOP a token; at 8,192 tokens 12 x 24 x 1,024 x 8,192 = 2.416 more."""
    assert LARGE.layer_parameters == 302_309_376
    assert model_flops(LARGE, 1) == pytest.approx(1.814e9, rel=1e-3)
    assert model_flops(LARGE, 8192) == pytest.approx(8192 * (1.8139e9 + 2.4159e9), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA L4", 121e12),
        ("X", None),
    ],
)
def test_peaks_go_by_the_longest_name(name: str, peak: float | None) -> None:
    assert peak_of(name) == peak


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu_training.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu_training"])
    assert main() == NO_GPU
    assert "There is no CUDA device here" in capsys.readouterr().out
