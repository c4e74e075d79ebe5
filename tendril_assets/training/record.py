"""What a finished run tells of itself beside its curve, so that a model's card need not ask anybody else.

Everything is as the run was made: the specification may have changed since, and the card compares.
"""

import platform
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from tendril_assets.evaluation.models import find_base
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob

if TYPE_CHECKING:
    import torch

Kind = Literal["query", "document"]
KINDS: tuple[Kind, ...] = ("query", "document")
EPOCHS, EARLY_STOP = "epochs", "early_stop"


def input_kinds(job: TrainingJob, exchange: ExchangeSet) -> dict[str, Kind]:
    """Each different input of training and validation as the model sees it, prompt included, and what it is read as.

    In the order of the examples: query, positive, negatives. A text that is query and document alike, which takes equal
    prompts, counts as what it is first.
    """
    prompts: dict[Kind, str] = {"query": job.spec.query_prompt, "document": job.spec.document_prompt}
    columns = text_columns(exchange)
    kinds: list[Kind] = ["query" if name == "query" else "document" for name in columns]
    seen: dict[str, Kind] = {}
    for row in exchange.train.select(columns).iter_rows():
        for kind, text in zip(kinds, row, strict=True):
            seen.setdefault(prompts[kind] + text, kind)
    for text in exchange.queries["text"]:
        seen.setdefault(prompts["query"] + text, "query")
    for text in exchange.corpus["text"]:
        seen.setdefault(prompts["document"] + text, "document")
    return seen


def input_counts(kinds: dict[str, Kind], cut: dict[Kind, int]) -> dict[str, int]:
    """Inputs and cut inputs of each kind and in all, as ``trained_models`` names them."""
    inputs = Counter(kinds.values())
    return {
        "inputs": len(kinds),
        "query_inputs": inputs["query"],
        "document_inputs": inputs["document"],
        "truncated_inputs": sum(cut.values()),
        "truncated_queries": cut["query"],
        "truncated_documents": cut["document"],
    }


def run_facts(job: TrainingJob, model: Any, *, examples: int, steps: int, bf16: bool, processes: int) -> dict[str, Any]:
    """Recipe, model entry and seed as they were used; size, device and precision; why training ended.

    ``model`` is the ``SentenceTransformer`` in training. A run that made fewer steps than its recipe has was stopped
    early.
    """
    return {
        "recipe": {
            "training": job.recipe.model_dump(mode="json"),
            "model": job.spec.model_dump(mode="json"),
            "seed": job.seed,
        },
        # The commit that was loaded, which an unpinned base does not name.
        "revision": find_base(job.spec).commit or job.spec.revision,
        "parameters": sum(p.numel() for p in model.parameters()),
        "device": device_name(model.device),
        "precision": "bf16" if bf16 else "fp32",
        "processes": processes,
        "stop_reason": EARLY_STOP if steps < job.steps(examples) else EPOCHS,
    }


def device_name(device: "torch.device") -> str:
    """The accelerator's own name, else the kind of processor."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    return f"{device.type.upper()} ({platform.machine()})"
