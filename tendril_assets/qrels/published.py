"""Append-only qrels: a pair once published stays, and only the removal list takes it out.

Earlier runs were computed over what was published; a gold pair that quietly disappears looks like a failure of retrieval.
What is kept is the pair. Its grade may be a better one by now: stronger evidence replaces it (``qrels.routes``), and how
many grades changed is told.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from tendril_assets.corpus.identifiers import nfc
from tendril_assets.errors import PublishedPairMissing
from tendril_assets.tables import TABLES

PAIR = ["query_id", "passage_id"]
LANDED = "landed"
SHOWN = 20
_REASONS = {
    "query": "the query is no longer there",
    "passage": "the passage is no longer there",
    "text": "the passage's text is another one than was graded",
    "grade": "nothing grades it",
}


def removed_pairs(entries: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """(query_id, passage_id) of the entries of kind ``pair``, from (kind, id) of the removal list.

    The last slash parts the two: a passage id has none.
    """
    found = set()
    for kind, raw in entries:
        query_id, slash, passage_id = nfc(raw).strip().rpartition("/")
        if kind == "pair" and slash:
            found.add((query_id, passage_id))
    return frozenset(found)


def without_removed(
    pairs: pl.DataFrame, entries: Sequence[tuple[str, str]], erased: Iterable[str] = ()
) -> pl.DataFrame:
    """``pairs`` without those that the removal list names itself, or whose passage, document or act it names.

    Args:
        pairs: query_id, passage_id and any further columns.
        entries: (kind, id) of the removal list.
        erased: ids of ``erased_ids``: of all that the list ever hit, as published.

    A named passage id says which act it is of before its number sign, so the pairs of an act that is gone are known.
    """
    gone_pairs = removed_pairs(entries)
    gone = {nfc(raw).strip() for kind, raw in entries if kind in ("act", "project", "document", "passage")} | set(
        erased
    )
    kept = [
        (query, passage) not in gone_pairs and passage not in gone and passage.partition("#")[0] not in gone
        for query, passage in pairs.select(PAIR).iter_rows()
    ]
    return pairs.filter(pl.Series(kept, dtype=pl.Boolean))


def standing(binding: pl.DataFrame, queries: pl.DataFrame, checks: pl.DataFrame) -> pl.DataFrame:
    """``binding`` with ``lost``: why the pair cannot stay, empty where it can.

    Args:
        binding: query_id, passage_id, score, content_check, version of the pairs that must stay.
        queries: query_id of the present queries.
        checks: passage_id and present content_check of every passage of the corpus.
    """
    known = queries.select("query_id", has_query=pl.lit(True)).unique()
    now = checks.select("passage_id", now="content_check")
    joined = binding.join(known, on="query_id", how="left", maintain_order="left").join(
        now, on="passage_id", how="left", maintain_order="left"
    )
    lost = (
        pl.when(pl.col("has_query").is_null())
        .then(pl.lit("query"))
        .when(pl.col("now").is_null())
        .then(pl.lit("passage"))
        .when(pl.col("content_check").is_not_null() & (pl.col("content_check") != pl.col("now")))
        .then(pl.lit("text"))
    )
    return joined.with_columns(lost=lost).select(*binding.columns, "lost")


def missing(standing: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``standing`` (as the function of that name gives them) that are lost, or not among ``qrels`` (query_id,
    passage_id); ``why`` names the reason."""
    found = qrels.select(*PAIR, there=pl.lit(True))
    nothing_grades_it = pl.when(pl.col("there").is_null()).then(pl.lit("grade"))
    joined = standing.join(found, on=PAIR, how="left", maintain_order="left")
    return (
        joined.with_columns(why=pl.coalesce("lost", nothing_grades_it))
        .filter(pl.col("why").is_not_null())
        .drop("there")
    )


def require_published(standing: pl.DataFrame, qrels: pl.DataFrame, where: str) -> None:
    """Raise PublishedPairMissing where a published pair is ``missing``; the message names the pairs, each with its reason."""
    lost = missing(standing, qrels)
    if lost.is_empty():
        return
    named = [
        f"{query} / {passage} (grade {score}, published in {version}): {_REASONS[why]}"
        for query, passage, score, version, why in lost.head(SHOWN).select(*PAIR, "score", "version", "why").iter_rows()
    ]
    more = f"\nand {lost.height - SHOWN:,} more" if lost.height > SHOWN else ""
    raise PublishedPairMissing(
        f"{where}: {lost.height:,} of {standing.height:,} published pairs would vanish from the qrels. "
        "Earlier figures rest on them, so nothing was written:\n"
        + "\n".join(named)
        + more
        + "\nBring them back (the act, its "
        "text, the question), or name what is to go in the removal list, as kind act, passage or pair (query_id/passage_id)"
    )


def published_table(
    landed: pl.DataFrame, releases: Sequence[tuple[str, pl.DataFrame | None]], former: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``published_pairs``.

    Args:
        landed: rows of ``landed_qrels``.
        releases: (version, its pairs as query_id, passage_id, score, content_check), the oldest first; None where its files
            are gone, so that what the table knows of it stands.
        former: ``published_pairs`` as it stands.

    A pair belongs to the version that published it first, and has the grade and the check of the last one.
    """
    columns = [*PAIR, "score", "content_check"]
    parts = [landed.select(*columns, version=pl.lit(LANDED))]
    for version, pairs in releases:
        known = former.filter(version=version) if pairs is None else pairs
        parts.append(known.select(*columns, version=pl.lit(version)))
    every = pl.concat([part.cast({"score": pl.Int8}) for part in parts])
    rows = every.group_by(PAIR, maintain_order=True).agg(
        pl.col("score").last(), pl.col("content_check").drop_nulls().last(), pl.col("version").first()
    )
    return rows.select(*TABLES["published_pairs"].schema).sort(PAIR)
