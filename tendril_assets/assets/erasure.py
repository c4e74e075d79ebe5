"""Erasing what is removed from everything made before: files, replies, releases, tables, and the database's own bytes.

The removal list keeps what it names out of the corpus, and every later step derives from that. What is left to do is old
bytes, and they are erased once per change of the list: the step compares the ids to be gone with those that it noted when
it was last done. It notes them at its very end, so a step that was killed anywhere is done again from its beginning, and
each part of it finds what the last try left. A collection without removals is not touched.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import dagster as dg
import duckdb
import polars as pl

from tendril_assets.assets.asking import open_ledger
from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.keys import published_identifiers
from tendril_assets.assets.released import marked_releases
from tendril_assets.assets.stale_models import mark_stale_models, stale_metadata, stale_models_check
from tendril_assets.corpus.erasure import Removed, erased_ids
from tendril_assets.corpus.identifiers import NAMED, Identifiers, nfc
from tendril_assets.errors import ErasureIncomplete, TendrilError
from tendril_assets.files import sweep_partials
from tendril_assets.release.report_mark import mark_report
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.release.wording import plural
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erased_rows import (
    ids_of,
    known_passages,
    landed_by_others,
    note_erased,
    rows_left,
    stored,
    take_out_rows,
)
from tendril_assets.resources.erasing import Erased, documents_hit, erase_texts, removed_requests
from tendril_assets.resources.request_passages import NAME as REQUEST_PASSAGES
from tendril_assets.resources.rewriting import LINKED, OPEN
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

# Everything of the corpus stage: when this step begins, no table of it names what is removed.
CORPUS = (
    "removals",
    "removed_passages",
    "removal_effects",
    "corpus",
    "passage_decisions",
    "guarded_pairs",
    "passage_texts",
    "similar_texts",
    "restricted_projects",
    "cleared_restrictions",
    "project_status",
)
DONE = "erased_ids"
SHOWN = 20
_IDS = TABLES["erased_ids"]
# What a full disk, a damaged file, or a program that has it open ends a part with.
_FAILURES = (TendrilError, OSError, duckdb.Error, pl.exceptions.PolarsError)
# What still holds the bytes of a file that was written anew, and when they go.
_HELD = {
    LINKED: "has another name (a hard link, perhaps a backup). What was erased is still there: delete that",
    OPEN: "is open in another program. What was erased is gone once that closes it",
}
# What finds the replies to be erased, so it goes after them.
_FINDS_REPLIES = (REQUEST_PASSAGES, "candidates")


class Work(NamedTuple):
    """One collection's erasure: what it works on."""

    warehouse: Warehouse
    artifacts: Artifacts
    collection: str
    removed: Removed
    hasher: Identifiers
    at: datetime
    log: dg.DagsterLogManager


