"""Rankings of the test collection: one asset and one file per system, never with the warehouse open.

A ranking is cached under a hash of all that determines it: the texts, who ranks what, the scope and depth, and the
system (BM25's parameters, or the model's weights and prompts), so a system whose name stays and whose weights do not
is ranked anew, and nothing else is. A hybrid and a reranked system are made of their parts' files, and cached under what
these hold.
"""

import io
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import work_asset
from tendril_assets.assets.rank_system import (
    BM25,
    Ranked,
    composition,
    model_of,
    parts_of,
    rank_system,
    reranker_name,
    system_identity,
)
from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.collection import JudgedCollection, frame_hash, judged_collection
from tendril_assets.evaluation.metrics import ties_at_cut
from tendril_assets.evaluation.models import weights_name
from tendril_assets.evaluation.ranking import RUN_SCHEMA, UNIT, Scope
from tendril_assets.evaluation.rerank import LEXICAL
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.spec import CollectionSpec

RANKING_VERSION = "1"
INPUTS = "evaluation_inputs"
PARTS = ("test_corpus", "test_queries", "test_qrels")
WEIGHTS_COLUMN = "weights"
_HASH = "run_hash"
_MADE_OF = "made_of"  # hashes of the rankings that this one was made of: JSON, system -> hash
EMPTY = "the test collection has no judged pair: nothing was ranked, all evaluation tables are empty"


def read_inputs(artifacts: Artifacts, spec: CollectionSpec) -> JudgedCollection:
    """What ``evaluation_inputs`` handed over."""
    frames = (artifacts.read_frame(spec.collection, name) for name in PARTS)
    return judged_collection(*frames, spec.evaluation.scope)


def run_assets(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    """``runs/<system>`` for BM25, each base model, each fine-tuned model, each hybrid and each reranked system."""
    return [_run_asset(spec, system) for system in spec.systems]


def read_run(artifacts: Artifacts, spec: CollectionSpec, system: str, test: JudgedCollection) -> pl.DataFrame:
    """A system's ranking as rows of ``retrieval_runs``. Raises TendrilError where it ranks another test collection."""
    run = artifacts.read_frame(spec.collection, f"run_{system}")
    if set(run["ranked_hash"].unique()) - {test.ranked_hash} or (run.is_empty() and not test.qrels.is_empty()):
        raise TendrilError(
            f"{spec.collection}: the ranking of {system} is of another test collection than the present one; "
            f"materialise {spec.collection}/runs/{system} again"
        )
    return run.select(pl.lit(system).alias("system"), *RUN_SCHEMA)


def read_weights(artifacts: Artifacts, spec: CollectionSpec, system: str) -> str | None:
    """What ranked in the system's ranking, as table ``ranked_systems`` names it; None where nothing was ranked.

    Raises TendrilError for a ranking that does not say.
    """
    run = artifacts.read_frame(spec.collection, f"run_{system}")
    if WEIGHTS_COLUMN not in run.columns:
        raise TendrilError(
            f"{spec.collection}: the ranking of {system} does not say which weights ranked; materialise "
            f"{spec.collection}/runs/{system} again"
        )
    return None if run.is_empty() else run[WEIGHTS_COLUMN][0]


def require_present_parts(artifacts: Artifacts, spec: CollectionSpec) -> None:
    """Raises TendrilError for a hybrid or reranked ranking that was made of others than those of its parts that there are."""
    files = {system: artifacts.read_frame(spec.collection, f"run_{system}").head(1) for system in spec.systems}
    for system, first in files.items():
        if first.is_empty():
            continue  # nothing was ranked, by its parts neither
        made = json.loads(first[_MADE_OF][0]) if _MADE_OF in first.columns else {}
        present = {part: files[part][_HASH][0] for part in parts_of(spec, system) if _HASH in files[part].columns}
        stale = [part for part in parts_of(spec, system) if made.get(part) != present.get(part)]
        if stale:
            raise TendrilError(
                f"{spec.collection}: {system} was made of another ranking than the present one of {', '.join(stale)}; "
                f"materialise {spec.collection}/runs/{system} again, then {spec.collection}/retrieval_runs"
            )


def publish_run(
    artifacts: Artifacts,
    spec: CollectionSpec,
    system: str,
    *,
    identity: str | None,
    weights: str | None,
    make: Callable[[list[Scope]], Ranked],
    made_of: Mapping[str, str] | None = None,
) -> dg.MaterializeResult:
    """Hand over a system's ranking, from the cache where nothing that determines it has changed.

    ``identity`` names the system; None says that it is not known well enough for its ranking to be used again.
    ``weights`` is handed over with the ranking (``read_weights``), and so are the hashes of the rankings it is ``made_of``
    (``require_present_parts``). ``make`` ranks the scopes and tells further metadata.
    A test collection without judgments gives an empty ranking.
    """
    started = time.monotonic()
    test = read_inputs(artifacts, spec)
    key = json.dumps([RANKING_VERSION, spec.evaluation.depth, test.ranked_hash, identity])
    owner = (spec.collection, system)
    stored = artifacts.cached("runs", owner, key) if identity is not None else None
    facts: dict[str, Any] = {}
    if test.qrels.is_empty():
        run, facts = pl.DataFrame(schema=RUN_SCHEMA), {"note": EMPTY}
    elif stored is not None:
        run = pl.read_parquet(io.BytesIO(stored))
    else:
        run, facts = make(test.scopes)
        if identity is not None:
            buffer = io.BytesIO()
            run.write_parquet(buffer)
            artifacts.put("runs", owner, key, buffer.getvalue())
    digest = frame_hash(run)
    said = {
        "ranked_hash": pl.lit(test.ranked_hash),
        WEIGHTS_COLUMN: pl.lit(weights, pl.String),
        _HASH: pl.lit(digest),
        _MADE_OF: pl.lit(json.dumps(made_of or {})),
    }
    artifacts.write_frame(spec.collection, f"run_{system}", run.with_columns(**said))
    cutoff = spec.evaluation.cutoffs[0]
    tied = ties_at_cut(run, cutoff)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(digest),
        metadata={
            "dagster/row_count": run.height,
            "reused": stored is not None,
            "seconds": round(time.monotonic() - started, 2),
            "queries": run.select(UNIT).n_unique(),
            **({} if tied is None else {f"tied_at_{cutoff}": tied}),
            **facts,
        },
    )


