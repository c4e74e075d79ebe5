"""Child processes that end with the process that started them, so that a stopped run leaves nothing behind."""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_WATCH_SECONDS = 0.5


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed when ``parent`` ends: at once on Linux, within half a second elsewhere.

    ``parent`` is the process id of the parent as the parent itself handed it over: then one that has ended before the
    call is noticed too. Without it, the parent at the time of the call is meant. On Linux the kernel waits for the end
    of the *thread* that started this process: start a child in a thread that lives as long as the child is needed.

    Raises SystemExit where the parent has ended already.
    """
    awaited = os.getppid() if parent is None else parent
    if not _kernel_watches():
        threading.Thread(target=_watch, args=(awaited,), name="parent-watch", daemon=True).start()
    # Only now: a parent that ended before the kernel was asked would never be reported.
    if os.getppid() != awaited:
        raise SystemExit("the process that started this one has ended")


def process_started(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot, or None if it is gone: tells a reused process id apart."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = stat.rsplit(")", 1)[1].split()
    return None if fields[0] == "Z" else fields[19]


def _kernel_watches() -> bool:
    """Ask Linux for SIGKILL at the parent's end. False on other systems, and where the call is not allowed."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
