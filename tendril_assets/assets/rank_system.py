"""Any passages ranked for any queries by any system of a collection: the one way in which a ranking comes about.

The runs of the test collection, the pool and the comparison of training stages all rank through ``rank_system``. A hybrid
and a reranked system rank their parts first; ``part`` lets a caller that has these rankings hand them over.
"""

import io
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation import bm25, dense
from tendril_assets.evaluation.collection import frame_hash
from tendril_assets.evaluation.embeddings import EmbeddingStore
from tendril_assets.evaluation.fuse import FUSION_VERSION, fuse
from tendril_assets.evaluation.model_files import weights_hash
from tendril_assets.evaluation.model_state import tell_cut
from tendril_assets.evaluation.models import is_pinned, model_identity
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.evaluation.reordering import REORDERING_VERSION, reorder
from tendril_assets.evaluation.rerank import KeptScores, Reranker, load_reranker
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.spec import CollectionSpec

BM25 = "bm25"
_TOLD_SECONDS = 10.0

# A run (``evaluation.ranking.RUN_SCHEMA``) and what is told of it beside.
Ranked = tuple[pl.DataFrame, dict[str, Any]]
Part = Callable[[str], pl.DataFrame]


def rank_system(
    context: dg.AssetExecutionContext,
    artifacts: Artifacts,
    spec: CollectionSpec,
    system: str,
    scopes: Sequence[Scope],
    depth: int,
    *,
    part: Part | None = None,
    only_these: bool = False,
) -> Ranked:
    """The run of ``system`` over ``scopes``, at most ``depth`` passages per query and group, and metadata of it.

    A hybrid and a reranked system are made of rankings as deep as those of the test collection, whatever ``depth`` is, so
    that they are the same systems wherever they rank. ``part`` gives such a ranking of the same scopes by another system;
    without it the parts are ranked here. Embeddings, and a reranker's scores, are kept and found again; with ``only_these``
    those of other texts are dropped.

    Raises TendrilError for a system that the specification does not have, for a model that is not on this machine and for
    a fine-tuned one whose training has not finished.
    """
    rules = spec.evaluation
    deep = max(depth, rules.depth)
    parts = part or (lambda name: rank_system(context, artifacts, spec, name, scopes, deep)[0])
    if system == BM25:
        return bm25.rank_bm25(scopes, rules.bm25, depth), {"parameters": bm25_parameters(spec)}
    if system in rules.hybrids:
        hybrid = rules.hybrids[system]
        return fuse([_found(name, parts(name)) for name in hybrid.of], hybrid.k, depth), hybrid.model_dump(mode="json")
    if system in rules.reranked:
        reranker = KeptScores(_reranker(spec, system), artifacts.folder(spec.collection, "pair_scores", system))
        rule, told = rules.reranked[system], _paced(context, system, "queries reranked")
        run = reorder(parts(rule.of), scopes, reranker, rule.depth, told).filter(pl.col("rank") <= depth)
        return run, {**rule.model_dump(mode="json"), **_kept(reranker, only_these=only_these)}
    model, weights = model_of(artifacts, spec, system)
    return _dense(context, artifacts, spec, (system, model, weights), scopes, depth, only_these=only_these)


def rank_system_once(
    context: dg.AssetExecutionContext,
    artifacts: Artifacts,
    spec: CollectionSpec,
    system: str,
    scopes: Sequence[Scope],
    depth: int,
) -> Ranked:
    """``rank_system`` from the cache, where the same system ranked the same texts to the same depth before."""
    identity = system_identity(artifacts, spec, system)
    texts = [frame_hash(frame) for scope in scopes for frame in scope]
    owner, key = (spec.collection, system), json.dumps(["scopes", identity, depth, texts])
    if identity is not None and (stored := artifacts.cached("runs", owner, key)) is not None:
        return pl.read_parquet(io.BytesIO(stored)), {"reused": True}
    run, facts = rank_system(context, artifacts, spec, system, scopes, depth)
    if identity is not None:
        buffer = io.BytesIO()
        run.write_parquet(buffer)
        artifacts.put("runs", owner, key, buffer.getvalue())
    return run, {"reused": False, **facts}


def system_identity(artifacts: Artifacts, spec: CollectionSpec, system: str) -> str | None:
    """Names all that a ranking depends on but texts, queries and depth; None where that is not known well enough.

    Raises TendrilError as ``rank_system`` does.
    """
    if system == BM25:
        return json.dumps(bm25_parameters(spec), sort_keys=True)
    if parts := parts_of(spec, system):
        named = [composition(spec, system), *(system_identity(artifacts, spec, name) for name in parts)]
        return None if None in named else json.dumps(named)
    model, weights = model_of(artifacts, spec, system)
    described = spec.models[model]
    if weights is None and not is_pinned(described):
        return None
    return json.dumps([model_identity(described, weights), described.query_prompt, described.document_prompt])


