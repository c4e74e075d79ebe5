"""Judge prompts: versioned YAML guidelines, rendered with the passage last.

A guideline file has ``name``, ``version``, ``language``, ``system`` and ``user``. Placeholders are replaced by
splitting the template once, never by ``str.format``: braces in a template or in a tender are ordinary characters.
"""

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tendril_assets.errors import SettingsError

GUIDELINES = Path(__file__).parent / "guidelines"
_REQUIRED = ("name", "version", "language", "system", "user")

Message = dict[str, str]


@dataclass(frozen=True)
class Template:
    """A text with named gaps. ``pieces`` alternate: literal, gap, literal, ..., literal."""

    pieces: tuple[str, ...] = field(repr=False)
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, fields: tuple[str, ...], where: str) -> "Template":
        """Split ``text`` at ``{field}`` for each of ``fields``; all other braces are literal.

        Raises:
            SettingsError: a field is missing, or occurs more than once.
        """
        pieces = re.split("{(" + "|".join(map(re.escape, fields)) + ")}", text)
        found = tuple(pieces[1::2])
        if sorted(found) != sorted(fields):
            raise SettingsError(f"{where}: each of {', '.join(fields)} must occur once in braces, found {list(found)}")
        return cls(tuple(pieces), found)

    def render(self, **values: str) -> str:
        """The text with its gaps filled; values go in as they are. Raises KeyError for a missing value."""
        return "".join(values[piece] if i % 2 else piece for i, piece in enumerate(self.pieces))


@dataclass(frozen=True)
class Guideline:
    """One version of the annotation guidelines. ``hash``: 16 hex digits over the whole content."""

    name: str
    version: str
    language: str
    system: str = field(repr=False)
    user: Template = field(repr=False)
    hash: str


def read_prompt(path: Path, extra: tuple[str, ...] = ()) -> dict[str, str]:
    """A prompt file as a mapping of strings, plus ``hash`` (16 hex digits over all its fields).

    Raises:
        SettingsError: no such file, not YAML, a field missing, unknown or not a text.
    """
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yaml")))
        raise SettingsError(f"there is no prompt {path.stem!r}; {path.parent.name}/ has: {known}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SettingsError(f"prompt {path.name} is not YAML: {error}") from error
    wanted = {*_REQUIRED, *extra}
    if not isinstance(content, dict) or set(content) != wanted:
        raise SettingsError(f"prompt {path.name} must have exactly the fields {', '.join(sorted(wanted))}")
    wrong = sorted(name for name, value in content.items() if not isinstance(value, str) or not value.strip())
    if wrong:
        raise SettingsError(f"prompt {path.name}: {', '.join(wrong)} must be a non-empty text (quote the version)")
    if content["name"] != path.stem:
        raise SettingsError(f"prompt {path.name} calls itself {content['name']!r}: name and file must agree")
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {**content, "hash": hashlib.sha256(canonical.encode()).hexdigest()[:16]}


def parse_guideline(content: dict[str, str]) -> Guideline:
    """A guideline from the mapping ``read_prompt`` gives.

    Raises:
        SettingsError: the user part does not put the query before the passage, or has text after the passage.
    """
    where = f"guideline {content['name']}"
    user = Template.parse(content["user"], ("query", "passage"), where)
    shape = (user.fields, user.pieces[0].endswith("<query>"), user.pieces[2].startswith("</query>"))
    if shape != (("query", "passage"), True, True) or not user.pieces[2].endswith("<passage>"):
        raise SettingsError(
            f"{where}: user must hold <query>{{query}}</query> and, after it, <passage>{{passage}}</passage>"
        )
    if user.pieces[4].strip() != "</passage>":
        raise SettingsError(f"{where}: the passage must come last, so that requests share their prefix")
    return Guideline(content["name"], content["version"], content["language"], content["system"], user, content["hash"])


@functools.cache
def load_guideline(name: str) -> Guideline:
    """The guideline ``judging/guidelines/<name>.yaml``.

    Raises:
        SettingsError: no such guideline, or a malformed one.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SettingsError(f"{name!r} is no guideline name: lower-case letters, digits and underscores")
    return parse_guideline(read_prompt(GUIDELINES / f"{name}.yaml"))


def render(guideline: Guideline, query_text: str, passage_text: str) -> list[Message]:
    """Chat messages for one pair: guideline, then query, then passage."""
    return [
        {"role": "system", "content": guideline.system},
        {"role": "user", "content": guideline.user.render(query=query_text, passage=passage_text)},
    ]
