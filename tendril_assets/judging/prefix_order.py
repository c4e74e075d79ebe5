"""The order of requests that lets a provider's prompt cache serve the prefix that neighbours share.

Requests come grouped by prefix (guideline, then query). With n of them in flight the first n of a group would go out
before any reply has warmed the cache, and all n would pay the full price. So the first requests of each group, its
*leads*, go out early, between the requests of the groups before it; when the rest of the group starts, their replies
are there. A lead is a request like any other: nothing is asked that would not be asked anyway.

Two leads, one after the other: some providers keep a prefix from the first request on (OpenAI; vLLM and SGLang), others
only once a second request has shown that it is shared (DeepSeek, "common prefix detection",
https://api-docs.deepseek.com/guides/kv_cache). Leads must not be too early either: caches forget after 5 to 10 minutes
without use (https://developers.openai.com/api/docs/guides/prompt-caching), and so does a router's choice of the provider
that holds the prefix (https://openrouter.ai/docs/guides/best-practices/prompt-caching).
"""

from collections.abc import Sequence

import polars as pl

LEADS = 2
# Latencies differ: a lead that takes twice as long as the requests around it is back in time.
ROUNDS = 2
# The leads of groups that start within so many rounds open the run: nothing has to wait for them.
_OPENING_ROUNDS = 4


def lead_order(prefixes: pl.Series, in_flight: int, leads: int = LEADS) -> pl.Series:
    """The row numbers of ``prefixes`` in the order they should be sent.

    Between the last lead of a group and the rest of it at least ``ROUNDS * in_flight`` other requests go out, and as many
    between one lead and the next, as far as the groups before it have so many. The rest of each group stays together and
    in order, apart from leads of later groups in between; so do the groups. Rows of one prefix that lie apart are brought
    together where the first of them is. With one request in flight each finds the cache as the one before left it, so
    that only the order by groups remains.

    Raises ValueError for fewer than one request in flight or a negative number of leads.
    """
    if in_flight < 1 or leads < 0:
        raise ValueError(f"{in_flight} requests in flight and {leads} leads: at least 1 and 0 are needed")
    distance = ROUNDS * in_flight if in_flight > 1 else 0
    rows = pl.DataFrame({"prefix": prefixes}).with_row_index("row")
    ranked = rows.with_columns(
        group=pl.col("row").first().over("prefix"), rank=pl.int_range(pl.len(), dtype=pl.Int64).over("prefix")
    ).sort("group", "rank")
    is_rest = pl.col("rank") >= leads
    # Places are counted in rests alone: whatever leads come between only add to the distance.
    placed = ranked.with_columns(rests_before=is_rest.cast(pl.Int64).cum_sum() - is_rest.cast(pl.Int64))
    start = pl.col("rests_before").first().over("group")
    lead = (
        pl.when(start < _OPENING_ROUNDS * distance)
        .then(pl.col("rank") - leads)
        .otherwise(start - (leads - pl.col("rank")) * distance)
    )
    place = pl.when(is_rest).then(pl.col("rests_before")).otherwise(lead)
    ordered = placed.with_columns(place=place).sort("place", is_rest, "group", "rank")
    return ordered["row"]


def by_prefix(requests: pl.DataFrame, columns: Sequence[str], in_flight: int) -> pl.DataFrame:
    """``requests`` in ``lead_order``; the prefix is what the rows have in common in ``columns``.

    Columns that ``requests`` does not have are passed over; without any of them the order stays.
    """
    present = [column for column in columns if column in requests.columns]
    if not present or requests.is_empty():
        return requests
    # Two prefixes of one hash would only be sent as if they were one.
    prefixes = requests.select(pl.struct(present).hash()).to_series()
    return requests.select(pl.all().gather(lead_order(prefixes, in_flight)))
