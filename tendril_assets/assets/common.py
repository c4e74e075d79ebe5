"""What every stage shares: how assets are declared, and how tables are written and reported.

One idiom throughout: an asset reads through ``Warehouse`` or ``Artifacts``, calls pure functions, writes with ``store``
(one transaction) or to files, and reports. Keys are ``<collection>/<table>``; everything else derives from
``tables.TABLES``, so a table is described in one place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import dagster as dg
import polars as pl

from tendril_assets.records import Table
from tendril_assets.resources.frames import conform, content_hash
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

OWNERS = ["team:tendril"]
POOLS = ("duckdb", "cpu", "judge_api", "gpu", "simap")


class Stage(NamedTuple):
    """What one stage factory gives: asset definitions and asset checks."""

    assets: list[dg.AssetsDefinition]
    checks: list[dg.AssetChecksDefinition]


def asset_key(spec: CollectionSpec, name: str) -> dg.AssetKey:
    """``<collection>/<name>``; a name may hold slashes, as ``models/<model>`` does."""
    return dg.AssetKey([spec.collection, *name.split("/")])


def column_schema(table: Table) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                c.name, c.type, description=c.comment, constraints=dg.TableColumnConstraints(nullable=c.nullable)
            )
            for c in table.columns
        ]
    )


def table_assets(
    spec: CollectionSpec,
    tables: Sequence[str],
    *,
    deps: Sequence[str] = (),
    pool: str = "duckdb",
    kinds: set[str] | None = None,
    version: str = "1",
) -> Callable[[Callable[..., Iterator[dg.MaterializeResult]]], dg.AssetsDefinition]:
    """Decorator: one step that materialises the named warehouse tables, usually with ``store``.

    ``deps`` are names of assets of the same collection; ``version`` is the code version shown in the UI.
    """
    specs = [
        dg.AssetSpec(
            asset_key(spec, name),
            deps=[asset_key(spec, d) for d in deps],
            description=TABLES[name].comment,
            group_name=f"{spec.collection}_{TABLES[name].stage}",
            kinds={"duckdb", "table"} if kinds is None else kinds,
            owners=OWNERS,
            code_version=version,
            metadata={
                "dagster/column_schema": column_schema(TABLES[name]),
                "dagster/table_name": f"{spec.collection}.{name}",
            },
        )
        for name in tables
    ]

    def wrap(function: Callable[..., Iterator[dg.MaterializeResult]]) -> dg.AssetsDefinition:
        return dg.multi_asset(specs=specs, pool=pool, name=f"{spec.collection}__{'__'.join(tables[:2])}")(function)

    return wrap


def work_asset(
    spec: CollectionSpec,
    name: str,
    *,
    stage: str,
    description: str,
    deps: Sequence[str] = (),
    pool: str,
    kinds: set[str],
    version: str = "1",
    required: bool = True,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorator: an asset that is files, not a table: replies, model weights, rankings, releases.

    One that is not ``required`` may give nothing; the steps after it are skipped then.
    """
    return dg.asset(
        key=asset_key(spec, name),
        deps=[asset_key(spec, d) for d in deps],
        description=description,
        group_name=f"{spec.collection}_{stage}",
        kinds=kinds,
        owners=OWNERS,
        pool=pool,
        code_version=version,
        output_required=required,
    )


def table_check(
    spec: CollectionSpec, table: str, name: str, *, description: str, blocking: bool = True
) -> Callable[[Callable[..., dg.AssetCheckResult]], dg.AssetChecksDefinition]:
    """Decorator: one property of one table, on the ``duckdb`` pool; blocking unless said otherwise."""
    return dg.asset_check(
        asset=asset_key(spec, table), name=name, description=description, blocking=blocking, pool="duckdb"
    )


def store(
    context: dg.AssetExecutionContext,
    warehouse: Warehouse,
    spec: CollectionSpec,
    frames: Mapping[str, pl.DataFrame],
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    shown: Mapping[str, Callable[[Warehouse, CollectionSpec], Mapping[str, Any]]] | None = None,
) -> Iterator[dg.MaterializeResult]:
    """Write the tables in one transaction and yield one result each: row count, content hash as data version.

    ``metadata`` maps a table name to further entries shown in the UI, ``shown`` to a function of more of them, which is
    called once the tables are written: a picture of what they hold now.
    """
    typed = {name: conform(TABLES[name], frame) for name, frame in frames.items()}
    changed = warehouse.replace(spec.collection, typed, purpose=context.op_execution_context.op.name)
    for name, frame in typed.items():
        context.log.info(f"{spec.collection}.{name}: {frame.height:,} rows{'' if name in changed else ', as before'}")
        yield dg.MaterializeResult(
            asset_key=asset_key(spec, name),
            data_version=dg.DataVersion(content_hash(TABLES[name], frame)),
            metadata={
                "dagster/row_count": frame.height,
                **(metadata or {}).get(name, {}),
                **(shown[name](warehouse, spec) if shown and name in shown else {}),
            },
        )


def counts(frame: pl.DataFrame, column: str) -> dg.MarkdownMetadataValue:
    """Markdown table of how often each value of a column occurs, largest first."""
    table = frame[column].fill_null("-").value_counts(sort=True)
    rows = "\n".join(f"| {value} | {n:,} |" for value, n in table.rows())
    return dg.MetadataValue.md(f"| {column} | rows |\n|---|---:|\n{rows}")
