"""Splits, the training recipe and embedding models as parts of a specification."""

from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import Part


class SplitSpec(Part):
    """``sampled``: the groups with the lowest keyed hashes are held out."""

    policy: Literal["sampled"] = "sampled"
    validation_share: float = Field(0.1, gt=0, lt=1)


class EarlyStop(Part):
    """Training ends after ``patience`` evaluations in a row that do not raise the best value by more than ``min_gain``."""

    patience: int = Field(ge=1)
    min_gain: float = Field(0.0, ge=0)


class TrainingSpec(Part):
    """The recipe shared by all models of the collection."""

    learning_rate: float = Field(1e-5, gt=0)
    warmup_share: float = Field(0.1, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    scale: float = Field(20.0, gt=0)
    effective_batch: int = Field(32, ge=1)
    max_epochs: int = Field(2, ge=1)
    evaluate_every: int = Field(56, ge=1)
    n_negatives: int = Field(3, ge=1)
    same_document_negatives: int = Field(2, ge=0)
    positive_grade: int = Field(2, ge=1)
    max_examples_per_level: int | None = Field(
        None, ge=1, description="cap after balancing; the published set kept 4,500"
    )
    bf16: bool = True
    early_stop: EarlyStop | None = Field(None, description="absent: every epoch is trained to its end")


# Where and how fast the work runs: another value changes no weight beyond rounding, so none of it is a model's identity.
MACHINE_FIELDS = frozenset({"gradient_checkpointing", "processes", "encode_tokens"})


class ModelSpec(Part):
    """An embedding model as data. ``batch`` x accumulation x ``processes`` = the recipe's effective batch."""

    base: str = Field(description="hub id, local folder, or package:<import name> for a model a package carries")
    revision: str | None = None
    sha256: str | None = Field(None, description="of model.safetensors; checked before use")
    pooling: Literal["mean", "cls", "lasttoken"] = "mean"
    query_prompt: str = ""
    document_prompt: str = ""
    dimensions: int = Field(ge=1)
    max_length: int = Field(512, ge=8)
    batch: int = Field(2, ge=1)
    licence: str
    trust_remote_code: bool = False
    gradient_checkpointing: bool = Field(
        False, description="activations are computed again in the backward pass: less memory, about a third more time"
    )
    processes: int = Field(1, ge=1, description="training processes on this machine, one per GPU (torchrun)")
    encode_tokens: int = Field(
        16_384, ge=8, description="padded tokens that go through the model together when it only encodes"
    )

    @model_validator(mode="after")
    def _remote_code_is_pinned(self) -> "ModelSpec":
        if self.trust_remote_code and not self.revision:
            raise ValueError("trust_remote_code needs a pinned revision")
        return self
