"""Opening a ledger: lines cut short are taken off, and what a killed process left over is erased."""

import os
from pathlib import Path

from tendril_assets.errors import DatabaseLocked
from tendril_assets.resources.ledger_entry import LedgerEntry
from tendril_assets.resources.ledger_files import (
    erase_left_over,
    folder_lock,
    list_files,
    segments,
    try_lock,
    whole_bytes,
)
from tendril_assets.resources.lock import exclusive

UPKEEP = ".upkeep"
# Enough for the helper thread that takes the lock; whoever holds it longer does this work himself.
_MOMENT_S = 0.25


def repair(folder: Path) -> int:
    """Take lines cut short off the ends of segments nobody is writing; returns how many were dropped.

    A last line that is whole but for its newline is an answer that was paid for: it gets the newline and stays.
    """
    dropped = 0
    with folder_lock(folder):
        for path in segments(folder):
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if try_lock(descriptor):
                    dropped += repair_tail(path, descriptor)
            finally:
                os.close(descriptor)
    return dropped


def repair_tail(path: Path, descriptor: int) -> int:
    """Repair one segment, locked by the caller; returns 1 where a line was dropped."""
    whole, size = whole_bytes(path), os.fstat(descriptor).st_size
    if whole == size:
        return 0
    tail = os.pread(descriptor, size - whole, whole)
    try:
        LedgerEntry.from_line(tail)
    except ValueError:
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)
        return 1
    os.pwrite(descriptor, b"\n", size)
    os.fsync(descriptor)
    return 0


def tidy(folder: Path) -> None:
    """Erase files that count no more, unless somebody reads them or an upkeep is under way: then it is left to the
    next open."""
    listing = list_files(folder)
    if not listing.superseded and not listing.partial:
        return
    try:
        with exclusive(folder / UPKEEP, "erase what was replaced", _MOMENT_S):
            erase_left_over(folder, wait_s=0.0)
    except DatabaseLocked:
        return
