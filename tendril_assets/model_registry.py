"""The registry of embedding models, ``models.yaml``, and how a collection takes models from it.

Below ``models:`` of a collection stands, by the collection's own name for a model, one of

* nothing, or single fields to change: the registered model of that name;
* ``registered: <name>``, and single fields to change (``base`` too: a copy in a local folder, whose ``origin`` is then
  the registered base);
* a whole description with ``base``: a model of this collection alone.

All become a ``ModelSpec`` when the specification is read. Hashes are taken of that, so it makes no difference where a
description stands.
"""

from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Any, cast

import yaml
from pydantic import Field, create_model

from tendril_assets.spec_base import Name, Part
from tendril_assets.spec_training import PACKAGE, ModelSpec, is_local_path
from tendril_assets.strict_yaml import TextKeysLoader

_FILE = Path(__file__).with_name("models.yaml")
_BY_NAME = "registered"

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
def registered_models() -> dict[str, ModelSpec]:
    """The entries of ``models.yaml`` by name. Raises pydantic.ValidationError for one that is not valid."""
    entries = yaml.load(_FILE.read_text(encoding="utf-8"), Loader=TextKeysLoader)
    return {name: ModelSpec.model_validate(entry) for name, entry in entries.items()}


def resolved_models(given: Any) -> Any:
    """``models`` of a collection with each reference replaced by what it stands for; pydantic checks the outcome.

    Raises ValueError for a reference to a model that is not registered.
    """
    if not isinstance(given, dict):
        return given
    return {name: _resolved(name, entry) for name, entry in given.items()}


def _resolved(name: Any, entry: Any) -> Any:
    if entry is not None and not isinstance(entry, dict):
        return entry
    changes = dict(entry or {})
    wanted = changes.pop(_BY_NAME, None)
    if wanted is None and "base" in changes:
        return changes
    known = registered_models()
    found = name if wanted is None else wanted
    if not isinstance(found, str) or found not in known:
        raise ValueError(
            f"{name}: no model {found!r} is registered; registered are {', '.join(known)}. Take one by its name or with "
            f"{_BY_NAME}: <name>, or describe this one: base, query_prompt, document_prompt, dimensions, max_length, "
            "licence"
        )
    entry = known[found]
    base = changes.get("base")
    copied = isinstance(base, str) and (base.startswith(PACKAGE) or is_local_path(base))
    # Another hub id is another model, and says itself where it is from.
    origin = {"origin": entry.published_base if copied else None} if base is not None else {}
    return entry.model_dump(mode="json") | origin | changes
