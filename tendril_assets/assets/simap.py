"""The one step that goes online for texts: SIMAP's publications, mirrored into the landing folder.

It is part of the job ``<collection>_simap`` alone; landing then reads the folder as it reads every other.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import dagster as dg

from tendril_assets.assets.common import Stage, work_asset
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.notice_words import NOTICE_VERSION
from tendril_assets.corpus.removals import Removals, is_address
from tendril_assets.resources.landing import find_optional, read_rows
from tendril_assets.resources.simap_store import Store
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec, SimapSpec

if TYPE_CHECKING:
    from tendril_assets.resources.simap_mirror import Summary

PUBLICATIONS = "simap_publications"
STAGE = "simap"
_MAX_SHOWN = 50


class _Scope(NamedTuple):
    """``listed``: the landing folder's own projects, None where it has no list."""

    listed: frozenset[str] | None
    is_removed: Callable[[str], bool]


def mirror_simap(spec: SimapSpec, collection: str, settings: Settings, tell: Callable[[str], None]) -> "Summary":
    """Bring the mirror in the collection's landing folder up to date; ``tell`` gets a line now and then.

    Raises:
        SimapError: the search cannot be read, SIMAP is down, or nothing could be mirrored at all.
        LandingError: the folder's own list of projects or its removal list cannot be read.
        MissingHashKey: the removal list holds published ids, and there is no secret to know them by.
    """
    # Here and not above: the records of the API take as long to load as a third of the code location.
    from tendril_assets.resources.simap import SimapClient
    from tendril_assets.resources.simap_mirror import Mirror

    folder = settings.landing / collection
    scope = _scope(folder, settings)
    with SimapClient(settings.simap_base_url or spec.base_url, spec.requests_per_second) as client:
        mirror = Mirror(Store(folder), client, spec, listed=scope.listed, is_removed=scope.is_removed, progress=tell)
        return mirror.run()


def _scope(folder: Path, settings: Settings) -> _Scope:
    listed = None
    if path := find_optional(folder, "projects", ("csv", "jsonl", "parquet")):
        listed = frozenset(str(row.get("project")).strip() for _, row in read_rows(path))
    path = find_optional(folder, "removals", ("csv",))
    rows = [(str(row.get("kind")).strip(), str(row.get("id"))) for _, row in read_rows(path)] if path else []
    removals = Removals.of(rows)
    if all(is_address(entry) for entry in removals.projects):
        return _Scope(listed, lambda project: removals.has_project(project, ""))
    hasher = KeyedHasher(settings.hash_key)
    return _Scope(listed, lambda project: removals.has_project(project, hasher.group(project)))


def figures(summary: "Summary") -> dict[str, int | float]:
    """The counts of a run, in words."""
    return {
        "projects found": summary.found,
        "projects removed": summary.removed,
        "projects here": summary.projects,
        "projects here that the search no longer shows": summary.no_longer_found,
        "projects here without a text": summary.without_text,
        "projects of the own list that are not here": summary.not_on_simap,
        "texts here": summary.texts,
        "texts written": summary.texts_written,
        "publications fetched": summary.fetched,
        "failed": len(summary.failed),
        "requests": sum(summary.requests.values()),
        "seconds": round(summary.seconds, 1),
    }


def simap_assets(spec: CollectionSpec) -> Stage:
    """``simap_publications``, where the specification reads SIMAP."""
    simap = spec.simap
    if simap is None:
        return Stage([], [])

    @work_asset(
        spec,
        PUBLICATIONS,
        stage=STAGE,
        description="Publications on SIMAP, mirrored into the landing folder: answers as received, and their texts.",
        pool="simap",
        kinds={"api", "file"},
        version=NOTICE_VERSION,
    )
    def simap_publications(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        settings = Settings.from_env()
        summary = mirror_simap(simap, spec.collection, settings, context.log.info)
        for what, why in summary.failed[:_MAX_SHOWN]:
            context.log.warning(f"{what}: {why}")
        if not summary.found:
            context.log.warning("the search found no project: look at its filters in the specification")
        for name, times in summary.unknown.most_common(_MAX_SHOWN):
            context.log.info(f"new in the API, kept in the answers and not read: {name} ({times:,} times)")
        return dg.MaterializeResult(
            data_version=dg.DataVersion(summary.content[:16]),
            metadata={
                **{name.replace(" ", "_"): value for name, value in figures(summary).items()},
                "requests_by_kind": dict(summary.requests),
                "failures": _table("what", "why", summary.failed[:_MAX_SHOWN]),
                "new_fields": _table("field", "times", summary.unknown.most_common(_MAX_SHOWN)),
                "mirror": dg.MetadataValue.path(str(Store(settings.landing / spec.collection).root)),
            },
        )

    return Stage([simap_publications], [])


def _table(first: str, second: str, rows: Sequence[tuple[str, object]]) -> dg.MarkdownMetadataValue:
    lines = "\n".join(f"| {a} | {str(b).replace('|', '/')} |" for a, b in rows)
    return dg.MetadataValue.md(f"| {first} | {second} |\n|---|---|\n{lines}")
