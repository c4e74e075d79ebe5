"""The head of a ranking ordered anew by a reranker; what is below keeps its order."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.fuse import ranked
from tendril_assets.evaluation.ranking import UNIT, Scope, rounded

REORDERING_VERSION = "1"


class Scorer(Protocol):
    """What scores passages for a query: higher is better, on a scale of its own."""

    def scores(self, query: str, passages: Sequence[str]) -> np.ndarray: ...


def reorder(
    run: pl.DataFrame,
    scopes: Sequence[Scope],
    scorer: Scorer,
    depth: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """``run`` with the first ``depth`` passages of each query and group in the order of the reranker's scores.

    Scores are rounded as those of every ranker, so equal ones tie and go by passage id. The passages below keep their
    order and their ties: their scores count down from the lowest of the head in whole steps, and say nothing else.
    ``scopes`` hold the texts of all that ``run`` ranks. ``on_progress(done, total)`` counts queries.
    Raises TendrilError for a query or passage without a text, and for scores that are not finite or not one per passage.
    """
    texts = [
        head
        for scope in scopes
        for head in _heads(run, scope, depth).partition_by(UNIT, maintain_order=True, include_key=True)
    ]
    wanted = run.select(UNIT).n_unique()
    if len(texts) != wanted:
        raise TendrilError(f"{wanted - len(texts)} of {wanted} queries of the ranking have no text to rerank with")
    parts = []
    for done, head in enumerate(texts, start=1):
        query = head["query"][0]
        found = np.asarray(scorer.scores(query, head["text"].to_list()), dtype=np.float64)
        if found.shape != (head.height,) or not np.isfinite(found).all():
            raise TendrilError(
                f"the reranker gave {found.shape} scores for {head.height} passages of query {head['query_id'][0]!r}, or "
                "one that is not finite: its model is damaged or of another kind than a cross-encoder with one output"
            )
        scores = pl.Series(rounded(found), dtype=pl.Float32)
        parts.append(head.select(*UNIT, "passage_id", score=scores.cast(pl.Float64)))
        if on_progress:
            on_progress(done, len(texts))
    if not parts:
        return run
    scored = pl.concat(parts)
    return ranked(pl.concat([scored, _below(run, scored, depth)]), run.height)


def _heads(run: pl.DataFrame, scope: Scope, depth: int) -> pl.DataFrame:
    """query_id, group_id, query, passage_id and text of the head of each query of the scope, in the order of the run."""
    asked = scope.queries.select(*UNIT, query="text")
    rows = run.filter(pl.col("rank") <= depth).join(asked, on=UNIT, maintain_order="left")
    found = rows.join(scope.passages.select("passage_id", "text"), on="passage_id", how="left", maintain_order="left")
    if (bare := found.filter(pl.col("text").is_null())["passage_id"]).len():
        raise TendrilError(f"{bare.len()} ranked passages have no text, among them {bare.head(3).to_list()}")
    return found.sort(*UNIT, "rank")


def _below(run: pl.DataFrame, head: pl.DataFrame, depth: int) -> pl.DataFrame:
    """What is below ``depth``: whole steps under the lowest score of the head, equal scores on one step."""
    lowest = head.group_by(UNIT).agg(lowest=pl.col("score").min().floor())
    step = pl.col("score").cast(pl.Float32).rank("dense", descending=True).over(UNIT)
    tail = run.filter(pl.col("rank") > depth).join(lowest, on=UNIT, maintain_order="left")
    return tail.select(*UNIT, "passage_id", score=(pl.col("lowest") - step).cast(pl.Float32).cast(pl.Float64))
