"""What a long step tells other processes while it runs: a small file that is replaced as a whole, and who writes it.

Such a file is never fsynced: after a power cut it may be gone or empty, and says nothing that what the step stores does
not know. It stays when the step ends; one that still says ``running`` while its process is gone was cut off.
"""

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tendril_assets.children import process_started

RUNNING = "running"


@dataclass(frozen=True)
class Author:
    """The process that writes a file, told apart from any later one that is given the same id."""

    pid: int
    started: str | None
    host: str
    boot: str | None

    @classmethod
    def me(cls) -> "Author":
        return cls(os.getpid(), process_started(os.getpid()), socket.gethostname(), _boot())

    def lives(self) -> bool | None:
        """Whether the process goes on; None where only its own machine could tell, or the system does not."""
        if self.host != socket.gethostname() or self.started is None:
            return None
        if self.boot != _boot():
            return False
        return process_started(self.pid) == self.started

    def goes_on(self, updated: datetime, stale_after: timedelta, now: datetime | None = None) -> bool:
        """Whether the writer of a file of ``updated`` still works; on another machine its age alone can tell."""
        lives = self.lives()
        return (now or datetime.now(UTC)) - updated < stale_after if lives is None else lives


class Watched:
    """What progress files of every kind tell: who writes them, when, and whether the work goes on.

    A dataclass derives from it and has these fields. It sets ``STALE_AFTER``, after which the writer of a file on another
    machine counts as gone; ``VERSION`` of its file; and ``WHAT`` it tells of.
    """

    STALE_AFTER: ClassVar[timedelta]
    VERSION: ClassVar[int]
    WHAT: ClassVar[str]
    # Pydantic's name for it on a dataclass: a field that this program does not know is refused, in nested ones too.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    if TYPE_CHECKING:  # at run time they would be taken for the defaults of the fields

        @property
        def author(self) -> Author: ...
        @property
        def began(self) -> datetime: ...
        @property
        def updated(self) -> datetime: ...
        @property
        def state(self) -> str: ...

    @property
    def seconds(self) -> float:
        """How long the work took, or has taken so far."""
        return (self.updated - self.began).total_seconds()

    def goes_on(self, now: datetime | None = None) -> bool:
        """Whether it is being done at this moment."""
        return self.state == RUNNING and self.author.goes_on(self.updated, self.STALE_AFTER, now)

    def was_cut_off(self) -> bool:
        """Whether its process ended without saying how: killed, out of memory, power cut."""
        return self.state == RUNNING and not self.goes_on()

    def to_json(self) -> dict[str, Any]:
        """Plain values and the version: money as decimal text, times in ISO form."""
        return {"v": self.VERSION, **TypeAdapter(type(self)).dump_python(self, mode="json")}

    @classmethod
    def from_json(cls, fields: Any) -> Self:
        """Raises ValueError where ``fields`` are not those of a file of this kind and version."""
        if not isinstance(fields, dict) or "v" not in fields:
            raise ValueError(f"no progress of {cls.WHAT}: {type(fields).__name__} without a version")
        values = dict(fields)
        if (version := values.pop("v")) != cls.VERSION:
            raise ValueError(f"version {version!r}; this program reads {cls.VERSION}")
        try:
            return TypeAdapter(cls).validate_python(values)
        except ValidationError as error:
            raise ValueError(
                f"no progress of {cls.WHAT}: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}"
            ) from error


class Every:
    """True at most once in ``seconds``: a brake on lines and events."""

    def __init__(self, seconds: float, *, at_once: bool = False) -> None:
        self._seconds = seconds
        self._next = time.monotonic() + (0.0 if at_once else seconds)

    def __call__(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


def replace_file(path: Path, fields: Mapping[str, Any]) -> None:
    """Put ``fields`` as JSON in the place of ``path``. Raises OSError.

    One process at a time writes a file, so one name for the half-written one will do.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        partial.write_text(json.dumps(fields), encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _boot() -> str | None:
    """Id of this start of the machine; None where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
