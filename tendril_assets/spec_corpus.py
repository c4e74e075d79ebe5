"""What becomes of landed documents until they are a corpus: part of a collection's specification."""

from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import Part, field_error


class SamplingSpec(Part):
    """Which groups, documents, areas and criteria are drawn; see ``corpus.sampling``."""

    n_projects: int | None = Field(800, ge=1, description="null: all that are eligible")
    documents_per_project: int = Field(5, ge=1)
    quotas: dict[str, int] = {"validated_relevant": 2, "unvalidated_relevant": 1, "unsure": 1, "irrelevant": 1}
    min_projects_per_area: int = Field(3, ge=0)


class ExtractionSpec(Part):
    """Limits of one document; beyond them its outcome is ``too_large`` or ``parse_failed``."""

    timeout_s: float = Field(60, gt=0)
    memory_mb: int = Field(1024, ge=256)
    max_bytes: int = Field(100_000_000, ge=1)
    max_characters: int = Field(5_000_000, ge=1)
    max_garbled_share: float = Field(0.05, ge=0, le=1)
    max_failed_share: float = Field(
        0.2, ge=0, le=1, description="share of documents without text above which a check fails"
    )


class NearDuplicateSpec(Part):
    """A passage goes when an older kept one of its project has n-gram Jaccard >= threshold (exact, inclusive).

    Leakage follows the same unit, n and threshold over the whole collection, without the guard.
    """

    unit: Literal["words", "characters"] = "words"
    n: int = Field(5, ge=1)
    threshold: float = Field(0.7, gt=0, le=1)
    drop: bool = Field(
        True, description="false: no passage goes for it, and the rule serves the search for leaks alone"
    )
    guard: bool = Field(
        True,
        description="keep pairs that differ in a negation, or in a number that is no enumeration mark; corpus.guard",
    )


class FilterSpec(Part):
    """Which passages are kept; lengths are inclusive. See ``corpus.filters`` and ``corpus.neardup``."""

    min_characters: int = Field(20, ge=1)
    max_characters: int = Field(5_000, ge=1)
    max_nonletter_share: float = Field(0.5, gt=0, le=1)
    near_duplicate: NearDuplicateSpec = NearDuplicateSpec()

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> "FilterSpec":
        if self.min_characters > self.max_characters:
            told = f"{self.min_characters} is above max_characters {self.max_characters}"
            raise field_error(("min_characters",), told)
        return self


class AnonymizationSpec(Part):
    """``rules``: checksum rules and a list of first names; ``model``: a token-classification model besides, local only;
    ``none``: the documents are published already, by their author, and stand as they are.
    """

    detector: Literal["rules", "model", "none"] = "rules"
    model: str | None = Field(None, description="hub id, found in the hub's cache on this machine, or a local folder")
    revision: str | None = Field(
        None, description="commit of 40 hex digits; a branch or none leaves the model unpinned"
    )
    batch: int = Field(16, ge=1, description="windows that go through the model together; the result is the same")

    @model_validator(mode="after")
    def _model_is_named(self) -> "AnonymizationSpec":
        if self.detector == "model" and not self.model:
            raise field_error(("model",), "name the model when detector is 'model'")
        return self


class RestrictionSpec(Part):
    """``rules``: documents are searched for clauses that restrict their use; ``none``: official documents have none."""

    policy: Literal["rules", "none"] = "rules"


class IdentifierSpec(Part):
    """``keyed``: keyed hashes, from which nobody tells who is meant; ``named``: the names the landing folder gives, for
    groups that are public. A named passage is ``<group>#<number>``, and what stands under the number is checked.
    """

    policy: Literal["keyed", "named"] = "keyed"


class ChunkingSpec(Part):
    """``paragraphs``: blocks of a document with the heading above (``corpus.chunking``); ``clauses``: numbered clauses of
    an act, up to ``max_tokens`` together, with an overlap and a heading of act and section (``corpus.clause_chunks``).
    """

    policy: Literal["paragraphs", "clauses"] = "paragraphs"
    max_tokens: int = Field(512, ge=16, description="heading and overlap included")
    overlap_tokens: int = Field(64, ge=0)
    heading: bool = Field(True, description="each chunk begins with a line that names act and section")
    tokenizer: str = Field(
        "pieces",
        min_length=1,
        description="pieces: counted by a rule of this package, which no library moves; else a tokenizer.json or its folder",
    )

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> "ChunkingSpec":
        if self.overlap_tokens * 2 > self.max_tokens:
            told = f"{self.overlap_tokens} is more than half of max_tokens {self.max_tokens}"
            raise field_error(("overlap_tokens",), told)
        return self
