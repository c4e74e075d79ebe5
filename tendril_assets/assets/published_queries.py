"""Table ``published_queries``: the text of every query as each version published it."""

from pathlib import Path

import polars as pl

from tendril_assets.assets.released import former_releases
from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.huggingface import shard_files
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES

TABLE = "published_queries"


def published_queries(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """The queries of each version of ``releases``, from its folder; of one whose folder is gone what the table knows.

    A sandbox release is none: it cannot be published, and binds nobody to its wording.
    """
    table = TABLES[TABLE]
    known = warehouse.load(collection, TABLE) if warehouse.exists(collection, TABLE) else table.empty()
    frames = [table.empty()]
    binding = former_releases(warehouse, collection).filter(~pl.col("sandbox"))
    for version, path in binding.select("version", "path").iter_rows():
        published = _of(version, Path(path))
        frames.append(known.filter(version=version) if published is None else published)
    return pl.concat(frames).unique(list(table.key), keep="first", maintain_order=True).sort(table.key)


def _of(version: str, folder: Path) -> pl.DataFrame | None:
    """The queries in a version's folder; None where it is gone or damaged, which check release_files_intact says."""
    try:
        queries = pl.read_parquet(shard_files(folder, "queries"), columns=["id", "text"])
    except (ExportInvariantError, OSError, pl.exceptions.PolarsError):
        return None
    return queries.select(pl.lit(version).alias("version"), pl.col("id").alias("query_id"), "text")
