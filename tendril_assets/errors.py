"""The one tree of errors. Each message says what was wrong, where, and what to do.

TendrilError
├── SettingsError                environment or start-up check
│   ├── MissingHashKey           no keyed-hash secret, or one under 32 bytes
│   └── HashKeyChanged           another secret than the one the warehouse was built with
├── SpecError                    a specification or models.yaml that cannot be read or does not validate
├── LandingError                 a landing file, with row numbers
├── SimapError                   the SIMAP API cannot be asked: refused, down, or its pages do not end
│   ├── SimapDown                a request given up after all its attempts
│   ├── SimapStopped             one failure after the other: SIMAP itself is the trouble
│   └── SimapShapeChanged        an answer of another shape than described, with the path of the field
├── MixedScriptId                Latin and Cyrillic letters inside one letter run of an id
├── WarehouseError
│   ├── DatabaseLocked           the bounded wait for the write lock ended
│   ├── UnsupportedStorageVersion  a file written by a newer DuckDB
│   └── SchemaMismatch           a frame does not fit the declared table
├── LedgerError                  unwritable folder, damaged sealed segment, full disk
├── ErasureIncomplete            something removed could not be erased yet, with each place and why
├── GatewayError                 a reply that ends the run
│   ├── GatewayRefused           401, 403, 404 or another permanent status
│   ├── InsufficientCredits      402
│   └── BudgetReached            a cap in money or calls
├── IncompleteJudgments          open requests, and nobody allowed going on without them
├── NoJudgeAccepted              no judge met the acceptance that was declared before the data
├── RemoteDetectorRefused        personal data would leave the machine
├── DetectorModelError           the anonymiser's model is not on this machine, or has other labels
├── ExtractionError              a child process for extraction could not be run at all
├── ChildProcessFailed           a child process ended in the middle of a job, with the job's name
├── ExportInvariantError         a release that contradicts itself
├── ReleaseUnwritten             no room or no right to write a release; the former one stands
├── PublishedPairMissing         an append-only label vanished
├── AuditError                   nothing that could be looked for was named
├── PublishError                 publishing to the Hugging Face hub
│   ├── PublishRefused           a folder that must not be sent, with every reason; nothing was sent
│   ├── HubConflict              the hub holds something else than it should, or somebody else writes there
│   ├── HubRefused               401, 403 or another answer that no second attempt changes
│   └── HubUnavailable           limited, down or cut off, after all attempts
└── TrainingError
    ├── NonFiniteLoss            NaN or infinite loss or gradient, with step and pair ids
    ├── TrainingOutOfMemory      a device or the machine had no memory left, with what needs less
    ├── TrainingCrashed          the training process ended in a way nobody foresaw, or by a signal
    ├── OtherProcessFailed       of several training processes another one failed, and this one with it
    ├── CheckpointMismatch       a checkpoint of another configuration or other data
    ├── DiskFull                 no room for a checkpoint, before training or during it; the former one stays
    └── FolderInUse              another process trains in the model's folder
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class TendrilError(Exception):
    """Base of all errors this package raises on purpose."""


class SettingsError(TendrilError):
    pass


class MissingHashKey(SettingsError):
    pass


class HashKeyChanged(SettingsError):
    pass


class SpecError(TendrilError):
    """``problems``: one line per mistake in the file ``path``, each beginning with its field or line.

    ``profile``: whose overlay had been merged in, or None.
    """

    def __init__(self, path: Path, problems: Sequence[str], profile: str | None = None) -> None:
        self.path, self.problems, self.profile = path, tuple(problems), profile
        many = f"{len(self.problems)} mistakes\n  " if len(self.problems) > 1 else ""
        super().__init__(f"{self.where}: {many}" + "\n  ".join(self.problems))

    @property
    def where(self) -> str:
        """The file, and the profile with which it was read."""
        return f"{self.path}, with profile {self.profile}" if self.profile else str(self.path)

    @property
    def in_one_line(self) -> str:
        return f"{self.where}: {'; '.join(self.problems)}"


class LandingError(TendrilError):
    pass


class SimapError(TendrilError):
    """``status`` is the HTTP status that ended the attempts, or None."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class SimapDown(SimapError):
    pass


