"""The pool: which passages the queries without a gold of their own are judged on.

Pooling after K. Sparck Jones and C. J. van Rijsbergen (1975), as TREC does it: the union of several systems' rankings, each
to a stated depth, which is where a round robin over them ends. No system has the right of way, for all of it is judged.
What is judged must not tell where it came from, so the passages of a query are shown in an order that is drawn by name: it
says nothing of ranks or systems, and a passage that joins later moves none of the others.
"""

from collections.abc import Mapping, Sequence, Set

import polars as pl

from tendril_assets.corpus.identifiers import keyed_orders
from tendril_assets.tables import TABLES

PAIR = ["query_id", "passage_id"]


def pooled_queries(queries: pl.DataFrame, attachments: pl.DataFrame, manual: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``queries`` that have no gold of their own: asked by people and routed to the pool, or written by hand.

    ``attachments``: query_id, route. ``manual``: query_id. A question that was dropped has no candidates by retrieval: they
    would look plausible and be wrong by construction.
    """
    routed = attachments.filter(pl.col("route") == "pool").select("query_id")
    wanted = pl.concat([routed, manual.select("query_id")]).unique()
    return queries.join(wanted, on="query_id", how="semi").sort("query_id")


def pool_table(
    runs: Mapping[str, pl.DataFrame],
    groups: pl.DataFrame,
    depth: int,
    seed: int,
    removed: Set[tuple[str, str]] = frozenset(),
) -> pl.DataFrame:
    """Rows of ``pool``: the union of the rankings, ``depth`` of each, by query and place.

    Args:
        runs: system -> query_id, passage_id, rank (from 1), in the order of the specification.
        groups: passage_id, group_id of every passage that may be ranked.
        removed: pairs that the removal list names; they are shown to nobody.

    Raises ValueError for a ranking of a passage that has no group.
    """
    table = TABLES["pool"]
    found = pl.concat(
        [
            run.filter(pl.col("rank") <= depth).select(*PAIR, "rank", pl.lit(system).alias("system"))
            for system, run in runs.items()
        ]
    )
    if removed:
        gone = pl.DataFrame(sorted(removed), dict.fromkeys(PAIR, pl.String), orient="row")
        found = found.join(gone, on=PAIR, how="anti")
    if found.is_empty():
        return table.empty()
    pairs = found.group_by(PAIR, maintain_order=True).agg(systems=pl.col("system"), best_rank=pl.col("rank").min())
    pairs = pairs.join(groups.select("passage_id", "group_id"), on="passage_id", how="left")
    if pairs["group_id"].null_count():
        lost = pairs.filter(pl.col("group_id").is_null())["passage_id"].unique().sort()
        raise ValueError(f"{len(lost)} ranked passage(s) of no group, among them {lost.head(20).to_list()}")
    drawn = keyed_orders(seed, "pool", (f"{q}\n{p}" for q, p in pairs.select(PAIR).iter_rows()))
    ordered = pairs.with_columns(drawn=pl.Series(drawn, dtype=pl.Int64)).sort("query_id", "drawn", "passage_id")
    return (
        ordered.with_columns(place=pl.int_range(1, pl.len() + 1).over("query_id"))
        .select(*table.schema)
        .cast(dict(table.schema))
    )


def pool_sizes(pool: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """What each system brought: ``system``, ``pairs`` it ranked within the depth, ``alone`` those no other one did.

    A system that brings nothing alone could be left out; one that brings nearly all of it makes the pool a test of itself.
    """
    single = pl.col("systems").list.len() == 1
    rows = [
        (system, own.height, own.filter(single).height)
        for system in systems
        for own in [pool.filter(pl.col("systems").list.contains(system))]
    ]
    return pl.DataFrame(rows, {"system": pl.String, "pairs": pl.Int64, "alone": pl.Int64}, orient="row")
