"""Rankings of the test collection: one asset and one file per system, never with the warehouse open.

A ranking is cached under a hash of all that determines it: the texts, who ranks what, the scope and depth, and the
system (BM25's parameters, or the model's weights and prompts), so a system whose name stays and whose weights do not
is ranked anew, and nothing else is.
"""

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.common import work_asset
from tendril_assets.errors import TendrilError
from tendril_assets.evaluation import bm25, dense
from tendril_assets.evaluation.collection import JudgedCollection, frame_hash, judged_collection
from tendril_assets.evaluation.embeddings import EmbeddingStore
from tendril_assets.evaluation.metrics import ties_at_cut
from tendril_assets.evaluation.model_files import weights_hash
from tendril_assets.evaluation.model_state import tell_cut
from tendril_assets.evaluation.models import is_pinned, model_identity, weights_name
from tendril_assets.evaluation.ranking import RUN_SCHEMA, UNIT, Scope
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.spec import CollectionSpec

RANKING_VERSION = "1"
INPUTS = "evaluation_inputs"
PARTS = ("test_corpus", "test_queries", "test_qrels")
WEIGHTS_COLUMN = "weights"
EMPTY = "the test collection has no judged pair: nothing was ranked, all evaluation tables are empty"

Ranked = tuple[pl.DataFrame, dict[str, Any]]


def read_inputs(artifacts: Artifacts, spec: CollectionSpec) -> JudgedCollection:
    """What ``evaluation_inputs`` handed over."""
    frames = (artifacts.read_frame(spec.collection, name) for name in PARTS)
    return judged_collection(*frames, spec.evaluation.scope)


