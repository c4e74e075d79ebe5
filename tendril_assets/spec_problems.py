"""What does not fit in a specification, in plain lines: which field, what was given, what is allowed.

Pydantic finds the mistakes; its own text names types of this package and Python's words for them, which nobody has
written in a YAML file.
"""

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from tendril_assets.errors import SpecError
from tendril_assets.spec_base import FieldPath, dotted
from tendril_assets.spec_training import BY_NAME, ModelSpec
from tendril_assets.strict_yaml import load_text_keys

_MAX_SHOWN = 60
_KEY = "[key]"
_PLAIN = str | bool | int | float | None
_READ_AS = {bool: "true or false", int | float: "a number", dt.date: "a date"}
# What pydantic wants where its type of error begins so, in words of somebody who writes YAML.
_WANTED = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a number",
    "decimal_": "a number",
    "bool_": "true or false",
    "date_": "a date such as 2026-11-30",
}
# The patterns of the specification, in words.
PATTERNS = {
    r"^[a-z0-9][a-z0-9_]{0,62}$": "a name of small letters, digits and underscores, 63 at most, the first no underscore",
    r"^[0-9a-fA-F]{64}$": "64 hex digits",
    r"^\d+\.\d+\.\d+$": "three numbers such as 0.1.0",
    r"^[A-Z]{2}$": "two capital letters such as BE",
    r"^$|^.{3,1000}$": "at least three characters",
    r"^https?://": "an address that begins with http:// or https://",
    r"^https?://\S+$": "an address that begins with http:// or https://",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$": "a name of letters, digits, points, underscores and hyphens, 96 at most",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$": "a hub id such as organisation/name",
}


def read_mapping(path: Path, what: str) -> dict[str, Any]:
    """The mapping in a YAML file of specifications. Raises SpecError where it cannot be read, or holds no mapping ``what``."""
    try:
        content = load_text_keys(path)
    except (OSError, ValueError) as error:
        # Not chained: the line holds all it says, and Dagster prints whatever a cause says once more.
        raise SpecError(path, [str(error)]) from None
    if not isinstance(content, dict):
        raise SpecError(path, [f"should be a mapping {what}"])
    return content


def place_in(overlay: Mapping[str, Any], profile: str) -> Callable[[FieldPath], str]:
    """How fields of a merged specification are named: those that the profile's overlay gives, where they stand there."""

    def place(path: FieldPath) -> str:
        here: Any = overlay
        for step, key in enumerate(path):
            if not isinstance(here, Mapping):
                break  # a value or a list, which the overlay gives whole
            if key not in here:
                return dotted(("profiles", profile, *path) if step else path)
            here = here[key]
        return dotted(("profiles", profile, *path) if path else path)

    return place


def problem_lines(
    error: ValidationError, model: type[BaseModel], given: Any, place: Callable[[FieldPath], str] = dotted
) -> list[str]:
    """One line per mistake: the field by its path, what was given, what is allowed; of an unknown one the nearest known.

    Args:
        error: what pydantic found.
        model: the class that ``given`` was to be.
        given: the content as it was read.
        place: names the field of a path.
    """
    lines = []
    for found in error.errors(include_url=False):
        path, is_choice = _path(found, given)
        # Of several allowed forms pydantic tells what is wrong with each: only the one that was meant is of interest.
        if is_choice and found["type"] == ("string_type" if isinstance(found["input"], Mapping) else "model_type"):
            continue
        if found["type"] == "fields":
            mistakes = [((*path, *field), text) for field, text in found.get("ctx", {})["mistakes"]]
        else:
            mistakes = [(path, _text(found, path, model))]
        for field, text in mistakes:
            where = place(field)
            lines.append(f"{where}: {text}" if where else text)
    return list(dict.fromkeys(lines))


def nearest(key: Any, known: Sequence[str]) -> str | None:
    """What was probably meant by an unknown key or name; None where nothing known is like it."""
    near = get_close_matches(str(key), known, n=1)
    return near[0] if near else None


def unknown(key: Any, known: Sequence[str]) -> str:
    """What is said of an unknown key or name."""
    if near := nearest(key, known):
        return f"unknown; did you mean {near}?"
    return f"unknown; known are {', '.join(known)}" if known else "unknown"


