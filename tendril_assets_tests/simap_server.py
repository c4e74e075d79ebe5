"""A replay of SIMAP's public API on 127.0.0.1: pages chained by ``lastItem``, details, past publications, and faults."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tendril_assets_tests.loopback import Scripted, ScriptedHandler, loopback_server
from tendril_assets_tests.simap_answers import Json

SEARCH = "/publications/v2/project/project-search"
ERROR = {"status": 400, "error": "Bad Request", "errorCode": "E0003", "message": "Bad request!"}


@dataclass
class Asked:
    """One request: its kind, the publication or cursor it is about, and which of its kind it is, from 1."""

    kind: str
    about: str
    parameters: dict[str, list[str]]
    number: int
    at: float


@dataclass(frozen=True)
class Given(Scripted):
    """JSON, where it says nothing else."""

    body: bytes = b"{}"


def given(value: object, status: int = 200) -> Given:
    return Given(status, json.dumps(value, ensure_ascii=False).encode())


@dataclass
class Platform:
    """What is published. ``past``: publication id -> earlier ones, newest first; None answers 400."""

    entries: list[Json] = field(default_factory=list)
    details: dict[str, bytes] = field(default_factory=dict)
    past: dict[str, list[Json] | None] = field(default_factory=dict)

    def publish(self, entry: Json, *details: Json, past: Sequence[Json] | None = ()) -> None:
        """``entry`` becomes its project's newest; ``past`` is what came before each of its publications."""
        self.entries = [entry, *(e for e in self.entries if e["id"] != entry["id"])]
        for detail in details:
            self.details[detail["id"]] = json.dumps(detail, ensure_ascii=False).encode()
        for head in (entry, *entry["lots"]):
            self.past[head["publicationId"]] = None if past is None else list(past)


class SimapServer:
    """Answers by ``platform``, unless ``fault`` says otherwise; ``asked`` is what came in."""

    def __init__(
        self, platform: Platform, fault: Callable[[Asked], Given | None] = lambda asked: None, page_size: int = 2
    ) -> None:
        self.platform, self.fault, self.page_size = platform, fault, page_size
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        server = self

        class Handler(ScriptedHandler):
            def do_GET(self) -> None:
                answer = server.answer(self.path)
                self.give(replace(answer, headers={"Content-Type": "application/json", **answer.headers}))

        self._server, self._thread = loopback_server(Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/api"

    @property
    def counts(self) -> Counter[str]:
        return Counter(asked.kind for asked in self.asked)

    def forget(self) -> None:
        self.asked.clear()

    def answer(self, target: str) -> Given:
        parts = urlsplit(target)
        path, parameters = parts.path.removeprefix("/api"), parse_qs(parts.query)
        if path == SEARCH:
            kind, about = "search", parameters.get("lastItem", [""])[0]
        elif "/publication-details/" in path:
            kind, about = "details", path.rsplit("/", 1)[1]
        elif path.endswith("/past-publications"):
            kind, about = "past", path.split("/")[-2]
        else:
            kind, about = "other", path
        with self._lock:
            asked = Asked(kind, about, parameters, self.counts[kind] + 1, time.monotonic())
            self.asked.append(asked)
        return self.fault(asked) or self._right(asked)

    def _right(self, asked: Asked) -> Given:
        if asked.kind == "search":
            return self._page(asked)
        if asked.kind == "details" and asked.about in self.platform.details:
            return Given(body=self.platform.details[asked.about])
        if asked.kind == "past" and asked.about in self.platform.past:
            past = self.platform.past[asked.about]
            return given(ERROR, 400) if past is None else given({"pastPublications": past})
        return given({"status": 404, "message": "Not found"}, 404)

    def _page(self, asked: Asked) -> Given:
        if not {"search", "projectSubTypes", "issuedByOrganizations"} & set(asked.parameters):
            return given(ERROR, 400)
        cursors = [f"{e['publicationDate'].replace('-', '')}|{e['projectNumber']}" for e in self.platform.entries]
        first = cursors.index(asked.about) + 1 if asked.about else 0
        page = self.platform.entries[first : first + self.page_size]
        # After the end there is nothing, and the cursor stays where it was.
        last = cursors[first + len(page) - 1] if page else asked.about
        return given({"projects": page, "pagination": {"lastItem": last, "itemsPerPage": self.page_size}})

    def __enter__(self) -> "SimapServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def recorded(folder: Path) -> Platform:
    """The recorded answers as a platform: three projects in full, and twenty that only the search knows."""

    def read(name: str) -> Any:
        return json.loads((folder / name).read_text("utf-8"))

    platform = Platform(read("project_search.json")["projects"] + read("project_search_ti_20.json")["projects"])
    for name in ("publication_details.json", "publication_details_lot.json", "publication_details_tender.json"):
        body = (folder / name).read_bytes()
        platform.details[json.loads(body)["id"]] = body
    for entry in platform.entries:
        for head in (entry, *entry["lots"]):
            platform.past[head["publicationId"]] = []
    award, lot = read("publication_details.json"), read("publication_details_lot.json")
    platform.past[award["id"]] = read("past_publications.json")["pastPublications"]
    platform.past[lot["id"]] = None
    return platform
