"""What every part of a specification shares, and how a model behind the gateway is named."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,62}$")]
Effort = Literal["none", "minimal", "low", "medium", "high"]
IDENTITY = "identity"
FieldPath = tuple[int | str, ...]
_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_commit(revision: str | None) -> bool:
    """Whether a revision names one state for good: a commit in full. A branch or tag moves, a short commit may become two."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None


def dotted(path: FieldPath) -> str:
    """``a.b.0`` for ('a', 'b', 0)."""
    return ".".join(map(str, path))


def field_errors(mistakes: Sequence[tuple[FieldPath, str]]) -> PydanticCustomError:
    """For a validator to raise: mistakes that are found in a whole, each of the field below it that it is told of.

    A text does not name its field: where that stands, in a profile's overlay for one, only the reader of the file knows.
    """
    told = "; ".join(f"{dotted(field)}: {text}" if field else text for field, text in mistakes)
    return PydanticCustomError("fields", "{told}", {"told": told, "mistakes": list(mistakes)})


def field_error(field: FieldPath, message: str) -> PydanticCustomError:
    """``field_errors`` of one mistake."""
    return field_errors([(field, message)])


class Part(BaseModel):
    """A part of a specification: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, given: Any, info: ValidationInfo) -> Any:
        """Pydantic reads true as 1 where a number should stand, alone or in a list or mapping."""
        allowed = _plain_types(cls.model_fields[str(info.field_name)].annotation)
        if bool in allowed or not allowed & {int, float}:
            return given
        wanted = "a number" if float in allowed else "a whole number"
        entries: Any = {(): given}
        if isinstance(given, Mapping):
            entries = {(key,): value for key, value in given.items()}
        elif isinstance(given, list | tuple):
            entries = {(place,): value for place, value in enumerate(given)}
        mistakes = [
            (path, f"{str(value).lower()} given; should be {wanted}")
            for path, value in entries.items()
            if isinstance(value, bool)
        ]
        if mistakes:
            raise field_errors(mistakes)
        return given

    def fingerprint(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON of this part."""
        identity = self.model_dump(mode="json", context={IDENTITY: True})
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _plain_types(annotation: Any) -> set[Any]:
    """The types that values of a field may have, also within lists, mappings and choices."""
    arguments = get_args(annotation)
    return {kind for argument in arguments for kind in _plain_types(argument)} if arguments else {annotation}


class LLMSpec(Part):
    """A model behind the gateway, with everything that changes its answer."""

    model: str
    temperature: float = Field(0.0, ge=0, le=2)
    max_tokens: int = Field(1024, ge=1)
    reasoning_effort: Effort | None = None
    providers: tuple[str, ...] = Field((), description="pinned providers, in order; empty leaves the route open")
    quantizations: tuple[str, ...] = ()
    require_parameters: bool = Field(True, description="only providers that honour every parameter that is sent")
