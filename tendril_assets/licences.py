"""Licences as data: what the licence of a base model means for a model fine-tuned on it.

``licences.yaml`` holds the known ones by SPDX id. The consequences are facts of the licences, in the questions that a
publisher asks; they are no legal advice.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from tendril_assets.spec_base import Part
from tendril_assets.strict_yaml import TextKeysLoader

OTHER = "other"
_FILE = Path(__file__).with_name("licences.yaml")
_HOW_TO_DECLARE = (
    "{id: other, name: <its name>, url: <its text>, commercial: <true or false>, same_licence: <true or false>, "
    "notice: <true or false>, text: <required, link or none>, changes: <true or false>}"
)


class Licence(Part):
    """A licence and its consequences. In a specification an SPDX id stands for the whole entry, in any case of letters."""

    id: str = Field(description="id in licences.yaml, or other")
    name: str = Field(min_length=1)
    url: str = Field(pattern=r"^https?://")
    commercial: bool = Field(description="what is made with it may be used commercially")
    same_licence: bool = Field(description="what is derived from it must carry the same or a compatible licence")
    notice: bool = Field(description="copyright notices and attributions must go along with every copy")
    text: Literal["required", "link", "none"] = Field(description="what of its text must go along with every copy")
    changes: bool = Field(description="that and how the work was changed must be said")
    conditions: str | None = Field(None, min_length=1, description="in words: under which alone it allows use")
    spdx: bool = Field(True, description="its id is on the SPDX list")
    hub: str | None = Field(None, description="its name in a model card's front matter, where the hub knows it")

    @model_validator(mode="before")
    @classmethod
    def _by_id(cls, given: Any) -> Any:
        """Raises ValueError for a name that is in no table, and for known consequences that were changed."""
        if isinstance(given, str):
            return _known_entry(given)
        if isinstance(given, dict) and isinstance(given.get("id"), str):
            if given["id"].lower() == OTHER:
                return given | {"id": OTHER, "spdx": False}
            known = _known_entry(given["id"])
            if changed := sorted(name for name, value in given.items() if name != "id" and known.get(name) != value):
                raise ValueError(
                    f"licence {known['id']}: {', '.join(changed)} is not as in licences.yaml; write the id alone, or "
                    f"declare another licence: {_HOW_TO_DECLARE}"
                )
            return known
        return given

    @property
    def consequences(self) -> tuple[str, ...]:
        """What it means for a model fine-tuned on it, one sentence each."""
        use = "Commercial use is allowed" if self.commercial else "Non-commercial use only"
        only = f", under conditions: {self.conditions.rstrip('.')}" if self.conditions else ""
        said = {
            f"{use}{only}.": True,
            "What is derived from it must carry the same or a compatible licence.": self.same_licence,
            "Copyright notices and attributions must go along with every copy.": self.notice,
            "Its text must go along with every copy.": self.text == "required",
            "Its text or a link to it must go along with every copy.": self.text == "link",
            "Changes must be said.": self.changes,
        }
        return tuple(sentence for sentence, holds in said.items() if holds)

    @property
    def title(self) -> str:
        """Name and, where it has one, id."""
        return self.name if self.id == OTHER else f"{self.name} ({self.id})"

    @property
    def short(self) -> str:
        """The id, or the name of a licence that has none."""
        return self.name if self.id == OTHER else self.id

    @property
    def front_matter(self) -> dict[str, str]:
        """``license`` of a model card, and ``license_name`` and ``license_link`` where the hub has no name for it."""
        if self.hub:
            return {"license": self.hub}
        return {"license": OTHER, "license_name": self._slug, "license_link": self.url}

    @property
    def _slug(self) -> str:
        return "-".join("".join(c if c.isalnum() or c == "." else " " for c in self.short.lower()).split())


class Upstream(Part):
    """A work the base model rests on, to be named wherever the base is."""

    name: str = Field(min_length=1)
    licence: Licence
    url: str | None = Field(None, pattern=r"^https?://")


@cache
def known_licences() -> dict[str, dict[str, Any]]:
    """The entries of ``licences.yaml`` by id."""
    entries = yaml.load(_FILE.read_text(encoding="utf-8"), Loader=TextKeysLoader)
    return {
        name: {"id": name, "hub": None, "conditions": None, "spdx": True, **entry} for name, entry in entries.items()
    }


def _known_entry(given: str) -> dict[str, Any]:
    known = {name.lower(): entry for name, entry in known_licences().items()}
    if given.lower() in known:
        return known[given.lower()]
    if given.lower() == OTHER:
        raise ValueError(f"licence other says nothing alone; declare what it is: {_HOW_TO_DECLARE}")
    raise ValueError(
        f"licence {given!r} is not known; known are {', '.join(known_licences())}. Declare another one with its "
        f"consequences: {_HOW_TO_DECLARE}"
    )
