"""The audit of ids: what the tables know, the replies in the ledger, and a search for the published ids everywhere."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tendril_assets.assets.keys import HASH_KEY_FINGERPRINT, IDENTIFIER_POLICY
from tendril_assets.audit.known import LOOK_OUT, Fact, Known, Tables, known, named_rows
from tendril_assets.audit.matching import Matcher
from tendril_assets.audit.needles import Needle
from tendril_assets.audit.places import DAGSTER, LISTING, SOURCE, TRAINED, Folders, table_of
from tendril_assets.audit.searching import RECORD, Finding, OnProgress, Result, Search, Unread
from tendril_assets.audit.values import opened
from tendril_assets.corpus.identifiers import KEYED, Identifiers, require_fingerprint
from tendril_assets.corpus.named_identifiers import identifiers_of
from tendril_assets.errors import AuditError, HashKeyChanged, LandingError, LedgerError, MissingHashKey, WarehouseError
from tendril_assets.release.changelog import CHANGELOG
from tendril_assets.release.manifest import MANIFEST
from tendril_assets.resources.erased_rows import KEPT
from tendril_assets.resources.landing import listed_removals
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings

# Place of what is not read because nobody knows what to look for.
IDS = "ids"
NOBODY_KNOWS = "nobody knows this id: a misspelt one proves nothing"
OTHER_PROJECTS = "The same words may stand in other projects under other ids: tendril audit --text looks for them."


@dataclass(frozen=True)
class IdAudit:
    """``subjects`` in the order they were asked for; ``result`` is the search for all their published ids together."""

    subjects: list[Known]
    result: Result

    @property
    def exit_code(self) -> int:
        return self.result.exit_code()


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
            folders, matcher, wait_s=wait_s, workers=settings.workers, for_text=False, on_progress=on_progress
        )
        result = search.run()
    else:
        result = Result([], [], [], [])
    _tell_what_proves_nothing(subjects, result, folders, wait_s, unread)
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
    path = settings.warehouse
    subjects: list[Known] = []
    try:
        if not path.exists():
            raise WarehouseError("there is no warehouse yet")
        with opened(path, path.with_name(f"{path.name}.lock"), wait_s) as connection:
            tables = Tables(connection, collection)
            if not tables.columns:
                raise AuditError(f"the warehouse {path} has no tables of a collection {collection}: see --collection")
            hasher = _hasher(settings, tables)
            subjects = [known(one, tables, hasher) for one in ids]
            for subject in subjects:
                if subject.unknown:
                    unread.append(Unread(IDS, subject.id, subject.unknown))
                for table, n in named_rows(subject, tables):
                    where = f"{collection}.{table}.project"
                    found.append(_as_record(Finding("warehouse", str(path), where, "id", n)))
    except WarehouseError as error:
        unread.append(Unread("warehouse", str(settings.warehouse), f"what is known of the ids was not read: {error}"))
        # Published ids can be looked for in files all the same.
        return [Known(one, "unknown", collection, ids={one}, facts=[Fact("tables", "not read")]) for one in ids]
    found += _listed_in_snapshot(subjects, settings, collection, wait_s, unread)
    return subjects


def _listed_in_snapshot(
    subjects: list[Known], settings: Settings, collection: str, wait_s: float, unread: list[Unread]
) -> list[Finding]:
    """Rows of the analysts' copy that list what the landing folder holds."""
    path, found = settings.snapshot, list[Finding]()
    if not path.is_file():
        return found
    try:
        with opened(path, None, wait_s) as connection:
            tables = Tables(connection, collection)
            for subject in subjects:
                for table, n in named_rows(subject, tables):
                    if table in LISTING:
                        where = f"{collection}.{table}.project"
                        found.append(_as_record(Finding("snapshot", str(path), where, "id", n)))
    except WarehouseError as error:
        unread.append(Unread("snapshot", str(path), f"what it lists of the landing folder was not read: {error}"))
    return found


def _tell_what_proves_nothing(
    subjects: list[Known], result: Result, folders: Folders, wait_s: float, unread: list[Unread]
) -> None:
    """Ids that no table, list or file has, and entries of the removal list that hit nothing: no trace of such a one is no
    sign that anything was erased."""
    for subject in subjects:
        unread += [Unread(IDS, subject.id, reason) for reason in subject.missed]
        if subject.is_in_tables or subject.is_named_by_list or subject.unknown:
            continue
        # Which of several ids a file holds is told by a search for the one alone.
        of_it = result
        if result.findings and len(subjects) > 1:
            matcher = Matcher(Needle.of_ids(subject.ids))
            of_it = Search(folders, matcher, wait_s=wait_s, workers=1, for_text=False).run()
        if not of_it.findings:
            subject.facts = [fact for fact in subject.facts if fact.topic != LOOK_OUT]
            unread.append(Unread(IDS, subject.id, NOBODY_KNOWS))


def _hasher(settings: Settings, tables: Tables) -> Identifiers | str:
    """The hasher the tables' ids were made with, or why there is none: with another secret every name would be unknown."""
    try:
        hasher = identifiers_of(tables.meta(IDENTIFIER_POLICY) or KEYED, settings.hash_key)
        require_fingerprint(tables.meta(HASH_KEY_FINGERPRINT), hasher.fingerprint, f"collection {tables.collection}")
    except (MissingHashKey, HashKeyChanged) as error:
        return str(error)
    return hasher


def _tell_what_is_listed(subjects: list[Known], settings: Settings, collection: str, unread: list[Unread]) -> None:
    """Entries of the landing folder's own list, which no run may have landed yet."""
    folder = settings.landing / collection
    try:
        listed = listed_removals(folder)
    except LandingError as error:
        unread.append(Unread(SOURCE, str(folder), str(error)))
        return
    for subject in subjects:
        for row in listed.filter(pl.col("id").is_in(sorted(subject.names))).iter_rows(named=True):
            subject.is_listed = True
            subject.is_named_by_list |= row["id"] in subject.own_names
            told = f"{row['id']}, {row['date']}: {row['reason']}"
            # The folder may have a word of its own for the kind: an act is landed as a project.
            if not any(fact.topic == "removal list" and fact.text.endswith(f" {told}") for fact in subject.facts):
                subject.tell("removals.csv", f"{row['kind']} {told} (not landed yet)")


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
    file, table = Path(finding.file), table_of(finding.place, finding.where)
    if table and table in KEPT:
        why = KEPT[table]
    elif finding.place == DAGSTER:
        why = "ids alone: Dagster is told no texts"
    elif finding.place == "release" and file.name in (MANIFEST, CHANGELOG):
        why = "what was taken out of a version"
    elif finding.place == SOURCE and file.name == "removals.csv":
        why = "the removal list"
    elif finding.place == "training" and file.parent.name == TRAINED:
        why = KEPT["trained_passages"]
    else:
        return finding._replace(how="id")
    return finding._replace(how=RECORD, where=f"{finding.where} ({why})")
