"""What a finished run tells of itself beside its curve, so that a model's card need not ask anybody else.

Everything is as the run was made: the specification may have changed since, and the card compares.
"""

import importlib.metadata
import math
import platform
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob

if TYPE_CHECKING:
    import torch

Kind = Literal["query", "document"]
KINDS: tuple[Kind, ...] = ("query", "document")
EPOCHS, EARLY_STOP = "epochs", "early_stop"
# numpy's random state is part of a checkpoint.
_LIBRARIES = (
    "sentence-transformers", "transformers", "torch", "accelerate", "datasets", "tokenizers", "safetensors", "numpy",
)  # fmt: skip
_EXACT, _ELSEWHERE = 1e-6, 5e-3
_CPUINFO = Path("/proc/cpuinfo")


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

    ``model`` is the ``SentenceTransformer`` in training, on its device. A run that made fewer steps than its recipe has
    was stopped early.
    """
    return {
        "recipe": {
            "training": job.recipe.model_dump(mode="json"),
            "model": job.spec.model_dump(mode="json"),
            "seed": job.seed,
        },
        "parameters": sum(p.numel() for p in model.parameters()),
        "device": device_name(model.device),
        "precision": "bf16" if bf16 else "fp32",
        "processes": processes,
        "stop_reason": EARLY_STOP if steps < job.steps(examples) else EPOCHS,
    }


class Reproduction(NamedTuple):
    """How far the kept weights, loaded again, are from the best value: ``difference``, and what is ``allowed``.

    ``is_exact``: both were measured at the same place, on a CPU. Then the same texts go in the same batches through the
    same kernels, the ranks are the same, and only a sum of their gains could round differently.
    """

    difference: float
    allowed: float
    is_exact: bool

    @property
    def holds(self) -> bool:
        return self.difference <= self.allowed


def reproduction(result: Mapping[str, Any], validation: Mapping[str, Mapping[str, int]]) -> Reproduction:
    """Compare ``reproduced_value`` with ``best_value`` of a result.

    Elsewhere, and on a GPU, cosines differ by rounding, and passages of almost equal score change places. What is allowed
    then scales with the validation set: 0.005, or what it makes if one query of the smallest level changes its first two
    places (1 - 1/log2(3) of its nDCG), whichever is more.
    """
    same = result["best_measured_on"] == result["reproduced_on"]
    is_exact = same and result["device"].startswith("CPU")
    queries = min((sizes["queries"] for sizes in validation.values()), default=1)
    allowed = _EXACT if is_exact else max(_ELSEWHERE, (1 - 1 / math.log2(3)) / max(1, queries))
    return Reproduction(abs(result["reproduced_value"] - result["best_value"]), allowed, is_exact)


def library_versions() -> dict[str, str]:
    """Python and the libraries that compute."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _LIBRARIES}


def processor() -> str:
    """The make of the CPU where the system tells it, else its architecture: kernels, and so rounding, go by it."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    made = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return made[1].strip() if made else platform.processor() or platform.machine()


def device_name(device: "torch.device") -> str:
    """The accelerator's own name, else the kind of processor."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    return f"{device.type.upper()} ({platform.machine()})"
