"""A collection's models as a person asks about them: are they here, pinned, how are they fed, what may be done with them."""

import logging
from dataclasses import dataclass
from typing import Any

from tendril_assets.errors import BaseMissing, TendrilError
from tendril_assets.evaluation.model_limits import cut_warning, described_shape, shape_problems, told_cut
from tendril_assets.evaluation.models import Base, fetch, find_base, is_pinned, model_source
from tendril_assets.evaluation.rerank import LEXICAL, load_reranker
from tendril_assets.spec import CollectionSpec, ModelSpec
from tendril_assets.spec_evaluation import RerankerSpec


@dataclass(frozen=True)
class ModelState:
    """One model. ``folder`` is where its base lies, fit or not, None where it is not on this machine. ``problem`` says why
    it cannot be used as the specification says, None where it can. ``commit`` is that of the snapshot found in the hub's
    cache, ``fetch`` the command that fetches the base. ``missing``: the base is not here, which is no fault. ``width``:
    dimensions of the base, None where its files do not tell."""

    name: str
    spec: ModelSpec
    effective_batch: int
    folder: str | None
    commit: str | None
    problem: str | None
    missing: bool
    width: int | None = None

    @property
    def is_pinned(self) -> bool:
        """A base that is no hub's is pinned by its content, which nobody knows while it cannot be used."""
        return is_pinned(self.spec) and (self.spec.is_hub_id or self.problem is None)

    @property
    def told(self) -> str:
        """``models.<name>: <what is wrong and what to do>``, of one that cannot be used."""
        return f"models.{self.name}: {self.problem}"

    @property
    def fetch(self) -> str | None:
        return fetch(self.spec) if self.spec.is_hub_id else None

    @property
    def accumulation(self) -> int | None:
        return self.spec.accumulation(self.effective_batch, self.spec.processes)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values; the licence with its consequences."""
        found = {
            name: getattr(self, name)
            for name in (
                "effective_batch",
                "accumulation",
                "is_pinned",
                "folder",
                "commit",
                "fetch",
                "problem",
                "missing",
                "width",
            )
        }
        return {"name": self.name} | self.spec.model_dump(mode="json") | found


@dataclass(frozen=True)
class RerankerState:
    """One reranker that is a model; the fields as those of ``ModelState``."""

    name: str
    spec: RerankerSpec
    folder: str | None
    commit: str | None
    problem: str | None
    missing: bool

    @property
    def told(self) -> str:
        return f"rerankers.{self.name}: {self.problem}"

    @property
    def is_pinned(self) -> bool:
        return is_pinned(self.spec) and (self.spec.is_hub_id or self.problem is None)

    @property
    def fetch(self) -> str | None:
        return fetch(self.spec) if self.spec.is_hub_id else None

    def to_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in ("is_pinned", "folder", "commit", "fetch", "problem", "missing")}
        return {"name": self.name, "kind": "reranker"} | self.spec.model_dump(mode="json") | found


def reranker_states(spec: CollectionSpec) -> list[RerankerState]:
    """One state per reranker that is a model, in the specification's order; reads and loads as ``model_states`` does."""
    return [_reranker_state(name, one) for name, one in spec.rerankers.items() if one.base != LEXICAL]


def _reranker_state(name: str, spec: RerankerSpec) -> RerankerState:
    folder = commit = problem = None
    missing = False
    try:
        _, folder, commit = find_base(spec)
        load_reranker(spec)
    except (TendrilError, OSError, ImportError) as error:
        problem, missing = str(error), isinstance(error, BaseMissing)
    return RerankerState(name, spec, str(folder) if folder and folder.is_dir() else None, commit, problem, missing)


def model_states(spec: CollectionSpec) -> list[ModelState]:
    """One state per model of the collection, in its order. Reads the files, loads nothing, asks nobody."""
    return [_state(name, model, spec.training.effective_batch) for name, model in spec.models.items()]


def unusable_models(spec: CollectionSpec) -> list[ModelState]:
    """The models that cannot be used as the specification says; one whose base is not fetched is among them."""
    return [state for state in model_states(spec) if state.problem]


def tell_cut(spec: ModelSpec, log: logging.Logger) -> None:
    """One line for a base of more dimensions than are used: a warning where its ``matryoshka`` does not have the width."""
    try:
        width = described_shape(find_base(spec).folder, runs_code=spec.trust_remote_code).width
    except TendrilError:
        return  # whoever loads it says so
    if (cut := told_cut(spec, width)) is None:
        return
    warning = cut_warning(spec, width)
    log.log(logging.WARNING if warning else logging.INFO, f"{spec.base}: {cut}" + (f"; {warning}" if warning else ""))


def _state(name: str, spec: ModelSpec, effective_batch: int) -> ModelState:
    try:
        base = find_base(spec)
    except (TendrilError, OSError, ImportError) as error:  # the last two: a cache or package that cannot be read
        return ModelState(name, spec, effective_batch, None, None, str(error), isinstance(error, BaseMissing))
    unfit = None
    try:
        model_source(spec)
    except (TendrilError, OSError) as error:
        unfit = str(error)
    wrong, width = _shape(spec, base, unfit)
    problem = "; ".join(filter(None, (unfit, *wrong))) or None
    folder = str(base.folder) if base.folder.is_dir() else None
    return ModelState(name, spec, effective_batch, folder, base.commit, problem, False, width)


def _shape(spec: ModelSpec, base: Base, unfit: str | None) -> tuple[list[str], int | None]:
    """What of the specification the base's files do not allow, and the base's width. ``unfit``: what is wrong with them."""
    if not base.folder.is_dir():
        return [], None
    try:
        shape = described_shape(base.folder, runs_code=spec.trust_remote_code)
    except (TendrilError, OSError) as error:
        # Of a folder that is not whole or not readable it is told once; whoever mends that is told of the rest.
        return [] if unfit else [str(error)], None
    return shape_problems(spec, shape), shape.width
