"""Files that are there whole or not at all, and what identifies their bytes."""

import contextlib
import errno
import glob
import hashlib
import os
import threading
from collections.abc import Generator
from pathlib import Path

_ZEROS = bytes(2**20)


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """A path in the same folder to write to; when the block ends, that file takes the place of ``path``.

    It is fsynced and renamed: readers have the old file or the new one, never half of it. After an exception the old
    one stays. Folders are made as needed, and what a killed writer of the same file left is swept away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    # Process and thread: two that write one file at a time do not write into each other's.
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        yield partial
        put_in_place(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what processes that were killed while they wrote ``path`` left beside it."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        if _is_left(left):
            left.unlink(missing_ok=True)


def sweep_partials(folder: Path) -> int:
    """Erase what processes that were killed in ``replacing`` left anywhere below ``folder``; returns how many files."""
    left = [path for path in folder.rglob(".*.partial") if _is_left(path)]
    for path in left:
        erase(path)
    return len(left)


def _is_left(partial: Path) -> bool:
    writer = partial.name.removesuffix(".partial").split(".")[-2]
    return writer.isdecimal() and not _is_alive(int(writer))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def put_in_place(finished: Path, path: Path) -> None:
    """fsync ``finished`` and rename it to ``path``, which is in the same file system."""
    with finished.open("rb") as stream:
        os.fsync(stream.fileno())
    os.replace(finished, path)


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` as ``replacing`` does."""
    with replacing(path) as partial:
        partial.write_bytes(data)


def is_left_by_system(name: str) -> bool:
    """True for what a system or an office program keeps in a folder for itself, which is nobody's data."""
    return name.startswith((".", "~$", "__MACOSX")) or name == "Thumbs.db"


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def overwrite(descriptor: int) -> bool:
    """Overwrite the bytes of an open file, and fsync; False, and nothing done, where several names lead to it."""
    found = os.fstat(descriptor)
    if found.st_nlink > 1:
        return False
    for start in range(0, found.st_size, len(_ZEROS)):
        os.pwrite(descriptor, memoryview(_ZEROS)[: found.st_size - start], start)
    os.fsync(descriptor)
    return True


def erase(path: Path) -> bool:
    """Overwrite a file's bytes, fsync, and remove it.

    False where another hard link has the same bytes: they are left alone there (they may be somebody's backup), and
    only this name is removed. File systems that write elsewhere instead of in place keep the old bytes out of reach of
    any program until they reuse the space.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        alone = overwrite(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()
    return alone


def remove_if_empty(folder: Path) -> bool:
    """Remove a folder; False where something is in it. One that is gone already counts as removed."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True
