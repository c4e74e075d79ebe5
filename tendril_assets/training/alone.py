"""One training at a time in a model's folder, whoever started it: an asset, a terminal, another machine's user."""

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Generator
from pathlib import Path

from tendril_assets.errors import FolderInUse, TrainingError

LOCK_FILE = ".training.lock"
# A process that was just killed may take a moment to go.
_WAIT_S = 5.0
_POLL_S = 0.1
# What file systems say that know no locks: Lustre mounted without flock, NFS without its lock service, some of FUSE.
_NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}


@contextlib.contextmanager
def alone(model_folder: Path, wait_s: float | None = None) -> Generator[None, None, None]:
    """Hold the model's folder. The lock ends with this process, however that ends.

    Raises:
        FolderInUse: another process trains there; names it, its machine and its start.
        TrainingError: the file system has no locks, or something of another kind lies in the folder's or the lock's place.
    """
    if model_folder.exists() and not model_folder.is_dir():
        raise TrainingError(f"{model_folder} is no folder: move it away and start again; nothing was changed")
    model_folder.mkdir(parents=True, exist_ok=True)
    if (model_folder / LOCK_FILE).is_dir():
        raise TrainingError(
            f"{model_folder / LOCK_FILE} is a folder: move it away and start again; nothing was changed"
        )
    descriptor = os.open(model_folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, model_folder, time.monotonic() + (_WAIT_S if wait_s is None else wait_s))
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, model_folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise FolderInUse(_refusal(descriptor, model_folder)) from error
            time.sleep(_POLL_S)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            raise TrainingError(
                f"{model_folder} lies on a file system without locks ({error.strerror}): two trainings there could overwrite "
                "each other's checkpoints. Set TENDRIL_HOME to a folder on a local disk, or mount this one with locks "
                "(Lustre: the option flock; NFS: its lock service); nothing was changed"
            ) from error
        else:
            return


def _refusal(descriptor: int, model_folder: Path) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        who = f"process {holder['pid']} on {holder['host']} trains in it since {holder['since']}"
    except (ValueError, KeyError, TypeError):  # it has the lock, but has not written its name yet
        who = "another process trains in it"
    return (
        f"{model_folder} is in use: {who}. Two at once would overwrite each other's checkpoints. Wait for it or end "
        "it; nothing was changed"
    )
