"""Judge prompts: versioned YAML guidelines, rendered with the passage last.

A guideline file has ``name``, ``version``, ``language``, ``system``, ``user`` and ``answer``, the form of the answer;
with two questions also ``questions`` and ``rule`` (see ``answer_form``). Its hash covers all of them. Placeholders are
replaced by splitting the template once, never by ``str.format``: braces in a template or in a text are ordinary
characters.
"""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tendril_assets.errors import SettingsError
from tendril_assets.judging.answer_form import AnswerForm, QuestionForm, parse_answer_form
from tendril_assets.strict_yaml import load_text_keys

GUIDELINES = Path(__file__).parent / "guidelines"
_REQUIRED = ("name", "version", "language", "system", "user")
# Characters no prompt may hold: controls other than tab and newline (a carriage return among them, which YAML keeps
# only when escaped), private use (``request`` marks places with them), surrogates, a byte order mark.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ue000-\uf8ff\ud800-\udfff\ufeff]")

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
    answer: AnswerForm = field(repr=False)
    hash: str

    @property
    def identity(self) -> str:
        """Name, version and hash in one line."""
        return f"{self.name} {self.version} ({self.hash})"


def read_prompt(path: Path, extra: tuple[str, ...] = (), data: tuple[str, ...] = ()) -> dict[str, Any]:
    """A prompt file as a mapping of strings, plus ``hash`` (16 hex digits over all its fields).

    ``extra`` names further texts it must have; ``data`` fields it may have, whose shape is the caller's business.

    Raises:
        SettingsError: no such file, not YAML, a key that is no text, a field missing, unknown, given twice or not a text.
    """
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yaml")))
        raise SettingsError(f"there is no prompt {path.stem!r}; {path.parent.name}/ has: {known}")
    try:
        content = load_text_keys(path)
    except ValueError as error:
        raise SettingsError(f"prompt {path.name} cannot be read: {error}") from error
    wanted = {*_REQUIRED, *extra}
    if not isinstance(content, dict) or set(content) - set(data) != wanted:
        optional = f"; it may have {', '.join(data)}" if data else ""
        raise SettingsError(f"prompt {path.name} must have exactly the fields {', '.join(sorted(wanted))}{optional}")
    texts = {name: content[name] for name in sorted(wanted)}
    wrong = [name for name, value in texts.items() if not isinstance(value, str) or not value.strip()]
    if wrong:
        raise SettingsError(f"prompt {path.name}: {', '.join(wrong)} must be a non-empty text (quote the version)")
    for name, value in texts.items():
        if unfit := _UNFIT.search(value):
            raise SettingsError(f"prompt {path.name}: {name} holds the character {unfit.group()!a}; remove it")
    if content["name"] != path.stem:
        raise SettingsError(f"prompt {path.name} calls itself {content['name']!r}: name and file must agree")
    # A date in a data field is no JSON; the caller refuses it with the place where it stands.
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return {**content, "hash": hashlib.sha256(canonical.encode()).hexdigest()[:16]}


def parse_guideline(content: Mapping[str, Any]) -> Guideline:
    """A guideline from the mapping ``read_prompt`` gives.

    Raises:
        SettingsError: the user part does not put the query before the passage, or has text after the passage; the
            answer form is malformed, or the text does not name a word the parser will ask for.
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
    answer = parse_answer_form(content, where)
    if isinstance(answer, QuestionForm):
        words = [word for question in answer.questions for word in (question.key, *question.vocabulary)]
        if unsaid := [word for word in words if f'"{word}"' not in content["system"]]:
            raise SettingsError(f'{where}: system does not say "{unsaid[0]}", which the answer must hold')
    return Guideline(
        content["name"], content["version"], content["language"], content["system"], user, answer, content["hash"]
    )


@functools.cache
def load_guideline(name: str) -> Guideline:
    """The guideline ``judging/guidelines/<name>.yaml``.

    Raises:
        SettingsError: no such guideline, or a malformed one.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SettingsError(f"{name!r} is no guideline name: lower-case letters, digits and underscores")
    return parse_guideline(read_prompt(GUIDELINES / f"{name}.yaml", extra=("answer",), data=("questions", "rule")))


def guideline_names() -> list[str]:
    """Names of the guidelines that ship with the package, sorted."""
    return sorted(path.stem for path in GUIDELINES.glob("*.yaml"))


def render(guideline: Guideline, query_text: str, passage_text: str) -> list[Message]:
    """Chat messages for one pair: guideline, then query, then passage."""
    return [
        {"role": "system", "content": guideline.system},
        {"role": "user", "content": guideline.user.render(query=query_text, passage=passage_text)},
    ]
