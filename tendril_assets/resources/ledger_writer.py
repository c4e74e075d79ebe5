"""Writing the reply ledger: one locked segment per writer, each line on disk before the next request goes out.

``append`` returns after ``os.write`` has taken the whole line, so a killed process loses nothing it acknowledged; a
thread calls fsync within a second, so a power cut loses at most that second. Two MiB are set aside beside the segment:
when the disk is full they are given back, so that the answers still in flight, which are paid for, find room.
"""

import contextlib
import errno
import fcntl
import os
import re
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_entry import LedgerEntry

SEGMENT_BYTES = 256 * 2**20
RESERVE_BYTES = 2 * 2**20
SYNC_SECONDS = 0.5
# Sequence = segment number * LINES_PER_SEGMENT + line, readable as such: 3000000042 is line 42 of segment 3.
LINES_PER_SEGMENT = 10**9

_NAME = re.compile(r"segment-\d{8}T\d{12}Z-\d+-(\d{6,})\.jsonl")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TAIL_STEP = 64 * 1024


def segments(folder: Path) -> list[Path]:
    """The segments in the order they were begun."""
    numbered = [
        (int(match[1]), path) for path in folder.glob("segment-*.jsonl") if (match := _NAME.fullmatch(path.name))
    ]
    return [path for _, path in sorted(numbered)]


def segment_number(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise LedgerError(f"{path} is not named like a ledger segment")
    return int(match[1])


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
    """Held for the moment in which segments are numbered or repaired, never while a segment is written."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock a segment's file; False where a live writer holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_live(path: Path) -> bool:
    """Whether a writer holds this segment."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


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
                    dropped += _repair_tail(path, descriptor)
            finally:
                os.close(descriptor)
    return dropped


def _repair_tail(path: Path, descriptor: int) -> int:
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


@dataclass(slots=True)
class _Segment:
    path: Path
    number: int
    descriptor: int
    size: int = 0
    lines: int = 0

    @classmethod
    def begin(cls, folder: Path) -> "_Segment":
        with folder_lock(folder):
            existing = segments(folder)
            number = segment_number(existing[-1]) + 1 if existing else 1
            now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            path = folder / f"segment-{now}Z-{os.getpid()}-{number:06d}.jsonl"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
            # Repairs wait for the folder lock, so at most a reader looks at it for a moment (``is_live``).
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        _fsync_folder(folder)
        return cls(path, number, descriptor)

    def seal(self) -> None:
        if self.size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


class LedgerWriter:
    """Appends entries to a segment of its own. Use it as a context manager; made by ``Ledger.writer()``.

    Raises LedgerError where the folder cannot be written.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, reserve_bytes: int = RESERVE_BYTES) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._append_lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._stopping = threading.Event()
        self._trouble: LedgerError | None = None
        self._accepting = self._open = True
        self._dirty = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._reserve: IO[bytes] | None = _set_aside(folder, reserve_bytes)
            self._segment = _Segment.begin(folder)
        except OSError as error:
            raise LedgerError(
                f"the ledger folder {folder} cannot be written ({error.strerror}): replies that are paid for need a "
                "place. Free some space or correct the permissions, then start again; nothing was asked."
            ) from error
        self._syncer = threading.Thread(target=self._sync_regularly, name="ledger-fsync", daemon=True)
        self._syncer.start()

    @property
    def trouble(self) -> LedgerError | None:
        """Set once the disk is full or fsync fails. What was appended is stored; nothing more should be asked for."""
        return self._trouble

    def append(self, *entries: LedgerEntry) -> int:
        """Write entries in one system call; returns the sequence of the last.

        Raises LedgerError where they could not be stored; lines written earlier are intact.
        """
        with self._append_lock:
            if not self._accepting:
                raise self._trouble or LedgerError("the ledger writer is closed")
            if self._segment.size >= self._segment_bytes:
                self._rotate()
            segment = self._segment
            last = segment.number * LINES_PER_SEGMENT + segment.lines
            lines = []
            for entry in entries:
                last += 1
                lines.append(entry.to_line(last))
            self._write(segment, b"".join(lines))
            segment.lines += len(lines)
            self._dirty = True
            return last

    def close(self) -> None:
        """Fsync and seal the segment; an empty one is removed.

        Raises LedgerError where something went wrong on the way.
        """
        if not self._open:
            return
        self._open = self._accepting = False
        self._stopping.set()
        self._syncer.join()
        self._sync()
        self._segment.seal()
        self._release_reserve()
        if self._trouble is not None:
            raise self._trouble

    def __enter__(self) -> "LedgerWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except LedgerError:
            # An error that is already on its way says more than the one it led to.
            if kind is None:
                raise

    def _rotate(self) -> None:
        try:
            following = _Segment.begin(self._folder)
        except OSError as error:
            raise LedgerError(
                f"no new ledger segment in {self._folder} ({error.strerror}); earlier lines are intact"
            ) from error
        with self._sync_lock:
            os.fsync(self._segment.descriptor)
            self._segment.seal()
            self._segment = following

    def _release_reserve(self) -> bool:
        if self._reserve is None:
            return False
        self._reserve.close()
        self._reserve = None
        return True

    def _write(self, segment: _Segment, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(segment.descriptor, rest) :]
            except OSError as error:
                if error.errno in _FULL and self._release_reserve():
                    self._trouble = LedgerError(
                        f"no space left for the ledger in {self._folder}; every answer received so far is stored. "
                        "Free some space and start again: only open requests are asked."
                    )
                    continue
                self._undo(segment)
                raise LedgerError(
                    f"an answer could not be stored in {segment.path} ({error.strerror}); earlier lines are intact. "
                    "Free some space and start again: only open requests are asked."
                ) from error
        segment.size += len(data)

    def _undo(self, segment: _Segment) -> None:
        """Take half a line off again. Where even that fails no more is written, and the next start repairs the tail."""
        try:
            os.ftruncate(segment.descriptor, segment.size)
        except OSError as error:
            self._accepting = False
            self._trouble = LedgerError(
                f"{segment.path} ends in half a line that could not be taken off: {error.strerror}"
            )

    def _sync_regularly(self) -> None:
        while not self._stopping.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        with self._sync_lock:
            if not self._dirty:
                return
            self._dirty = False
            try:
                os.fsync(self._segment.descriptor)
            except OSError as error:
                self._trouble = LedgerError(
                    f"fsync of {self._segment.path} failed ({error.strerror}): the last second of answers may not "
                    "survive a power cut. Look at the disk before going on."
                )


def _set_aside(folder: Path, size: int) -> IO[bytes]:
    """Space without a name, so that the system takes it back even after kill -9."""
    reserve = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - kept open as long as the writer
    try:
        if size:
            os.posix_fallocate(reserve.fileno(), 0, size)
    except OSError:
        reserve.close()
        raise
    return reserve


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
