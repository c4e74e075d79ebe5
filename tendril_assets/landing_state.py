"""Whether a landing folder holds something new: what a sensor asks at every tick.

A tick first looks at names, sizes and times. Where they differ from the last look, it hashes the files it has not
hashed before, within a time budget, and compares contents: the state is a hash of names and contents. Each change of
state gets the next number, and number and state make the run key, so that a state that comes back (A, B, A) is a third
run, and a state that stays is none. Files still being copied are waited for: nothing may have changed within the last
seconds, or two looks that far apart must agree.

The stamps of a file include the time its inode changed, which neither a copy that keeps times nor an edit of equal
length leaves as it was.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tendril_assets.corpus.identifiers import nfc
from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash, is_left_by_system, write_atomically

SETTLE_S = 3.0
BUDGET_S = 25.0
_FORMAT = 1
_MAX_DEPTH = 4

HashOf = Callable[[Path], str]


class Stamp(NamedTuple):
    """Size, the times (ns) of the last change of content and of inode, and the inode."""

    size: int
    modified: int
    changed: int
    inode: int


class Tick(NamedTuple):
    """What a tick found: a run to start, or the reason for none. ``cursor`` is None where it must not move."""

    reason: str | None = None
    run_key: str | None = None
    state: str | None = None
    cursor: str | None = None


class _Cursor(NamedTuple):
    """The last accepted look, the state last requested, and how many states were requested before it."""

    look: str = ""
    state: str = ""
    number: int = 0

    @classmethod
    def read(cls, text: str | None) -> "_Cursor":
        """Raises LandingError for a cursor this module has not written."""
        if not text:
            return cls()
        try:
            version, *fields = json.loads(text)
            look, state, number = fields
            if version == _FORMAT:
                return cls(str(look), str(state), int(number))
        except (ValueError, TypeError) as error:
            raise LandingError(f"the sensor's cursor {text[:60]!r} is not its own; reset it to start anew") from error
        return cls()

    def write(self) -> str:
        return json.dumps([_FORMAT, *self])


def tick(
    folder: Path,
    cursor: str | None,
    store: Path,
    check: Callable[[HashOf], object],
    *,
    leave_out: Collection[str] = (),
    settle_s: float = SETTLE_S,
    budget_s: float = BUDGET_S,
) -> Tick:
    """One look at ``folder``.

    Args:
        cursor: what the last tick gave, None at first.
        store: file that keeps the hashes of files already read; it may be lost without harm.
        check: reads the folder as a landing does, given a hash function; LandingError says what is wrong with it.
        leave_out: names directly below ``folder`` that do not count.

    Raises:
        LandingError: the cursor is somebody else's.
    """
    last = _Cursor.read(cursor)
    if not folder.is_dir():
        return Tick(f"the landing folder {folder} does not exist")
    try:
        found = _settled(folder, leave_out, settle_s)
        if found is None:
            return Tick("files are still being written; looking again at the next tick")
        look = _digest(f"{path}\0{stamp}" for path, stamp in found.items())
        if look == last.look:
            return Tick("nothing changed")
        hashes = _Hashes(folder, store, found)
        missing = hashes.complete(budget_s)
        if missing:
            return Tick(f"{len(found) - missing:,} of {len(found):,} files looked at; going on at the next tick")
        if _look(folder, leave_out) != found:
            return Tick("files changed while they were looked at; looking again at the next tick")
    except OSError as error:
        return Tick(f"{error.filename or folder} cannot be read: {error.strerror or error}")
    state = _digest(f"{nfc(path)}\0{hashes.by_path[path]}" for path in found)
    if state == last.state:
        return Tick("nothing changed but times or places", cursor=last._replace(look=look).write())
    try:
        check(hashes.of)
    except LandingError as error:
        return Tick(f"no run until this is corrected: {error}")
    number = last.number + 1
    return Tick(None, f"{folder.name}-{number}-{state[:16]}", state, _Cursor(look, state, number).write())


def _look(folder: Path, leave_out: Collection[str]) -> dict[str, Stamp]:
    return dict(sorted(_walk(folder, "", frozenset(leave_out), 0)))


def _walk(folder: Path, prefix: str, leave_out: frozenset[str], depth: int) -> Iterator[tuple[str, Stamp]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_left_by_system(entry.name) or entry.name in leave_out:
                continue
            if entry.is_dir():
                if depth < _MAX_DEPTH:
                    yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", frozenset(), depth + 1)
                continue
            status = entry.stat()
            yield (
                f"{prefix}{entry.name}",
                Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino),
            )


def _settled(folder: Path, leave_out: Collection[str], settle_s: float) -> dict[str, Stamp] | None:
    """The files of ``folder``, or None while they change.

    A file changed within the last ``settle_s`` costs a second look, that much later.
    """
    found = _look(folder, leave_out)
    newest = max((max(stamp.changed, stamp.modified) for stamp in found.values()), default=0)
    if time.time_ns() - newest >= settle_s * 1e9:
        return found
    time.sleep(settle_s)
    return found if _look(folder, leave_out) == found else None


class _Hashes:
    """Content hashes of the files of one look; those of equal stamps are taken from ``store``."""

    def __init__(self, folder: Path, store: Path, found: dict[str, Stamp]) -> None:
        self._folder, self._store, self._found = folder, store, found
        former = _stored(store)
        self.by_path = {
            path: former[path][1] for path, stamp in found.items() if path in former and former[path][0] == stamp
        }
        self._changed = self.by_path.keys() != former.keys()

    def complete(self, budget_s: float) -> int:
        """Hash what is missing, for about ``budget_s`` seconds; how many files are left then."""
        deadline = time.monotonic() + budget_s
        missing = [path for path in self._found if path not in self.by_path]
        done = 0
        try:
            for path in missing:
                self.by_path[path] = file_hash(self._folder / path)
                done += 1
                if time.monotonic() > deadline:
                    break
        finally:
            if done or self._changed:
                kept = {path: [*self._found[path], digest] for path, digest in self.by_path.items()}
                write_atomically(self._store, json.dumps([_FORMAT, kept]).encode())
        return len(missing) - done

    def of(self, path: Path) -> str:
        """SHA-256 of a file of the folder, read at most once."""
        relative = path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else ""
        return self.by_path.get(relative) or file_hash(path)


def _stored(store: Path) -> dict[str, tuple[Stamp, str]]:
    """What was hashed before; nothing where the file is missing or damaged, which costs reading the files again."""
    try:
        version, files = json.loads(store.read_bytes())
        if version != _FORMAT:
            return {}
        return {path: (Stamp(*stamp), digest) for path, (*stamp, digest) in files.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def _digest(lines: Iterator[str]) -> str:
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()
