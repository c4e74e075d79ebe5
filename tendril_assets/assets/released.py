"""The tables of what was released: one row per version, and the passages each was published with."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.huggingface import read_rows
from tendril_assets.release.publish import UNCHANGED, Release
from tendril_assets.release.withdrawn import marked
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

TABLE, PASSAGES = "releases", "released_passages"


def former_releases(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Table ``releases`` as it stands, columns that an earlier version did not write empty; they are the history of what
    was published, which nothing else could write again."""
    table = TABLES[TABLE]
    if not warehouse.exists(collection, TABLE):
        return table.empty()
    found = warehouse.frame(collection, f"SELECT * FROM {TABLE}", "read releases")
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in table.schema.items() if name not in found.columns]
    return found.with_columns(missing).select(table.schema.keys())


def marked_releases(warehouse: Warehouse, collection: str, root: Path) -> pl.DataFrame:
    """``former_releases`` with what the folders below ``root`` say of their withdrawal."""
    return marked(former_releases(warehouse, collection), root)


def with_release(warehouse: Warehouse, spec: CollectionSpec, root: Path, release: Release) -> pl.DataFrame:
    """Table ``releases`` with this one; an unchanged one keeps the row it has."""
    former, version = marked_releases(warehouse, spec.collection, root), spec.release.version
    same = former.filter(pl.col("version") == version)
    if release.outcome == UNCHANGED and same["content_hash"].to_list() == [release.manifest["content_hash"]]:
        return former
    return pl.concat([former.filter(pl.col("version") != version), _row(version, release)])


def passages_of_releases(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Table ``released_passages``: of each version of ``releases`` what is in its folder, and of a withdrawn one what the
    table knows besides. Of a version that was withdrawn before it was noted here only what is left can be told."""
    table = TABLES[PASSAGES]
    known = warehouse.load(collection, PASSAGES) if warehouse.exists(collection, PASSAGES) else table.empty()
    releases = former_releases(warehouse, collection)
    withdrawn = releases.filter(pl.col("withdrawn_at").is_not_null())["version"]
    frames = [known.filter(pl.col("version").is_in(withdrawn.implode()))]
    frames += [_published(version, Path(path)) for version, path in releases.select("version", "path").iter_rows()]
    return pl.concat(frames).unique(list(table.key)).sort(table.key)


def _row(version: str, release: Release) -> pl.DataFrame:
    manifest = release.manifest
    row = {
        "version": version,
        "path": str(release.path),
        "content_hash": manifest["content_hash"],
        "key_fingerprint": manifest["key_fingerprint"],
        "sandbox": manifest["sandbox"],
        "corpus_rows": manifest["rows"]["corpus"],
        "query_rows": manifest["rows"]["queries"],
        "qrel_rows": manifest["rows"]["qrels"],
        "created_at": datetime.now(UTC).replace(tzinfo=None),
        "withdrawn_at": None,
        "removed_rows": None,
    }
    return TABLES[TABLE].frame([row])


def _published(version: str, folder: Path) -> pl.DataFrame:
    table = TABLES[PASSAGES]
    try:
        corpus = read_rows(folder).corpus
    except ExportInvariantError:  # a folder that is gone: check release_files_intact says so
        return table.empty()
    return corpus.select(
        pl.lit(version).alias("version"),
        pl.col("id").alias("passage_id"),
        pl.col("document").alias("document_id"),
        pl.col(corpus.columns[2]).alias("group_id"),
    )
