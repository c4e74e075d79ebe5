"""The rows as published, and their Parquet files: three configs, all with the split ``train``.

Columns: corpus ``id, text, <group>, document, page``; queries ``id, text, level, catalog, area``; qrels ``query-id,
corpus-id, score``. Integers are int64, so that every shard and every reader sees one type.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow.parquet as pq

from tendril_assets.errors import ExportInvariantError

CONFIGS = ("corpus", "queries", "qrels")
DEFAULT_CONFIG = "qrels"
SPLIT = "train"
SHARD = f"{SPLIT}-00000-of-00001.parquet"
_DTYPES = {"string": "string", "large_string": "string", "int64": "int64"}


class Rows(NamedTuple):
    """What is published, in published columns."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame


class Config(NamedTuple):
    """One config as found in its written file."""

    name: str
    features: dict[str, str]
    rows: int


def published_rows(corpus: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, group_column: str) -> Rows:
    """Warehouse frames (tables corpus, queries, qrels) in the published columns; order is kept."""
    return Rows(
        corpus.select(
            pl.col("passage_id").alias("id"),
            "text",
            pl.col("group_id").alias(group_column),
            pl.col("document_id").alias("document"),
            pl.col("page").cast(pl.Int64),
        ),
        queries.select(pl.col("query_id").alias("id"), "text", "level", "catalog", "area"),
        qrels.select(
            pl.col("query_id").alias("query-id"),
            pl.col("passage_id").alias("corpus-id"),
            pl.col("score").cast(pl.Int64),
        ),
    )


def write_parquet(folder: Path, rows: Rows) -> None:
    """One Parquet file per config, in row groups of 50,000, so that a reader may stream."""
    for name, frame in zip(CONFIGS, rows, strict=True):
        target = folder / name
        target.mkdir()
        frame.write_parquet(target / SHARD, row_group_size=50_000, statistics=True)


def read_configs(folder: Path) -> list[Config]:
    """Features and row counts as the written files have them: the card's front matter is made from these.

    Raises ExportInvariantError where a config's glob matches more than its one file, or a type is not one published.
    """
    configs = []
    for name in CONFIGS:
        files = sorted((folder / name).glob(f"{SPLIT}-*"))
        if [f.name for f in files] != [SHARD]:
            raise ExportInvariantError(f"{folder / name} should hold {SHARD} alone, it has {[f.name for f in files]}")
        meta = pq.ParquetFile(files[0])
        schema = meta.schema_arrow
        unknown = {f.name: str(f.type) for f in schema if str(f.type) not in _DTYPES}
        if unknown:
            raise ExportInvariantError(f"config {name}: columns of a type that is not published: {unknown}")
        configs.append(Config(name, {f.name: _DTYPES[str(f.type)] for f in schema}, meta.metadata.num_rows))
    return configs


def require_rows(configs: list[Config], expected: Mapping[str, int]) -> None:
    """Raises ExportInvariantError where a written file has another number of rows than the figures say."""
    wrong = {c.name: (c.rows, expected[c.name]) for c in configs if c.rows != expected[c.name]}
    if wrong:
        raise ExportInvariantError(f"rows written against rows counted: {wrong}. Materialise the release again")
