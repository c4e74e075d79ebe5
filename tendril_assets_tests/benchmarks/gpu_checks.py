"""Whether a GPU computes what it should: bf16 beside fp32, splits of a batch, a run that resumes, a whole ``fit``."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import torch

from tendril_assets.evaluation.models import load_model
from tendril_assets.training.devices import supports_bf16
from tendril_assets.training.events import CheckpointSaved, Evaluated, Event
from tendril_assets.training.fit import fit
from tendril_assets.training.grouping import grouping_collator
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.loss import OwnNegativesLoss
from tendril_assets_tests.benchmarks.large_model import Shape, base_folder, model_spec
from tendril_assets_tests.benchmarks.training_arms import made_up_exchange, recipe_of, trained, written_job

CURVE_TOLERANCE, CURVE_SHARE, SPLIT_TOLERANCE, RESUME_TOLERANCE = 0.05, 0.03, 0.05, 0.02


def curve(folder: Path, shape: Shape, device: str) -> dict[str, Any]:
    """Losses of the first steps in bf16 and in fp32, without dropout and with a rate at which they move."""
    exchange = made_up_exchange(shape.effective_batch * shape.check_steps)
    spec = model_spec(base_folder(folder, shape), shape)
    job = written_job(folder / "curve", exchange, spec, recipe_of(shape.effective_batch, learning_rate=1e-4))
    low, full = (
        trained("ours", load_model(spec, device=device), job, exchange, bf16=bf16).losses
        for bf16 in (supports_bf16() and device != "cpu", False)
    )
    apart = [abs(a - b) for a, b in zip(low, full, strict=True)]
    allowed = [max(CURVE_TOLERANCE, CURVE_SHARE * value) for value in full]
    near = all(gap <= most for gap, most in zip(apart, allowed, strict=True))
    return {"near": near, "largest_gap": max(apart), "first_loss": full[0], "last_loss": full[-1], "steps": len(full)}


def split(folder: Path, shape: Shape, device: str) -> dict[str, Any]:
    """The gradient of the same rows by micro-batches of one and of two, in the precision of training."""
    exchange = made_up_exchange(shape.check_rows)
    spec = model_spec(base_folder(folder, shape), shape)
    columns = ["query", "positive", "negative_1", "negative_2", "negative_3"]
    examples = exchange.train.select(*columns).to_dicts()
    one, two = (_gradient(spec, examples, batch, device) for batch in (1, 2))
    difference = float((one - two).norm() / one.norm())
    return {"near": difference <= SPLIT_TOLERANCE, "difference": difference, "norm": float(one.norm())}


def _gradient(spec: Any, examples: list[dict[str, Any]], batch: int, device: str) -> torch.Tensor:
    model = load_model(spec, device=device).train()
    collator = grouping_collator(model, {"query": spec.query_prompt}, torch.device(device))
    loss = OwnNegativesLoss(model, 20.0)
    with_bf16 = supports_bf16() and device != "cpu"
    for start in range(0, len(examples), batch):
        rows = examples[start : start + batch]
        inputs = {key: value.to(device) if torch.is_tensor(value) else value for key, value in collator(rows).items()}
        prefixes = [key.removesuffix("input_ids") for key in inputs if key.endswith("input_ids")]
        features = [{k.removeprefix(p): v for k, v in inputs.items() if k.startswith(p)} for p in prefixes]
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=with_bf16):
            total = loss(features, torch.arange(len(rows), device=device))
        (total / len(examples)).backward()
    return torch.cat([p.grad.flatten().float() for p in model.parameters() if p.grad is not None])


class Broken(Exception):
    """Ends a run at its first checkpoint."""


def resume(folder: Path, shape: Shape) -> dict[str, Any]:
    """Losses of a run that was broken off and resumed beside those of an unbroken one, through ``fit``."""
    exchange = made_up_exchange(6 * shape.effective_batch)
    spec = model_spec(base_folder(folder, shape), shape)
    recipe = recipe_of(shape.effective_batch, learning_rate=1e-4, evaluate_every=3, bf16=True)
    jobs = [written_job(folder / name, exchange, spec, recipe) for name in ("unbroken", "broken")]

    def break_off(event: Event) -> None:
        if isinstance(event, CheckpointSaved):
            raise Broken

    whole = _losses(fit(jobs[0], _silent))
    try:
        fit(jobs[1], break_off)
    except Broken:
        resumed = _losses(fit(jobs[1], _silent))
    else:
        raise AssertionError("no checkpoint was reported")
    gap = max(abs(whole[step] - resumed[step]) for step in whole)
    return {"near": whole.keys() == resumed.keys() and gap <= RESUME_TOLERANCE, "largest_gap": gap, "steps": len(whole)}


def _losses(result: dict[str, Any]) -> dict[int, float]:
    return {step: value for step, measure, value in result["curve"] if measure == "loss"}


def _silent(_event: Event) -> None:
    """Only the result is looked at."""


def whole_fit(base: Path, shape: Shape) -> dict[str, Any]:
    """A short ``fit`` of the large model, as the asset's process runs it."""
    exchange = made_up_exchange(2 * shape.effective_batch)
    recipe = recipe_of(shape.effective_batch, evaluate_every=2, bf16=True)
    job: TrainingJob = written_job(base / "whole", exchange, model_spec(base, shape), recipe)
    job = dataclasses.replace(job, folder=base.parent / "whole")
    marks: list[tuple[str, float]] = []
    begin = time.monotonic()

    def note(event: Event) -> None:
        if isinstance(event, CheckpointSaved | Evaluated):
            marks.append((type(event).__name__, time.monotonic() - begin))

    result = fit(job, note)
    return {
        "wall_s": time.monotonic() - begin,
        "steps": result["steps"],
        "evaluations": sum(name == "Evaluated" for name, _ in marks),
        "checkpoints": sum(name == "CheckpointSaved" for name, _ in marks),
        "best_value": result["best_value"],
    }
