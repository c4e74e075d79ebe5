"""Candidates and the requests that answer them.

Pairs whose query texts and passage texts are equal get the same answer, so they share one request. The fan-out
(``candidates``) keeps every pair; the requests are distinct.
"""

from dataclasses import dataclass

import polars as pl

from tendril_assets.judging.prompts import Guideline
from tendril_assets.judging.request import RequestFactory
from tendril_assets.tables import TABLES

REQUEST_SCHEMA = {
    "request_key": pl.String(),
    "query_text": pl.String(),
    "passage_text": pl.String(),
}


@dataclass(frozen=True)
class Judging:
    """``candidates``: the pairs with their ``request_key``; ``requests``: ``REQUEST_SCHEMA``, ordered by query."""

    candidates: pl.DataFrame
    requests: pl.DataFrame


def nothing_planned() -> Judging:
    """Of a collection in which no judge may judge."""
    return Judging(TABLES["candidates"].empty(), pl.DataFrame(schema=REQUEST_SCHEMA))


def plan(
    pairs: pl.DataFrame, queries: pl.DataFrame, passages: pl.DataFrame, factory: RequestFactory, guideline: Guideline
) -> Judging:
    """Give each pair its request.

    Args:
        pairs: query_id, passage_id and any further columns, which are kept; distinct pairs.
        queries: query_id, text.
        passages: passage_id, text.

    The result depends on the rows alone, not on their order: of equal texts the lowest id stands for all. Raises
    ValueError for a pair whose query or passage has no text.
    """
    by_query = queries.select("query_id", "text", query=pl.col("query_id").min().over("text"))
    by_passage = passages.select("passage_id", "text", passage=pl.col("passage_id").min().over("text"))
    coded = pairs.join(by_query.drop("text"), on="query_id", how="left").join(
        by_passage.drop("text"), on="passage_id", how="left"
    )
    lost = coded.filter(pl.col("query").is_null() | pl.col("passage").is_null())
    if lost.height:
        raise ValueError(f"{lost.height} pair(s) without a text, for example {lost.row(0, named=True)}")
    distinct = coded.select("query", "passage").unique().sort("query", "passage")
    query_texts = _texts(by_query, "query", distinct)
    passage_texts = _texts(by_passage, "passage", distinct)
    numbered = distinct.join(query_texts, on="query", maintain_order="left").join(
        passage_texts, on="passage", maintain_order="left"
    )
    keys = factory.pair_keys(
        guideline,
        query_texts["query_text"].to_list(),
        passage_texts["passage_text"].to_list(),
        numbered.select("query_number", "passage_number").iter_rows(),
    )
    keyed = numbered.with_columns(pl.Series("request_key", keys, pl.String))
    requests = keyed.select(*REQUEST_SCHEMA).unique("request_key", keep="first", maintain_order=True)
    fan_out = coded.join(keyed.select("query", "passage", "request_key"), on=["query", "passage"]).select(
        *pairs.columns, "request_key"
    )
    return Judging(fan_out.sort("query_id", "passage_id"), requests)


def _texts(coded: pl.DataFrame, code: str, used: pl.DataFrame) -> pl.DataFrame:
    """The texts in use, one row per code, numbered in code order: ``code``, ``<code>_text``, ``<code>_number``."""
    return (
        coded.select(code, pl.col("text").alias(f"{code}_text"))
        .unique(subset=code)
        .join(used.select(code).unique(), on=code, how="semi")
        .sort(code)
        .with_row_index(f"{code}_number")
    )


def fan_out(candidates: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``judgments``: each pair whose request has a verdict, ordered by pair; open requests give no rows.

    ``verdicts``: request_key (each once), status, grade, parser_version.
    """
    joined = candidates.join(verdicts, on="request_key", validate="m:1")
    columns = list(TABLES["judgments"].schema)
    return joined.select(columns).sort("query_id", "passage_id")
