"""The client of SIMAP's public API: read only, one request at a time, no faster than asked to.

Three requests: the project search, page by page; the details of a publication; the publications before it. An answer is
a JSON object or an error. Tried again are cut connections, time-outs, 429, every 5xx and bodies that are no JSON (an
error page); another status is final. Redirects are followed on the same host only.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from tendril_assets.corpus.notice_search import PastPublication, PastPublications, SearchPage
from tendril_assets.corpus.notice_shape import check
from tendril_assets.errors import SimapDown, SimapError
from tendril_assets.resources.loopback import is_loopback
from tendril_assets.resources.retry import backoff_seconds, jitter, retry_after_seconds
from tendril_assets.spec import SimapSpec

_log = logging.getLogger(__name__)

SEARCH = "publications/v2/project/project-search"
MAX_BYTES = 16 * 1024 * 1024
MAX_PAGES = 10_000
_MAX_REDIRECTS = 3

Parameters = list[tuple[str, str]]

# Name of the search's parameter -> field of the specification.
SEARCH_PARAMETERS = {
    "search": "search",
    "lang": "search_languages",
    "projectSubTypes": "project_sub_types",
    "issuedByOrganizations": "issued_by_organizations",
    "processTypes": "process_types",
    "newestPubTypes": "newest_pub_types",
    "cpvCodes": "cpv_codes",
    "cpcCodes": "cpc_codes",
    "bkpCodes": "bkp_codes",
    "ebkphCodes": "ebkph_codes",
    "ebkptCodes": "ebkpt_codes",
    "npkCodes": "npk_codes",
    "oagCodes": "oag_codes",
    "orderAddressCountryOnlySwitzerland": "only_switzerland",
    "orderAddressCantons": "cantons",
    "newestPublicationFrom": "published_from",
    "newestPublicationUntil": "published_until",
}


def search_parameters(spec: SimapSpec) -> Parameters:
    """The search's parameters as it names them; a list is its parameter repeated, what is not set is left out."""
    pairs: Parameters = []
    for name, field in SEARCH_PARAMETERS.items():
        value = getattr(spec, field)
        for item in value if isinstance(value, tuple) else (value,):
            if item:
                pairs.append((name, "true" if item is True else str(item)))
    return pairs


class Answer(NamedTuple):
    """``body``: the bytes as received; ``data``: what they say; ``url``: where from, for messages."""

    url: str
    body: bytes
    data: Any


class Found(NamedTuple):
    """A project as the search shows it, not checked yet; ``url`` is its page's."""

    url: str
    entry: dict[str, Any]


@dataclass(frozen=True)
class Patience:
    """Attempts and times in seconds. ``rate_limited``: attempts while the answer is 429. ``attempt_s`` bounds one attempt."""

    attempts: int = 5
    rate_limited: int = 10
    first_wait: float = 1.0
    max_wait: float = 60.0
    retry_after_cap: float = 300.0
    connect_s: float = 10.0
    read_s: float = 60.0
    attempt_s: float = 180.0


