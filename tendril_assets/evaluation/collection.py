"""The test collection as it is ranked: who ranks what, and in which group each query counts."""

import hashlib
import json
from typing import Literal, NamedTuple

import polars as pl

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.ranking import UNIT, Scope

Reach = Literal["group", "collection"]


class JudgedCollection(NamedTuple):
    """``corpus`` has passage_id, group_id, text; ``queries`` query_id, text, level; ``qrels`` are ``labelled``.

    The queries of a collection that tests on what it held out of itself also have group_id, split and generated
    (``evaluation.held_out``).

    ``ranked_hash`` names what is ranked (ids, texts, who ranks what), not the grades: a changed grade needs no new
    ranking.
    """

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame
    reach: Reach
    ranked_hash: str

    @property
    def units(self) -> pl.DataFrame:
        """The (query_id, group_id) units that are ranked."""
        return self.qrels.select(UNIT).unique().sort(UNIT)

    @property
    def scopes(self) -> list[Scope]:
        return scopes(self.queries, self.corpus, self.qrels, self.reach)


def judged_collection(
    corpus: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, reach: Reach
) -> JudgedCollection:
    """The test tables as one collection. Where ``queries`` have a ``group_id``, a query counts in that group where it is not
    null.

    Raises TendrilError for judgments of passages or queries that the collection does not have.
    """
    for column, known in (("passage_id", corpus), ("query_id", queries)):
        unknown = qrels.join(known, on=column, how="anti")[column].unique().sort()
        if len(unknown):
            raise TendrilError(
                f"the test qrels name {len(unknown)} {column} that the test collection does not have, among them "
                f"{unknown.head(20).to_list()}: land corpus, queries and qrels of the same revision"
            )
    judged = labelled(qrels, corpus, reach, queries)
    parts = [
        corpus.select("passage_id", "group_id", "text").sort("passage_id"),
        queries.select("query_id", "text").sort("query_id"),
        judged.select(UNIT).unique().sort(UNIT),
    ]
    named = hashlib.sha256("".join([reach, *(frame_hash(part) for part in parts)]).encode()).hexdigest()
    return JudgedCollection(corpus, queries, judged, reach, named)


def frame_hash(frame: pl.DataFrame) -> str:
    """SHA-256 (first 32 hex digits) of a frame's columns and rows, in their order."""
    return hashlib.sha256(json.dumps(frame.columns).encode() + frame.write_ndjson().encode()).hexdigest()[:32]


def scopes(queries: pl.DataFrame, corpus: pl.DataFrame, qrels: pl.DataFrame, scope: Reach) -> list[Scope]:
    """The scopes of a test collection.

    ``group``: a query ranks the passages of each group it was judged in, and those only, for nothing is known about
    the others. ``collection``: it ranks all passages, under the label of its one group (see ``labelled``).
    ``queries`` has query_id and text; ``corpus`` passage_id, group_id and text; ``qrels`` is already ``labelled``.
    """
    units = qrels.select(UNIT).unique().join(queries.select("query_id", "text"), on="query_id").sort(UNIT)
    passages = corpus.select("passage_id", "group_id", "text").sort("passage_id", descending=True)
    if units.is_empty() or passages.is_empty():
        return []
    if scope == "collection":
        return [Scope(passages.drop("group_id"), units)]
    by_group = passages.partition_by("group_id", as_dict=True, maintain_order=True, include_key=False)
    asked = units.partition_by("group_id", as_dict=True, maintain_order=True)
    return [Scope(by_group[group], asked[group]) for group in sorted(asked)]


def whole_scope(corpus: pl.DataFrame, queries: pl.DataFrame) -> list[Scope]:
    """Every query against every passage; no scope where there are none of either.

    ``corpus`` has passage_id and text; ``queries`` query_id, group_id and text.
    """
    if corpus.is_empty() or queries.is_empty():
        return []
    passages = corpus.select("passage_id", "text").sort("passage_id", descending=True)
    return [Scope(passages, queries.select(*UNIT, "text").sort(UNIT))]


def labelled(
    qrels: pl.DataFrame, corpus: pl.DataFrame, scope: Reach, queries: pl.DataFrame | None = None
) -> pl.DataFrame:
    """``qrels`` (query_id, passage_id, score) with the group in which each query counts.

    ``group``: the passage's own group, so a query may count in several. ``collection``: one group per query, that of
    most of its relevant passages (of its judged ones where none is relevant; equal counts: the lowest group id), unless
    ``queries`` have a ``group_id`` that says which.
    """
    own = qrels.join(corpus.select("passage_id", "group_id"), on="passage_id")
    if scope == "collection":
        home = (
            own.group_by(UNIT)
            .agg((pl.col("score") >= 1).sum().alias("relevant"), pl.len().alias("judged"))
            .sort("query_id", "relevant", "judged", "group_id", descending=[False, True, True, False])
            .unique("query_id", keep="first", maintain_order=True)
            .select(UNIT)
        )
        if queries is not None and "group_id" in queries.columns:
            named = queries.filter(pl.col("group_id").is_not_null()).select(UNIT)
            home = pl.concat([home.join(named, on="query_id", how="anti"), named])
        own = own.drop("group_id").join(home, on="query_id")
    return own.select("query_id", "passage_id", "group_id", "score").sort("query_id", "group_id", "passage_id")
