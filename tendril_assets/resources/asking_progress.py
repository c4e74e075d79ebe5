"""Where a step that asks the gateway stands, in a small file that other processes read while it runs.

``TENDRIL_HOME/ledger/progress/<collection>.<step>.json`` is replaced as a whole about twice a second by the process that
asks. It is never fsynced: after a power cut it may be gone or empty, and says nothing that the ledger does not know. It
holds counts, money and the process that writes it, never a text and never a key. It stays when the step ends, with the
state it ended in; a file that still says ``running`` while its process is gone belongs to a run that was cut off.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import PlainSerializer

from tendril_assets.progress_file import RUNNING, Author, Watched, replace_file
from tendril_assets.resources.gateway_run import Progress

FOLDER = "progress"
# Plain digits in the file: 1E-7 is read as text by more programs than as a number.
Usd = Annotated[Decimal, PlainSerializer(lambda amount: format(amount, "f"), return_type=str)]


@dataclass(frozen=True)
class Standing(Watched):
    """Where one asking step stands.

    ``requests``: distinct requests of the step, of which ``answered_before`` had their answer when it began. ``done``
    counts all answered ones, so that ``requests = done + open + failed``; ``failed`` were given up in this run and are
    open again in the next. Everything from ``calls`` on is about this run of the step: HTTP ``calls``, ``in_flight`` of
    at most ``limit`` at present, money in USD (``cost_forecast``: ``cost`` scaled to all it has to ask, None where nothing
    is known yet), ``cached_share`` of the prompt tokens, ``eta_s`` seconds left, ``trouble`` what the latest call met.
    """

    STALE_AFTER = timedelta(minutes=1)  # it writes twice a second
    VERSION = 1
    WHAT = "an asking step"

    collection: str
    step: str
    purpose: str
    run: str
    author: Author
    began: datetime
    updated: datetime
    state: str
    requests: int
    answered_before: int
    done: int
    open: int
    failed: int
    by_status: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    calls_per_s: float = 0.0
    in_flight: int = 0
    limit: int = 0
    rate_limited: int = 0
    cost: Usd = Decimal(0)
    cost_unknown: int = 0
    cost_forecast: Usd | None = None
    cached_share: float | None = None
    eta_s: float | None = None
    trouble: str | None = None

    @classmethod
    def beginning(
        cls, step: tuple[str, str], purpose: str, run: str, requests: int, answered_before: int
    ) -> "Standing":
        """``step``: collection and asset; nothing is asked yet."""
        now = datetime.now(UTC)
        return cls(
            *step,
            purpose=purpose,
            run=run,
            author=Author.me(),
            began=now,
            updated=now,
            state=RUNNING,
            requests=requests,
            answered_before=answered_before,
            done=answered_before,
            open=requests - answered_before,
            failed=0,
        )

    def at(self, progress: Progress) -> "Standing":
        """The same step, at what the gateway client reports."""
        done = self.answered_before + progress.done
        return replace(
            self,
            updated=datetime.now(UTC),
            done=done,
            open=max(0, self.requests - done - progress.failed),
            failed=progress.failed,
            by_status=dict(progress.by_status),
            calls=progress.calls,
            calls_per_s=progress.calls_per_s,
            in_flight=progress.in_flight,
            limit=progress.limit,
            rate_limited=progress.rate_limited,
            cost=progress.cost,
            cost_unknown=progress.cost_unknown,
            cost_forecast=progress.cost_forecast,
            cached_share=progress.cached_share,
            eta_s=progress.eta_s,
            trouble=progress.trouble,
        )

    def ended(self, state: str) -> "Standing":
        return replace(self, state=state, updated=datetime.now(UTC), in_flight=0, eta_s=None, trouble=None)

    @property
    def left(self) -> int:
        """Requests without an answer: what the next run of the step has to ask."""
        return self.requests - self.done

    def __str__(self) -> str:
        """One line of plain text; what is not known, or nothing to speak of, is left out."""
        pace = f"{self.calls_per_s:,.1f} calls/s"
        if self.limit:
            pace += f", {self.in_flight} of {self.limit} in flight"
        parts = [f"{self.requests:,} requests", f"{self.done:,} done", f"{self.open:,} open", self.failures(), pace]
        if self.rate_limited:
            parts.append(f"{self.rate_limited:,} times told to wait")
        parts.append(self.money())
        if self.cached_share is not None:
            parts.append(f"{self.cached_share:.0%} of the prompt from cache")
        if self.eta_s is not None:
            parts.append(f"{clock(self.eta_s)} left")
        if self.trouble:
            parts.append(f"no reply at present ({self.trouble}), trying again")
        return ", ".join(parts)

    def failures(self) -> str:
        kinds = ", ".join(f"{n:,} {status}" for status, n in sorted(self.by_status.items()) if n)
        return f"{self.failed:,} failed" + (f" ({kinds})" if kinds else "")

    def money(self) -> str:
        text = f"{self.cost:.4f} USD so far"
        if self.cost_forecast is not None:
            text += f", about {self.cost_forecast:.4f} USD in all"
        return text + (f", {self.cost_unknown:,} of unknown cost" if self.cost_unknown else "")


def clock(seconds: float) -> str:
    """``0:04:10``, ``1 day, 2:00:00``."""
    return str(timedelta(seconds=round(seconds)))


def progress_folder(ledger: Path) -> Path:
    return ledger / FOLDER


def write_standing(folder: Path, standing: Standing) -> None:
    """Put ``standing`` in the place of the step's file. Raises OSError. Who holds the ledger's lock for asking writes."""
    replace_file(folder / f"{standing.collection}.{standing.step}.json", standing.to_json())


def read_standings(folder: Path) -> list[Standing]:
    """All steps that left a file, the latest first; files that cannot be read are passed over: the ledger knows more.

    A step file is half-written only after a power cut, and of another version only after an update.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(Standing.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda standing: standing.updated, reverse=True)


def standing_of(folder: Path, run: str) -> Standing | None:
    """The asking step that goes on in a run of this process, if there is one."""
    mine = (s for s in read_standings(folder) if s.run == run and s.state == RUNNING and s.author.pid == os.getpid())
    return next(mine, None)
