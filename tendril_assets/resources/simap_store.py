"""The mirror of SIMAP inside a landing folder: what is where, and what is known about it.

``simap/<project>/<number>.json`` is a publication's details as received, ``<number>.txt`` its text, ``.state.json`` what
this module notes about both; ``simap/projects.jsonl`` lists the projects. Each file is there whole or not at all. A
state is written after the files it speaks of, so that a killed run leaves at most a file the next one replaces.
"""

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from tendril_assets.files import file_hash, is_left_by_system, write_atomically
from tendril_assets.records import PubType

_log = logging.getLogger(__name__)

FOLDER = "simap"
PROJECTS = "projects.jsonl"
STATE = ".state.json"


def canonical(value: object) -> bytes:
    """JSON whose bytes are equal for equal values, whatever the order of keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Noted(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class PublicationState(_Noted):
    """``raw``, ``text``: SHA-256 of the files, None where there is none. ``stale``: its details must be asked for (again).

    ``rendered``: by which rule and languages the text was made. ``error``: why the last try failed, None after a success.
    """

    number: str
    id: str
    type: PubType
    date: str | None = None
    stale: bool = True
    raw: str | None = None
    rendered: str | None = None
    text: str | None = None
    title: str = ""
    language: str | None = None
    cpv: str | None = None
    characters: int = 0
    error: str | None = None


class ProjectState(_Noted):
    """``listed``: SHA-256 of the search entry whose publications are listed here; None until they are.

    ``entry``: the search's last entry as received. ``error``: why its publications could not be listed.
    """

    format: Literal[1] = 1
    project: str
    entry: dict[str, Any]
    listed: str | None = None
    publications: dict[str, PublicationState] = {}
    error: str | None = None

    @property
    def errors(self) -> list[tuple[str, str]]:
        """(what, why) of everything that failed."""
        failed = [(p.number, p.error) for p in self.publications.values() if p.error]
        return [*([(self.project, self.error)] if self.error else []), *failed]

    def row(self, title: str, language: str) -> dict[str, Any]:
        """The project's line in ``projects.jsonl``; ``title`` and ``language`` where no text has them.

        Published is the day of its first known publication; the language is that of its longest text.
        """
        texts = sorted((p for p in self.publications.values() if p.text), key=lambda p: (p.date or "", p.number))
        days = [p.date for p in self.publications.values() if p.date]
        longest = max(texts, key=lambda p: p.characters, default=None)
        return {
            "project": self.project,
            "title": next((p.title for p in reversed(texts) if p.title), title),
            "published": min(days, default=None),
            "language": (longest.language if longest else None) or language,
            "cpv": next((p.cpv for p in reversed(texts) if p.cpv), None),
            "texts": len(texts),
        }


class Store:
    """The folder ``simap`` of one landing folder."""

    def __init__(self, landing: Path) -> None:
        self.root = landing / FOLDER

    def raw(self, project: str, number: str) -> Path:
        return self.root / project / f"{number}.json"

    def text(self, project: str, number: str) -> Path:
        return self.root / project / f"{number}.txt"

    def projects(self) -> list[str]:
        """Mirrored projects, sorted."""
        if not self.root.is_dir():
            return []
        return sorted(p.name for p in self.root.iterdir() if p.is_dir() and not is_left_by_system(p.name))

    def read(self, project: str) -> ProjectState | None:
        """None where there is none, or one that cannot be read: then all of the project is asked for anew, and logged."""
        try:
            return self.load(project)
        except FileNotFoundError:
            return None
        except ValueError as error:
            _log.warning("%s is damaged and is made anew: %s", self.root / project / STATE, str(error).splitlines()[0])
            return None

    def load(self, project: str) -> ProjectState:
        """Raises FileNotFoundError, and ValueError where it cannot be read or is not this project's."""
        state = ProjectState.model_validate(json.loads((self.root / project / STATE).read_bytes()))
        if state.project != project or any(k != p.number for k, p in state.publications.items()):
            raise ValueError(f"it is the state of {state.project}")
        return state

    def write(self, state: ProjectState) -> None:
        """Replace the project's state where it differs."""
        # ASCII: half a surrogate pair, which JSON can hold, has no UTF-8.
        write_if_other(self.root / state.project / STATE, json.dumps(state.model_dump(), indent=1).encode())

    def write_projects(self, rows: list[dict[str, Any]]) -> None:
        lines = [json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: row["project"])]
        write_if_other(self.root / PROJECTS, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    def remove(self, project: str) -> None:
        shutil.rmtree(self.root / project)


def holds(path: Path, sha256: str | None) -> bool:
    """Whether the file is there with these bytes; with None, whether it is not there."""
    if sha256 is None:
        return not path.exists()
    return path.is_file() and file_hash(path) == sha256


def write_if_other(path: Path, data: bytes) -> bool:
    """Write ``data`` unless the file holds just that; True where it was written."""
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomically(path, data)
    return True