def _path(found: ErrorDetails, given: Any) -> tuple[FieldPath, bool]:
    """The path in the content, and whether pydantic's went by one of several allowed forms, which it names in between."""
    path: list[int | str] = []
    here, is_choice = given, False
    for step, key in enumerate(found["loc"], start=1):
        is_key = isinstance(here, Mapping) and key in here
        is_index = isinstance(here, list | tuple) and isinstance(key, int) and key < len(here)
        if is_key or is_index:
            here = here[key]
            path.append(key)
        elif found["type"] == "missing" and step == len(found["loc"]):
            path.append(key)
        elif key != _KEY:
            is_choice = True
    return tuple(path), is_choice


def _text(found: ErrorDetails, path: FieldPath, model: type[BaseModel]) -> str:
    kind, value = found["type"], found["input"]
    if kind == "extra_forbidden":
        return unknown(path[-1], _known(model, path[:-1]))
    if kind == "missing":
        described = [field.description for field in _fields(model, path) if field.description]
        return "; ".join(["missing", *described[:1]])
    if kind == "value_error":
        return found["msg"].removeprefix("Value error, ")
    return f"{_shown(value)} given; should {_wanted(found, path, model)}"


def _wanted(found: ErrorDetails, path: FieldPath, model: type[BaseModel]) -> str:
    kind, value = found["type"], found["input"]
    if kind == "string_type":
        # What was meant as text and looks like something else: digits, a date, yes or no.
        read = next((words for kind, words in _READ_AS.items() if isinstance(value, kind)), None)
        return f"be text, and was read as {read}: put it in quotes" if read else "be text"
    if kind in ("model_type", "dict_type", "mapping_type"):
        known = _known(model, path)
        return f"be a mapping with {', '.join(known)}" if known and kind == "model_type" else "be a mapping"
    if kind in ("tuple_type", "list_type"):
        return "be a list"
    if kind == "string_pattern_mismatch":
        pattern = found.get("ctx", {})["pattern"]
        return f"be {PATTERNS.get(pattern, f'text of the pattern {pattern}')}"
    if kind in ("too_short", "too_long", "string_too_short", "string_too_long"):
        return _length_wanted(kind, found.get("ctx", {}))
    if words := next((words for start, words in _WANTED.items() if kind.startswith(start)), None):
        return f"be {words}"
    # "Input should be ..." or, of lengths, "Tuple should have ...".
    return found["msg"].partition(" should ")[2] or f"be otherwise: {found['msg']}"


def _length_wanted(kind: str, limits: Mapping[str, Any]) -> str:
    bound, limit = ("at most", limits["max_length"]) if kind.endswith("long") else ("at least", limits["min_length"])
    if kind.startswith("string"):
        return f"be text of {bound} {limit} character{'' if limit == 1 else 's'}"
    return f"have {bound} {limit} entr{'y' if limit == 1 else 'ies'}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, _PLAIN) else str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _known(model: type[BaseModel], path: FieldPath) -> list[str]:
    """The keys that may stand in the part at ``path``."""
    parts = _parts_at(model, path)
    more = [BY_NAME] if ModelSpec in parts and model is not ModelSpec else []
    return [*dict.fromkeys(name for part in parts for name in part.model_fields), *more]


def _fields(model: type[BaseModel], path: FieldPath) -> list[FieldInfo]:
    name = path[-1] if path else ""
    return [part.model_fields[str(name)] for part in _parts_at(model, path[:-1]) if name in part.model_fields]


def _parts_at(model: type[BaseModel], path: FieldPath) -> list[type[BaseModel]]:
    """The classes that the content at ``path`` may be. Names and places in mappings and lists are no fields."""
    parts = [model]
    for key in path:
        fields = [part.model_fields[str(key)] for part in parts if key in part.model_fields]
        if fields:
            parts = [part for field in fields for part in _classes(field.annotation)]
    return parts


def _classes(annotation: Any) -> list[type[BaseModel]]:
    if arguments := get_args(annotation):
        return [found for argument in arguments for found in _classes(argument)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
