"""Which files there are, to which part of a data folder each belongs, and what takes a text out of it."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tendril_assets.settings import Settings
from tendril_assets.tables import LANDING

SOURCE = "source"
DAGSTER = "dagster"
LEFT_OVER = "left_over"
# Folder of what each model was trained on, by ids.
TRAINED = "trained"
LIST_IT = "name it in removals.csv; the next tendril run erases it"
# What takes it out, by place; a run that erases clears those that are not here (table erasures has their names).
_REMEDIES = {
    "report": "the next tendril run writes the page anew",
    DAGSTER: "no step writes texts there: delete the run (dagster run delete RUN), or the file",
    LEFT_OVER: "left by a process that was killed: the next tendril run sweeps it; else delete it",
    "other": "not a file of this program: delete it",
    SOURCE: "yours: no run touches the landing folder; delete or correct the file there",
}
_MORE = {
    "release": "; what was published before is taken off the hub by tendril publish --delete-tags",
    "training": ", and training again replaces the files beside the weights",
}
# Where a table or a hand-over file is a copy of what the landing folder gives.
_LANDED = "the landing folder holds it: correct the file there, and the next tendril run lands it anew"
_BYTES = "goes with its rows: a run that erases writes the file anew"
_LANDED_FILES = ("test_", "run_", "calibration_", "summary_")
_LANDED_TABLES = {table.name for table in LANDING}
# Landing tables that name projects and documents, whatever becomes of these.
LISTING = ("projects", "documents", "evidence", "delivered_passages")
# Queries are worded from the catalog, or landed as questions, wherever a copy of one stands.
_CATALOG = (
    "correct the catalog in the landing folder, and the next tendril run lands it anew; where queries are questions, their "
    "file, and one that a model wrote goes with its passage"
)
_CATALOG_TABLES = ("areas", "criteria", "area_summaries", "queries", "project_queries")


def table_of(place: str, where: str) -> str | None:
    """The table that ``where`` (schema.table.column) names in one of the pipeline's databases."""
    names = where.split(".")
    return names[1] if place in ("warehouse", "snapshot") and len(names) == 3 else None


def remedy(place: str, file: str, where: str, erase: str = LIST_IT) -> str:
    """What takes a text out of one place; ``where`` is a table and column in a database, ``erase`` what makes a run do it."""
    table, path = table_of(place, where), Path(file)
    if table in _CATALOG_TABLES:
        return _CATALOG
    if table in _LANDED_TABLES:
        return _LANDED
    if place == "release" and (path.parent.name == "queries" or path.name.startswith("queries.")):
        return f"{_CATALOG}; then raise release.version, for a version without it"
    if table is None and place in ("warehouse", "snapshot"):
        return _BYTES
    if place == "hand_over" and path.name.startswith(_LANDED_FILES):
        return _LANDED
    if place == "hand_over" and (path.name.startswith("queries.") or where.startswith("query")):
        return _CATALOG
    return _REMEDIES.get(place, erase + _MORE.get(place, ""))


class Stamp(NamedTuple):
    """What changes when a file does."""

    size: int
    modified: int
    inode: int


class Found(NamedTuple):
    path: Path
    place: str
    stamp: Stamp


@dataclass(frozen=True)
class Folders:
    """``home``, ``dagster`` (where Dagster keeps its own) and ``landing``; the last may lie below the first.

    The sample's landing folder and Dagster's below ``home`` are known as such, also where the settings name others.
    """

    home: Path
    dagster: Path
    landing: Path

    @classmethod
    def of(cls, settings: Settings) -> "Folders":
        given = os.environ.get("DAGSTER_HOME")
        return cls(settings.home, Path(given) if given else settings.home / "dagster", settings.landing)

    @property
    def roots(self) -> list[Path]:
        """Folders to go through, none inside another."""
        every = dict.fromkeys((self.home, self.dagster, self.landing))
        return [root for root in every if not any(root != other and root.is_relative_to(other) for other in every)]

    def place_of(self, path: Path) -> str:
        if path.is_relative_to(self.landing):
            return SOURCE
        if path.is_relative_to(self.dagster):
            return DAGSTER
        parts = path.relative_to(self.home).parts if path.is_relative_to(self.home) else path.parts
        return _BELOW_HOME.get(parts[0]) or _place_at_home(parts)


_BELOW_HOME = {"sandbox": SOURCE, "dagster": DAGSTER}


def _place_at_home(parts: tuple[str, ...]) -> str:
    name, top = parts[-1], parts[0]
    if (
        name.endswith(".partial")
        or top == "duckdb_temp"
        or any(p.startswith(".") and p.endswith(".tmp") for p in parts)
    ):
        return LEFT_OVER
    for database in ("warehouse", "snapshot"):
        if top.startswith(f"{database}.duckdb"):
            return database
    if top == "artifacts" and len(parts) > 2:
        if parts[1] == "cache":
            return "cache"
        return {"exchange": "hand_over", "models": "training", TRAINED: "training"}.get(parts[2], "cache")
    if top == "stand_in_gateway.state":
        return "ledger"
    return {"ledger": "ledger", "release": "release", "reports": "report"}.get(top, "other")


def files_below(folders: Folders, unread: list[tuple[Path, str]]) -> Iterator[Found]:
    """Every file below the roots, links followed, each folder once. Folders that cannot be looked into, or that settings
    name and are not there, and links to nothing, are added to ``unread``."""
    seen: set[tuple[int, int]] = set()
    for root in folders.roots:
        if root.exists():
            yield from _below(root, folders, seen, unread)
        else:
            unread.append((root, "there is no such folder"))


def _below(
    folder: Path, folders: Folders, seen: set[tuple[int, int]], unread: list[tuple[Path, str]]
) -> Iterator[Found]:
    try:
        own = folder.stat()
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return  # gone since its name was read
    except OSError as error:
        unread.append((folder, f"the folder cannot be looked into: {error.strerror}"))
        return
    if (own.st_dev, own.st_ino) in seen:
        return
    seen.add((own.st_dev, own.st_ino))
    for name in names:
        path = folder / name
        try:
            found = path.stat()
        except FileNotFoundError:
            if path.is_symlink():
                unread.append((path, "a link to a file that is gone"))
            continue
        except OSError as error:
            unread.append((path, f"it cannot be looked at: {error.strerror}"))
            continue
        if stat.S_ISDIR(found.st_mode):
            yield from _below(path, folders, seen, unread)
        elif stat.S_ISREG(found.st_mode):
            yield Found(path, folders.place_of(path), Stamp(found.st_size, found.st_mtime_ns, found.st_ino))
