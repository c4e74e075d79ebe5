"""What every part of a specification shares, and how a model behind the gateway is named."""

import hashlib
import json
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,62}$")]
Effort = Literal["none", "minimal", "low", "medium", "high"]
IDENTITY = "identity"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_commit(revision: str | None) -> bool:
    """Whether a revision names one state for good: a commit in full. A branch or tag moves, a short commit may become two."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None


def field_error(field: tuple[int | str, ...], message: str) -> PydanticCustomError:
    """For a validator to raise: a mistake that is found in a whole and belongs to ``field`` below it."""
    return PydanticCustomError("field", "{told}", {"told": message, "field": field})


class Part(BaseModel):
    """A part of a specification: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def fingerprint(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON of this part."""
        identity = self.model_dump(mode="json", context={IDENTITY: True})
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class LLMSpec(Part):
    """A model behind the gateway, with everything that changes its answer."""

    model: str
    temperature: float = Field(0.0, ge=0, le=2)
    max_tokens: int = Field(1024, ge=1)
    reasoning_effort: Effort | None = None
    providers: tuple[str, ...] = Field((), description="pinned providers, in order; empty leaves the route open")
    quantizations: tuple[str, ...] = ()
    require_parameters: bool = Field(True, description="only providers that honour every parameter that is sent")
