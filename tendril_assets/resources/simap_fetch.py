"""Asking SIMAP for the publications of one project: which there are, and what each says.

Every answer is stored and noted before the next is asked for. A failure is noted and does not stop the others, unless
it is one of many in a row.
"""

import json
import logging
from collections import Counter

from tendril_assets.corpus.notice_records import Publication
from tendril_assets.corpus.notice_search import SearchEntry
from tendril_assets.corpus.notice_shape import check, unknown_fields
from tendril_assets.errors import SimapDown, SimapError, SimapShapeChanged, SimapStopped
from tendril_assets.records import PubType
from tendril_assets.resources.simap import Answer, SimapClient
from tendril_assets.resources.simap_store import (
    ProjectState,
    PublicationState,
    Store,
    canonical,
    digest,
    holds,
    write_if_other,
)
from tendril_assets.spec import SimapSpec

_log = logging.getLogger(__name__)

# So many requests given up one after the other: SIMAP is down.
DOWN_AFTER = 5
# So many failures one after the other, of publications that have not failed before: not they are strange, but SIMAP.
SYSTEMATIC_AFTER = 10
_MAX_CHAIN = 50

# A search entry, checked and as received.
FoundEntry = tuple[SearchEntry, dict]


class Fetcher:
    """``fetched`` counts answers stored, ``unknown`` fields new in the API."""

    def __init__(self, store: Store, client: SimapClient, spec: SimapSpec) -> None:
        self.fetched = 0
        self.unknown: Counter[str] = Counter()
        self._store, self._client, self._spec = store, client, spec
        self._in_a_row: Counter[str] = Counter()
        # Once a run is enough, also for what failed.
        self._tried: set[str] = set()

    def wants(self, state: ProjectState, entry: dict) -> bool:
        """Whether a request is needed for this project, whose search entry is ``entry``."""
        return state.listed != digest(canonical(entry)) or any(
            self._is_open(state, p) for p in state.publications.values()
        )

    def _is_open(self, state: ProjectState, publication: PublicationState) -> bool:
        wanted = publication.type in self._spec.publication_types
        raw = self._store.raw(state.project, publication.number)
        return wanted and (publication.stale or publication.raw is None or not holds(raw, publication.raw))

    def ask(self, state: ProjectState, found: FoundEntry | None) -> None:
        """List the project's publications where its entry is new, and fetch what is open; failures are noted.

        Raises SimapStopped where one failure follows the other.
        """
        if found is not None and state.listed != (listed := digest(canonical(found[1]))):
            state.listed = listed if self._list(state, *found) else None
            self._store.write(state)
        for publication in state.publications.values():
            if publication.id not in self._tried and self._is_open(state, publication):
                self._fetch(state, publication)

    def _list(self, state: ProjectState, entry: SearchEntry, raw: dict) -> bool:
        """Note the newest publications, to be asked for again, and those before them; whether that was all.

        What was fetched under the same entry is not asked for again, though the rest of the list could not be had then.
        """
        changed, known = canonical(state.entry) != canonical(raw), state.error is not None
        state.entry, state.error = raw, None
        # With lots the entry's own publication is one of theirs; several lots may share one.
        lot_of = {lot.publicationId: lot.lotId for lot in reversed(entry.lots)}
        heads = {head.publicationId: head for head in (entry, *entry.lots)}
        listing: dict[str, str] = {}
        complete = True
        try:
            for head in heads.values():
                day = str(head.publicationDate)
                noted = self._known(state, listing, head.publicationId, head.publicationNumber, head.pubType, day)
                noted.stale |= changed
            for uid in heads:
                past = self._client.past_publications(uid, lot_of.get(uid))
                if past is None:
                    complete &= self._follow(state, listing, uid)
                for earlier in past or ():
                    day = str(earlier.publicationDate)
                    self._known(state, listing, earlier.id, earlier.publicationNumber, earlier.pubType, day)
        except SimapStopped:
            raise
        except SimapError as error:
            complete, state.error = False, str(error)
            self._store.write(state)
            self._failed(error, known=known)
        return complete

    def _known(
        self, state: ProjectState, listing: dict[str, str], uid: str, number: str, kind: PubType, day: str | None
    ) -> PublicationState:
        """The noted publication of this number; a new one, or one that was another before, is to be asked for."""
        if listing.setdefault(number, uid) != uid:
            raise SimapError(
                f"project {state.project}: publication {number} is {listing[number]} and {uid} at once; one file cannot "
                "hold both"
            )
        publication = state.publications.setdefault(
            number, PublicationState(number=number, id=uid, type=kind, date=day)
        )
        if (publication.id, publication.type, publication.date) != (uid, kind, day or publication.date):
            publication.id, publication.type, publication.stale = uid, kind, True
            publication.date = day or publication.date
        return publication

    def _follow(self, state: ProjectState, listing: dict[str, str], publication_id: str) -> bool:
        """Where the API lists nothing, each publication still names the one before it; whether all were found."""
        seen: set[str] = set()
        publication = next(p for p in state.publications.values() if p.id == publication_id)
        while publication.id not in seen and len(seen) < _MAX_CHAIN:
            seen.add(publication.id)
            if publication.stale or not holds(self._store.raw(state.project, publication.number), publication.raw):
                record = None if publication.id in self._tried else self._fetch(state, publication)
            else:
                record = self.read(state, publication)
            if record is None:
                return False
            before = record.referencingPub
            if before is None or not (before.publicationId and before.publicationNumber and before.pubType):
                break
            day = str(before.publicationDate) if before.publicationDate else None
            publication = self._known(
                state, listing, before.publicationId, before.publicationNumber, before.pubType, day
            )
        return True

    def _fetch(self, state: ProjectState, publication: PublicationState) -> Publication | None:
        """The publication's details, stored; None after a failure, which is noted."""
        self._tried.add(publication.id)
        try:
            return self._keep(state, publication, self._client.details(str(state.entry["id"]), publication.id))
        except SimapError as error:
            known, publication.error = publication.error is not None, str(error)
            self._store.write(state)
            self._failed(error, known=known)
            return None

    def _keep(self, state: ProjectState, publication: PublicationState, answer: Answer) -> Publication:
        """Check an answer and store it as received, then note it."""
        record = check(Publication, answer.data, answer.url)
        if record.id.lower() != publication.id.lower() or record.type != publication.type:
            came = f"id: {record.id} of type {record.type}, asked for {publication.id} of type {publication.type}"
            raise SimapShapeChanged(answer.url, [came], 1)
        self.unknown.update(f"details: {path}" for path in unknown_fields(record).elements())
        write_if_other(self._store.raw(state.project, publication.number), answer.body)
        if publication.raw != digest(answer.body):
            publication.raw, publication.rendered = digest(answer.body), None
        publication.stale, publication.error = False, None
        self._store.write(state)
        self.fetched += 1
        self._in_a_row.clear()
        return record

    def _failed(self, error: SimapError, *, known: bool) -> None:
        """Go on after a failure, unless it is one of many in a row."""
        _log.warning("%s", error)
        self._in_a_row["down"] = self._in_a_row["down"] + 1 if isinstance(error, SimapDown) else 0
        self._in_a_row["new"] += not known
        if self._in_a_row["down"] >= DOWN_AFTER or self._in_a_row["new"] >= SYSTEMATIC_AFTER:
            raise SimapStopped(
                f"stopped after {max(self._in_a_row.values())} failures in a row, the last: {error} What was fetched until "
                "then is kept; run again later.",
                status=error.status,
            ) from error

    def read(self, state: ProjectState, publication: PublicationState) -> Publication:
        """A stored answer. Raises SimapShapeChanged where today's records are others than those it was stored under."""
        path = self._store.raw(state.project, publication.number)
        return check(Publication, json.loads(path.read_bytes()), str(path))
