"""Training at full size on a GPU: a random model as large as XLM-R large, in bf16, at 8,192 tokens, 1 x 32.

``python -m tendril_assets_tests.benchmarks.gpu_training``          one GPU, under 8 minutes, nothing is downloaded
``python -m tendril_assets_tests.benchmarks.gpu_training --cpu``    the same parts with a tiny twin: shows that they run

Parts, each left out and named where the time is up:

``plain``, ``ours``   our trainer and the plain sentence-transformers one on the same rows, with and without gradient
                      checkpointing: seconds per step after a warm-up, tokens/s (real, and computed with padding), peak
                      memory of the allocator, model FLOP utilisation.
``long``              the same with texts that fill the maximum length.
``curve``             loss of 20 steps in bf16 and in fp32, dropout off: no step more than 0.05 apart, nor 3 %.
``split``             the gradient of 32 rows as 1 x 32 and as 2 x 16, dropout off: their difference at most 5 % of them.
``resume``            ``fit`` broken off after its first checkpoint and resumed: the losses of an unbroken one within 0.02.
``fit``               one whole ``fit`` of the large model: base and last evaluation, checkpoint, kept weights tried again.

Model FLOPs of a text of n tokens, forward and backward: n (6 N + 12 L h n), N the parameters of the layers without
embeddings, L layers of width h: Chowdhery et al. 2022 (PaLM, arXiv:2204.02311), appendix B. Padding and what
checkpointing computes again count as no work. Utilisation is of the data sheet's dense bf16 peak, and of what a large
matrix product reaches here.

An evaluation encodes each validation passage once for both levels, forward alone, a third of the above. At the published
size, 63 projects of 140 passages with some 170 tokens, that is 0.95 PFLOP: 3 to 5 seconds at 200 to 300 TFLOP/s.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tendril_assets.evaluation.models import load_model
from tendril_assets.training.devices import supports_bf16
from tendril_assets_tests.benchmarks.gpu_checks import curve, resume, split, whole_fit
from tendril_assets_tests.benchmarks.large_model import LARGE, SMALL, TWIN, Shape, base_folder, model_flops, model_spec
from tendril_assets_tests.benchmarks.training_arms import (
    made_up_exchange,
    real_tokens,
    recipe_of,
    trained,
    with_long_texts,
    written_job,
)

NO_GPU, LIMIT_S, CPU_LIMIT_S = 2, 360, 30
LONG_BATCH = 4  # rows of a step with long texts: 20 texts of 8,192 tokens
# Dense bf16 FLOP/s by the makers' data sheets; the longest name that is found counts.
PEAKS = {
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A10": 125e12,
    "RTX 4090": 165e12,
}
# Trainer, gradient checkpointing.
ARMS = (("ours", False), ("plain", False), ("ours", True), ("plain", True))


def peak_of(name: str) -> float | None:
    """The data sheet's peak of a GPU, or None for one that is not listed."""
    known = [key for key in PEAKS if key in name]
    return PEAKS[max(known, key=len)] if known else None


def attained_peak(device: str, size: int) -> float:
    """FLOP/s of a bf16 product of two square matrices (float32 on a CPU): what a program can hope for."""
    left, right = (torch.randn(size, size, device=device).to(_dtype(device)) for _ in range(2))
    best = 0.0
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(10):
            left @ right
        _wait()
        best = max(best, 10 * 2 * size**3 / (time.perf_counter() - begin))
    return best


