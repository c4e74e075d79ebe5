"""Which of the processes that torchrun started this one is, read from the environment: torch need not be loaded."""

import os


def announced_rank() -> int:
    """0 for the first process, which alone reports and writes, and without torchrun."""
    return int(os.environ.get("RANK", "0"))


def announced_size() -> int:
    """The number of processes, 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))
