"""The registry of embedding models, ``models.yaml``, and how a collection takes models from it.

Below ``models:`` of a collection stands, by the collection's own name for a model, one of

* nothing, or single fields to change: the registered model of that name;
* ``registered: <name>``, and single fields to change (``base`` too: a copy in a local folder, whose ``origin`` is then
  the registered base);
* a whole description with ``base``: a model of this collection alone.

All become a ``ModelSpec`` when the specification is read. Hashes are taken of that, so it makes no difference where a
description stands.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple, cast

from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticCustomError

from tendril_assets.errors import SpecError
from tendril_assets.spec_base import Name, Part, dotted, field_error
from tendril_assets.spec_problems import nearest, problem_lines, read_mapping, unknown
from tendril_assets.spec_training import BY_NAME, PACKAGE, ModelSpec, is_local_path

_FILE = Path(__file__).with_name("models.yaml")
_WHOLE_NUMBER = TypeAdapter(int)

_FIELDS: dict[str, Any] = {
    name: (cast(Any, field.annotation) | None, Field(None, description=field.description))
    for name, field in ModelSpec.model_fields.items()
}
_REFERENCE = create_model(
    "RegisteredModel",
    __base__=Part,
    registered=(Name | None, Field(None, description="name in models.yaml; absent: the same name as here")),
    **_FIELDS,
)
# The type of ``models`` as it is written, for editors and `dg check yaml`; ``resolved_models`` is what checks it.
WRITTEN_MODELS: Any = GenericAlias(dict, (Name, cast(Any, ModelSpec) | _REFERENCE | None))


@cache
def _entries() -> Mapping[str, Any]:
    """``models.yaml`` as it is written, by name. Raises SpecError where it cannot be read or is no mapping."""
    return read_mapping(_FILE, "of names to models")


@cache
def registered_model(name: str) -> ModelSpec:
    """An entry of ``models.yaml``; the others may be wrong. Raises KeyError without one of that name, SpecError for one
    that is not valid."""
    entry = _entries()[name]
    try:
        model = ModelSpec.model_validate(entry)
    except ValidationError as error:
        # Not chained: the lines hold all it says.
        lines = problem_lines(error, ModelSpec, entry, lambda path: dotted((name, *path)))
        raise SpecError(_FILE, lines) from None
    if problem := model.width_problem:
        raise SpecError(_FILE, [f"{name}.matryoshka: {problem}"])
    return model


def registered_models() -> dict[str, ModelSpec]:
    """All entries of ``models.yaml`` by name. Raises SpecError with a line for every mistake in any of them."""
    models, problems = {}, []
    for name in _entries():
        try:
            models[name] = registered_model(name)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(_FILE, problems)
    return models


class _Unresolved(NamedTuple):
    """In the place of a reference that stands for nothing, so that the other models are checked all the same."""

    mistake: PydanticCustomError


def resolved_models(given: Any) -> Any:
    """``models`` of a collection with each reference replaced by what it stands for; ``described`` checks each of them.

    Raises SpecError for a registered model that is not valid: that is a mistake of ``models.yaml`` and not of the
    collection.
    """
    if not isinstance(given, dict):
        return given
    return {name: _resolved(name, entry) for name, entry in given.items()}


def described(entry: Any) -> Any:
    """An entry of ``resolved_models``. Raises PydanticCustomError for a reference to a model that is not registered."""
    if isinstance(entry, _Unresolved):
        raise entry.mistake
    return entry


def _resolved(name: Any, entry: Any) -> Any:
    if entry is not None and not isinstance(entry, dict):
        return entry
    changes = dict(entry or {})
    wanted = changes.pop(BY_NAME, None)
    if wanted is None:
        keys = [*ModelSpec.model_fields, BY_NAME]
        # Without the model that was meant every field that it would give is missing: no mistake of the writer's.
        if misspelt := [key for key in changes if key not in keys and nearest(key, keys) == BY_NAME]:
            return _Unresolved(field_error((misspelt[0],), unknown(misspelt[0], keys)))
        if "base" in changes:
            return changes
    known = list(_entries())
    found = name if wanted is None else wanted
    if not isinstance(found, str) or found not in known:
        if wanted is None and set(changes) - set(ModelSpec.model_fields):
            return changes  # a misspelt ``base``, which is told as such
        near = nearest(found, known)
        mistake = field_error(
            (BY_NAME,) if wanted is not None else (),
            f"no model {found!r} is registered; {f'did you mean {near}? ' if near else ''}registered are "
            f"{', '.join(known)}. Take one by its name or with {BY_NAME}: <name>, or describe this one: base, query_prompt, "
            "document_prompt, dimensions, max_length, licence",
        )
        return _Unresolved(mistake)
    model = registered_model(found)
    base = changes.get("base")
    copied = isinstance(base, str) and (base.startswith(PACKAGE) or is_local_path(base))
    # Another hub id is another model, and says itself where it is from.
    origin = {"origin": model.published_base if copied else None} if base is not None else {}
    # Of a model that is cut, wider cuts are no cuts of it.
    width = _width(changes.get("dimensions"))
    cuts = {} if width is None else {"matryoshka": [cut for cut in model.matryoshka if cut <= width]}
    return model.model_dump(mode="json") | origin | cuts | changes


def _width(given: Any) -> int | None:
    """``dimensions`` as pydantic will read it, from quoted digits too; None for what it will refuse."""
    if isinstance(given, bool):
        return None
    try:
        return _WHOLE_NUMBER.validate_python(given)
    except ValidationError:
        return None
