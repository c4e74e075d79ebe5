"""Compaction and secure removal: both write new Parquet files in place of old files, and then erase those.

A new file is complete, on disk and read back before its one rename; what it replaced counts no more from then on (see
``ledger_files``). Segments of live writers are never touched.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_files import (
    READERS_S,
    Compacted,
    Listing,
    Segment,
    erase,
    erase_left_over,
    folder_lock,
    fsync_folder,
    list_files,
    try_lock,
    whole_bytes,
)
from tendril_assets.resources.ledger_parquet import key_rows, read_groups, read_lines, write
from tendril_assets.resources.ledger_repair import UPKEEP, repair_tail
from tendril_assets.resources.lock import exclusive

REMOVALS = "removals.jsonl"
# Sealed segments are compacted once there is this much in them, or this many of them.
LEAST_BYTES = 16 * 2**20
LEAST_SEGMENTS = 64
# Longest wait for another process's compaction or removal.
UPKEEP_S = 120.0
# A reader that looks whether a segment is live holds it for a moment.
_GLANCE_S = 0.25


@dataclass(frozen=True)
class Compaction:
    """What ``Ledger.compact`` did. ``erased`` is False where readers still hold the segments that were replaced: they
    count no more, and the next open removes them."""

    segments: int = 0
    files: int = 0
    entries: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    erased: bool = True


@dataclass(frozen=True)
class Removal:
    """What ``Ledger.remove`` did. ``linked_elsewhere``: another hard link, perhaps a backup, keeps the old bytes."""

    keys: int
    entries: int
    files: int
    linked_elsewhere: bool


def compact(folder: Path, least_bytes: int, least_segments: int) -> Compaction:
    """See ``Ledger.compact``."""
    with _upkeep(folder, "compact the ledger"), _sealed(folder) as listing:
        sealed = [part for part in listing.segments if part.path in listing.locked]
        size = sum(part.path.stat().st_size for part in sealed)
        done = Compaction()
        if sealed and (size >= least_bytes or len(sealed) >= least_segments):
            runs = [run for run in _runs(listing) if any(part.path.stat().st_size for part in run)]
            rows, after = 0, 0
            for run in runs:
                replaced = _replace(folder, run, lambda rows: rows)
                rows, after = rows + replaced.written, after + replaced.path.stat().st_size
            done = Compaction(sum(map(len, runs)), len(runs), rows, size, after)
        erased = erase_left_over(folder, wait_s=_GLANCE_S)
    return done if erased is not None else replace(done, erased=False)


def remove(folder: Path, keys: Iterable[str], now: datetime | None = None) -> Removal:
    """See ``Ledger.remove``."""
    wanted = sorted(set(keys))
    if not all(wanted):
        raise LedgerError("an empty request key cannot be removed: name the keys, one a line")
    frame = pl.DataFrame({"request_key": wanted}, schema={"request_key": pl.String})
    note: dict[str, Any] = {"keys": len(wanted), "sha256": hashlib.sha256("\n".join(wanted).encode()).hexdigest()}
    removed, files, alone = 0, 0, True
    with _upkeep(folder, "remove entries from the ledger"):
        alone &= _erase_now(folder)
        with _sealed(folder) as listing:
            holding = [part for part in listing.parts if _holds(part, frame)]
            for part in holding:
                if isinstance(part, Segment) and part.path not in listing.locked:
                    raise LedgerError(
                        f"{part.path} is being written and has entries to be removed. Nothing was changed: wait until "
                        "that run has ended, or end it, and remove again."
                    )
            unfinished = _unfinished(folder, note["sha256"])
            if holding and not unfinished:
                _note(folder, {"state": "begun", **note}, now)
            for part in holding:
                replaced = _replace(folder, [part], lambda rows: rows.join(frame, on="request_key", how="anti"))
                removed, files = removed + replaced.read - replaced.written, files + 1
            alone &= _erase_now(folder)
        if holding or unfinished:
            _note(folder, {"state": "done", **note, "entries": removed, "files": files}, now)
    return Removal(len(wanted), removed, files, not alone)


def read_removals(folder: Path) -> list[dict[str, Any]]:
    """The lines of ``removals.jsonl``. Raises LedgerError for one that is damaged."""
    path = folder / REMOVALS
    if not path.exists():
        return []
    with path.open("rb") as stream:
        lines = stream.read(whole_bytes(path)).splitlines()
    try:
        return [dict(json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise LedgerError(f"{path} has a line that is no record of a removal: {error}") from error


@contextlib.contextmanager
def _upkeep(folder: Path, purpose: str) -> Generator[None]:
    """One process at a time; where the disk refuses something, that is said, and all replies are where they were."""
    try:
        with exclusive(folder / UPKEEP, purpose, UPKEEP_S):
            yield
    except OSError as error:
        raise LedgerError(
            f"cannot {purpose}: {folder} cannot be written ({error.strerror}). Every reply is stored as before, or in the "
            "file that was to replace it; correct that and do this again."
        ) from error


@dataclass(frozen=True)
class _Locked(Listing):
    locked: frozenset[Path] = frozenset()


@contextlib.contextmanager
def _sealed(folder: Path) -> Generator[_Locked]:
    """The files, with every segment locked that no writer holds, and its tail repaired, until the block ends."""
    with contextlib.ExitStack() as stack:
        locked = set()
        # A writer numbers and locks its segment under this lock: none is seen between the two.
        with folder_lock(folder):
            listing = list_files(folder)
            listing.require_readable()
            for segment in listing.segments:
                descriptor = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
                stack.callback(os.close, descriptor)
                if try_lock(descriptor, wait_s=_GLANCE_S):
                    repair_tail(segment.path, descriptor)
                    locked.add(segment.path)
        yield _Locked(**vars(listing), locked=frozenset(locked))


def _runs(listing: _Locked) -> list[list[Segment]]:
    """Sealed segments with nothing else between them: the numbers a Parquet file covers are its alone."""
    runs: list[list[Segment]] = [[]]
    for part in listing.parts:
        if isinstance(part, Segment) and part.path in listing.locked:
            runs[-1].append(part)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


class _Replaced(NamedTuple):
    path: Path
    read: int
    written: int


def _rows(part: Segment | Compacted) -> Iterator[pl.DataFrame]:
    if isinstance(part, Compacted):
        return read_groups(part.path)

    def damaged(number: int, reason: str) -> None:
        raise LedgerError(
            f"{part.path}, line {number} is damaged ({reason}): the file stays as it is. Restore it from a copy, or take "
            "that line out, and do this again."
        )

    return read_lines(part.path, damaged)


def _holds(part: Segment | Compacted, keys: pl.DataFrame) -> bool:
    if isinstance(part, Compacted):
        return key_rows(part.path).join(keys.lazy(), on="request_key", how="semi").head(1).collect().height > 0
    return any(not rows.join(keys, on="request_key", how="semi").is_empty() for rows in _rows(part))


def _replace(
    folder: Path, parts: Sequence[Segment | Compacted], keep: Callable[[pl.DataFrame], pl.DataFrame]
) -> _Replaced:
    """Put one Parquet file, with what ``keep`` leaves of the rows, in place of ``parts``.

    Raises LedgerError where it cannot be written; nothing has changed then.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    path = folder / f"compacted-{parts[0].first:06d}-{parts[-1].last:06d}-{stamp}Z.parquet"
    partial = path.with_name(f".{path.name}.partial")
    replaces = {part.path.name for part in parts}
    replaces.update(name for part in parts if isinstance(part, Compacted) for name in part.footer.replaces)
    read = 0

    def kept() -> Iterator[pl.DataFrame]:
        nonlocal read
        for part in parts:
            for rows in _rows(part):
                read += rows.height
                yield keep(rows)

    try:
        written = write(partial, kept(), replaces)
        os.replace(partial, path)
        fsync_folder(folder)
    except OSError as error:
        raise LedgerError(
            f"{path.name} could not be written ({error.strerror or error}): nothing has changed. Free some space in "
            f"{folder} and do this again."
        ) from error
    finally:
        if partial.exists():
            erase(partial)
    return _Replaced(path, read, written)


def _erase_now(folder: Path) -> bool:
    alone = erase_left_over(folder, wait_s=READERS_S)
    if alone is None:
        raise LedgerError(
            f"files in {folder} that were replaced are being read and could not be erased within {READERS_S:.0f} s. Their "
            "entries count no more; run the removal again to erase the files too."
        )
    return alone


def _unfinished(folder: Path, digest: str) -> bool:
    states = [line.get("state") for line in read_removals(folder) if line.get("sha256") == digest]
    return bool(states) and states[-1] != "done"


def _note(folder: Path, record: dict[str, Any], now: datetime | None) -> None:
    """Append a line to the record of removals, and fsync it; half a line that a kill left is taken off first."""
    path = folder / REMOVALS
    line = json.dumps({"time": (now or datetime.now(UTC)).isoformat(timespec="seconds"), **record}) + "\n"
    with path.open("ab") as stream:
        stream.truncate(whole_bytes(path))
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())
    fsync_folder(folder)
