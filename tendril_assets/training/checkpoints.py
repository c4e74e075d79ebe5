"""Checkpoints and best weights of one run: folders that are whole, or not used.

::

    models/<model>/
      result.json, kept/        the result (``training.installing``)
      runs/<config>-<data>/     work in progress, named by both hashes
        checkpoint-<step>/      weights, optimiser, schedule, random states; complete.json is written last
        best-<step>/            weights of the best step so far; complete.json likewise
        damaged-*/              what was found not whole when a run resumed, for people to look at

Another recipe or other data start a new run folder; the former one stays until a run ends and sweeps it. A checkpoint
that lies in a run folder but was made by something else is refused. Nothing holds an absolute path, so a moved folder
resumes.

The last two checkpoints are kept, with the best weights that each names. The older one makes room just before the next
is written, so there are never more than two, and at every moment one is whole.

What the trainer writes into a checkpoint: ``optimizer.pt``, ``scheduler.pt`` and ``rng_state*.pth`` are torch files, which
it loads with ``weights_only``: an unpickler that makes tensors and numbers and calls nothing. ``trainer_state.json`` is
JSON, weights are safetensors. Training arguments, which would be a full pickle, are not written and never loaded.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.evaluation.model_files import WEIGHTS, weight_files
from tendril_assets.training.disk import DiskNeed, saving
from tendril_assets.training.events import Note, Report
from tendril_assets.training.whole import NotWhole, read_marker, seal, verify

_CHECKPOINT = "checkpoint-"
_BEST = "best-"
_DAMAGED = "damaged-"
_PARTIAL = ".partial"
# Without one of these the trainer would go on in silence from a part of its state.
_STATE_FILES = ("optimizer.pt", "scheduler.pt", "trainer_state.json")
_RANDOM_STATES = re.compile(r"rng_state(_\d+)?\.pth")


@dataclass
class Progress:
    """What a run knows after a step; stored with each checkpoint.

    ``curve`` holds (step, measure, value); ``seconds`` is the wall time of training, over all resumes, without what was
    lost between a checkpoint and the end of a process. ``best_measured_on`` says where ``best_value`` was computed:
    device, precision and version, for rounding differs between them.
    """

    config_hash: str
    data_hash: str
    step: int = 0
    best_step: int = 0
    best_value: float = float("-inf")
    base_value: float | None = None
    seconds: float = 0.0
    best_measured_on: str = ""
    curve: list[tuple[int, str, float]] = field(default_factory=list)


class RunFolder:
    """The run folder of one (configuration, data) below a model's folder.

    ``versions`` are those of the libraries that compute; they are written into the markers, and a run that resumes with
    others says so. ``place`` is set by who trains: see ``Progress.best_measured_on``.
    """

    place = ""

    def __init__(
        self, model_folder: Path, config_hash: str, data_hash: str, versions: dict[str, str] | None = None
    ) -> None:
        self.model_folder = model_folder
        self.config_hash = config_hash
        self.data_hash = data_hash
        self.versions = versions or {}
        self._need = DiskNeed(0, 0)
        self._aside: dict[str, Path] = {}  # what this resume has set aside, by kind
        self.path = model_folder / "runs" / f"{config_hash[:16]}-{data_hash[:16]}"

    def checkpoint(self, step: int) -> Path:
        return self.path / f"{_CHECKPOINT}{step}"

    def best(self, step: int) -> Path:
        return self.path / f"{_BEST}{step}"

    def resume_point(self, report: Report, processes: int = 1) -> tuple[Path, Progress] | None:
        """The furthest checkpoint that is whole and whose best weights are, or None: then training begins anew.

        Every file of both is read and compared with its hash. What is not whole is told with its file and fault; a
        checkpoint that was cut off while it was written is deleted; of those with another damage the furthest is set
        aside as ``damaged-*``, of each kind one. Whatever lies beyond the checkpoint is deleted: training makes it again.

        Args:
            processes: of the run that resumes. Each process has random states of its own, so another number changes
                what dropout draws; that is told.

        Raises:
            CheckpointMismatch: a marker names another configuration or other data.
        """
        found: tuple[Path, Progress] | None = None
        faulty: dict[Path, str | None] = {}  # best weights looked at so far
        steps = sorted(self._steps(_CHECKPOINT), reverse=True)
        self._aside.clear()
        for step in steps:
            folder = self.checkpoint(step)
            try:
                progress, content = self._checked(folder)
            except NotWhole as fault:
                self._put_aside(folder, fault, report)
                continue
            best = self.best(progress.best_step)
            if best not in faulty:
                faulty[best] = self._fault_of(best, report)
            if faulty[best] is None:
                found = folder, progress
                self._tell_differences(content, folder, processes, report)
                break
            report(Note(f"{folder.name} is whole, but not its best weights: {best.name}: {faulty[best]}"))
        self._sweep_beyond(found)
        if found is None and steps:
            report(Note("no whole checkpoint is left: training begins anew"))
        return found

    def reserve(self, need: DiskNeed, report: Report) -> None:
        """Tell how much room the run takes, and hold to it: from here on a checkpoint is begun only where it fits.

        Raises:
            DiskFull: the whole run would not fit.
        """
        report(Note(need.told(self.path, self._size())))
        self._need = need

    @contextlib.contextmanager
    def saving_checkpoint(self, step: int, former: int, *, begun: bool = False) -> Generator[None, None, None]:
        """Write the checkpoint of ``step``, or with ``begun`` what is still missing of it.

        ``former`` is the step of the last checkpoint, 0 for none.

        Raises:
            DiskFull: there is no room, before or while it is written.
        """
        with saving(self.checkpoint(step), 0 if begun else self._need.checkpoint, _left(former)):
            yield

    def mark(self, folder: Path, progress: Progress) -> int:
        """Flush ``folder`` to disk, then write its marker: from now on it is whole. Returns its bytes.

        Raises:
            TrainingError: a checkpoint lacks a part of the training's state.
        """
        states = sum(bool(_RANDOM_STATES.fullmatch(path.name)) for path in folder.iterdir())
        if folder.name.startswith(_CHECKPOINT):
            needed = [*(weight_files(folder) or [folder / WEIGHTS]), *(folder / name for name in _STATE_FILES)]
            missing = [path.name for path in needed if not path.is_file()]
            if missing or not states:
                raise TrainingError(
                    f"{folder} lacks {', '.join(missing) or 'random states'}: the trainer did not write what resuming "
                    "needs; are its versions those that this project is tested with?"
                )
        return seal(folder, {"progress": asdict(progress), "versions": self.versions, "processes": max(1, states)})

    def keep_best(self, progress: Progress, save: Callable[[str], None]) -> None:
        """Have ``save`` write the weights of ``progress.best_step``; they are in place whole or not at all."""
        target = self.best(progress.best_step)
        partial = target.with_name(target.name + _PARTIAL)
        for former in (partial, target):  # of a run that was cut off and named by no checkpoint
            if former.exists():
                shutil.rmtree(former)
        with saving(partial, self._need.weights, _left(progress.step)):
            partial.mkdir(parents=True)
            save(str(partial))
            self.mark(partial, progress)
        partial.rename(target)

    def sweep(self, progress: Progress) -> None:
        """Make room for the next checkpoint: only the last one and its best weights stay.

        ``progress`` is as it was written with the last checkpoint, or of before the first.
        """
        self._keep_only({self.checkpoint(progress.step), self.best(progress.best_step)})

    def discard(self, report: Report) -> None:
        """Delete this run folder and those of former recipes or data, once the result is in place."""
        damaged = sorted(path.name for path in self.path.glob(f"{_DAMAGED}*"))
        if damaged:
            report(Note(f"training is over, its checkpoints are deleted, with them {', '.join(damaged)}"))
        shutil.rmtree(self.path.parent)

    def _size(self) -> int:
        """Bytes of checkpoints and best weights in the run folder, damaged ones left out."""
        ours = [path for prefix in (_CHECKPOINT, _BEST) for path in self.path.glob(f"{prefix}*")]
        return sum(file.stat().st_size for path in ours for file in path.rglob("*") if file.is_file())

    def _checked(self, folder: Path) -> tuple[Progress, dict]:
        """Raises NotWhole, CheckpointMismatch."""
        content, files = read_marker(folder)
        raw = content["progress"]
        for name, wanted in (("config_hash", self.config_hash), ("data_hash", self.data_hash)):
            if raw[name] != wanted:
                raise CheckpointMismatch(
                    f"{folder} was made with {name} {raw[name][:16]}, this run has {wanted[:16]}: it was put there by "
                    f"hand. Delete {self.path} to start afresh"
                )
        verify(folder, files)
        raw["curve"] = [(int(step), measure, float(value)) for step, measure, value in raw["curve"]]
        return Progress(**raw), content

    def _fault_of(self, best: Path, report: Report) -> str | None:
        """What is wrong with best weights, which are set aside then; None where they are whole."""
        if not best.exists():
            return "is missing"
        try:
            self._checked(best)
        except NotWhole as fault:
            self._put_aside(best, fault, report)
            return str(fault)
        return None

    def _put_aside(self, folder: Path, fault: NotWhole, report: Report) -> None:
        kind = _CHECKPOINT if folder.name.startswith(_CHECKPOINT) else _BEST
        if fault.cut_off or kind in self._aside:
            kept = f" ({self._aside[kind].name} is kept)" if kind in self._aside else ""
            report(Note(f"{folder.name} is not whole and is deleted{kept}: {fault}"))
            shutil.rmtree(folder)
            return
        for former in self.path.glob(f"{_DAMAGED}{kind}*"):
            report(Note(f"{former.name}, found damaged earlier, makes room and is deleted"))
            shutil.rmtree(former)
        self._aside[kind] = folder.with_name(_DAMAGED + folder.name)
        folder.rename(self._aside[kind])
        report(Note(f"{folder.name} is not whole and is not used: {fault}. It is kept as {self._aside[kind]}"))

    def _tell_differences(self, content: dict, folder: Path, processes: int, report: Report) -> None:
        others = [
            f"{name} {content['versions'].get(name, 'unknown')} (now {version})"
            for name, version in self.versions.items()
            if content["versions"].get(name) != version
        ]
        if others:
            report(Note(f"{folder.name} was written by {', '.join(others)}: from here the curve may differ slightly"))
        if content["processes"] != processes:
            report(
                Note(
                    f"{folder.name} was written by {content['processes']} process(es), this run has {processes}: "
                    "dropout draws differently from here"
                )
            )

    def _sweep_beyond(self, found: tuple[Path, Progress] | None) -> None:
        keep: set[Path] = set()
        if found is not None:
            for step in self._steps(_CHECKPOINT):
                # The former checkpoint stays until the next is due; it was not read, only its marker is looked at.
                if step <= found[1].step:
                    try:
                        content, _ = read_marker(self.checkpoint(step))
                    except NotWhole:
                        continue
                    keep |= {self.checkpoint(step), self.best(content["progress"]["best_step"])}
        self._keep_only(keep)

    def _keep_only(self, keep: set[Path]) -> None:
        for prefix in (_CHECKPOINT, _BEST):
            for path in self.path.glob(f"{prefix}*"):
                if path not in keep and path.name.removesuffix(_PARTIAL).removeprefix(prefix).isdecimal():
                    shutil.rmtree(path)

    def _steps(self, prefix: str) -> Iterator[int]:
        for path in list(self.path.glob(f"{prefix}*")):
            number = path.name.removeprefix(prefix)
            if number.isdecimal() and path.is_dir():  # else a folder somebody else named: not ours to read
                yield int(number)


def _left(former: int) -> str:
    if former:
        return f"The checkpoint of step {former} is whole: the next start resumes from it."
    return "There is no checkpoint yet: the next start begins anew."
