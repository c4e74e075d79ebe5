"""What ``tendril status`` prints: tables, ledger and open requests of a collection; reads only."""

from rich.console import Console
from rich.table import Table

from tendril_assets.defs import collection_spec
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES


def show_status(settings: Settings, collection: str, console: Console) -> None:
    """Row counts per table, open requests and ledger state; reads only, also while a run is going on."""
    collection_spec(collection, settings.profile)
    warehouse, artifacts = (
        Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=10),
        Artifacts(root=str(settings.artifacts)),
    )
    if not settings.warehouse.exists():
        console.print(f"no warehouse at {settings.warehouse} yet: run tendril demo, or tendril run", markup=False)
        return
    present = warehouse.frame(
        collection,
        "SELECT table_name, estimated_size AS rows FROM duckdb_tables() WHERE schema_name = $s",
        "status",
        s=collection,
    )
    sizes = dict(present.iter_rows())
    table = Table(title=f"{collection} in {settings.warehouse}")
    table.add_column("stage")
    table.add_column("table")
    table.add_column("rows", justify="right")
    for name, declared in TABLES.items():
        table.add_row(declared.stage, name, f"{sizes[name]:,}" if name in sizes else "[dim]not yet[/]")
    console.print(table)
    report = Ledger(settings.ledger).verify() if settings.ledger.is_dir() else None
    if report is None:
        console.print("ledger: none yet")
    else:
        statuses = ", ".join(f"{status} {n:,}" for status, n in sorted(report.by_status.items()))
        console.print(
            f"ledger: {report.entries:,} replies in {report.segments} segments ({statuses}), {report.known_cost} USD known, "
            f"{report.unknown_costs:,} of unknown cost{'' if report.is_sound else '; DAMAGED, see tendril doctor'}",
            markup=False,
        )
    if artifacts.exchange(collection, "judge_requests").exists():
        wanted = artifacts.read_frame(collection, "judge_requests", ["request_key"])["request_key"]
        answered = Ledger(settings.ledger).answered_keys() if settings.ledger.is_dir() else set()
        open_requests = sum(key not in answered for key in wanted)
        console.print(f"judge requests: {len(wanted):,}, of which open: {open_requests:,}")