def composition(spec: CollectionSpec, system: str) -> str | None:
    """Names what a hybrid or reranked system does with the rankings it is made of; None where its reranker is not known
    well enough for that.
    """
    rules = spec.evaluation
    if system in rules.hybrids:
        return json.dumps(["fused", FUSION_VERSION, rules.hybrids[system].k, rules.depth])
    identity = _reranker(spec, system).identity
    return identity and json.dumps(
        ["reranked", REORDERING_VERSION, identity, rules.reranked[system].depth, rules.depth]
    )


def reranker_name(spec: CollectionSpec, system: str) -> str | None:
    """The model that reorders, with its commit where it has one; None for a system that is not reranked."""
    if system not in spec.evaluation.reranked:
        return None
    described = spec.rerankers[spec.evaluation.reranked[system].reranker]
    return described.base if described.revision is None else f"{described.base}@{described.revision}"


def bm25_parameters(spec: CollectionSpec) -> dict[str, Any]:
    return {"bm25": spec.evaluation.bm25.model_dump(mode="json"), "tokeniser": bm25.TOKENISER_VERSION}


def parts_of(spec: CollectionSpec, system: str) -> tuple[str, ...]:
    """The systems whose rankings ``system`` is made of, directly; none for BM25 and models."""
    rules = spec.evaluation
    if system in rules.hybrids:
        return rules.hybrids[system].of
    return (rules.reranked[system].of,) if system in rules.reranked else ()


def model_of(artifacts: Artifacts, spec: CollectionSpec, system: str) -> tuple[str, Path | None]:
    """Model of a dense system, and the folder of its fine-tuned weights; None for a base.

    Raises TendrilError for a system that there is not, and as ``kept_weights`` does.
    """
    for model in spec.models:
        if system == f"{model}_base":
            return model, None
        if system == f"{model}_tuned":
            return model, kept_weights(artifacts, spec, model)
    raise TendrilError(f"{spec.collection} has no system {system!r}; there are {', '.join(spec.systems)}")


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


def _reranker(spec: CollectionSpec, system: str) -> Reranker:
    return load_reranker(spec.rerankers[spec.evaluation.reranked[system].reranker])


def _kept(reranker: KeptScores, *, only_these: bool) -> dict[str, int]:
    """Keeps the scores of the pairs; figures of them."""
    dropped = {"pair_scores_dropped": reranker.keep_only_asked()} if only_these else {}
    reranker.flush()
    return {
        **dropped,
        "scored_pairs": reranker.scored,
        "pairs_from_store": reranker.reused,
        "truncated_inputs": reranker.truncated,
    }


def _dense(
    context: dg.AssetExecutionContext,
    artifacts: Artifacts,
    spec: CollectionSpec,
    ranker: tuple[str, str, Path | None],
    scopes: Sequence[Scope],
    depth: int,
    *,
    only_these: bool,
) -> Ranked:
    system, model, weights = ranker
    described = spec.models[model]
    store = EmbeddingStore(artifacts.folder(spec.collection, "embeddings", system))
    encoder = dense.load_encoder(described, weights, store=store)
    if weights is None:  # a fine-tuned model has the width it was trained with
        tell_cut(described, context.log)
    passages = [text for scope in scopes for text in scope.passages["text"]]
    queries = [text for scope in scopes for text in scope.queries["text"]]
    # Texts go into no log: the page of the asset tells where they are.
    kinds = (("query", queries), ("document", passages))
    first = {kind: encoder.prompt(kind) + texts[0] for kind, texts in kinds if texts}
    path = artifacts.write_frame(
        spec.collection, f"first_inputs_{system}", pl.DataFrame({"kind": list(first), "input": list(first.values())})
    )
    run = dense.rank_dense(
        scopes,
        encoder,
        depth,
        lambda done, total: context.log.info(f"{system}: {done:,} of {total:,} passages encoded"),
    )
    return run, {
        **({"embeddings_dropped": encoder.keep_only([*passages, *queries])} if only_these else {}),
        "encoded_texts": encoder.encoded,
        "texts_from_store": encoder.reused,
        "truncated_inputs": encoder.truncated(passages, "document") + encoder.truncated(queries, "query"),
        "max_length": described.max_length,
        "prompts": [encoder.prompt("query"), encoder.prompt("document")],
        "first_inputs": dg.MetadataValue.path(str(path)),
    }


def _found(system: str, run: pl.DataFrame) -> pl.DataFrame:
    """What a ranking found: BM25 also orders passages that share no word with the query, by their ids alone."""
    return run.filter(pl.col("score") > 0) if system == BM25 else run


def _paced(context: dg.AssetExecutionContext, system: str, what: str) -> Callable[[int, int], None]:
    """Progress into the log, every few seconds and at the end."""
    told_at = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told_at
        if done == total or time.monotonic() - told_at >= _TOLD_SECONDS:
            context.log.info(f"{system}: {done:,} of {total:,} {what}")
            told_at = time.monotonic()

    return tell
