"""Folders that are there whole or not at all: written beside their place, fsynced, set in place with one rename.

A run that dies leaves the former folder as it was and a hidden one, which the next run sweeps.
"""

import ctypes
import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tendril_assets.files import erase

# Of a collection's release folder: the one with its models, beside one for each version of the data.
MODELS = "models"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
WRITTEN, UNCHANGED, REPLACED = "written", "unchanged", "replaced"
# Of Linux: relative paths count from the working directory; exchange the two names; errors of a system that cannot.
_HERE, _RENAME_EXCHANGE = -100, 2
_UNABLE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def version_folders(root: Path) -> list[Path]:
    """The folders in ``root`` named by a version, lowest first: ``1.10.0`` comes after ``1.9.0``. One that a person set
    aside under a name such as ``1.0.0-old`` is none."""
    found = [p for p in root.glob("*.*.*") if _VERSION.fullmatch(p.name) and p.is_dir()]
    return sorted(found, key=lambda p: version_key(p.name))


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def work_folder(target: Path) -> Path:
    """The hidden folder of this process in which ``target`` is put together; not made yet."""
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def erase_folder(folder: Path) -> None:
    """Overwrite the bytes of every file below ``folder``, then take it away; for what must not be left on the disk.

    A kill in between leaves a folder with some files less, for the next ``sweep``.
    """
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            erase(path)
    shutil.rmtree(folder)


def _drop(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def set_in_place(work: Path, target: Path, drop: Callable[[Path], None] = _drop) -> None:
    """Rename ``work`` to ``target``, in the same file system; ``drop`` takes a former folder away.

    Where a folder stands there already the two change places in one step, so that at every moment one of them, whole,
    is at ``target``. A file system that cannot do that (``renameat2`` is Linux's, and not on all of them) sees the
    former one step aside first; ``sweep`` brings it back where a run died in between.
    """
    if not target.exists():
        work.rename(target)
        _sync(target.parent)
        return
    former = work if _exchange(work, target) else _step_aside(work, target)
    _sync(target.parent)
    drop(former)


def _exchange(one: Path, other: Path) -> bool:
    """Two paths change places in one step; False where the system cannot. Raises OSError for any other reason."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _step_aside(work: Path, target: Path) -> Path:
    """The same in two renames; where the former folder stands then."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.old")
    target.rename(aside)
    try:
        work.rename(target)
    except OSError:
        aside.rename(target)
        raise
    return aside


def sweep(root: Path, drop: Callable[[Path], None] = shutil.rmtree) -> None:
    """Take away what dead runs left; bring back a folder that a run died on between its two renames."""
    for path in left_over(root):
        name, process, mark = path.name[1:].rsplit(".", 2)
        if _alive(int(process)):
            continue
        if mark == "old" and not (root / name).exists():
            path.rename(root / name)
        else:
            drop(path)


def left_over(root: Path) -> list[Path]:
    """Hidden folders in which runs put something together, or set a former folder aside."""
    found = []
    for path in root.glob(".*.*"):
        _, *marks = path.name[1:].rsplit(".", 2)
        if len(marks) == 2 and marks[1] in ("tmp", "old") and marks[0].isdecimal():
            found.append(path)
    return sorted(found)


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync_tree(folder: Path) -> None:
    """fsync every file and folder below ``folder``, and itself."""
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
