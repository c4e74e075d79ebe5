"""Room for checkpoints: how much a run needs, and what is said where there is not enough."""

import errno
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tendril_assets.errors import DiskFull

# Kept at rest and while the next one is written: see training.checkpoints.
_CHECKPOINTS = 2
_BEST = 2
# What libraries say that do not pass the system's error number on (safetensors writes through Rust).
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded")
_TORN = 1 << 20  # torch's writer says nothing about the disk: with less than this left it is the disk


@dataclass(frozen=True)
class DiskNeed:
    """Bytes of the weights in one folder and of the optimiser's state beside them in a checkpoint.

    ``installed``: what the result takes beside the best weights, nothing where it is made of hard links to them.
    """

    weights: int
    optimiser: int
    installed: int = 0

    @property
    def checkpoint(self) -> int:
        return self.weights + self.optimiser

    @property
    def most(self) -> int:
        """The most that a run takes at any time: two checkpoints, the best weights of each, and a copied result."""
        return _CHECKPOINTS * self.checkpoint + _BEST * self.weights + self.installed

    def told(self, folder: Path, present: int, removable: Sequence[str] = ()) -> str:
        """The sentence for people.

        Args:
            present: what the run folder holds already, in bytes.
            removable: folders that this run does not need.

        Raises:
            DiskFull: what is free does not suffice for the rest of the run. Better now than hours later.
        """
        free = free_space(folder)
        copied = ", and without hard links here a copy of the best weights as the result" if self.installed else ""
        sentence = (
            f"a checkpoint takes about {megabytes(self.checkpoint)} and best weights {megabytes(self.weights)}; two of "
            f"each are kept at most{copied}: {megabytes(self.most)} in {folder}, where {megabytes(free)} are free"
        )
        if free < self.most - present:
            unneeded = f" This run does not need {', '.join(removable)}." if removable else ""
            raise DiskFull(
                f"{sentence}, and {megabytes(present)} of it are there already. Free "
                f"{megabytes(self.most - present - free)} more, or set TENDRIL_HOME to a larger disk.{unneeded} Nothing more "
                "was trained"
            )
        return sentence


def free_space(folder: Path) -> int:
    """Bytes that this user may still write to the file system of ``folder``, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


@contextmanager
def saving(folder: Path, need: int, before: str) -> Generator[None, None, None]:
    """Write ``folder``, which takes about ``need`` bytes; an unfinished one is removed again.

    Args:
        before: what is left if this fails, for the message.

    Raises:
        DiskFull: there is less room than needed, before or while it is written.
    """
    room = folder.parent
    free = free_space(room)
    if free < need:
        raise _full(folder, need, free, before)
    try:
        yield
    except Exception as error:
        free = free_space(room)
        if not (_says_full(error) or free < _TORN):
            raise
        shutil.rmtree(folder, ignore_errors=True)  # half of it helps nobody, and its room is wanted
        raise _full(folder, need, free, before) from error


def _full(folder: Path, need: int, free: int, before: str) -> DiskFull:
    return DiskFull(
        f"no room for {folder.name} in {folder.parent}: it needs about {megabytes(need)}, {megabytes(free)} are free. "
        f"{before} Free some room and start again"
    )


def _says_full(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if any(text in str(error) for text in _FULL_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


def megabytes(size: int) -> str:
    """Bytes for people, in MB or GB (powers of ten)."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
