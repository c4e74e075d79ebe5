"""The written sources of the sample: subjects with their objects, facets with their wordings, and the list of acts."""

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

_FOLDER = "tendril_assets.sandbox.regulations"
KINDS = {
    "П": "Положение",
    "У": "Указание",
    "И": "Инструкция",
    "МР": "Методические рекомендации",
    "ОР": "Официальное разъяснение",
}
# Letter of a facet in the list of acts.
_LETTERS = {
    "m": "meaning",
    "d": "deadline",
    "k": "keeping",
    "c": "contents",
    "y": "duty",
    "t": "threshold",
    "e": "exception",
    "q": "frequency",
    "r": "reporting",
    "x": "remedy",
    "f": "formula",
    "n": "notice",
}


@dataclass(frozen=True, order=True)
class Matter:
    """What a clause is about: a facet of an object of a theme, addressed to one kind of organisation (``who``: the stem
    of the adjective).
    """

    theme: str
    thing: str
    facet: str
    who: str


@dataclass(frozen=True)
class Act:
    """One act of the list. ``number`` and ``date`` (YYYY-MM-DD) name it; ``source`` is file, text or an issue's name."""

    number: str
    date: str
    who: str
    theme: str
    facets: tuple[str, ...]
    things: tuple[str, ...]
    layout: str
    source: str
    split: str
    title: str

    @property
    def kind(self) -> str:
        return KINDS[self.number.rsplit("-", 1)[1]]

    @property
    def key(self) -> str:
        year, month, day = self.date.split("-")
        return f"{self.number.replace('/', '~')}_{day}{month}{year}"

    def matter(self, thing: str, facet: str) -> Matter:
        return Matter(self.theme, thing, facet, self.who)


@cache
def themes() -> dict[str, dict[str, Any]]:
    """Theme -> its slots and objects."""
    return {**_yaml("themes_a.yaml"), **_yaml("themes_b.yaml")}


@cache
def facets() -> dict[str, dict[str, Any]]:
    """Facet -> its wordings, in the order in which an act takes them up."""
    return _yaml("facets.yaml")


@cache
def acts() -> tuple[Act, ...]:
    """The acts that are kept, in the order of the list."""
    found = []
    for row in rows("acts.tsv"):
        things = tuple(themes()[row["theme"]]["objects"]) if row["objects"] == "all" else tuple(row["objects"].split())
        chosen = set(_LETTERS.values()) if row["facets"] == "all" else {_LETTERS[letter] for letter in row["facets"]}
        own = {name: row[name] for name in ("number", "date", "who", "theme", "layout", "source", "split", "title")}
        found.append(Act(**own, facets=tuple(f for f in facets() if f in chosen), things=things))
    return tuple(found)


def act_of(key: str) -> Act:
    """The act with that key. Raises KeyError."""
    return {act.key: act for act in acts()}[key]


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a tab-separated source."""
    return list(csv.DictReader(io.StringIO(text(name)), delimiter="\t", quoting=csv.QUOTE_NONE))


def text(name: str) -> str:
    """A source as it is written."""
    return (resources.files(_FOLDER) / "content" / name).read_text(encoding="utf-8")


def _yaml(name: str) -> dict[str, Any]:
    return yaml.safe_load(text(name))
