"""The result of a training: ``kept/`` and ``result.json`` in the model's folder, put in place so that neither lies."""

import errno
import json
import os
import shutil
from pathlib import Path

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.model_files import weights_hash
from tendril_assets.files import file_hash
from tendril_assets.training.events import Note, Report
from tendril_assets.training.job import write_json
from tendril_assets.training.whole import MARKER, flush, flush_tree

RESULT = "result.json"
KEPT = "kept"
# What file systems say that know no hard links, or too few of them.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}


def finished(model_folder: Path, config_hash: str, data_hash: str, report: Report) -> dict | None:
    """The stored result where it was made by exactly this configuration and data and its files are unharmed.

    A file that was added to ``kept/`` since, such as a card, does no harm; one that is gone or changed is told.

    Raises:
        TrainingError: ``result.json`` is no JSON object: nobody knows what its weights are.
    """
    path = model_folder / RESULT
    if not path.is_file():
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        made_by = result["config_hash"], result["data_hash"]
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            f"{path} is damaged ({error!r}): delete it to train {model_folder.name} again, or put its copy back"
        ) from error
    if made_by != (config_hash, data_hash):
        return None
    harmed = harmed_files(model_folder, result)
    if harmed:
        report(Note(f"{model_folder / KEPT / harmed[0]} is not as training left it: the model is trained again"))
        return None
    return result


def harmed_files(model_folder: Path, result: dict) -> list[str]:
    """The files of ``kept/`` that are gone, or of other bytes than ``result`` says, by name."""
    kept = model_folder / KEPT
    return [
        name
        for name, sha256 in result["files"].items()
        if not (kept / name).is_file() or file_hash(kept / name) != sha256
    ]


def install(model_folder: Path, weights_folder: Path, result: dict) -> dict:
    """Put the files of ``weights_folder`` in place as ``kept/`` and write ``result.json``; returns it as stored.

    ``files`` (name -> SHA-256, hex) and ``weights_sha256`` are added to it. The former result is withdrawn first and the
    new one written last: a reader who goes by ``result.json`` never sees one model's figures beside another's weights,
    and a crash in between leaves no result, so the run ends again from its last checkpoint. Files are hard links where
    the file system has them: then installing takes no space and no time, and ``weights_folder`` may be deleted after it.
    """
    model_folder.mkdir(parents=True, exist_ok=True)
    incoming, outgoing = model_folder / f".{KEPT}.incoming", model_folder / f".{KEPT}.outgoing"
    for leftover in (incoming, outgoing):
        if leftover.exists():
            shutil.rmtree(leftover)
    shutil.copytree(weights_folder, incoming, ignore=shutil.ignore_patterns(MARKER), copy_function=_link_or_copy)
    flush_tree(incoming)
    files = {
        path.relative_to(incoming).as_posix(): file_hash(path) for path in sorted(incoming.rglob("*")) if path.is_file()
    }
    stored = result | {"files": files, "weights_sha256": weights_hash(incoming)}
    (model_folder / RESULT).unlink(missing_ok=True)
    kept = model_folder / KEPT
    if kept.exists():
        os.replace(kept, outgoing)
    os.replace(incoming, kept)
    flush(model_folder)  # the names before the file that vouches for them
    write_json(model_folder / RESULT, stored)
    flush(model_folder)
    if outgoing.exists():
        shutil.rmtree(outgoing)
    return stored


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(source, target)
    return target
