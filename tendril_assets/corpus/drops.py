"""The drop report: where the raw passages went, by reason and by catalog."""

import polars as pl

KEPT = "kept"
NO_AREA = "(no area)"


def by_reason(decisions: pl.DataFrame) -> pl.DataFrame:
    """One row per fate of a raw passage: kept first, then the reasons by frequency.

    Columns fate, passages, share (of all raw passages), projects, rule_version, example (the lowest passage id).
    ``passages`` add up to the rows of ``decisions``.
    """
    fates = decisions.with_columns(fate=pl.col("reason").fill_null(KEPT))
    counted = fates.group_by("fate", "rule_version").agg(
        passages=pl.len(), projects=pl.n_unique("project"), example=pl.min("passage_id")
    )
    return counted.select(
        "fate",
        "passages",
        pl.col("passages").truediv(decisions.height).alias("share"),
        "projects",
        "rule_version",
        "example",
    ).sort(pl.col("fate") != KEPT, -pl.col("passages").cast(pl.Int64), "fate", "rule_version")


def by_catalog(decisions: pl.DataFrame, catalogs: pl.DataFrame) -> pl.DataFrame:
    """One row per catalog: raw passages, kept ones, and one column per reason, the most frequent first.

    ``catalogs`` has project and catalog, once per pair. A project counts for each of its catalogs, so the columns do
    not add up to the whole; projects without an area have a row of their own. Each row adds up by itself.
    """
    known = catalogs.select("project", "catalog").unique()
    placed = decisions.join(known, on="project", how="left").with_columns(
        pl.col("catalog").fill_null(NO_AREA), fate=pl.col("reason").fill_null(KEPT)
    )
    fates = [fate for fate in by_reason(decisions)["fate"].unique(maintain_order=True) if fate != KEPT]
    counts = [(pl.col("fate") == fate).sum().alias(fate) for fate in (KEPT, *fates)]
    return placed.group_by("catalog").agg(pl.len().alias("raw"), *counts).sort("catalog")
