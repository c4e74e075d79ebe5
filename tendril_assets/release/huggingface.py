"""The rows as published, and their Parquet files: three configs, all with the split ``train``.

Columns: corpus ``id, text, <group>, document, page``; queries ``id, text, level, catalog, area``; qrels ``query-id,
corpus-id, score``. Texts are Arrow ``string`` and integers int64 in every shard, so that each reader sees one type.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tendril_assets.errors import ExportInvariantError

CONFIGS = ("corpus", "queries", "qrels")
DEFAULT_CONFIG = "qrels"
SPLIT = "train"
QREL_COLUMNS = ("query-id", "corpus-id", "score")
# The hub's own tools cut shards at 500 MB. Measured before compression, so that the cut depends on the rows alone.
SHARD_BYTES = 500_000_000
_ROW_GROUP = 50_000
_ARROW: dict[type[pl.DataType], pa.DataType] = {pl.String: pa.string(), pl.Int64: pa.int64()}
_PUBLISHED = {str(kind) for kind in _ARROW.values()}


class Rows(NamedTuple):
    """What is published, in published columns."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame


class Config(NamedTuple):
    """One config as found in its written files."""

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


def shard_names(shards: int) -> list[str]:
    """``train-00000-of-00002.parquet`` and so on: the names ``datasets`` finds a split by."""
    return [f"{SPLIT}-{i:05d}-of-{shards:05d}.parquet" for i in range(shards)]


def plain_bytes(frame: pl.DataFrame) -> int:
    """Bytes of the rows as Arrow arrays: UTF-8 and an offset of 4 bytes per text, 8 bytes per integer.

    The figure ``datasets`` calls ``num_bytes``. It follows from the rows alone, not from a library's compression.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    if not frame.height:
        return 0
    utf8 = sum(int(frame[name].str.len_bytes().sum()) for name in texts)
    return utf8 + frame.height * (4 * len(texts) + 8 * (frame.width - len(texts)))


def write_parquet(folder: Path, rows: Rows, shard_bytes: int = SHARD_BYTES) -> None:
    """One folder per config with as many shards of about ``shard_bytes`` as it takes.

    Raises ExportInvariantError for a column of a type that is not published.
    """
    for name, frame in zip(CONFIGS, rows, strict=True):
        target = folder / name
        target.mkdir()
        shards = max(1, -(-plain_bytes(frame) // shard_bytes))
        each = max(1, -(-frame.height // shards))
        names = shard_names(max(1, -(-frame.height // each)))
        for i, shard in enumerate(names):
            write_shard(target / shard, frame.slice(i * each, each))


def write_shard(path: Path, frame: pl.DataFrame) -> None:
    """Rows as one Parquet file, in row groups of 50,000 with a page index, so that a reader may stream and skip.

    Raises ExportInvariantError for a column of a type that is not published.
    """
    unknown = {name: str(dtype) for name, dtype in frame.schema.items() if type(dtype) not in _ARROW}
    if unknown:
        raise ExportInvariantError(f"config {path.parent.name}: columns of a type that is not published: {unknown}")
    schema = pa.schema([pa.field(name, _ARROW[type(dtype)]) for name, dtype in frame.schema.items()])
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_index=True) as writer:
        for part in frame.iter_slices(_ROW_GROUP):
            writer.write_table(part.to_arrow().cast(schema))


def shard_files(folder: Path, config: str) -> list[Path]:
    """The Parquet files of a config, in order.

    Raises ExportInvariantError where they are not exactly the shards of one writing: a missing one, or an old one that
    the glob of the card would take for new rows.
    """
    files = sorted((folder / config).glob(f"{SPLIT}-*"))
    if not files or [f.name for f in files] != shard_names(len(files)):
        raise ExportInvariantError(
            f"{folder / config} should hold the shards {SPLIT}-00000-of-N.parquet of one writing, it has "
            f"{[f.name for f in files]}: take the folder away and materialise the release again"
        )
    return files


def read_rows(folder: Path) -> Rows:
    """The rows of a written release. Raises ExportInvariantError as ``shard_files`` does, and for a damaged file."""
    try:
        return Rows(*(pl.read_parquet(shard_files(folder, name)) for name in CONFIGS))
    except pl.exceptions.PolarsError as error:
        raise ExportInvariantError(
            f"{folder} cannot be read ({error}): put its files back from a copy, or move it away"
        ) from error


def read_configs(folder: Path) -> list[Config]:
    """Features and row counts as the written files have them: the card's front matter is made from these.

    Raises ExportInvariantError where a config's shards are not of one writing, differ in their columns, or have a type
    that is not published.
    """
    configs = []
    for name in CONFIGS:
        metas = {f.name: pq.read_metadata(f) for f in shard_files(folder, name)}
        schemas = {shard: {f.name: str(f.type) for f in meta.schema.to_arrow_schema()} for shard, meta in metas.items()}
        first = next(iter(schemas.values()))
        differing = [shard for shard, schema in schemas.items() if list(schema.items()) != list(first.items())]
        if differing:
            raise ExportInvariantError(f"config {name}: the columns of {', '.join(differing)} differ from the first's")
        unknown = {column: kind for column, kind in first.items() if kind not in _PUBLISHED}
        if unknown:
            raise ExportInvariantError(f"config {name}: columns of a type that is not published: {unknown}")
        configs.append(Config(name, first, sum(meta.num_rows for meta in metas.values())))
    return configs


def require_rows(configs: list[Config], expected: Mapping[str, int]) -> None:
    """Raises ExportInvariantError where a written file has another number of rows than the figures say."""
    wrong = {c.name: (c.rows, expected[c.name]) for c in configs if c.rows != expected[c.name]}
    if wrong:
        raise ExportInvariantError(f"rows written against rows counted: {wrong}. Materialise the release again")
