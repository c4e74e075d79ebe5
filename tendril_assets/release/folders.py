"""Folders that are there whole or not at all: written beside their place, fsynced, set in place with one rename.

A run that dies leaves the former folder as it was and a hidden one, which the next run sweeps.
"""

import os
import shutil
from pathlib import Path

# Of a collection's release folder: the one with its models, beside one for each version of the data.
MODELS = "models"
WRITTEN, UNCHANGED, REPLACED = "written", "unchanged", "replaced"


def work_folder(target: Path) -> Path:
    """The hidden folder of this process in which ``target`` is put together; not made yet."""
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def set_in_place(work: Path, target: Path) -> None:
    """Rename ``work`` to ``target``; a former folder steps aside first, since a full folder cannot be renamed over."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        target.rename(aside)
    try:
        work.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
    _sync(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def sweep(root: Path) -> None:
    """Take away what dead runs left; bring back a folder that a run died on between its two renames."""
    for path in root.glob(".*.*"):
        name, *marks = path.name[1:].rsplit(".", 2)
        if len(marks) < 2 or marks[1] not in ("tmp", "old") or not marks[0].isdecimal() or _alive(int(marks[0])):
            continue
        if marks[1] == "old" and not (root / name).exists():
            path.rename(root / name)
        else:
            shutil.rmtree(path)


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
