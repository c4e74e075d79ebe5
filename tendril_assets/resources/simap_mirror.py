"""Keeping a mirror of SIMAP: only what is new or has changed is asked for, and what failed is tried again next time.

The search is read to its end first. A project whose search entry is the one of the last time costs no request, unless
something of it is missing or failed. Otherwise its publications are listed anew: the newest (with lots: the newest of
each), which are asked for again, and those before it, which are asked for where they are not here. Of these only the
types that are wanted are fetched.

What was published stays: a publication or project that SIMAP no longer shows keeps its text, for a corpus must not
shrink because a search window moved or a page was taken down for an hour; such projects are counted. What must go is
named on the landing folder's removal list: it is neither fetched nor kept here.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tendril_assets.corpus.notice_search import SearchEntry
from tendril_assets.corpus.notice_shape import Texts, check, unknown_fields
from tendril_assets.corpus.notice_words import NOTICE_VERSION
from tendril_assets.corpus.notices import render, title_of
from tendril_assets.errors import SimapError, SimapShapeChanged
from tendril_assets.resources.lock import exclusive
from tendril_assets.resources.simap import Found, SimapClient
from tendril_assets.resources.simap_fetch import Fetcher, FoundEntry
from tendril_assets.resources.simap_store import (
    ProjectState,
    PublicationState,
    Store,
    digest,
    holds,
    write_if_other,
)
from tendril_assets.spec import SimapSpec

PROGRESS_EVERY_S = 10.0
_LIST_EVERY = 50


@dataclass
class Summary:
    """What one run did and what the mirror holds. ``failed``: (what, why); ``unknown``: fields new in the API.

    ``not_on_simap``: projects of the landing folder's own list that the search does not show and that are not here.
    ``content`` is equal for equal texts.
    """

    found: int = 0
    not_on_simap: int = 0
    removed: int = 0
    no_longer_found: int = 0
    projects: int = 0
    texts: int = 0
    without_text: int = 0
    projects_asked: int = 0
    fetched: int = 0
    texts_written: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    content: str = ""
    seconds: float = 0.0


class Mirror:
    """One run over one landing folder.

    Args:
        listed: the landing folder's own projects; only their texts are mirrored. None takes what the search finds.
        is_removed: whether a project is on the removal list.
        progress: told a line now and then.
    """

    def __init__(
        self,
        store: Store,
        client: SimapClient,
        spec: SimapSpec,
        *,
        listed: frozenset[str] | None = None,
        is_removed: Callable[[str], bool] = lambda project: False,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._store, self._client, self._spec = store, client, spec
        self._listed, self._is_removed, self._tell = listed, is_removed, progress
        self._rule = f"{NOTICE_VERSION} {','.join(spec.languages)}"
        self._summary = Summary()
        # Project -> its line in the list, and what its texts are.
        self._rows: dict[str, dict[str, Any]] = {}
        self._contents: dict[str, str] = {}
        self._fetcher = Fetcher(store, client, spec)

    def run(self) -> Summary:
        """Bring the mirror up to date.

        Raises:
            DatabaseLocked: another process mirrors into this folder.
            SimapError: the search cannot be read; SIMAP is down, or fails one publication after the other. What was
                fetched until then is kept.
        """
        begin, summary = time.monotonic(), self._summary
        with exclusive(self._store.root / ".lock", "mirroring SIMAP", 2.0):
            self._remove()
            found = self._search()
            try:
                self._all(found)
            finally:
                self._write_list()
        if summary.failed and not summary.texts:
            what, why = summary.failed[-1]
            raise SimapError(f"nothing could be mirrored; {len(summary.failed):,} failed, the last: {what}: {why}")
        lines = "".join(f"{project} {content}\n" for project, content in sorted(self._contents.items()))
        summary.content = digest(lines.encode())
        summary.fetched = self._fetcher.fetched
        summary.unknown.update(self._fetcher.unknown)
        summary.requests, summary.seconds = Counter(self._client.requests), time.monotonic() - begin
        return summary

    # Projects ---------------------------------------------------------------------------------------------------------

    def _remove(self) -> None:
        for project in self._store.projects():
            if self._is_removed(project):
                self._store.remove(project)
                self._summary.removed += 1

    def _search(self) -> dict[str, FoundEntry]:
        """Project number -> checked entry and the entry as received."""
        found: dict[str, FoundEntry] = {}
        last: Found | None = None
        told = time.monotonic()
        # On a list of its own a landing folder has all that is wanted.
        enough = (
            self._spec.max_projects
            if self._listed is None
            else len([p for p in self._listed if not self._is_removed(p)])
        )
        for last in self._client.search(self._spec):
            self._summary.found += 1
            try:
                entry = check(SearchEntry, last.entry, last.url)
            except SimapShapeChanged as error:
                number = last.entry.get("projectNumber")
                self._summary.failed.append((str(number or "project of the search"), str(error)))
                continue
            self._summary.unknown.update(f"search: {path}" for path in unknown_fields(entry).elements())
            wanted = self._listed is None or entry.projectNumber in self._listed
            if wanted and not self._is_removed(entry.projectNumber):
                found.setdefault(entry.projectNumber, (entry, last.entry))
            if time.monotonic() - told > PROGRESS_EVERY_S:
                told = time.monotonic()
                self._tell(f"searching: {self._summary.found:,} projects so far")
            if len(found) == enough:
                break
        if last is not None and len(self._summary.failed) == self._summary.found:
            # Not one entry as described: the search has changed, and nothing could be done.
            check(SearchEntry, last.entry, last.url)
        return found

    def _all(self, found: dict[str, FoundEntry]) -> None:
        here = [p for p in self._store.projects() if self._listed is None or p in self._listed]
        states: dict[str, ProjectState] = {}
        for project in here:
            if state := self._store.read(project):
                states[project], self._rows[project] = state, self._row(state)
            elif project not in found:
                why = f"{self._store.root / project}: its notes are damaged and the search does not show it; remove the folder"
                self._summary.failed.append((project, why))
        self._summary.no_longer_found = len(states.keys() - found.keys())
        for project, (_, raw) in found.items():
            states.setdefault(project, ProjectState(project=project, entry=raw))
        if self._listed is not None:
            self._summary.not_on_simap = sum(p not in states and not self._is_removed(p) for p in self._listed)
        waiting = {p for p, s in states.items() if self._fetcher.wants(s, found[p][1] if p in found else s.entry)}
        self._tell(
            f"{self._summary.found:,} projects found, {len(states):,} here or to come, {len(waiting):,} to be asked for"
        )
        progress = _Progress(self._tell, len(waiting), self._client)
        for project, state in states.items():
            if project in waiting:
                self._summary.projects_asked += 1
                self._fetcher.ask(state, found.get(project))
            self._render_all(state)
            self._note(state)
            if project in waiting and progress.one() % _LIST_EVERY == 0:
                self._write_list()

    def _note(self, state: ProjectState) -> None:
        """Count the project, and keep its line for the list."""
        texts = [p for p in state.publications.values() if p.text]
        self._summary.projects += 1
        self._summary.texts += len(texts)
        self._summary.without_text += not texts
        self._summary.failed += state.errors
        self._rows[state.project] = self._row(state)
        self._contents[state.project] = " ".join(sorted(f"{p.number} {p.text}" for p in texts))

    def _row(self, state: ProjectState) -> dict[str, Any]:
        title, language = title_of(Texts.model_validate(state.entry["title"]), self._spec.languages)
        return state.row(title or state.project, language)

    def _write_list(self) -> None:
        self._store.write_projects(list(self._rows.values()))

    # Texts ------------------------------------------------------------------------------------------------------------

    def _render_all(self, state: ProjectState) -> None:
        """Make the texts of the wanted publications that are not what their answers give; remove those not wanted."""
        before = state.model_copy(deep=True)
        for publication in state.publications.values():
            self._render(state, publication)
        if state != before:
            self._store.write(state)

    def _render(self, state: ProjectState, publication: PublicationState) -> None:
        path = self._store.text(state.project, publication.number)
        if publication.raw is None or publication.type not in self._spec.publication_types:
            path.unlink(missing_ok=True)
            publication.text = publication.rendered = None
            return
        if publication.rendered == self._rule and holds(path, publication.text):
            return
        if not holds(self._store.raw(state.project, publication.number), publication.raw):
            return  # fetching it anew has failed, which is noted; the text of what was here stays
        try:
            made = render(self._fetcher.read(state, publication), self._spec.languages)
        except SimapShapeChanged as error:
            # Kept under other records than today's.
            publication.stale, publication.error = True, str(error)
            return
        data = made.text.encode()
        if not data:
            path.unlink(missing_ok=True)
        elif write_if_other(path, data):
            self._summary.texts_written += 1
        publication.text, publication.rendered = digest(data) if data else None, self._rule
        publication.title, publication.language, publication.cpv = made.title, made.language, made.cpv
        publication.characters = len(made.text)


class _Progress:
    """Tells done, open, rate and time left, at most every ten seconds and at the end."""

    def __init__(self, tell: Callable[[str], None], total: int, client: SimapClient) -> None:
        self._tell, self._total, self._client = tell, total, client
        self._done = 0
        self._begin = self._last = time.monotonic()

    def one(self) -> int:
        """One more is done; how many are."""
        self._done += 1
        now = time.monotonic()
        if now - self._last < PROGRESS_EVERY_S and self._done < self._total:
            return self._done
        self._last = now
        rate = self._done / max(now - self._begin, 1e-9)
        left = self._total - self._done
        ends = f", about {left / rate / 60:.0f} min left" if left else ""
        self._tell(
            f"{self._done:,} projects done, {left:,} open, {rate:.1f} projects/s, "
            f"{sum(self._client.requests.values()):,} requests{ends}"
        )
        return self._done
