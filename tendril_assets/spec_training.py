"""Splits, the training recipe and embedding models as parts of a specification."""

from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.licences import Licence, Upstream
from tendril_assets.spec_base import Part, is_commit


class SplitSpec(Part):
    """``independent``: each group's own draw decides, so new groups move none; how many are held out varies a little.

    ``exact``: exactly the share is held out, and a new group may move another one. What each costs: ``qrels.splits``.
    """

    policy: Literal["independent", "exact"] = "independent"
    validation_share: float = Field(0.1, gt=0, lt=1)
    min_validation_groups: int = Field(
        1, ge=1, description="least validation groups with a relevant passage, per level; below it nothing is trained"
    )


class EarlyStop(Part):
    """Training ends after ``patience`` evaluations in a row that do not raise the best value by more than ``min_gain``."""

    patience: int = Field(ge=1)
    min_gain: float = Field(0.0, ge=0)


class TrainingSpec(Part):
    """The recipe shared by all models of the collection."""

    learning_rate: float = Field(1e-5, gt=0)
    warmup_share: float = Field(0.1, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    max_grad_norm: float = Field(
        1.0, ge=0, description="longer gradients are scaled down to it; 0: never. The library's default, as published"
    )
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

    base: str = Field(min_length=1, description="hub id, local folder, or package:<import name> of a carrying package")
    revision: str | None = Field(
        None, description="commit of 40 hex digits; a branch or none leaves a model of the hub unpinned"
    )
    sha256: str | None = Field(
        None,
        pattern=r"^[0-9a-fA-F]{64}$",
        description="of model.safetensors, or of all its shards (evaluation.model_files.weights_hash); checked before use",
    )
    pooling: Literal["mean", "cls", "lasttoken"] = "mean"
    query_prompt: str = ""
    document_prompt: str = ""
    dimensions: int = Field(ge=1)
    max_length: int = Field(512, ge=8)
    batch: int = Field(2, ge=1)
    licence: Licence = Field(description="SPDX id, or a licence declared whole: see licences.yaml")
    upstream: tuple[Upstream, ...] = Field((), description="works the base rests on, whose licences go along")
    matryoshka: tuple[int, ...] = Field(
        (), description="dimensions the base was trained to be cut to; said on the card"
    )
    trust_remote_code: bool = False
    gradient_checkpointing: bool = Field(
        False, description="activations are computed again in the backward pass: less memory, about a third more time"
    )
    processes: int = Field(1, ge=1, description="training processes on this machine, one per GPU (torchrun)")
    encode_tokens: int | None = Field(
        None,
        ge=8,
        description="padded tokens that go through the model together when it only encodes; absent: by device",
    )

    @model_validator(mode="after")
    def _remote_code_is_pinned(self) -> "ModelSpec":
        if self.trust_remote_code and not is_commit(self.revision):
            raise ValueError(
                f"trust_remote_code runs code that came with {self.base}: it needs a pinned revision, the commit of 40 hex "
                f"digits that you have read, not {self.revision!r}. For a local folder, the commit it was taken from"
            )
        return self
