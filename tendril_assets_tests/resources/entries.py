"""Ledger entries for tests."""

from datetime import UTC, datetime
from pathlib import Path

from tendril_assets.resources.ledger import Ledger, LedgerEntry

MOMENT = datetime(2026, 11, 29, 20, 0, 0, 5, tzinfo=UTC)


def entry(key: str = "k1", status: str = "answered", **fields: object) -> LedgerEntry:
    defaults = {"purpose": "judge", "model": "toy/model", "attempts": 1, "seconds": 0.25, "called_at": MOMENT}
    return LedgerEntry(request_key=key, status=status, **{**defaults, **fields})


def write(folder: Path, *entries: LedgerEntry) -> None:
    with Ledger(folder).writer() as writer:
        for one in entries:
            writer.append(one)
