"""What a removal leaves to be done by hand: released versions that were withdrawn, and models to be trained again.

Told at the end of a run and by ``tendril status``; reads the warehouse only.
"""

from dataclasses import dataclass, field

import polars as pl

from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

_OLD_TAGS = "tendril publish --delete-tags takes old tags off the hub"


@dataclass(frozen=True)
class WithdrawnVersion:
    """``day``: of its withdrawal, UTC. One made from sample data (``sandbox``) was never published, so it has no tag."""

    day: str
    sandbox: bool


@dataclass(frozen=True)
class RemovalState:
    """``withdrawn``: by version. ``stale_models``: name -> why its weights no longer hold."""

    withdrawn: dict[str, WithdrawnVersion] = field(default_factory=dict)
    stale_models: dict[str, str] = field(default_factory=dict)

    def lines(self, spec: CollectionSpec) -> list[str]:
        """One line for each, with what to do; none where nothing is to be done."""
        found = []
        for version, one in self.withdrawn.items():
            advice = ["raise release.version"] if version == spec.release.version else []
            advice += [] if one.sandbox else [_OLD_TAGS]
            found.append(
                f"version {version} was withdrawn on {one.day}, for it held removed passages"
                + (f": {'; '.join(advice)}" if advice else "")
            )
        for model, reason in self.stale_models.items():
            advice = "train again: tendril run" if model in spec.models else "delete its weights, it is not declared"
            found.append(f"model {model} was {reason}: {advice}")
        return found


def removal_state(warehouse: Warehouse, collection: str) -> RemovalState:
    """As the warehouse has it; empty where nothing was released, trained or erased yet."""
    # Not at load: whoever only wants the words needs none of the steps.
    from tendril_assets.assets.released import former_releases
    from tendril_assets.assets.stale_models import stale_models

    releases = former_releases(warehouse, collection).filter(pl.col("withdrawn_at").is_not_null())
    return RemovalState(
        {
            row["version"]: WithdrawnVersion(f"{row['withdrawn_at']:%Y-%m-%d}", row["sandbox"])
            for row in releases.iter_rows(named=True)
        },
        {one.model: one.reason for one in stale_models(warehouse, collection)},
    )