def run_assets(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    """``runs/<system>`` for BM25, each base model and each fine-tuned model."""
    models = list(spec.models)
    return [_bm25_run(spec), *(_base_run(spec, m) for m in models), *(_tuned_run(spec, m) for m in models)]


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


def kept_weights(artifacts: Artifacts, spec: CollectionSpec, model: str) -> Path:
    """Folder of a fine-tuned model's weights.

    Raises TendrilError where there is no finished training, or where the weights are not those it finished with.
    """
    folder = artifacts.folder(spec.collection, "models", model)
    result, kept = folder / "result.json", folder / "kept"
    if not result.is_file() or (found := weights_hash(kept)) is None:
        raise TendrilError(f"{folder} holds no finished training: materialise {spec.collection}/models/{model} first")
    if found != json.loads(result.read_text(encoding="utf-8"))["weights_sha256"]:
        raise TendrilError(f"{kept} is not what training left: materialise {spec.collection}/models/{model} again")
    return kept


def publish_run(
    artifacts: Artifacts,
    spec: CollectionSpec,
    system: str,
    *,
    identity: str | None,
    weights: str | None,
    make: Callable[[list[Scope]], Ranked],
) -> dg.MaterializeResult:
    """Hand over a system's ranking, from the cache where nothing that determines it has changed.

    ``identity`` names the system; None says that it is not known well enough for its ranking to be used again.
    ``weights`` is handed over with the ranking (``read_weights``). ``make`` ranks the scopes and tells further metadata.
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
    said = {"ranked_hash": pl.lit(test.ranked_hash), WEIGHTS_COLUMN: pl.lit(weights, pl.String)}
    artifacts.write_frame(spec.collection, f"run_{system}", run.with_columns(**said))
    cutoff = spec.evaluation.cutoffs[0]
    tied = ties_at_cut(run, cutoff)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(frame_hash(run)),
        metadata={
            "dagster/row_count": run.height,
            "reused": stored is not None,
            "seconds": round(time.monotonic() - started, 2),
            "queries": run.select(UNIT).n_unique(),
            **({} if tied is None else {f"tied_at_{cutoff}": tied}),
            **facts,
        },
    )


def _run_asset(
    spec: CollectionSpec, system: str, *, pool: str, kinds: set[str], description: str, deps: tuple[str, ...] = ()
) -> Callable[[Callable[..., dg.MaterializeResult]], dg.AssetsDefinition]:
    return work_asset(
        spec,
        f"runs/{system}",
        stage="evaluation",
        description=description,
        deps=[INPUTS, *deps],
        pool=pool,
        kinds={*kinds, "parquet"},
        version=RANKING_VERSION,
    )


def _bm25_run(spec: CollectionSpec) -> dg.AssetsDefinition:
    rules = spec.evaluation

    @_run_asset(spec, "bm25", pool="cpu", kinds={"bm25"}, description="Ranking of the test collection by BM25.")
    def run(artifacts: Artifacts) -> dg.MaterializeResult:
        parameters = {"bm25": rules.bm25.model_dump(mode="json"), "tokeniser": bm25.TOKENISER_VERSION}

        def make(scopes: list[Scope]) -> Ranked:
            return bm25.rank_bm25(scopes, rules.bm25, rules.depth), {"parameters": parameters}

        identity = json.dumps(parameters, sort_keys=True)
        return publish_run(artifacts, spec, "bm25", identity=identity, weights=None, make=make)

    return run


def _base_run(spec: CollectionSpec, model: str) -> dg.AssetsDefinition:
    text = f"Ranking of the test collection by {spec.models[model].base_title} as published."

    @_run_asset(spec, f"{model}_base", pool="gpu", kinds={"pytorch"}, description=text)
    def run(context: dg.AssetExecutionContext, artifacts: Artifacts) -> dg.MaterializeResult:
        return _dense_run(context, artifacts, spec, model, f"{model}_base", None)

    return run


def _tuned_run(spec: CollectionSpec, model: str) -> dg.AssetsDefinition:
    text = f"Ranking of the test collection by {model}, fine-tuned on this collection."

    @_run_asset(spec, f"{model}_tuned", pool="gpu", kinds={"pytorch"}, description=text, deps=(f"models/{model}",))
    def run(context: dg.AssetExecutionContext, artifacts: Artifacts) -> dg.MaterializeResult:
        return _dense_run(context, artifacts, spec, model, f"{model}_tuned", kept_weights(artifacts, spec, model))

    return run


def _dense_run(
    context: dg.AssetExecutionContext,
    artifacts: Artifacts,
    spec: CollectionSpec,
    model: str,
    system: str,
    weights: Path | None,
) -> dg.MaterializeResult:
    described = spec.models[model]

    def make(scopes: list[Scope]) -> Ranked:
        store = EmbeddingStore(artifacts.folder(spec.collection, "embeddings", system))
        encoder = dense.load_encoder(described, weights, store=store)
        if weights is None:  # a fine-tuned model has the width it was trained with
            tell_cut(described, context.log)
        passages = [text for scope in scopes for text in scope.passages["text"]]
        queries = [text for scope in scopes for text in scope.queries["text"]]
        first = {kind: encoder.prompt(kind) + texts[0] for kind, texts in (("query", queries), ("document", passages))}
        # Texts go into no log: the page of the asset tells where they are.
        shown = pl.DataFrame({"kind": list(first), "input": list(first.values())})
        path = artifacts.write_frame(spec.collection, f"first_inputs_{system}", shown)
        run = dense.rank_dense(
            scopes,
            encoder,
            spec.evaluation.depth,
            lambda done, total: context.log.info(f"{system}: {done:,} of {total:,} passages encoded"),
        )
        return run, {
            "embeddings_dropped": encoder.keep_only([*passages, *queries]),
            "encoded_texts": encoder.encoded,
            "texts_from_store": encoder.reused,
            "truncated_inputs": encoder.truncated(passages, "document") + encoder.truncated(queries, "query"),
            "max_length": described.max_length,
            "prompts": [encoder.prompt("query"), encoder.prompt("document")],
            "first_inputs": dg.MetadataValue.path(str(path)),
        }

    pinned = weights is not None or is_pinned(described)
    if not pinned:
        context.log.warning(f"{described.base} has no pinned revision: its ranking is made anew each time")
    parts = [model_identity(described, weights), described.query_prompt, described.document_prompt]
    identity = json.dumps(parts) if pinned else None
    name = weights_name(described, weights)
    return publish_run(artifacts, spec, system, identity=identity, weights=name, make=make)