class SimapStopped(SimapError):
    pass


class SimapShapeChanged(SimapError):
    """``found``: one text per field that does not fit, of ``total`` such fields; ``url`` says whose answer it is."""

    def __init__(self, url: str, found: Sequence[str], total: int) -> None:
        more = f"; and {total - len(found)} more" if total > len(found) else ""
        super().__init__(
            f"{url}: {'; '.join(found)}{more}. The API has changed, or this is no answer of it: compare with its OpenAPI "
            "description and adapt the records in corpus/notice_*.py."
        )
        self.url = url


class MixedScriptId(TendrilError):
    pass


class WarehouseError(TendrilError):
    pass


class DatabaseLocked(WarehouseError):
    """Another process held the write lock for longer than the bounded wait.

    ``pid`` is the holder's process id, or None where the holder left no note.
    """

    def __init__(self, message: str, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class UnsupportedStorageVersion(WarehouseError):
    pass


class SchemaMismatch(WarehouseError):
    pass


class LedgerError(TendrilError):
    pass


class ErasureIncomplete(TendrilError):
    """``done``: what was erased all the same."""

    def __init__(self, message: str, done: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.done = tuple(done)


class GatewayError(TendrilError):
    """``status`` is the HTTP status that ended the run, or None; ``n_open`` the requests still open."""

    def __init__(self, message: str, *, status: int | None = None, n_open: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.n_open = n_open


class GatewayRefused(GatewayError):
    pass


class InsufficientCredits(GatewayError):
    pass


class BudgetReached(GatewayError):
    pass


class IncompleteJudgments(TendrilError):
    """``n_open`` is the number of requests without an accepted answer."""

    def __init__(self, message: str, n_open: int) -> None:
        super().__init__(message)
        self.n_open = n_open


class NoJudgeAccepted(TendrilError):
    pass


class RemoteDetectorRefused(TendrilError):
    pass


class BaseMissing(TendrilError):
    """A base model is not on this machine."""


class DetectorModelError(TendrilError):
    pass


class ExtractionError(TendrilError):
    pass


class ChildProcessFailed(TendrilError):
    pass


class ExportInvariantError(TendrilError):
    pass


class ReleaseUnwritten(TendrilError):
    pass


class PublishedPairMissing(TendrilError):
    pass


class AuditError(TendrilError):
    pass


class PublishError(TendrilError):
    pass


class PublishRefused(PublishError):
    """``reasons``: one sentence for each thing that speaks against it, with what to do."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        many = f"{len(self.reasons)} reasons\n  " if len(self.reasons) > 1 else ""
        super().__init__(f"{what} is not published: {many}" + "\n  ".join(self.reasons))


class HubConflict(PublishError):
    pass


class HubRefused(PublishError):
    """``status`` is the HTTP status, or None where the answer was none of the hub's."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class HubUnavailable(PublishError):
    """``status`` is the HTTP status, None where there was no answer; ``retry_after`` the seconds the hub asks to wait."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class TrainingError(TendrilError):
    pass


class NonFiniteLoss(TrainingError):
    """A loss or gradient that is NaN or infinite. ``pairs``: (query_id, positive_id) of the rows it came up with."""

    def __init__(self, message: str, step: int, pairs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.step = step
        self.pairs = tuple(pairs)


class TrainingOutOfMemory(TrainingError):
    pass


class TrainingCrashed(TrainingError):
    pass


class OtherProcessFailed(TrainingError):
    pass


class CheckpointMismatch(TrainingError):
    pass


class DiskFull(TrainingError):
    pass


class FolderInUse(TrainingError):
    pass
