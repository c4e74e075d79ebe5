"""Checkpoints and best weights of one run: folders that are whole, or not used.

::

    models/<model>/
      result.json, kept/        the result (``training.installing``)
      runs/<config>-<data>/     work in progress, named by both hashes
        checkpoint-<step>/      weights, optimiser, schedule, random states; complete.json is written last
        best-<step>/            weights of the best step so far; complete.json likewise
        damaged-*/              what was found not whole when a run resumed, for people to look at

Another recipe or other data start a new run folder; the former ones stay, and each run tells of them. Only a run that
ends deletes its own. A checkpoint that lies in a run folder but was made by something else is refused. Nothing holds an
absolute path, so a moved folder resumes.

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
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from tendril_assets.errors import CheckpointMismatch, TrainingError
from tendril_assets.evaluation.model_files import WEIGHTS, weight_files
from tendril_assets.training.disk import DiskNeed, megabytes, saving
from tendril_assets.training.events import Note, Report
from tendril_assets.training.whole import FOREIGN, MARKER, NotWhole, read_marker, seal, set_foreign_aside, verify

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
    lost between a checkpoint and the end of a process. ``best_measured_on`` says where and how ``best_value`` was
    computed, for rounding differs between devices, precisions, libraries and batches.
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

    ``versions`` are those of the libraries that compute, ``batch`` the rows of a micro-batch; both are written into the
    markers, and a run that resumes with others says so. ``place``, set by who trains, gives the place of the last
    evaluation: see ``Progress.best_measured_on``.
    """

    def __init__(
        self,
        model_folder: Path,
        config_hash: str,
        data_hash: str,
        versions: dict[str, str] | None = None,
        batch: int | None = None,
    ) -> None:
        self.model_folder = model_folder
        self.config_hash = config_hash
        self.data_hash = data_hash
        self.versions = versions or {}
        self.batch = batch
        self.place: Callable[[], str] = str
        self._need = DiskNeed(0, 0)
        self.path = model_folder / "runs" / f"{config_hash[:16]}-{data_hash[:16]}"

    def checkpoint(self, step: int) -> Path:
        return self.path / f"{_CHECKPOINT}{step}"

    def best(self, step: int) -> Path:
        return self.path / f"{_BEST}{step}"

    def misplaced(self) -> list[str]:
        """What lies in the place of the run's folders and is none, as parts of a sentence."""
        numbered = [
            path
            for prefix in (_CHECKPOINT, _BEST)
            for path in self.path.glob(f"{prefix}*")
            if _is_numbered(path, prefix)
        ]
        ours = [self.path.parent, self.path, *sorted(numbered)]
        return [f"{path} is no folder" for path in ours if path.exists() and not path.is_dir()]

    def resume_point(self, report: Report, processes: int = 1) -> tuple[Path, Progress] | None:
        """The furthest checkpoint that is whole and whose best weights are, or None where no step was ever saved whole.

        Every file of both is read and compared with its hash. A checkpoint that was cut off while it was written is
        deleted; what has another damage is told with its file and fault and set aside as ``damaged-*``, where a former
        checkpoint can be used. Whatever lies beyond that is deleted: training makes it again.

        Args:
            processes: of the run that resumes. Each process has random states of its own, so another number changes
                what dropout draws; that is told, and so is another batch.

        Raises:
            CheckpointMismatch: a marker names another configuration, other data or another step than its folder, or
                another version wrote it.
            TrainingError: there are checkpoints, and none that was not cut off can be used; or several have no marker,
                where training leaves one at most. Nothing was changed; what to do with them is for people to say. Also
                for a folder that cannot be read.
        """
        found: tuple[Path, Progress] | None = None
        faults: dict[Path, NotWhole] = {}  # checkpoints and best weights
        useless: dict[Path, str] = {}  # checkpoints that were not cut off, and why each cannot be used
        for step in sorted(self._steps(_CHECKPOINT), reverse=True):
            folder = self.checkpoint(step)
            try:
                progress, content = self._checked(folder, report)
            except NotWhole as fault:
                faults[folder] = fault
                if not fault.cut_off:
                    useless[folder] = f"is not whole: {fault}"
                continue
            best = self.best(progress.best_step)
            if best not in faults:
                try:
                    self._checked(best, report)
                except NotWhole as fault:
                    faults[best] = fault
            if best not in faults:
                found = folder, progress
                self._tell_differences(content, folder, processes, report)
                break
            fault = faults[best] if best.exists() else "is missing"
            useless[folder] = f"is whole, but not its best weights: {best.name}: {fault}"
        if found is None and useless:
            told = "; ".join(f"{folder.name} {why}" for folder, why in useless.items())
            raise TrainingError(
                f"no checkpoint in {self.path} can be used: {told}. Nothing was changed: put back what is missing or damaged, "
                f"or delete {self.path} to begin anew"
            )
        unmarked = sorted(folder.name for folder, fault in faults.items() if fault.cut_off)
        if found is None and len(unmarked) > 1:
            raise TrainingError(
                f"{', '.join(unmarked)} in {self.path} have no {MARKER}. Training leaves one such folder at most: did a copy "
                f"leave it out? Nothing was changed: put it back, or delete {self.path} to begin anew"
            )
        keep = self._worth_keeping(found)  # reads markers: what they say against is said before anything is deleted
        for folder, why in useless.items():
            if folder not in faults:
                report(Note(f"{folder.name} {why}"))
        for folder, fault in faults.items():
            self._put_aside(folder, fault, report)
        if found is None and faults:
            report(Note("no checkpoint was ever finished: training begins anew"))
        self._keep_only(keep)
        return found

    def reserve(self, need: DiskNeed, report: Report) -> None:
        """Tell how much room the run takes, and hold to it: from here on a checkpoint is begun only where it fits.

        Called once what can be resumed from is known: what lies in the run folder then stays.

        Raises:
            DiskFull: the whole run would not fit.
        """
        removable = [str(path) for path in [*sorted(self.path.glob(f"{_DAMAGED}*")), *self._others()]]
        report(Note(need.told(self.path, self._size(), removable)))
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
        return seal(folder, {"progress": asdict(progress), **self._machine(max(1, states))})

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
        """Delete this run folder, once the result is in place; those of other recipes or data stay."""
        damaged = sorted(path.name for path in self.path.glob(f"{_DAMAGED}*"))
        if damaged:
            report(Note(f"training is over, its checkpoints are deleted, with them {', '.join(damaged)}"))
        shutil.rmtree(self.path)
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def tell_others(self, report: Report) -> None:
        """Name the run folders of other recipes or data, which may be unfinished work or nothing but used room."""
        for path in self._others():
            numbers = [folder.name.removeprefix(_CHECKPOINT) for folder in path.glob(f"{_CHECKPOINT}*")]
            last = max((int(number) for number in numbers if number.isdecimal()), default=None)
            reached = "without a checkpoint" if last is None else f"with a checkpoint of step {last}"
            report(
                Note(
                    f"{path} holds a training of another recipe, model entry or other data, {reached} "
                    f"({megabytes(_bytes(path))}): that one resumes from it, this one does not use it. To free its room: "
                    f"rm -r {path}"
                )
            )

    def _others(self) -> list[Path]:
        return sorted(path for path in self.path.parent.glob("*") if path.is_dir() and path != self.path)

    def _size(self) -> int:
        """Bytes of checkpoints and best weights in the run folder, damaged ones left out."""
        ours = [path for prefix in (_CHECKPOINT, _BEST) for path in self.path.glob(f"{prefix}*")]
        return sum(map(_bytes, ours))

    def _checked(self, folder: Path, report: Report) -> tuple[Progress, dict]:
        """Raises NotWhole, CheckpointMismatch, TrainingError."""
        progress, content, files = self._marked(folder)
        verify(folder, files)
        for foreign in set_foreign_aside(folder, files):
            report(
                Note(
                    f"{folder / foreign} was not written with it and is not loaded: renamed to {Path(foreign).name}{FOREIGN}"
                )
            )
        return progress, content

    def _marked(self, folder: Path) -> tuple[Progress, dict, dict[str, dict]]:
        """What the marker says: progress, all content, the listed files. Raises NotWhole, CheckpointMismatch, TrainingError."""
        content, files = read_marker(folder)
        raw = content.get("progress", {})
        odd = {"progress", *self._machine()} ^ content.keys() or {each.name for each in fields(Progress)} ^ raw.keys()
        if odd:
            raise CheckpointMismatch(
                f"{folder} was written by another version of this product (its {MARKER} differs in {', '.join(sorted(odd))}). "
                f"Go on with that version, or delete {self.path} to begin anew; nothing was changed"
            )
        for name, wanted in (("config_hash", self.config_hash), ("data_hash", self.data_hash)):
            if raw[name] != wanted:
                raise CheckpointMismatch(
                    f"{folder} was made with {name} {raw[name][:16]}, this run has {wanted[:16]}: it was put there by "
                    f"hand. Delete {self.path} to start afresh"
                )
        raw["curve"] = [(int(step), measure, float(value)) for step, measure, value in raw["curve"]]
        progress = Progress(**raw)
        own = self.checkpoint(progress.step) if folder.name.startswith(_CHECKPOINT) else self.best(progress.best_step)
        if folder != own:
            raise CheckpointMismatch(
                f"{folder} was written as {own.name}: somebody renamed or copied it. Give it that name back, or delete "
                f"{self.path} to begin anew; nothing was changed"
            )
        return progress, content, files

    def _machine(self, processes: int = 1) -> dict:
        """What a marker holds beside the progress."""
        return {"versions": self.versions, "processes": processes, "batch": self.batch}

    def _put_aside(self, folder: Path, fault: NotWhole, report: Report) -> None:
        if not folder.exists():
            return
        if fault.cut_off and folder.name.startswith(_CHECKPOINT):
            report(Note(f"{folder.name} is not whole and is deleted: {fault}"))
            shutil.rmtree(folder)
            return
        aside = folder.with_name(_DAMAGED + folder.name)
        number = 1
        while aside.exists():
            number += 1
            aside = folder.with_name(f"{_DAMAGED}{folder.name}-{number}")
        folder.rename(aside)
        report(Note(f"{folder.name} is not whole and is not used: {fault}. It is kept as {aside}"))

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
        if content["batch"] != self.batch:
            report(
                Note(
                    f"{folder.name} was written with batch {content['batch']}, this run has {self.batch}: the steps hold the "
                    "same rows, dropout draws differently from here"
                )
            )

    def _worth_keeping(self, found: tuple[Path, Progress] | None) -> set[Path]:
        """What is resumed from and what came before it, with their best weights. Raises as ``_marked`` but NotWhole."""
        keep: set[Path] = set()
        if found is not None:
            keep |= {found[0], self.best(found[1].best_step)}
            for step in self._steps(_CHECKPOINT):
                # The former checkpoint stays until the next is due; it was not read, only its marker is looked at.
                if step < found[1].step:
                    try:
                        former = self._marked(self.checkpoint(step))[0]
                    except NotWhole as fault:
                        if not fault.cut_off:
                            keep.add(self.checkpoint(step))
                        continue
                    keep |= {self.checkpoint(step), self.best(former.best_step)}
        return keep

    def _keep_only(self, keep: set[Path]) -> None:
        for prefix in (_CHECKPOINT, _BEST):
            for path in self.path.glob(f"{prefix}*"):
                if path not in keep and _is_numbered(path, prefix):
                    shutil.rmtree(path)

    def _steps(self, prefix: str) -> Iterator[int]:
        for path in list(self.path.glob(f"{prefix}*")):
            number = path.name.removeprefix(prefix)
            if number.isdecimal() and path.is_dir():  # else a folder somebody else named: not ours to read
                yield int(number)


def _is_numbered(path: Path, prefix: str) -> bool:
    """Whether training gives such a name; another one somebody else gave."""
    return path.name.removesuffix(_PARTIAL).removeprefix(prefix).isdecimal()


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _left(former: int) -> str:
    if former:
        return f"The checkpoint of step {former} is whole: the next start resumes from it."
    return "There is no checkpoint yet: the next start begins anew."