def _run_asset(spec: CollectionSpec, system: str) -> dg.AssetsDefinition:
    title, pool, kinds, deps = _described(spec, system)

    @work_asset(
        spec,
        f"runs/{system}",
        stage="evaluation",
        description=f"Ranking of the test collection by {title}.",
        deps=[INPUTS, *deps],
        pool=pool,
        kinds={*kinds, "parquet"},
        version=RANKING_VERSION,
    )
    def run(context: dg.AssetExecutionContext, artifacts: Artifacts) -> dg.MaterializeResult:
        if parts := parts_of(spec, system):
            return _run_of_parts(context, artifacts, spec, system, parts)
        identity, weights = system_identity(artifacts, spec, system), None
        if system != BM25:
            model, folder = model_of(artifacts, spec, system)
            weights = weights_name(spec.models[model], folder)
            if identity is None:
                told = f"{spec.models[model].base} has no pinned revision: its ranking is made anew each time"
                context.log.warning(told)

        def make(scopes: list[Scope]) -> Ranked:
            return rank_system(context, artifacts, spec, system, scopes, spec.evaluation.depth, only_these=True)

        return publish_run(artifacts, spec, system, identity=identity, weights=weights, make=make)

    return run


def _run_of_parts(
    context: dg.AssetExecutionContext, artifacts: Artifacts, spec: CollectionSpec, system: str, parts: tuple[str, ...]
) -> dg.MaterializeResult:
    test = read_inputs(artifacts, spec)
    runs = {name: read_run(artifacts, spec, name, test).drop("system") for name in parts}
    made, hashes = composition(spec, system), {name: frame_hash(run) for name, run in runs.items()}
    identity = made and json.dumps([made, *hashes.values()])
    weights = [*(read_weights(artifacts, spec, name) for name in parts), reranker_name(spec, system)]

    def make(scopes: list[Scope]) -> Ranked:
        return rank_system(
            context, artifacts, spec, system, scopes, spec.evaluation.depth, part=runs.__getitem__, only_these=True
        )

    return publish_run(
        artifacts,
        spec,
        system,
        identity=identity,
        weights=" + ".join(name for name in weights if name) or None,
        make=make,
        made_of=hashes,
    )


def _described(spec: CollectionSpec, system: str) -> tuple[str, str, set[str], list[str]]:
    """What ranks, in words; the pool of its step, its kinds, and the assets it needs beside the test collection."""
    runs = [f"runs/{name}" for name in parts_of(spec, system)]
    rules = spec.evaluation
    if system == BM25:
        return "BM25", "cpu", {"bm25"}, runs
    if system in rules.hybrids:
        return f"{' and '.join(rules.hybrids[system].of)}, fused by reciprocal ranks", "cpu", {"polars"}, runs
    if system in rules.reranked:
        rule = rules.reranked[system]
        needs_model = spec.rerankers[rule.reranker].base != LEXICAL
        title = f"{rule.of}, the first {rule.depth} reordered by {rule.reranker}"
        return title, "gpu" if needs_model else "cpu", {"pytorch"} if needs_model else {"polars"}, runs
    model, _, kind = system.rpartition("_")
    if kind == "base":
        return f"{spec.models[model].base_title} as published", "gpu", {"pytorch"}, runs
    return f"{model}, fine-tuned on this collection", "gpu", {"pytorch"}, [f"models/{model}"]
