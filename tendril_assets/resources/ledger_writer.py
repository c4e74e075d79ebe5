"""Writing the reply ledger: one locked segment per writer, each line on disk before the next request goes out.

``append`` returns after ``os.write`` has taken the whole line, so a killed process loses nothing it acknowledged; a
thread calls fsync within a second, so a power cut loses at most that second. Two MiB are set aside beside the segment:
when the disk is full they are given back, so that the answers still in flight, which are paid for, find room.

What happens to the folder meanwhile is noticed within that second too, and stops the run: a segment that was moved is
written to where it is now; one that was deleted is written anew, from its first byte, to where it was; one that another
program changed is left as it is, and a new one begun.
"""

import contextlib
import errno
import fcntl
import os
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_entry import LedgerEntry
from tendril_assets.resources.ledger_files import (
    LINES_PER_SEGMENT,
    folder_lock,
    fsync_folder,
    highest_number,
    remove_empty,
)

SEGMENT_BYTES = 256 * 2**20
RESERVE_BYTES = 2 * 2**20
SYNC_SECONDS = 0.5
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_COPY_BYTES = 2**20


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
            number = highest_number(folder) + 1
            now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            path = folder / f"segment-{now}Z-{os.getpid()}-{number:06d}.jsonl"
            segment = cls(path, number, _create(path))
        try:
            fsync_folder(folder)
        except OSError:
            segment.seal()
            raise
        return segment

    def seal(self) -> None:
        """Let go of it; one that nothing was written to is removed. Raises OSError; it is closed in any case."""
        try:
            if self.size == 0 == os.fstat(self.descriptor).st_size and self.path.parent.is_dir():
                remove_empty(self.path)
        finally:
            os.close(self.descriptor)

    def was_moved(self) -> bool:
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return True
        here = os.fstat(self.descriptor)
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)

    def written_anew(self) -> "_Segment":
        """This segment under its own name again, after somebody deleted it. The open file still has every byte.

        Raises OSError where there is no room; the open file is then all there is.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(self.path.parent):
            descriptor = _create(self.path)
        try:
            for start in range(0, self.size, _COPY_BYTES):
                rest = memoryview(os.pread(self.descriptor, min(_COPY_BYTES, self.size - start), start))
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            fsync_folder(self.path.parent)
        except OSError:
            os.close(descriptor)
            self.path.unlink(missing_ok=True)
            raise
        return _Segment(self.path, self.number, descriptor, self.size, self.lines)


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
        self._reserve: IO[bytes] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._reserve = _set_aside(folder, reserve_bytes)
            self._segment = _Segment.begin(folder)
        except OSError as error:
            self._release_reserve()
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
            self._look()
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
        self._look_around()
        self._sync()
        self._seal(self._segment)
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
        """Go on in a new segment. Where none can be begun the present one grows, and nothing more should be asked."""
        try:
            self._begin_next()
        except OSError as error:
            self._trouble = self._trouble or LedgerError(
                f"no new ledger segment can be made in {self._folder} ({error.strerror}); every answer received so far is "
                "stored. Free some space or files and start again: only open requests are asked."
            )

    def _begin_next(self) -> None:
        """Raises OSError where no segment can be begun. What goes wrong with the former one is trouble, and no more than
        that: the new one takes the answers."""
        following = _Segment.begin(self._folder)
        with self._sync_lock:
            former, self._segment = self._segment, following
            try:
                os.fsync(former.descriptor)
            except OSError as error:
                self._trouble = self._trouble or _not_synced(former, error)
            self._seal(former)

    def _seal(self, segment: _Segment) -> None:
        try:
            segment.seal()
        except OSError as error:
            self._trouble = self._trouble or LedgerError(
                f"{segment.path} could not be sealed ({error.strerror}): every answer in it is stored. Look at the disk "
                "before going on."
            )

    def _look(self) -> None:
        """Whether the segment is still what was written; called with the append lock held."""
        segment = self._segment
        found = os.fstat(segment.descriptor)
        if found.st_nlink == 0:
            self._restore(segment)
        elif found.st_size != segment.size:
            self._trouble = LedgerError(
                f"{segment.path} has {found.st_size:,} bytes where this process wrote {segment.size:,}: another program "
                "changes it. It is left as it is; answers go to a new segment. Restore it from a copy, and see what "
                "tendril ledger verify says, before going on."
            )
            try:
                self._begin_next()
            except OSError as error:
                self._accepting = False
                raise self._trouble from error

    def _restore(self, segment: _Segment) -> None:
        try:
            anew = segment.written_anew()
        except OSError as error:
            self._accepting = False
            self._trouble = LedgerError(
                f"{segment.path} was deleted while it was written and could not be written anew ({error.strerror}). Until "
                f"this process ends, its bytes can be copied from /proc/{os.getpid()}/fd/{segment.descriptor}."
            )
            raise self._trouble from error
        with self._sync_lock:
            self._segment = anew
            # The file has no name any more, and what it held is on disk: whatever closing it says, nothing is lost.
            with contextlib.suppress(OSError):
                os.close(segment.descriptor)
        self._trouble = LedgerError(
            f"{segment.path} was deleted while it was written. It is there again with every answer of this segment; see "
            "to what deletes it, and start again: only open requests are asked."
        )

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
            self._look_around()
            self._sync()

    def _look_around(self) -> None:
        """What ``append`` would notice at the next answer, and what it would not: that the segment was moved."""
        try:
            with self._append_lock:
                self._look()
                moved = self._segment.was_moved()
        except LedgerError as error:
            self._trouble = error
        except OSError as error:
            self._trouble = LedgerError(f"{self._segment.path} cannot be looked at ({error.strerror}); see to the disk")
        else:
            if moved:
                self._trouble = self._trouble or LedgerError(
                    f"{self._segment.path} was moved while it was written; answers go on to "
                    f"{_name_of(self._segment.descriptor)}. Move it back and start again: only open requests are asked."
                )

    def _sync(self) -> None:
        with self._sync_lock:
            if not self._dirty:
                return
            self._dirty = False
            try:
                os.fsync(self._segment.descriptor)
            except OSError as error:
                self._trouble = _not_synced(self._segment, error)


def _not_synced(segment: _Segment, error: OSError) -> LedgerError:
    return LedgerError(
        f"fsync of {segment.path} failed ({error.strerror}): the last second of answers may not survive a power cut. Look "
        "at the disk before going on."
    )


def _create(path: Path) -> int:
    """A new segment, locked; for the holder of the folder lock. Repairs wait for that lock, so at most a reader looks
    at it for a moment (``is_live``)."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _name_of(descriptor: int) -> str:
    """Where an open file is now."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return "where it is now"


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