class _Failed(Exception):
    """An attempt worth another one."""

    def __init__(self, what: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.status, self.retry_after = status, retry_after


class SimapClient:
    """``requests`` counts what was sent, by kind; use as a context manager."""

    def __init__(
        self,
        base_url: str,
        requests_per_second: float,
        *,
        patience: Patience | None = None,
        max_bytes: int = MAX_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.requests: Counter[str] = Counter()
        self._interval = 1 / requests_per_second
        self._patience = patience or Patience()
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._next = 0.0
        host = httpx.URL(base_url)
        self._origin = (host.host, host.port)
        self._http = httpx.Client(
            timeout=httpx.Timeout(self._patience.read_s, connect=self._patience.connect_s),
            headers={"Accept": "application/json", "User-Agent": f"tendril_assets/{version('tendril_assets')}"},
            trust_env=not is_loopback(host.host),
        )

    def __enter__(self) -> "SimapClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def search(self, spec: SimapSpec) -> Iterator[Found]:
        """Every project of the search, newest first, each once; a page is asked for when its first project is.

        Raises:
            SimapError: refused or down; pages that come round again, or do not end.
            SimapShapeChanged: a page that is none.
        """
        seen: set[str] = set()
        cursors: set[str] = set()
        last: str | None = None
        for _ in range(MAX_PAGES):
            parameters = [*search_parameters(spec), *([("lastItem", last)] if last else [])]
            answer = self._get("search", SEARCH, parameters)
            page = check(SearchPage, answer.data, answer.url)
            before = len(seen)
            for entry in page.projects:
                key = str(entry.get("id") or json.dumps(entry, sort_keys=True))
                if key not in seen:
                    seen.add(key)
                    yield Found(answer.url, entry)
            last = page.pagination.lastItem
            if not page.projects or not last:
                return
            if last in cursors or len(seen) == before:
                raise SimapError(
                    f"{answer.url}: the pages of the search come round again (lastItem {last!r} once more, after "
                    f"{len(seen):,} projects), so its end cannot be found. Nothing was fetched; try again later."
                )
            cursors.add(last)
        raise SimapError(f"{self.base_url}/{SEARCH}: more than {MAX_PAGES:,} pages; narrow the search in simap")

    def details(self, project_id: str, publication_id: str) -> Answer:
        """``publication-details`` of one publication. Raises SimapError, with the status where it is final."""
        path = f"publications/v1/project/{project_id}/publication-details/{publication_id}"
        return self._get("details", path, [])

    def past_publications(self, publication_id: str, lot_id: str | None) -> list[PastPublication] | None:
        """What was published before; None where the API does not say (400, as for some lots, or 404).

        Raises SimapError, SimapShapeChanged.
        """
        parameters = [("lotId", lot_id)] if lot_id else []
        try:
            answer = self._get("past", f"publications/v1/publication/{publication_id}/past-publications", parameters)
        except SimapError as error:
            if error.status in (400, 404):
                return None
            raise
        return check(PastPublications, answer.data, answer.url).pastPublications

    # Sending ----------------------------------------------------------------------------------------------------------

    def _get(self, kind: str, path: str, parameters: Parameters) -> Answer:
        url = (
            httpx.URL(f"{self.base_url}/{path}", params=parameters)
            if parameters
            else httpx.URL(f"{self.base_url}/{path}")
        )
        retrying = Retrying(
            retry=retry_if_exception_type(_Failed),
            stop=self._gives_up,
            wait=lambda state: self._wait(state, str(url)),
            sleep=self._sleep,
            before_sleep=lambda state: _log.warning("%s: %s; trying again", url, _outcome(state)),
            reraise=True,
        )
        try:
            return retrying(self._attempt, kind, url)
        except _Failed as failed:
            tries = retrying.statistics["attempt_number"]
            raise SimapDown(
                f"{url}: {failed}; given up after {tries} attempts. Try again later: what is there is kept.",
                status=failed.status,
            ) from failed

    def _gives_up(self, state: RetryCallState) -> bool:
        failed = _outcome(state)
        limited = isinstance(failed, _Failed) and failed.status == 429
        return state.attempt_number >= (self._patience.rate_limited if limited else self._patience.attempts)

    def _wait(self, state: RetryCallState, url: str) -> float:
        failed, attempt, patience = _outcome(state), state.attempt_number, self._patience
        share = jitter(url, attempt)
        if isinstance(failed, _Failed) and failed.retry_after is not None:
            return failed.retry_after + share
        return backoff_seconds(patience.first_wait, patience.max_wait, attempt, share)

    def _pace(self, url: str) -> None:
        """Wait for this request's turn; the gaps vary, so that nothing beats in time with other programs."""
        now = time.monotonic()
        if now < self._next:
            self._sleep(self._next - now)
            now = max(time.monotonic(), self._next)
        self._next = now + self._interval * (1 + 0.25 * jitter(url, sum(self.requests.values())))

    def _attempt(self, kind: str, url: httpx.URL) -> Answer:
        for _ in range(_MAX_REDIRECTS + 1):
            self._pace(str(url))
            self.requests[kind] += 1
            try:
                with self._http.stream("GET", url) as response:
                    if not response.has_redirect_location:
                        return self._read(response, str(url))
                    url = self._redirected(url, response)
            except httpx.InvalidURL as error:
                raise SimapError(f"{url}: redirected to what is no address: {error}") from error
            except httpx.RequestError as error:
                raise _Failed(f"{type(error).__name__} {error}".strip()) from error
        raise SimapError(f"{url}: redirected more than {_MAX_REDIRECTS} times")

    def _redirected(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        target = url.join(response.headers["location"])
        same = (target.host, target.port) == self._origin and not (url.scheme == "https" and target.scheme == "http")
        if not same or target.scheme not in ("http", "https"):
            raise SimapError(
                f"{url} redirects to {target}, another host, which is not followed. If SIMAP has moved, set simap.base_url.",
                status=response.status_code,
            )
        return target

    def _read(self, response: httpx.Response, url: str) -> Answer:
        body = bytearray()
        ends = time.monotonic() + self._patience.attempt_s
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > self._max_bytes:
                raise SimapError(f"{url}: the answer is larger than {self._max_bytes:,} bytes; it is not read")
            if time.monotonic() > ends:
                raise _Failed(f"the answer took longer than {self._patience.attempt_s:.0f} s")
        status = response.status_code
        if status == 429 or status >= 500:
            header = response.headers.get("retry-after")
            wait = retry_after_seconds(header, datetime.now(UTC), self._patience.retry_after_cap)
            raise _Failed(f"answered {status}{_said(bytes(body))}", status, wait)
        if status != 200:
            raise SimapError(f"{url}: answered {status}{_said(bytes(body))}", status=status)
        try:
            return Answer(url, bytes(body), json.loads(bytes(body), parse_constant=_no_number))
        except (ValueError, RecursionError) as error:
            raise _Failed(f"answered 200 with what is no JSON ({_begin(bytes(body))})") from error


def _outcome(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _said(body: bytes) -> str:
    """The API's own message of an error, or how another body begins."""
    try:
        said = json.loads(body)
        return f" ({said['message']})" if isinstance(said["message"], str) else ""
    except (ValueError, RecursionError, TypeError, KeyError):
        return f" ({_begin(body)})" if body.strip() else ""


def _begin(body: bytes) -> str:
    return f"it begins with {' '.join(body[:200].decode('utf-8', 'replace').split())[:80]!r}"
