"""The rows as published, and their Parquet files: three configs, all with the split ``train``.

Columns: corpus ``id, text, <group>, document, page``; queries ``id, text, level, catalog, area``; qrels ``query-id,
corpus-id, score``. Texts are Arrow ``string`` and integers int64 in every shard, so that each reader sees one type.

A collection that holds its own tests has one split of the judgments for each of ``PARTS`` that occurs; its corpus and
queries lie, as MTEB has them, in splits of their own names.
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
# Splits of the judgments, where there are several; which one a row belongs to stands in a column that is not published.
PARTS = ("train", "dev", "test")
PART_COLUMN = "split"
# The hub's own tools cut shards at 500 MB. Measured before compression, so that the cut depends on the rows alone.
SHARD_BYTES = 500_000_000
_ROW_GROUP = 50_000
_ARROW: dict[type[pl.DataType], pa.DataType] = {pl.String: pa.string(), pl.Int64: pa.int64()}
_PUBLISHED = {str(kind) for kind in _ARROW.values()}


class Rows(NamedTuple):
    """What is published, in published columns; ``qrels`` has ``PART_COLUMN`` besides where it has several splits."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame


class Config(NamedTuple):
    """One config as found in its written files. ``splits``: rows of each split, in order."""

    name: str
    features: dict[str, str]
    splits: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(self.splits.values())


def published_rows(
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    group_column: str,
    parts: pl.DataFrame | None = None,
) -> Rows:
    """Warehouse frames (tables corpus, queries, qrels) in the published columns; order is kept.

    ``parts``: query_id and part, one of ``PARTS``, of every query with a judgment; absent: one split.
    """
    if parts is not None:
        named = parts.select("query_id", pl.col("part").alias(PART_COLUMN))
        qrels = qrels.join(named, on="query_id", how="left", maintain_order="left")
        outside = qrels.filter(~pl.col(PART_COLUMN).is_in(PARTS).fill_null(value=False))
        if lost := outside["query_id"].unique().sort().to_list():
            raise ExportInvariantError(
                f"{len(lost)} judged queries belong to none of {', '.join(PARTS)}: {', '.join(lost[:5])}. Materialise splits "
                "and queries again"
            )
    part = [pl.col(PART_COLUMN)] if parts is not None else []
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
            *part,
        ),
    )


def splits_of(rows: Rows) -> dict[str, dict[str, pl.DataFrame]]:
    """Config -> split -> its rows in published columns, in the order in which they are written."""
    if PART_COLUMN not in rows.qrels.columns:
        return {name: {SPLIT: frame} for name, frame in zip(CONFIGS, rows, strict=True)}
    found = {part: rows.qrels.filter(pl.col(PART_COLUMN) == part).drop(PART_COLUMN) for part in PARTS}
    parts = {part: frame for part, frame in found.items() if frame.height}
    return {"corpus": {"corpus": rows.corpus}, "queries": {"queries": rows.queries}, DEFAULT_CONFIG: parts}


def shard_names(shards: int, split: str = SPLIT) -> list[str]:
    """``train-00000-of-00002.parquet`` and so on: the names ``datasets`` finds a split by."""
    return [f"{split}-{i:05d}-of-{shards:05d}.parquet" for i in range(shards)]


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
    for name, splits in splits_of(rows).items():
        target = folder / name
        target.mkdir()
        for split, frame in splits.items():
            shards = max(1, -(-plain_bytes(frame) // shard_bytes))
            each = max(1, -(-frame.height // shards))
            names = shard_names(max(1, -(-frame.height // each)), split)
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


def split_files(folder: Path, config: str) -> dict[str, list[Path]]:
    """The Parquet files of each split of a config, in order.

    Raises ExportInvariantError where they are not exactly the shards of one writing: a missing one, or an old one that
    the glob of the card would take for new rows.
    """
    there = sorted((folder / config).glob("*-*"))
    found: dict[str, list[Path]] = {}
    for path in there:
        found.setdefault(path.name.partition("-")[0], []).append(path)
    known = set(PARTS) if config == DEFAULT_CONFIG else {SPLIT} if SPLIT in found else {config}
    whole = all(split in known and [f.name for f in of] == shard_names(len(of), split) for split, of in found.items())
    if not found or not whole:
        raise ExportInvariantError(
            f"{folder / config} should hold the shards {' or '.join(sorted(known))}-00000-of-N.parquet of one writing, it has "
            f"{[f.name for f in there]}: take the folder away and materialise the release again"
        )
    return {split: found[split] for split in PARTS if split in found} if config == DEFAULT_CONFIG else found


def shard_files(folder: Path, config: str) -> list[Path]:
    """The Parquet files of all splits of a config. Raises ExportInvariantError as ``split_files`` does."""
    return [path for files in split_files(folder, config).values() for path in files]


def read_rows(folder: Path) -> Rows:
    """The rows of a written release. Raises ExportInvariantError as ``split_files`` does, and for a damaged file."""
    try:
        corpus, queries = (pl.read_parquet(shard_files(folder, name)) for name in ("corpus", "queries"))
        parts = {split: pl.read_parquet(files) for split, files in split_files(folder, DEFAULT_CONFIG).items()}
        if split_files(folder, "corpus").keys() == {SPLIT}:
            return Rows(corpus, queries, pl.concat(parts.values()))
        named = [frame.with_columns(pl.lit(split).alias(PART_COLUMN)) for split, frame in parts.items()]
        return Rows(corpus, queries, pl.concat(named))
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
        files = split_files(folder, name)
        metas = {f.name: pq.read_metadata(f) for of in files.values() for f in of}
        schemas = {shard: {f.name: str(f.type) for f in meta.schema.to_arrow_schema()} for shard, meta in metas.items()}
        first = next(iter(schemas.values()))
        differing = [shard for shard, schema in schemas.items() if list(schema.items()) != list(first.items())]
        if differing:
            raise ExportInvariantError(f"config {name}: the columns of {', '.join(differing)} differ from the first's")
        unknown = {column: kind for column, kind in first.items() if kind not in _PUBLISHED}
        if unknown:
            raise ExportInvariantError(f"config {name}: columns of a type that is not published: {unknown}")
        rows = {split: sum(metas[f.name].num_rows for f in of) for split, of in files.items()}
        configs.append(Config(name, first, rows))
    return configs


def require_rows(configs: list[Config], expected: Mapping[str, int]) -> None:
    """Raises ExportInvariantError where a written file has another number of rows than the figures say."""
    wrong = {c.name: (c.rows, expected[c.name]) for c in configs if c.rows != expected[c.name]}
    if wrong:
        raise ExportInvariantError(f"rows written against rows counted: {wrong}. Materialise the release again")
