"""Splits, the training recipe and embedding models as parts of a specification."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from tendril_assets.licences import Licence, Upstream
from tendril_assets.spec_base import Name, Part, field_error, is_commit
from tendril_assets.spec_release import HubId


class SplitSpec(Part):
    """``independent``: each group's own draw decides, so new groups move none; how many are held out varies a little.

    ``exact``: exactly the share is held out, and a new group may move another one. What each costs: ``qrels.splits``.
    ``file``: the landing folder says so for every group (``qrels.fixed_splits``), before anything is generated or judged:
    train, dev (the validation groups) and the splits named in ``test``.

    ``live``: the test split that every group with a live question belongs to. ``held_out_kinds``: kinds of documents that
    are never trained on nor validated by.
    """

    policy: Literal["independent", "exact", "file"] = "independent"
    validation_share: float = Field(0.1, gt=0, lt=1)
    test: tuple[Name, ...] = ()
    live: Name | None = None
    held_out_kinds: tuple[str, ...] = ()
    min_validation_groups: int = Field(
        1, ge=1, description="least validation groups with a relevant passage, per level; below it nothing is trained"
    )

    @field_validator("policy", mode="before")
    @classmethod
    def _sampled_has_another_name(cls, given: object) -> object:
        if given == "sampled":
            raise ValueError(
                "what was called sampled is now exact, with the same splits. The default, independent, lets "
                "each group's own draw decide: new groups move none, but groups that sampled held out may be trained on and "
                "the other way round, so train again after the change"
            )
        return given

    @model_validator(mode="after")
    def _file_names_its_splits(self) -> "SplitSpec":
        if self.policy != "file":
            named = [name for name in ("test", "live", "held_out_kinds") if getattr(self, name)]
            if named:
                raise field_error((named[0],), "belongs to policy file")
        elif self.live is not None and self.live not in self.test:
            raise field_error(("live",), f"{self.live!r} is none of test: {', '.join(self.test) or 'empty'}")
        return self


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
    positive_grade: int = Field(2, ge=1, le=2, description="lowest grade of a positive; 0 is irrelevant")
    max_examples_per_level: int | None = Field(
        None, ge=1, description="cap after balancing; the published set kept 4,500"
    )
    bf16: bool = True
    early_stop: EarlyStop | None = Field(None, description="absent: every epoch is trained to its end")

    @model_validator(mode="after")
    def _own_negatives_are_some_of_all(self) -> "TrainingSpec":
        if self.same_document_negatives > self.n_negatives:
            raise ValueError(
                f"same_document_negatives {self.same_document_negatives} is above n_negatives {self.n_negatives}, of "
                "which it is a part: give both"
            )
        return self


# Where and how fast the work runs: another value changes no weight beyond rounding and what dropout draws, so none of it
# is a model's identity. ``batch`` is the rows that go through the model together; the steps hold the same rows.
MACHINE_FIELDS = frozenset({"batch", "gradient_checkpointing", "processes", "encode_tokens"})
# What a trained model's identity leaves out besides: how the base is found and named, which is known by content or commit
# instead; what one may do with it; and ``native_code``, a permission: which class is loaded follows from the content and
# ``trust_remote_code`` alone.
NO_RECIPE_FIELDS = MACHINE_FIELDS | {
    *("base", "revision", "sha256", "origin", "licence", "upstream", "matryoshka", "native_code"),
}
PACKAGE = "package:"
# Below a collection's ``models``: the entry of models.yaml that is meant.
BY_NAME = "registered"


def is_local_path(base: str) -> bool:
    """Whether a base is the path of a folder: an absolute one, or one that begins with a dot or a tilde."""
    return Path(base).is_absolute() or base.startswith((".", "~"))


class ModelSpec(Part):
    """An embedding model as data. ``batch`` x accumulation x ``processes`` = the recipe's effective batch."""

    base: str = Field(
        min_length=1,
        description="hub id, local folder (/..., ./..., ~/...), or package:<import name> of a carrying package",
    )
    origin: HubId | None = Field(
        None, description="hub id that a base in a folder or package was taken from; named on card and notice"
    )
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
    trust_remote_code: bool = Field(False, description="run the code that came with the base, read at this revision")
    native_code: bool = Field(
        False, description="the base's own code is not needed: the library's class of its model_type computes the same"
    )
    gradient_checkpointing: bool = Field(
        False, description="activations are computed again in the backward pass: less memory, about a third more time"
    )
    processes: int = Field(1, ge=1, description="training processes on this machine, one per GPU (torchrun)")
    encode_tokens: int | None = Field(
        None,
        ge=8,
        description="padded tokens that go through the model together when it only encodes; absent: by device",
    )

    @field_validator("matryoshka")
    @classmethod
    def _widths_are_told_once(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        if least := [width for width in given if width < 1]:
            raise ValueError(f"{least[0]} is no number of dimensions: at least 1")
        if len(set(given)) < len(given):
            raise ValueError(f"{', '.join(map(str, given))}: a number of dimensions occurs twice")
        return given

    def accumulation(self, effective_batch: int, processes: int) -> int | None:
        """Micro-batches per optimiser step on each of ``processes``; None where batch x processes does not divide it."""
        steps, rest = divmod(effective_batch, self.batch * processes)
        return steps if steps and not rest else None

    def batch_problem(self, effective_batch: int, processes: int, field: str = "it") -> str | None:
        """Why the model cannot be trained in steps of ``effective_batch``; None where it can.

        ``field``: how its ``batch`` is called where that is read; ``it`` where the line begins with the field.
        """
        if self.accumulation(effective_batch, processes) is not None:
            return None
        together = f"batch {self.batch}" + (f" on {processes} processes" if processes > 1 else "")
        return (
            f"{together} does not divide the effective batch {effective_batch}; change {field}"
            f"{' or processes' if processes > 1 else ''}, or training.effective_batch, in the specification"
        )

    @property
    def width_problem(self) -> str | None:
        """Why its embeddings cannot be cut as ``matryoshka`` says; None where they can. Equal to the width is no cut."""
        wide = [width for width in self.matryoshka if width > self.dimensions]
        told = f"{', '.join(map(str, wide))} above dimensions {self.dimensions}: leave it out, or correct dimensions"
        return told if wide else None

    @property
    def is_hub_id(self) -> bool:
        """Whether the base is named by its id on the hub: neither a package nor the path of a folder."""
        return not self.base.startswith(PACKAGE) and not is_local_path(self.base)

    @property
    def published_base(self) -> str | None:
        """The base's id on the hub, also where it was loaded from a copy; None where nobody told."""
        return self.base if self.is_hub_id else self.origin

    @property
    def base_title(self) -> str:
        """The base in words for readers elsewhere: its hub id, else its package or folder without the path to it."""
        if self.published_base is not None:
            return self.published_base
        if self.base.startswith(PACKAGE):
            return self.base.removeprefix(PACKAGE)
        return Path(self.base).absolute().name or "a local folder"

    @model_validator(mode="after")
    def _remote_code_is_pinned(self) -> "ModelSpec":
        if self.trust_remote_code and self.native_code:
            raise ValueError(
                f"{self.base}: trust_remote_code runs the base's own code, native_code does without it: set one of them"
            )
        if self.trust_remote_code and not is_commit(self.revision):
            raise ValueError(
                f"trust_remote_code runs code that came with {self.base}: it needs a pinned revision, the commit of 40 hex "
                f"digits that you have read, not {self.revision!r}. For a local folder, the commit it was taken from"
            )
        return self
