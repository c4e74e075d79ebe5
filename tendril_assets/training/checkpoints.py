"""Folders of one model's training: checkpoints that are whole or ignored, and the result.

::

    models/<model>/
      result.json               what was trained, written last: without it there is no result
      kept/                     weights of the best step, a Sentence Transformers folder
      runs/<config>-<data>/     work in progress, named by both hashes
        checkpoint-<step>/      weights, optimiser, schedule, random states; complete.json is written last
        best-<step>/            weights of the best step so far; complete.json likewise

Another recipe or other data start a new run folder; the former one stays until a run ends and sweeps it. A checkpoint
that lies in a run folder but was made by something else is refused. Nothing holds an absolute path, so a moved folder
resumes.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tendril_assets.errors import CheckpointMismatch
from tendril_assets.evaluation.models import WEIGHTS
from tendril_assets.training.job import write_json

MARKER = "complete.json"
RESULT = "result.json"
KEPT = "kept"
_CHECKPOINT = "checkpoint-"
_BEST = "best-"


@dataclass
class Progress:
    """What a run knows after a step; stored with each checkpoint.

    ``curve`` holds (step, measure, value); ``seconds`` is the wall time of training, over all resumes.
    """

    config_hash: str
    data_hash: str
    step: int = 0
    best_step: int = 0
    best_value: float = float("-inf")
    base_value: float | None = None
    seconds: float = 0.0
    curve: list[tuple[int, str, float]] = field(default_factory=list)


class RunFolder:
    """The run folder of one (configuration, data) below a model's folder."""

    def __init__(self, model_folder: Path, config_hash: str, data_hash: str) -> None:
        self.model_folder = model_folder
        self.config_hash = config_hash
        self.data_hash = data_hash
        self.path = model_folder / "runs" / f"{config_hash[:16]}-{data_hash[:16]}"

    def checkpoint(self, step: int) -> Path:
        return self.path / f"{_CHECKPOINT}{step}"

    def best(self, step: int) -> Path:
        return self.path / f"{_BEST}{step}"

    def last_whole(self) -> tuple[Path, Progress] | None:
        """The furthest checkpoint with a marker and its best weights, or None.

        Raises:
            CheckpointMismatch: its marker names another configuration or other data.
        """
        found = sorted(self._steps(_CHECKPOINT), reverse=True)
        for step in found:
            progress = self._read_marker(self.checkpoint(step))
            if progress is not None and (self.best(progress.best_step) / MARKER).is_file():
                return self.checkpoint(step), progress
        return None

    def mark(self, folder: Path, progress: Progress) -> None:
        """Flush ``folder`` to disk, then write its marker: from now on it is whole."""
        _flush_tree(folder)
        write_json(folder / MARKER, asdict(progress))

    def sweep(self, progress: Progress) -> None:
        """Delete checkpoints and best weights that ``progress`` has made superfluous, half-written ones included."""
        keep = {self.checkpoint(progress.step), self.best(progress.best_step)}
        for prefix in (_CHECKPOINT, _BEST):
            for path in self.path.glob(f"{prefix}*"):
                if path not in keep:
                    shutil.rmtree(path)

    def discard(self) -> None:
        """Delete this run folder and those of former recipes or data, once the result is in place."""
        shutil.rmtree(self.path.parent)

    def _steps(self, prefix: str) -> Iterator[int]:
        for path in self.path.glob(f"{prefix}*"):
            with contextlib.suppress(ValueError):  # a folder somebody else named: not ours to read
                yield int(path.name.removeprefix(prefix))

    def _read_marker(self, folder: Path) -> Progress | None:
        marker = folder / MARKER
        if not marker.is_file():
            return None
        raw = json.loads(marker.read_text(encoding="utf-8"))
        for name, wanted in (("config_hash", self.config_hash), ("data_hash", self.data_hash)):
            if raw[name] != wanted:
                raise CheckpointMismatch(
                    f"{folder} was made with {name} {raw[name][:16]}, this run has {wanted[:16]}: it was put there by "
                    f"hand. Delete {self.path} to start afresh"
                )
        raw["curve"] = [(int(step), measure, float(value)) for step, measure, value in raw["curve"]]
        return Progress(**raw)


def finished(model_folder: Path, config_hash: str, data_hash: str) -> dict | None:
    """The stored result where it was made by exactly this configuration and data and its weights are unharmed."""
    path = model_folder / RESULT
    if not path.is_file():
        return None
    result = json.loads(path.read_text(encoding="utf-8"))
    if (result["config_hash"], result["data_hash"]) != (config_hash, data_hash):
        return None
    return result if weights_hash(model_folder / KEPT) == result["weights_sha256"] else None


def install(model_folder: Path, weights_folder: Path, result: dict) -> dict:
    """Put a copy of ``weights_folder`` in place as ``kept/`` and write ``result.json``; returns the result as stored.

    The former result is withdrawn first and the new one written last: a reader who goes by ``result.json`` never sees
    one model's figures beside another's weights, and a crash in between leaves no result, so the run ends again from
    its last checkpoint.
    """
    model_folder.mkdir(parents=True, exist_ok=True)
    incoming, outgoing = model_folder / f".{KEPT}.incoming", model_folder / f".{KEPT}.outgoing"
    for leftover in (incoming, outgoing):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(weights_folder, incoming, ignore=shutil.ignore_patterns(MARKER))
    _flush_tree(incoming)
    stored = result | {"weights_sha256": weights_hash(incoming)}
    (model_folder / RESULT).unlink(missing_ok=True)
    kept = model_folder / KEPT
    if kept.exists():
        os.replace(kept, outgoing)
    os.replace(incoming, kept)
    write_json(model_folder / RESULT, stored)
    shutil.rmtree(outgoing, ignore_errors=True)
    return stored


def weights_hash(folder: Path) -> str | None:
    """SHA-256, hex, of the folder's weights, or None where it has none."""
    weights = folder / WEIGHTS
    if not weights.is_file():
        return None
    with weights.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
