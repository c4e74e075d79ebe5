"""The files of a ledger folder: their names, which of them count, and the locks that keep processes apart.

``segment-<utc>-<pid>-<number>.jsonl`` is written by one process and sealed when it closes. ``compacted-<first>-<last>-
<utc>.parquet`` holds the entries of the segments with those numbers and names, in its footer, every file it replaced: a
file that is named there counts no more, whether or not it could be removed yet. So the one rename that puts a Parquet
file in place is the moment at which the ledger changes, and a crash before or after it loses and doubles nothing.

Locks: a live writer holds its own segment; ``.lock`` is held while segments are numbered, repaired or taken for upkeep;
``.upkeep`` by the one process that compacts or removes; ``.reading`` is shared by readers, and taken alone while files
that count no more are erased.
"""

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from tendril_assets.errors import LedgerError
from tendril_assets.files import erase as erase
from tendril_assets.files import overwrite as overwrite
from tendril_assets.resources.ledger_parquet import Footer, read_footer

# Sequence = segment number * LINES_PER_SEGMENT + line, readable as such: 3000000042 is line 42 of segment 3.
LINES_PER_SEGMENT = 10**9
# Longest wait for readers until files that count no more are erased.
READERS_S = 60.0

_SEGMENT = re.compile(r"segment-\d{8}T\d{12}Z-\d+-(\d{6,})\.jsonl")
_COMPACTED = re.compile(r"compacted-(\d{6,})-(\d{6,})-\d{8}T\d{12}Z\.parquet")
_PARTIAL = re.compile(r"\.compacted-.*\.partial")
_TAIL_STEP = 64 * 1024
_POLL_S = 0.02


@dataclass(frozen=True)
class Segment:
    """A JSONL file, of one writer; ``first`` and ``last`` are its number."""

    path: Path
    first: int

    @property
    def last(self) -> int:
        return self.first


@dataclass(frozen=True)
class Compacted:
    """A Parquet file with the entries of segments ``first`` to ``last``."""

    path: Path
    first: int
    last: int
    footer: Footer


@dataclass(frozen=True)
class Listing:
    """What is in a ledger folder. ``parts`` count, by segment number; ``superseded`` were replaced by one of them;
    ``partial`` were left by a process that was killed; ``unreadable``: Parquet files whose footer tells
    nothing, and links to nothing."""

    parts: tuple[Segment | Compacted, ...] = ()
    superseded: tuple[Path, ...] = ()
    partial: tuple[Path, ...] = ()
    unreadable: tuple[tuple[Path, str], ...] = field(default=())

    @property
    def segments(self) -> list[Segment]:
        return [part for part in self.parts if isinstance(part, Segment)]

    @property
    def compacted(self) -> list[Compacted]:
        return [part for part in self.parts if isinstance(part, Compacted)]

    def require_readable(self) -> None:
        """Raises LedgerError where a file cannot be read at all."""
        for path, reason in self.unreadable:
            raise LedgerError(
                f"{path} cannot be read ({reason}): replies that were paid for are in it. Restore it from a copy; "
                "tendril ledger verify names every damaged place."
            )


def list_files(folder: Path) -> Listing:
    """What is there now. An absent folder is an empty ledger."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return Listing()
    found: list[Segment | Compacted] = []
    unreadable: list[tuple[Path, str]] = []
    for name in names:
        path = folder / name
        if (_SEGMENT.fullmatch(name) or _COMPACTED.fullmatch(name)) and path.is_symlink() and not path.exists():
            unreadable.append((path, "it is a link to a file that is gone"))
        elif match := _SEGMENT.fullmatch(name):
            found.append(Segment(path, int(match[1])))
        elif match := _COMPACTED.fullmatch(name):
            try:
                found.append(Compacted(path, int(match[1]), int(match[2]), read_footer(path)))
            except FileNotFoundError:
                # Replaced by another since the names were read: that one would be missing here.
                return list_files(folder)
            except LedgerError as error:
                unreadable.append((path, str(error)))
    replaced = {name for part in found if isinstance(part, Compacted) for name in part.footer.replaces}
    parts = [part for part in found if part.path.name not in replaced]
    return Listing(
        parts=tuple(sorted(parts, key=lambda part: (part.first, part.last, part.path.name))),
        # One that was being erased when its process was killed is no Parquet any more.
        superseded=tuple(folder / name for name in names if name in replaced),
        partial=tuple(folder / name for name in names if _PARTIAL.fullmatch(name)),
        unreadable=tuple((path, reason) for path, reason in unreadable if path.name not in replaced),
    )


def segments(folder: Path) -> list[Path]:
    """The segments that count, in the order they were begun."""
    return [part.path for part in list_files(folder).segments]


def highest_number(folder: Path) -> int:
    """The highest segment number in use, 0 in an empty ledger; from the names alone, whatever state the files are in."""
    numbers = [int(match[1]) for name in os.listdir(folder) if (match := _SEGMENT.fullmatch(name))]
    numbers += [int(match[2]) for name in os.listdir(folder) if (match := _COMPACTED.fullmatch(name))]
    return max(numbers, default=0)


def whole_bytes(path: Path) -> int:
    """Length of the part of a file that ends with a newline; what follows is a line cut short."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _TAIL_STEP)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0


@contextlib.contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """Held for the moment in which segments are numbered, repaired or locked, never while a segment is written."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, operation: int = fcntl.LOCK_EX, wait_s: float = 0.0) -> bool:
    """Lock a file; False where another process still holds it after ``wait_s`` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def is_live(path: Path) -> bool:
    """Whether a writer holds this segment."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Shared: two who look at the same moment do not take each other for a writer.
        return not try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def reading(folder: Path) -> Generator[Listing]:
    """The ledger's files as they are now; none of them is erased until the block ends.

    In a folder where this process may not make the lock file, nothing holds the files.
    """
    descriptor = _open_reading_lock(folder)
    try:
        if descriptor is not None:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield list_files(folder)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open_reading_lock(folder: Path) -> int | None:
    path = folder / ".reading"
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT):
            raise
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return None


def erase_left_over(folder: Path, wait_s: float) -> bool | None:
    """Erase what counts no more; for the holder of ``.upkeep``.

    Returns None where readers kept the files for longer than ``wait_s``, False where another hard link has the bytes of
    one of them, else True.
    """
    alone = True
    for path in list_files(folder).partial:
        alone &= erase(path)
    descriptor = os.open(folder / ".reading", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not list_files(folder).superseded:
            return alone
        if not try_lock(descriptor, wait_s=wait_s):
            return None
        for path in list_files(folder).superseded:
            alone &= erase(path)
    finally:
        os.close(descriptor)
    fsync_folder(folder)
    return alone


def remove_empty(path: Path) -> None:
    """Remove a segment that was never written to, unless a reader may just have seen it: then it stays, empty."""
    with folder_lock(path.parent):
        descriptor = _open_reading_lock(path.parent)
        try:
            if descriptor is None or try_lock(descriptor):
                path.unlink(missing_ok=True)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
