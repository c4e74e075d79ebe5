"""Figures of cards and reports, and the rows to publish, read from the warehouse."""

from collections.abc import Mapping

import polars as pl

from tendril_assets.release.figures import figure_query
from tendril_assets.release.huggingface import Rows, published_rows
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

ROWS = ("corpus", "queries", "qrels")
PARTS_QUERIES = ("query_parts",)


def figure_frame(warehouse: Warehouse, spec: CollectionSpec, name: str) -> pl.DataFrame:
    """A figure of ``release.figures``, by the query of this collection."""
    return warehouse.frame(spec.collection, sql.query(f"release/{figure_query(name, spec)}"), f"read {name}")


def figure_inputs(spec: CollectionSpec, names: tuple[str, ...]) -> set[str]:
    """Tables that the named figures are read from."""
    return {table for name in names for table in sql.inputs(f"release/{figure_query(name, spec)}")}


def published(warehouse: Warehouse, spec: CollectionSpec, frames: Mapping[str, pl.DataFrame]) -> Rows:
    """The rows to publish; where queries are of registers, the judgments in parts: train, dev and test.

    ``frames``: those of ``ROWS``, by name. Raises ExportInvariantError for a judged query that belongs to no part.
    """
    parts = figure_frame(warehouse, spec, PARTS_QUERIES[0]) if spec.registers else None
    return published_rows(*(frames[name] for name in ROWS), spec.release.group_column, parts)
