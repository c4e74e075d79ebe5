"""A collection's models as a person asks about them: are they here, pinned, how are they fed, what may be done with them."""

from dataclasses import dataclass
from typing import Any

from tendril_assets.errors import BaseMissing, TendrilError
from tendril_assets.evaluation.models import fetch, find_base, is_pinned, model_source
from tendril_assets.spec import CollectionSpec, ModelSpec


@dataclass(frozen=True)
class ModelState:
    """One model. ``folder`` is where its base lies, None where it is not on this machine or not fit to be loaded, and
    ``problem`` says why. ``commit`` is that of the snapshot found in the hub's cache, ``fetch`` the command that
    fetches the base. ``missing``: the base is not here, which is no fault. ``accumulation`` is None where batch x
    processes does not divide the effective batch."""

    name: str
    spec: ModelSpec
    effective_batch: int
    folder: str | None
    commit: str | None
    problem: str | None
    missing: bool

    @property
    def is_pinned(self) -> bool:
        return is_pinned(self.spec)

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
            )
        }
        return {"name": self.name} | self.spec.model_dump(mode="json") | found


def model_states(spec: CollectionSpec) -> list[ModelState]:
    """One state per model of the collection, in its order. Reads the files, loads nothing, asks nobody."""
    return [_state(name, model, spec.training.effective_batch) for name, model in spec.models.items()]


def _state(name: str, spec: ModelSpec, effective_batch: int) -> ModelState:
    commit = folder = problem = None
    missing = False
    try:
        commit = find_base(spec).commit
        folder = str(model_source(spec))
    except TendrilError as error:
        problem, missing = str(error), isinstance(error, BaseMissing)
    return ModelState(name, spec, effective_batch, folder, commit, problem, missing)
