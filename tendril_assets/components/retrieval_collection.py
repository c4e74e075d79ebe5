"""One folder below ``defs/`` = one collection: ``defs.yaml`` holds its specification, ``sources.py`` its landing."""

from pathlib import Path
from typing import Any, Self

import dagster as dg
from pydantic import BaseModel

from tendril_assets.assets.calibration import REQUESTS as CALIBRATION
from tendril_assets.assets.calibration import calibration_assets
from tendril_assets.assets.common import Stage
from tendril_assets.assets.corpus import corpus_assets
from tendril_assets.assets.drift import ASSETS as DRIFT_ASSETS
from tendril_assets.assets.drift import drift_assets, drift_job
from tendril_assets.assets.erasure import erasure_assets
from tendril_assets.assets.evaluation import evaluation_assets
from tendril_assets.assets.examples import examples_assets
from tendril_assets.assets.judging import judging_assets
from tendril_assets.assets.landing import landing_assets
from tendril_assets.assets.qrels import qrels_assets
from tendril_assets.assets.release import release_assets
from tendril_assets.assets.release_checks import query_stages
from tendril_assets.assets.simap import PUBLICATIONS, simap_assets
from tendril_assets.assets.splits import splits_assets
from tendril_assets.assets.stages import stages_assets
from tendril_assets.assets.training import training_assets
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec, read_spec

BEFORE_QUERIES = (simap_assets, corpus_assets, erasure_assets)
AFTER_QUERIES = (
    judging_assets,
    calibration_assets,
    drift_assets,
    qrels_assets,
    splits_assets,
    examples_assets,
    training_assets,
    evaluation_assets,
    release_assets,
)


def stages(spec: CollectionSpec) -> list[Stage]:
    """Every stage after landing, in the order of the work; how queries come about is the specification's."""
    accepted = (stages_assets,) if spec.evaluation.test == "held_out" else ()
    return [stage(spec) for stage in (*BEFORE_QUERIES, *query_stages(spec), *AFTER_QUERIES, *accepted)]


class RetrievalCollection(dg.Component):
    """Builds the whole asset graph of one collection from its specification.

    The active profile of the settings overlays the specification where the collection has a profile of that name.
    """

    def __init__(self, spec: CollectionSpec) -> None:
        self.spec = spec

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        return CollectionSpec

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        if not isinstance(attributes, CollectionSpec):
            raise dg.DagsterInvalidDefinitionError(f"{context.path}: attributes of the collection are missing")
        # Dagster's reading keeps the last of a key given twice, and an overlay is not checked until it is merged in.
        return cls(read_spec(context.path / "defs.yaml", Settings.from_env().profile))

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        sources = context.load_defs_relative_python_module(Path("sources.py"))
        built = [landing_assets(self.spec, sources.landing_tables), *stages(self.spec)]
        return dg.Definitions(
            assets=[asset for stage in built for asset in stage.assets],
            asset_checks=[check for stage in built for check in stage.checks],
            jobs=list(collection_jobs(self.spec)),
        )


def collection_jobs(spec: CollectionSpec) -> list[Any]:
    """One job for everything, one for the part that costs nothing, one up to the estimate, and the whole in two halves, for
    two machines or for another recipe: all that is asked, and all that follows from the grades. None of them asks SIMAP.

    Where the specification reads SIMAP, a further one does, and then does the part that costs nothing. Where it has a
    drift check, that too is a job of its own: what is answered is asked again by nobody's accident.
    """
    name = spec.collection
    online = dg.AssetSelection.assets(dg.AssetKey([name, PUBLICATIONS]))
    offline = dg.AssetSelection.key_prefixes([name])
    free = dg.AssetSelection.groups(*(f"{name}_{stage}" for stage in ("landing", "corpus")))
    free = free | dg.AssetSelection.assets(dg.AssetKey([name, "snapshot"]))
    asking = free | dg.AssetSelection.groups(*(f"{name}_{stage}" for stage in ("queries", "judging", "qrels")))
    learning = dg.AssetSelection.groups(*(f"{name}_{stage}" for stage in ("training", "evaluation", "release")))
    # Splits that a file fixes come before all that is asked: the second half begins with what follows from the grades.
    begins = ("split_sizes", "leakage") if spec.splits.policy == "file" else ("splits",)
    learning = learning | dg.AssetSelection.assets(*(dg.AssetKey([name, table]) for table in begins)).downstream()
    learning = learning.required_multi_asset_neighbors()
    requests = (dg.AssetKey([name, part]) for part in ("candidates", CALIBRATION))
    up_to_requests = dg.AssetSelection.assets(*requests).upstream()
    up_to_requests = up_to_requests.required_multi_asset_neighbors()
    if spec.simap:
        offline, up_to_requests, asking = offline - online, up_to_requests - online, asking - online
    if spec.judge.drift:
        drift = dg.AssetSelection.assets(*(dg.AssetKey([name, part]) for part in DRIFT_ASSETS))
        offline, asking, learning = offline - drift, asking - drift, learning - drift
    written = "the queries' summaries" if spec.queries else "the questions that models write"
    pooled = spec.candidates.policy == "pooled"
    ranks = "ranks with the systems of the pool" if pooled else "needs no model and no GPU"
    jobs = [
        dg.define_asset_job(name, selection=offline, description="Everything, from landing to release."),
        dg.define_asset_job(
            f"{name}_corpus",
            selection=free,
            description="Landing, corpus and the analysts' snapshot: no paid call, no GPU.",
        ),
        dg.define_asset_job(
            f"{name}_candidates",
            selection=up_to_requests,
            description=f"Up to the judge's requests, for an estimate: it pays for {written}, and for the calibration only "
            "where that decides who judges.",
        ),
        dg.define_asset_job(
            f"{name}_judging",
            selection=asking,
            description=f"From landing to the grades and their splits: it pays the judge, and {ranks}.",
        ),
        dg.define_asset_job(
            f"{name}_training",
            selection=learning,
            description="From the splits of the stored grades to models, measures, report and release: no paid call.",
        ),
    ]
    if spec.simap:
        jobs.append(
            dg.define_asset_job(
                f"{name}_simap",
                selection=online | free,
                description="What is new on SIMAP, then landing and corpus: no paid call, no GPU.",
            )
        )
    if spec.judge.drift:
        jobs.append(drift_job(spec))
    return jobs
