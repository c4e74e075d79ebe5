"""A fair, bounded, inter-process lock whose holder can be named.

``flock`` queues blocked waiters in order, where polling (as file-lock packages do) leaves some waiting for seconds.
A blocking call cannot be timed out, so it runs in a helper thread; one that is granted after the waiter gave up
releases the lock at once.
"""

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Generator
from pathlib import Path

from tendril_assets.errors import DatabaseLocked, WarehouseError

_held = threading.local()


class _Waiter:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._granted = threading.Event()
        self._abandoned = False
        self._error: OSError | None = None

    def _wait(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._guard:
            if self._abandoned:
                os.close(self._descriptor)
            else:
                self._granted.set()

    def acquire(self, timeout_s: float) -> bool:
        threading.Thread(target=self._wait, daemon=True, name="flock").start()
        if not self._granted.wait(timeout_s):
            with self._guard:
                if not self._granted.is_set():
                    self._abandoned = True
                    return False
        if self._error is not None:
            os.close(self._descriptor)
            raise self._error
        return True


def holder_of(path: Path) -> dict[str, str | int]:
    """The note the present holder left in the lock file; empty where there is none."""
    try:
        note = json.loads(path.read_text(encoding="utf-8") or "{}")
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


@contextlib.contextmanager
def exclusive(path: Path, purpose: str, timeout_s: float) -> Generator[None, None, None]:
    """Hold the lock file exclusively.

    Raises:
        DatabaseLocked: the wait ended after ``timeout_s`` seconds; names the holder's process id and purpose.
        WarehouseError: this thread holds the lock already (it would wait for itself).
    """
    if getattr(_held, "path", None) == path:
        raise WarehouseError(
            f"{purpose}: this step already has {path.name} open. Finish the outer block first: read before, write after."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    if not _Waiter(descriptor).acquire(timeout_s):
        note = holder_of(path)
        pid = note.get("pid")
        raise DatabaseLocked(
            f"{purpose}: waited {timeout_s:.0f} s for {path.name}; process {pid or 'unknown'} holds it "
            f"({note.get('purpose', 'no note')}). Wait for it, or end that process, and run again; nothing was written.",
            pid=int(pid) if pid else None,
        )
    _held.path = path
    try:
        note = json.dumps({"pid": os.getpid(), "purpose": purpose, "since": int(time.time())}).encode()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note, 0)
        yield
    finally:
        _held.path = None
        os.ftruncate(descriptor, 0)
        os.close(descriptor)
