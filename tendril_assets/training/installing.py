"""The result of a training: ``kept/`` and ``result.json`` in the model's folder, put in place so that neither lies."""

import errno
import json
import os
import shutil
from pathlib import Path

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.model_files import weights_hash
from tendril_assets.files import file_hash
from tendril_assets.tables import TABLES
from tendril_assets.training.job import write_json
from tendril_assets.training.whole import NotWhole, flush, flush_tree, read_marker, verify

RESULT = "result.json"
KEPT = "kept"
_INCOMING, _OUTGOING = f".{KEPT}.incoming", f".{KEPT}.outgoing"
# What file systems say that know no hard links, or too few of them.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}


def finished(model_folder: Path, config_hash: str, data_hash: str) -> dict | None:
    """The stored result where it was made by exactly this configuration and data.

    A file that was added to ``kept/`` since, such as a card, does no harm.

    Raises:
        TrainingError: ``result.json`` is no record of a training: nobody knows what its weights are. Or it was made by a
            version that recorded less than the tables hold. Or a kept file is gone or changed: to train for another day
            is nothing to begin without being asked.
    """
    path = model_folder / RESULT
    if not path.is_file():
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if (result["config_hash"], result["data_hash"]) != (config_hash, data_hash):
            return None
        if not isinstance(result["best_step"], int) or not result["files"].keys():
            raise ValueError("files or best_step are not those of a training")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(
            f"{path} is damaged ({error!r}): delete it to train {model_folder.name} again, or put its copy back"
        ) from error
    if lacking := sorted(TABLES["trained_models"].schema.keys() - {"path"} - result.keys()):
        raise TrainingError(
            f"{path} was written by another version of this product, without {', '.join(lacking)}: delete it to train "
            f"{model_folder.name} again, or go on with the version that wrote it"
        )
    harmed = harmed_files(model_folder, result)
    if harmed:
        raise TrainingError(
            f"{model_folder / KEPT / harmed[0]} was changed or is gone since training left it"
            + (f", and {len(harmed) - 1} more" if len(harmed) > 1 else "")
            + f": put back what training left, or delete {path} to train again"
        )
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

    Those are the files that its marker lists, with the bytes that it lists: nothing else that lies there is taken.
    ``files`` (name -> SHA-256, hex) and ``weights_sha256`` are added to it. The former result is withdrawn first and the
    new one written last: a reader who goes by ``result.json`` never sees one model's figures beside another's weights,
    and a crash in between leaves no result, so the run ends again from its last checkpoint. Files are hard links where
    the file system has them: then installing takes no space and no time, and ``weights_folder`` may be deleted after it.

    Raises:
        TrainingError: the weights are not as they were written.
    """
    model_folder.mkdir(parents=True, exist_ok=True)
    incoming, outgoing = model_folder / _INCOMING, model_folder / _OUTGOING
    for leftover in (incoming, outgoing):
        if leftover.exists():
            shutil.rmtree(leftover)
    try:
        listed = read_marker(weights_folder)[1]
        for name in listed:
            (incoming / name).parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(weights_folder / name, incoming / name)
        verify(incoming, listed)
    except (NotWhole, FileNotFoundError) as error:
        raise TrainingError(
            f"the best weights in {weights_folder} are not as they were written: {error}. Nothing was installed; start again: "
            "training goes on from the last checkpoint whose weights are"
        ) from error
    flush_tree(incoming)
    files = {name: file["sha256"] for name, file in listed.items()}
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


def misplaced(model_folder: Path) -> list[str]:
    """What lies in the place of the result and is of another kind, as parts of a sentence."""
    folders = [model_folder / name for name in (KEPT, _INCOMING, _OUTGOING)]
    found = [f"{path} is no folder" for path in folders if path.exists() and not path.is_dir()]
    return found + [f"{path} is a folder" for path in [model_folder / RESULT] if path.is_dir()]


def has_links(folder: Path) -> bool:
    """Whether the file system of ``folder``, which exists, has hard links; without them installing copies the weights."""
    source, target = folder / ".link.source", folder / ".link.target"
    try:
        source.touch()
        target.unlink(missing_ok=True)
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    finally:
        for path in (source, target):
            path.unlink(missing_ok=True)
    return True


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(source, target)
