"""``manifest.json``: what a release folder holds, and whether two folders hold the same."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tendril_assets.errors import ExportInvariantError
from tendril_assets.files import file_hash
from tendril_assets.release.huggingface import PARTS

MANIFEST = "manifest.json"
# The same rows as the Parquet files, in bytes that no library upgrade changes.
_DATA = ("beir/corpus.jsonl", "beir/queries.jsonl")
_JUDGMENTS = tuple(f"beir/qrels/{part}.tsv" for part in PARTS)
_TEXTS = ("README.md", "LICENSE.md")
# What every reader of a manifest relies on.
_ENTRIES = ("name", "version", "sandbox", "key_fingerprint", "rows", "content_hash", "files")


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below ``folder`` but its manifest, by relative path."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / MANIFEST)
    return {p.relative_to(folder).as_posix(): file_hash(p) for p in files}


def write_manifest(folder: Path, entries: dict[str, Any]) -> dict[str, Any]:
    """Write the manifest of a finished folder: ``entries``, file hashes, and the two hashes that decide equality."""
    files = file_hashes(folder)
    manifest = {
        **entries,
        "content_hash": content_hash(files),
        "text_hash": _combined(files, _TEXTS),
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Raises ExportInvariantError where the folder has no readable manifest, so that nobody can tell what it holds."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if lacking := [name for name in _ENTRIES if name not in found]:
            raise ValueError(f"{MANIFEST} lacks {', '.join(lacking)}")
        return found
    except (OSError, ValueError, TypeError) as error:
        raise ExportInvariantError(
            f"{folder} is no release this product wrote ({error}): move it away, or raise release.version"
        ) from error


def damaged_files(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Files of a release that are missing, changed or not its own."""
    now, then = file_hashes(folder), manifest["files"]
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def content_hash(files: dict[str, str]) -> str:
    """The hash of a release's data, from the hashes of its files."""
    return _combined(files, (*_DATA, *(name for name in _JUDGMENTS if name in files)))


def same_content(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (one["content_hash"], one["text_hash"]) == (other["content_hash"], other["text_hash"])


def _combined(files: dict[str, str], names: tuple[str, ...]) -> str:
    lines = "".join(f"{files[name]}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()
