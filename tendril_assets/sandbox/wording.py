"""The written sources of the sample and how a template becomes a text.

A template holds choices ``[a|b|c]`` (drawn by name, one of them may be empty) and slots ``{name}``. A slot that stands
for personal data has a second, masked filling, so that the raw and the anonymised text come from one draw.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from tendril_assets.sandbox.draws import Draws

CATALOGS = ("hochbau", "informatik", "mobilitaet", "verpflegung")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Slots:
    """Fillings of the slots; ``masked`` overrides those that are personal data."""

    raw: dict[str, str]
    masked: dict[str, str]


@dataclass(frozen=True)
class Text:
    """A text as it stands in the document, and as it reads after anonymisation."""

    raw: str
    masked: str

    def __add__(self, other: "Text") -> "Text":
        return Text(f"{self.raw} {other.raw}", f"{self.masked} {other.masked}")


def expand(template: str, entity: str, slots: Slots) -> Text:
    """The text of ``template`` for ``entity``.

    Raises KeyError for a slot without filling.
    """
    draws = Draws("wording")
    counter = iter(range(template.count("[")))

    def choose(match: re.Match[str]) -> str:
        return draws.pick(f"{entity}/{next(counter)}", match.group(1).split("|"))

    chosen = re.sub(r" {2,}", " ", _CHOICE.sub(choose, template)).strip()
    both = {**slots.raw, **slots.masked}
    return Text(_SLOT.sub(lambda m: slots.raw[m[1]], chosen), _SLOT.sub(lambda m: both[m[1]], chosen))


@cache
def general() -> dict[str, Any]:
    """Pools of general tender prose."""
    return _load("allgemein")


@cache
def foreign() -> dict[str, Any]:
    """French and Italian projects, by language."""
    return _load("fremdsprachen")


@cache
def catalog_sources() -> tuple[dict[str, Any], ...]:
    """The four catalogs with their passage pools."""
    return tuple(_load(name) for name in CATALOGS)


@cache
def areas() -> dict[str, dict[str, Any]]:
    """Area id -> area, in catalog order; each also names its ``catalog``."""
    return {a["id"]: {**a, "catalog": c["catalog"]} for c in catalog_sources() for a in c["areas"]}


def _load(name: str) -> dict[str, Any]:
    source = resources.files("tendril_assets.sandbox") / "content" / f"{name}.yaml"
    return yaml.safe_load(source.read_text(encoding="utf-8"))
