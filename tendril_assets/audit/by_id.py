"""The audit of ids: what the tables know, the replies in the ledger, and a search for the published ids everywhere."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tendril_assets.audit.known import Fact, Known, Tables, known, named_rows
from tendril_assets.audit.matching import Matcher
from tendril_assets.audit.needles import Needle
from tendril_assets.audit.places import DAGSTER, SOURCE, Folders
from tendril_assets.audit.searching import Finding, OnProgress, Result, Search, Unread
from tendril_assets.audit.values import opened
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.errors import LandingError, LedgerError, MissingHashKey, WarehouseError
from tendril_assets.release.manifest import MANIFEST
from tendril_assets.resources.erased_rows import KEPT
from tendril_assets.resources.landing import read_removals
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings

# Found where ids of what is removed stand on purpose: they are keyed hashes, and say that it is removed.
RECORD = "record"


@dataclass(frozen=True)
class IdAudit:
    """``subjects`` in the order they were asked for; ``result`` is the search for all their published ids together."""

    subjects: list[Known]
    result: Result

    @property
    def exit_code(self) -> int:
        left = [f for f in self.result.findings if f.how != RECORD and f.place != SOURCE]
        return 1 if left else 2 if any(u.place != SOURCE for u in self.result.unread) else 0


def audit_ids(
    ids: list[str],
    settings: Settings,
    collection: str,
    *,
    wait_s: float,
    on_progress: OnProgress = lambda path, done, total: None,
) -> IdAudit:
    """Everything about ``ids``. What cannot be read is in ``result.unread``, and the rest is told."""
    unread: list[Unread] = []
    found: list[Finding] = []
    subjects = _subjects(ids, settings, collection, wait_s, unread, found)
    _tell_what_is_listed(subjects, settings, collection, unread)
    found += _replies(subjects, settings, unread)
    published = {i for subject in subjects for i in subject.ids}
    folders = Folders.of(settings)
    if published:
        matcher = Matcher(Needle.of_ids(published))
        search = Search(
            folders, matcher, wait_s=wait_s, workers=settings.workers, in_blocks=False, on_progress=on_progress
        )
        result = search.run()
    else:
        result = Result([], [], [], [])
    findings = [*(_as_record(finding) for finding in result.findings), *found]
    return IdAudit(subjects, Result(sorted(findings), sorted([*unread, *result.unread]), result.searched, result.notes))


def _subjects(
    ids: list[str],
    settings: Settings,
    collection: str,
    wait_s: float,
    unread: list[Unread],
    found: list[Finding],
) -> list[Known]:
    """What is known of each; rows that have its raw names are added to ``found``."""
    try:
        hasher = KeyedHasher(settings.hash_key)
    except MissingHashKey:
        hasher = None
    path = settings.warehouse
    try:
        if not path.exists():
            raise WarehouseError("there is no warehouse yet")
        with opened(path, path.with_name(f"{path.name}.lock"), wait_s) as connection:
            tables = Tables(connection, collection)
            subjects = [known(one, tables, hasher) for one in ids]
            for subject in subjects:
                for table, n in named_rows(subject, tables):
                    where = f"{collection}.{table}.project"
                    found.append(_as_record(Finding("warehouse", str(path), where, "id", n)))
        return subjects
    except WarehouseError as error:
        unread.append(Unread("warehouse", str(settings.warehouse), f"what is known of the ids was not read: {error}"))
        # Published ids can be looked for in files all the same.
        return [Known(one, "unknown", collection, ids={one}, facts=[Fact("tables", "not read")]) for one in ids]


def _tell_what_is_listed(subjects: list[Known], settings: Settings, collection: str, unread: list[Unread]) -> None:
    """Entries of the landing folder's own list, which no run may have landed yet."""
    folder = settings.landing / collection
    try:
        listed = read_removals(folder, ("project", "document", "passage", "act", "pair"))
    except LandingError as error:
        unread.append(Unread(SOURCE, str(folder), str(error)))
        return
    for subject in subjects:
        names = {subject.id, *subject.ids, *(p if d is None else f"{p}/{d}" for p, d in subject.raw)}
        for row in listed.filter(pl.col("id").is_in(sorted(names))).iter_rows(named=True):
            subject.tell("removals.csv", f"{row['kind']} {row['id']}, {row['date']}: {row['reason']}")


def _replies(subjects: list[Known], settings: Settings, unread: list[Unread]) -> list[Finding]:
    """Replies to requests that ask about nothing else; those that are shared are told as facts."""
    found: list[Finding] = []
    if not settings.ledger.is_dir():
        return found
    ledger = Ledger(settings.ledger, read_only=True)
    for subject in subjects:
        try:
            frame = ledger.frame(
                pl.Series("request_key", sorted(subject.keys | subject.shared), dtype=pl.String),
                columns=("request_key", "purpose", "status"),
            )
        except LedgerError as error:
            unread.append(Unread("ledger", str(settings.ledger), str(error)))
            continue
        own = frame.filter(pl.col("request_key").is_in(sorted(subject.keys)))
        subject.tell("replies", f"{own.height:,} to its own requests, {frame.height - own.height:,} to shared ones")
        for purpose, status, n in own.group_by("purpose", "status").len().sort("purpose", "status").iter_rows():
            found.append(Finding("ledger", str(settings.ledger), f"replies, {purpose} {status}", "id", n))
    return found


def _as_record(finding: Finding) -> Finding:
    """Where an id stands for what it names, and where it only says that this is removed."""
    table = finding.where.split(".")[1] if finding.where.count(".") == 2 else ""
    name = Path(finding.file).name
    if table in KEPT:
        return finding._replace(how=RECORD, where=f"{finding.where} ({KEPT[table]})")
    if finding.place == DAGSTER:
        return finding._replace(how=RECORD, where=f"{finding.where} (ids alone: Dagster is told no texts)")
    if finding.place == "release" and name in (MANIFEST, "CHANGELOG.md"):
        return finding._replace(how=RECORD, where=f"{finding.where} (what was taken out of a version)")
    return finding._replace(how="id")