def _dtype(device: str) -> torch.dtype:
    return torch.float32 if device == "cpu" else torch.bfloat16


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def throughput(
    folder: Path,
    shape: Shape,
    arm: str,
    *,
    checkpointing: bool,
    device: str,
    long: bool,
    peak: float | None,
    top: float,
) -> dict[str, Any]:
    """Figures of one trainer, with a freshly loaded model."""
    effective = min(LONG_BATCH, shape.effective_batch) if long else shape.effective_batch
    warm_up, steps = (1, min(2, shape.timed_steps)) if long else (shape.warm_up, shape.timed_steps)
    exchange = made_up_exchange(effective * (warm_up + steps))
    if long:
        exchange = with_long_texts(exchange, shape.max_length)
    spec = model_spec(folder, shape, gradient_checkpointing=checkpointing)
    job = written_job(folder / f"{arm}-{checkpointing}-{long}", exchange, spec, recipe_of(effective))
    model = load_model(spec, device=device)
    lengths = real_tokens(model, job, exchange)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    timed = trained(arm, model, job, exchange, bf16=supports_bf16() and device != "cpu").after(warm_up)
    # Rows come in another order than the exchange has: the mean step is meant, for tokens as for work.
    tokens = sum(lengths) / (warm_up + steps)
    flops = sum(model_flops(shape, length) for length in lengths) / (warm_up + steps) / timed.wall_s
    return {
        "step_s": timed.wall_s,
        "tokens_per_s": tokens / timed.wall_s,
        "computed_tokens_per_s": timed.padded_tokens / timed.wall_s,
        "peak_memory_gb": torch.cuda.max_memory_allocated() / 1e9 if device != "cpu" else None,
        "tflops": flops / 1e12,
        "mfu": flops / peak if peak else None,
        "mfu_of_attained": flops / top,
        "attention": model.transformers_model.config._attn_implementation,
        "loss_first": timed.losses[0],
        "loss_last": timed.losses[-1],
    }


def measure(shape: Shape, device: str, folder: Path, limit_s: float) -> dict[str, Any]:
    """All parts, in the order of their worth; those for which no time is left are named in ``left_out``."""
    begin = time.monotonic()
    name = torch.cuda.get_device_name() if device != "cpu" else "cpu"
    figures: dict[str, Any] = {"device": name, "torch": torch.__version__, "bf16": supports_bf16() and device != "cpu"}
    top, peak = attained_peak(device, shape.matrix), peak_of(name)
    base = base_folder(folder, shape)
    figures |= {"attained_peak_tflops": top / 1e12, "listed_peak_tflops": peak / 1e12 if peak else None}
    figures |= {"parameters": shape.parameters, "made_s": time.monotonic() - begin, "left_out": []}
    small = SMALL if device != "cpu" else shape
    parts: dict[str, Callable[[], dict[str, Any]]] = {}
    for long in (False, True):
        for arm, checkpointing in ARMS[:3] if long else ARMS:
            key = f"{arm}{'_checkpointing' if checkpointing else ''}{'_long' if long else ''}"
            parts[key] = lambda arm=arm, checkpointing=checkpointing, long=long: throughput(
                base, shape, arm, checkpointing=checkpointing, device=device, long=long, peak=peak, top=top
            )
        if not long:
            parts |= {
                "curve": lambda: curve(folder, small, device),
                "split": lambda: split(folder, small, device),
                "resume": lambda: resume(folder, small),
            }
    parts["fit"] = lambda: whole_fit(base, shape)
    for key, part in parts.items():
        if time.monotonic() - begin > limit_s:
            figures["left_out"].append(key)
            continue
        started = time.monotonic()
        try:
            found = part()
        except torch.OutOfMemoryError:
            found = {"out_of_memory": True}
        if device != "cpu":
            torch.cuda.empty_cache()
        print(f"{key} ({time.monotonic() - started:.0f} s): {_line(found)}", flush=True)
        figures |= {f"{key}_{figure}": value for figure, value in found.items()}
    if "ours_step_s" in figures and "plain_step_s" in figures:
        figures["ratio_plain"] = figures["ours_step_s"] / figures["plain_step_s"]
    return figures | {"wall_s": time.monotonic() - begin}


def _line(found: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in found.items()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true", help="the tiny twin on the CPU")
    parser.add_argument("--limit", type=float, help="seconds after which no part is begun")
    arguments = parser.parse_args()
    if not arguments.cpu and not torch.cuda.is_available():
        print("There is no CUDA device here: run this where one is, or with --cpu for a tiny twin.")
        return NO_GPU
    if arguments.cpu:
        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        shape, device = (TWIN, "cpu") if arguments.cpu else (LARGE, "cuda")
        limit_s = arguments.limit or (CPU_LIMIT_S if arguments.cpu else LIMIT_S)
        figures = measure(shape, device, Path(folder), limit_s)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