def erasure_assets(spec: CollectionSpec) -> Stage:
    """corpus -> erased_ids, erasures; everything that is judged comes after it."""
    collection = spec.collection

    @table_assets(spec, ["erased_ids", "erasures"], deps=CORPUS)
    def erase(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        at = datetime.now(UTC).replace(tzinfo=None)
        former, hasher = stored(warehouse, collection, "erased_ids"), published_identifiers(warehouse, spec)
        ids = to_be_erased(warehouse, collection, hasher, former, at)
        to_do = ids.filter(~pl.col("id").is_in(sorted(done_before(warehouse, collection, former))))
        fresh, struck = to_do.height, no_longer_erased(former, ids)
        if struck:
            context.log.warning(
                f"struck off the removal list, so no longer erased: {', '.join(struck[:SHOWN])}"
                f"{f' and {len(struck) - SHOWN:,} more' if len(struck) > SHOWN else ''}. "
                "What the landing folder still holds of them comes back"
            )
        if fresh:
            # Of an erasure that was cut off, this is the time it began: the record of one erasure is one time.
            at = max(to_do["since"])
            # First of all: a passage that only request_passages ties to its document is not found a second time.
            warehouse.replace(collection, {"erased_ids": ids}, "note what is to be erased")
            removed = Removed.of(ids.select("kind", "id").iter_rows())
            context.log.info(f"{fresh:,} ids on the removal list are new: erasing what was made of them before")
            erase_all(Work(warehouse, artifacts, collection, removed, hasher, at, context.log))
        history = stored(warehouse, collection, "erasures")
        stale = mark_stale_models(warehouse, spec, Settings.from_env())
        for one in stale:
            context.log.warning(f"model {one.model} was {one.reason}: train it again")
        metadata = {
            "erased_ids": {
                "by_kind": counts(ids, "kind"),
                "new": fresh,
                **_struck_metadata(struck),
                **stale_metadata(stale),
            },
            "erasures": {"in_this_run": counts(history.filter(pl.col("erased_at") == at), "place")},
        }
        yield from store(context, warehouse, spec, {"erased_ids": ids, "erasures": history}, metadata)
        note_done(warehouse, collection, ids)

    @table_check(
        spec,
        "erased_ids",
        "nothing_erased_is_left",
        description="No table of the warehouse holds an erased passage, document or project, but those that name them as "
        "removed. What the landing folder's test collection or graded pairs hold is only told: their keeper can take it out.",
    )
    def nothing_erased_is_left(warehouse: Warehouse) -> dg.AssetCheckResult:
        ids = warehouse.load(collection, "erased_ids")
        removed = Removed.of(ids.select("kind", "id").iter_rows())
        others = landed_by_others(warehouse, collection, ids_of(removed))
        left = rows_left(warehouse, collection, ids_of(removed))
        entries = [f"{place}: {plural(n, 'row')}" for place, n in left.items()]
        entries += [
            f"{table}: the landing folder itself holds {len(found):,} of the ids, such as {found[0]}"
            for table, found in others.items()
        ]
        return dg.AssetCheckResult(
            passed=not entries,
            severity=dg.AssetCheckSeverity.ERROR if left else dg.AssetCheckSeverity.WARN,
            metadata={"erased": ids.height, "left": sum(left.values()), "entries": entries[:SHOWN]},
        )

    return Stage([erase], [nothing_erased_is_left, stale_models_check(spec, "erased_ids")])


def to_be_erased(
    warehouse: Warehouse, collection: str, hasher: Identifiers, former: pl.DataFrame, at: datetime
) -> pl.DataFrame:
    """Rows of ``erased_ids``: what the removal list names or hit, and every passage known of it.

    ``former`` are its present rows: an id stays, with the time it came, as long as its entry is on the list.
    """
    entries = warehouse.load(collection, "removals", ["kind", "id"]).rows()
    listed = {nfc(entry).strip() for _, entry in entries}
    hit = warehouse.load(collection, "removed_passages", ["entry", "passage_id"]).rows()
    found = {(one.kind, one.id): one.entry for one in reversed(erased_ids(entries, hit, hasher))}
    kept = former.filter(pl.col("entry").is_in(sorted(listed)))
    if hasher.policy == NAMED:
        # Where a copy of the removed text once stood, another text of the act may stand now.
        is_copy = pl.col("entry").str.contains("#", literal=True) & (pl.col("id") != pl.col("entry"))
        kept = kept.filter(~is_copy)
    since = {(kind, i): when for kind, i, _, when in kept.iter_rows()}
    found = {(kind, i): entry for kind, i, entry, _ in kept.iter_rows()} | found
    if found:
        for passage, document, group in known_passages(warehouse, collection, Removed.of(found)).iter_rows():
            if ("passage", passage) not in found:
                found["passage", passage] = found.get(("document", document)) or found["project", group]
    return _IDS.frame([(kind, i, entry, since.get((kind, i), at)) for (kind, i), entry in sorted(found.items())])


def no_longer_erased(former: pl.DataFrame, ids: pl.DataFrame) -> list[str]:
    """Sorted ids of ``former`` that are not among ``ids``, both rows of ``erased_ids``: their entry left the list."""
    return sorted(set(former["id"]) - set(ids["id"]))


def _struck_metadata(struck: list[str]) -> dict[str, list[str] | int]:
    return {"no_longer_erased": len(struck), "no_longer_erased_ids": struck[:SHOWN]} if struck else {}


def done_before(warehouse: Warehouse, collection: str, former: pl.DataFrame) -> frozenset[str]:
    """The ids whose erasure was finished: all of ``former`` (rows of ``erased_ids``), or none where it was cut off."""
    is_done = warehouse.meta_get(collection, DONE) == fingerprint(former)
    return frozenset(former["id"]) if is_done else frozenset()


def fingerprint(ids: pl.DataFrame) -> str:
    return hashlib.sha256("\n".join(sorted(ids["id"])).encode()).hexdigest()


def note_done(warehouse: Warehouse, collection: str, ids: pl.DataFrame) -> None:
    """Note that all of ``ids`` is erased. Nothing is written where that is known, or where there never was any."""
    known, now = warehouse.meta_get(collection, DONE), fingerprint(ids)
    if known != now and not (known is None and ids.is_empty()):
        warehouse.meta_set(collection, DONE, now)


def erase_all(work: Work) -> None:
    """Every part in turn. One that fails keeps no other from its work; what is left to do is raised at the end.

    Raises ErasureIncomplete, naming each part that failed and why.
    """
    warehouse, collection = work.warehouse, work.collection
    ids = ids_of(work.removed)
    groups = _groups_hit(work)
    texts = warehouse.load(collection, "corpus", ["text"])["text"].unique()
    hit = documents_hit(warehouse, collection, work.removed, work.hasher)
    failed: list[str] = []

    def rows() -> Iterable[Erased]:
        requests = removed_requests(warehouse, work.artifacts, collection, work.removed, hit, texts)
        taken = take_out_rows(warehouse, collection, ids | set(requests.keys), groups, _FINDS_REPLIES)
        return [Erased("warehouse", name, n) for name, n in taken.items()]

    def files_and_replies() -> Iterable[Erased]:
        return erase_texts(warehouse, work.artifacts, open_ledger(), collection, work.removed, work.hasher)

    def releases() -> Iterable[Erased]:
        root = Settings.from_env().release / collection
        present = frozenset(warehouse.load(collection, "corpus", ["passage_id"])["passage_id"])
        failure = None
        try:
            done = withdraw(
                root,
                work.removed,
                work.at,
                touched_documents=hit,
                present_passages=present,
                key_fingerprint=work.hasher.fingerprint,
            )
        except ErasureIncomplete as error:
            done, failure = error.done, error
        if warehouse.exists(collection, "releases"):
            table = marked_releases(warehouse, collection, root)
            warehouse.replace(collection, {"releases": table}, "mark withdrawn releases")
        yield from (Erased("release", one.version, one.taken) for one in done)
        if failure:
            raise failure

    def finding_rows() -> Iterable[Erased]:
        leave = () if not failed else _FINDS_REPLIES
        return [
            Erased("warehouse", name, n) for name, n in take_out_rows(warehouse, collection, ids, groups, leave).items()
        ]

    def report() -> Iterable[Erased]:
        mark_report(Settings.from_env().reports / f"{collection}.html", work.at)
        return []

    def partials() -> Iterable[Erased]:
        settings = Settings.from_env()
        swept = sum(sweep_partials(folder) for folder in (settings.artifacts, settings.reports))
        return [Erased("hand_over", "left by killed processes", swept)] if swept else []

    def database() -> Iterable[Erased]:
        done = warehouse.rewrite()
        work.log.info(
            f"warehouse written anew: {done.rows:,} rows, {done.bytes_before:,} bytes became {done.bytes_after:,}"
        )
        _warn_of(work, "warehouse", done.former)
        return [Erased("warehouse", "file", 1)]

    def copy() -> Iterable[Erased]:
        if not Settings.from_env().snapshot.exists():
            return []
        made = warehouse.publish_snapshot(erase_former=True)
        _warn_of(work, "snapshot", made.former)
        return [Erased("snapshot", "file", 1)]

    for part in (rows, files_and_replies, releases, finding_rows, report, partials, database, copy):
        try:
            for one in part():
                work.log.info(f"erased in {one.place}: {one.name}, {one.items:,}")
                note_erased(warehouse, collection, work.at, [one])
        except _FAILURES as error:
            failed.append(f"{part.__name__.replace('_', ' ')}: {error}")
    if failed:
        raise ErasureIncomplete(
            f"{collection}: what is removed could not be erased everywhere. "
            + "\n".join(failed)
            + "\nEverything else is erased. Correct that and run again: the erasure goes on, and nothing is judged before."
        )


def _warn_of(work: Work, what: str, former: str | None) -> None:
    if former in _HELD:
        work.log.warning(f"the former file of the {what} {_HELD[former]}")


def _groups_hit(work: Work) -> frozenset[str]:
    """Groups that something was removed from, or that are removed themselves."""
    warehouse, collection, hasher = work.warehouse, work.collection, work.hasher
    found = set(work.removed.groups) | set(known_passages(warehouse, collection, work.removed)["group_id"])
    found |= {hasher.group(p) for p in warehouse.load(collection, "removed_passages", ["project"])["project"].unique()}
    documents = warehouse.load(collection, "documents", ["project", "document"]).iter_rows()
    return frozenset(found | {hasher.group(p) for p, d in documents if hasher.document(p, d) in work.removed.documents})
