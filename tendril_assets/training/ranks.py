"""Whether torchrun started this process as one of several, and which one: torch need not be loaded.

The one rule is ``TORCHELASTIC_RUN_ID``, which torchrun alone sets. ``WORLD_SIZE``, ``RANK`` and their like are exported by
job schedulers and container images too, and say nothing about this training; what the libraries would read of them is
kept from a process that trains on its own (``is_of_a_group``).
"""

import os
import re

_GROUP = "TORCHELASTIC_RUN_ID"
# Read by torch (env://) and accelerate (state.py; utils.environment.get_cpu_distributed_information), or set by torchrun.
_OF_A_GROUP = re.compile(
    r"(?:LOCAL_|GROUP_|ROLE_)?(?:RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(?:ADDR|PORT)|"
    r"(?:TORCHELASTIC|ACCELERATE|PMI|OMPI|MPI|MV2)_\w+"
)


def announced_rank() -> int | None:
    """The number of this process among those of torchrun, None without torchrun. 0 alone reports and writes."""
    return int(os.environ["RANK"]) if _GROUP in os.environ else None


def announced_size() -> int:
    """The number of processes, 1 without torchrun."""
    return int(os.environ["WORLD_SIZE"]) if _GROUP in os.environ else 1


def is_of_a_group(name: str) -> bool:
    """Whether the environment variable ``name`` tells a library of other processes, or how to train with them."""
    return _OF_A_GROUP.fullmatch(name) is not None
