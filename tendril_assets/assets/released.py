"""The tables of what was released: one row per version, and the passages each was published with."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.huggingface import shard_files
from tendril_assets.release.publish import UNCHANGED, Release
from tendril_assets.release.withdrawn import Withdrawal, marked, withdrawals
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

TABLE, PASSAGES = "releases", "released_passages"
_REMOVED = """
SELECT version, passage_id FROM released_passages
WHERE list_has_any([passage_id, document_id, group_id], (SELECT coalesce(list(id), []) FROM erased_ids))
ORDER BY ALL
"""


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


def known_withdrawals(warehouse: Warehouse, collection: str, root: Path) -> list[Withdrawal]:
    """The withdrawn versions of this collection: what their folders below ``root`` say, and what table ``releases`` says of
    one whose folder is gone. Copies and its tag hold the removed passages all the same, and cards must say so.

    Raises ExportInvariantError where a version has no readable manifest.
    """
    told = {one.version: one for one in withdrawals(root)}
    gone = marked_releases(warehouse, collection, root).filter(
        pl.col("withdrawn_at").is_not_null(), ~pl.col("sandbox"), ~pl.col("version").is_in(list(told))
    )
    if gone.height and all(warehouse.exists(collection, table) for table in (PASSAGES, "erased_ids")):
        held = warehouse.frame(collection, _REMOVED, "look for what withdrawn versions held")
        for row in gone.iter_rows(named=True):
            version, ids = row["version"], tuple(held.filter(version=row["version"])["passage_id"])
            told[version] = Withdrawal(
                version, Path(row["path"]), row["withdrawn_at"], ids, row["removed_judgments"] or 0
            )
    return list(told.values())


def with_release(warehouse: Warehouse, spec: CollectionSpec, root: Path, release: Release) -> pl.DataFrame:
    """Table ``releases`` with this one; an unchanged one keeps the row it has."""
    former, version = marked_releases(warehouse, spec.collection, root), spec.release.version
    same = former.filter(pl.col("version") == version)
    if release.outcome == UNCHANGED and same["content_hash"].to_list() == [release.manifest["content_hash"]]:
        return former
    return pl.concat([former.filter(pl.col("version") != version), _row(version, release)])


def passages_of_releases(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """Table ``released_passages``: of each version of ``releases`` what is in its folder, and of one that was withdrawn, or
    whose folder is gone, what the table knows. Of a version that was withdrawn before it was noted here only what is left
    can be told."""
    table = TABLES[PASSAGES]
    known = warehouse.load(collection, PASSAGES) if warehouse.exists(collection, PASSAGES) else table.empty()
    frames = []
    for row in former_releases(warehouse, collection).iter_rows(named=True):
        published = _published(row["version"], Path(row["path"]))
        frames += [published] if published is not None else []
        if published is None or row["withdrawn_at"] is not None:
            frames.append(known.filter(version=row["version"]))
    return pl.concat([table.empty(), *frames]).unique(list(table.key)).sort(table.key)


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
        "removed_judgments": None,
    }
    return TABLES[TABLE].frame([row])


def _published(version: str, folder: Path) -> pl.DataFrame | None:
    """The passages in a version's folder; None where it is gone or damaged, which check release_files_intact says."""
    try:
        corpus = pl.scan_parquet(shard_files(folder, "corpus"))
        group = corpus.collect_schema().names()[2]
        places = corpus.select(
            pl.lit(version).alias("version"),
            pl.col("id").alias("passage_id"),
            pl.col("document").alias("document_id"),
            pl.col(group).alias("group_id"),
        )
        return places.collect()
    except (ExportInvariantError, OSError, pl.exceptions.PolarsError):
        return None
