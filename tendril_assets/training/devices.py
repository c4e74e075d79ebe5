"""Where training computes: the precision of the device, and the process group that ``torchrun`` starts.

Importing it loads torch. Switches that change precision behind one's back (TF32, reduced-precision reductions) stay as
torch has them.
"""

import os
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from tendril_assets.errors import OtherProcessFailed, TendrilError, TrainingError
from tendril_assets.spec import TrainingSpec
from tendril_assets.training.ranks import announced_size

# How long a process waits for the others. Evaluation is shared, so what counts is how far one is behind another: the
# first alone hashes, tidies and writes checkpoints (minutes on a slow network disk), the rest loads weights meanwhile. A
# process that ends ends the others at once, whatever stands here (torchrun sees to that); this is for one that hangs.
_TIMEOUT = timedelta(hours=2)
_FAILED = "failed"
# What Gloo says of a process that is gone; NCCL's errors have a type of their own.
_LOST = re.compile(r"gloo|Connection (?:closed|reset) by peer|Broken pipe", re.IGNORECASE)


@dataclass(frozen=True)
class Group:
    """The processes that train together, and which of them this is. Without torchrun: one.

    ``device`` is what this process computes on, or None where the library chooses.
    """

    rank: int = 0
    size: int = 1
    device: str | None = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def gather(self, value: Any) -> list[Any]:
        """What each process passes, in the order of their ranks, on all of them."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_first(self, value: Any) -> Any:
        """What the first process passes, on all of them."""
        if self.size == 1:
            return value
        values = [value if self.is_first else None]
        dist.broadcast_object_list(values, src=0)
        return value if self.is_first else values[0]

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Sums over the processes, element by element."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def wait(self) -> None:
        """Go on once all processes are here."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def process_group() -> Generator[Group]:
    """Join the group that torchrun announces: one GPU per process and NCCL where there are GPUs, else Gloo.

    Raises:
        TrainingError: fewer GPUs than processes.
        OtherProcessFailed: another process failed, whose error this names, or ended without a word. What this process
            itself runs into is raised as it is.
    """
    if announced_size() == 1:
        yield Group()
        return
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        if local >= torch.cuda.device_count():
            raise TrainingError(
                f"process {local + 1} of this machine finds {torch.cuda.device_count()} GPUs: set the model's processes "
                "to the number of GPUs"
            )
        torch.cuda.set_device(local)
        # With Gloo beside it objects go over the processors (torch: ``_get_object_coll_device``): all embeddings of a
        # validation set, once per process, have no room on a GPU that trains.
        device, backend = f"cuda:{local}", "cpu:gloo,cuda:nccl"
    else:
        device, backend = "cpu", "gloo"
    store, rank, size = next(dist.rendezvous("env://", timeout=_TIMEOUT))
    failures = dist.PrefixStore("failures", store)
    dist.init_process_group(
        backend, store=dist.PrefixStore("training", store), rank=rank, world_size=size, timeout=_TIMEOUT
    )
    # accelerate passes what sentence-transformers sets, under its former name.
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    try:
        yield Group(rank, size, device)
    except Exception as error:
        _tell_others(failures, rank, error)
        raise
    # Not after an error: it would wait for processes that no longer answer.
    dist.destroy_process_group()


def _tell_others(failures: Any, rank: int, error: Exception) -> None:
    """Leave word of a failure; raise that of another process where this error only follows from it."""
    told = f"{rank}\n{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"
    try:
        first = failures.compare_set(_FAILED, "", told).decode()
    except RuntimeError:  # the process that kept the word has ended
        first = told
    culprit, _, text = first.partition("\n")
    if isinstance(error, TendrilError):
        return
    if int(culprit) != rank:
        raise OtherProcessFailed(f"training process {culprit} failed: {text}") from error
    if isinstance(error, dist.DistError) or _LOST.search(str(error)):
        raise OtherProcessFailed(
            "another training process ended without a word: it was killed, perhaps for lack of memory. Look at the "
            "machine's log; the next start resumes from the last checkpoint"
        ) from error


def supports_bf16() -> bool:
    """Whether the GPU computes in bf16 itself; an older one emulates it, more slowly than float32."""
    return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)


def precision(recipe: TrainingSpec) -> tuple[bool, str | None]:
    """Whether training runs in bf16, and why not where the recipe asks for it."""
    if not recipe.bf16 or supports_bf16():
        return recipe.bf16, None
    if torch.cuda.is_available():
        found = f"{torch.cuda.get_device_name()} does not compute in bf16"
    else:
        found = "there is no CUDA device"
    return False, f"bf16 is not supported here ({found}): training in fp32"
