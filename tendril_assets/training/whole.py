"""Folders that are whole: a marker, written last, lists every file with its size and SHA-256.

The marker protects from what machines do: a process killed while it wrote, a disk that ran full, bits that turned, a copy
that was cut off. It is no signature: who can write to the folder can write a fitting marker as well. So what is loaded
from such a folder is safetensors, JSON, and torch files by torch's restricted unpickler alone (``weights_only``). A file
that the marker does not list says nothing against those that it lists: copies leave such files behind (``._model.safetensors``).
One of a kind that a loader might pick up is renamed, so that no loader does (``set_foreign_aside``).
"""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.files import file_hash, write_atomically

MARKER = "complete.json"
FOREIGN = ".foreign"
# Raised when markers of before cannot be read any more. How a marker proves itself stays the same in all formats.
_FORMAT = 1
_LOADED = frozenset({".safetensors", ".json", ".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".py"})
_AT_ONCE = 4


class NotWhole(Exception):
    """A folder that cannot be relied on; the message says which file is wrong and how. Caught by its readers.

    ``cut_off``: it has no marker, so it was never finished.
    """

    def __init__(self, message: str, *, cut_off: bool = False) -> None:
        super().__init__(message)
        self.cut_off = cut_off


def seal(folder: Path, content: dict) -> int:
    """Flush every file of ``folder`` to disk and write its marker: from now on it is whole. Returns its bytes.

    Hashes are taken at the same time as the files are flushed, while they lie in the page cache: for 4.5 GB that
    together takes about half as long as the writing did.
    """
    (folder / MARKER).unlink(missing_ok=True)
    paths = _files(folder)
    with ThreadPoolExecutor(_AT_ONCE) as flushing, ThreadPoolExecutor(_AT_ONCE) as hashing:
        flushed = flushing.map(flush, paths)
        hashes = list(hashing.map(file_hash, paths))
        list(flushed)
    sizes = [path.stat().st_size for path in paths]
    files = {
        path.relative_to(folder).as_posix(): {"size": size, "sha256": sha256}
        for path, size, sha256 in zip(paths, sizes, hashes, strict=True)
    }
    for inner in sorted({path.parent for path in paths} | {folder}):
        flush(inner)
    body = {"format": _FORMAT, "files": files, "content": content}
    write_atomically(folder / MARKER, json.dumps({"sha256": _own_hash(body)} | body, ensure_ascii=False).encode())
    flush(folder)
    return sum(sizes)


def read_marker(folder: Path) -> tuple[dict, dict[str, dict]]:
    """``content`` as it was given to ``seal``, and the listed files (name -> size, sha256). No file is looked at.

    Raises:
        NotWhole: there is no marker, or not the one that was written.
        CheckpointMismatch: the marker is whole, and of another format: an earlier or a later version wrote it.
        TrainingError: the disk does not give it out, which says nothing about what is written there.
    """
    try:
        raw = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotWhole(f"{MARKER} is missing: it was cut off while it was written", cut_off=True) from error
    except OSError as error:
        raise _unreadable(folder, error) from error
    except ValueError as error:
        raise NotWhole(f"{MARKER} cannot be read: {error}") from error
    if not isinstance(raw, dict) or raw.pop("sha256", None) != _own_hash(raw):
        raise NotWhole(f"{MARKER} is not as it was written")
    if raw["format"] != _FORMAT:
        raise CheckpointMismatch(
            f"{folder} was written by another version of this product: its {MARKER} has format {raw['format']}, this version "
            f"reads {_FORMAT}. Go on with the version that wrote it, or delete {folder.parent} to begin anew; nothing was "
            "changed"
        )
    return raw["content"], raw["files"]


def verify(folder: Path, files: dict[str, dict]) -> None:
    """Read every listed file and compare.

    Raises:
        NotWhole: names the first file that is missing, or of another size or other bytes.
        TrainingError: the disk does not give one out.
    """
    try:
        _compare(folder, files)
    except OSError as error:
        raise _unreadable(folder, error) from error


def _compare(folder: Path, files: dict[str, dict]) -> None:
    for name, listed in files.items():
        path = folder / name
        if not path.is_file():
            raise NotWhole(f"{name} is missing")
        size = path.stat().st_size
        if size != listed["size"]:
            raise NotWhole(f"{name} has {size} bytes, {listed['size']} were written")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        hashes = pool.map(lambda name: file_hash(folder / name), files)
        for (name, listed), sha256 in zip(files.items(), hashes, strict=True):
            if sha256 != listed["sha256"]:
                raise NotWhole(
                    f"{name} has other bytes than were written (SHA-256 {sha256[:16]}, not {listed['sha256'][:16]})"
                )


def set_foreign_aside(folder: Path, files: dict[str, dict]) -> list[str]:
    """Rename what is not listed in ``files`` though a loader might pick it up to ``<name>.foreign``; returns the names."""
    found = []
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        if name not in files and name != MARKER and path.suffix in _LOADED:
            path.replace(path.with_name(path.name + FOREIGN))
            found.append(name)
    return found


def _unreadable(folder: Path, error: OSError) -> TrainingError:
    return TrainingError(
        f"{folder} cannot be read: {error}. Nothing was changed: look at the disk and at the permissions, and start again"
    )


def flush_tree(folder: Path) -> None:
    """fsync the files and folders at and below ``folder``: a rename that follows cannot overtake their bytes."""
    for path in [*_files(folder), *(path for path in sorted(folder.rglob("*")) if path.is_dir()), folder]:
        flush(path)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flush(path: Path) -> None:
    """fsync a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _own_hash(body: dict) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
