"""What the command line prints after a run: results, comparisons, where to look; and the SIMAP mirror's lines."""

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.release.folders import MODELS
from tendril_assets.release.wording import certainty
from tendril_assets.removal_state import removal_state
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.summary_registers import show_registers

SHOWN_FAILURES = 20
SHOWN_ROUNDS = 10
# What stands between two columns of a table without borders.
_COLUMN_GAP = 3
SHOWN_MEASURES = ("ndcg@10", "recall@10", "mrr@10", "p@10")


def _warehouse(settings: Settings, wait_s: float = 10) -> Warehouse:
    return Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=wait_s)


def _interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def scores_table(scores: pl.DataFrame) -> Table:
    """One system a row, one line a cell, 78 characters wide with names of 28: only the first measure has its interval.

    ``scores``: rows of the table system_scores of one level. The report has all measures with their intervals.
    """
    systems = [str(system) for system in scores["system"].unique(maintain_order=True)]
    values = {(row["system"], row["measure"]): row for row in scores.iter_rows(named=True)}
    columns = {"system": systems} | {
        measure: [
            "-"
            if (row := values.get((system, measure))) is None
            else _interval(row["value"], row["low"], row["high"])
            if measure == SHOWN_MEASURES[0]
            else f"{row['value']:.3f}"
            for system in systems
        ]
        for measure in SHOWN_MEASURES
    }
    widths = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    # As wide as its cells, whatever the terminal: where that is too narrow the line runs over, and no cell is cut.
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        width=sum(widths.values()) + _COLUMN_GAP * (len(widths) - 1),
    )
    for name in columns:
        table.add_column(name, justify="left" if name == "system" else "right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def show_results(settings: Settings, collection: str, console: Console) -> None:
    """Metric table with intervals, comparisons and paths; says what is missing where nothing was evaluated."""
    warehouse = _warehouse(settings)
    spec = collection_spec(collection, settings.profile)
    if spec.registers and warehouse.exists(collection, "register_scores"):
        show_registers(warehouse, spec, console)
        _show_stale(warehouse, collection, console)
    elif warehouse.exists(collection, "system_scores"):
        scores = warehouse.load(collection, "system_scores").filter(pl.col("level") == "all")
        if scores.height:
            sure = certainty(spec.evaluation.confidence)
            console.print(f"{collection}: external test collection, macro mean over groups, {sure} interval")
            console.print(scores_table(scores))
            _show_stale(warehouse, collection, console)
        else:
            console.print("nothing was evaluated: the landing folder has no test collection")
        _show_comparisons(warehouse, collection, console)
    for what, path in (
        ("report", settings.reports / f"{collection}.html"),
        ("release", settings.release / collection),
        ("models to load or publish", settings.release / collection / MODELS),
        ("snapshot for analysts", settings.snapshot),
        ("ledger of replies", settings.ledger),
    ):
        if path.exists():
            console.print(f"{what}: {path}", markup=False)
    console.print("next: tendril ui (the asset graph in the browser), tendril status")


def _show_stale(warehouse: Warehouse, collection: str, console: Console) -> None:
    from tendril_assets.assets.stale_models import stale_systems

    for system, reason in stale_systems(warehouse, collection).items():
        console.print(f"{system} is stale: {reason}", markup=False)


def show_after(settings: Settings, job: str, collection: str, console: Console) -> None:
    """What a finished job has to show: everything after training, else its own figures and what comes next."""
    if job in (collection, f"{collection}_training"):
        show_results(settings, collection, console)
    elif job == f"{collection}_drift":
        _show_drift(_warehouse(settings), collection, console)
    elif job == f"{collection}_candidates":
        console.print("next: tendril estimate (what the open requests will cost), tendril run (asks them)")
    elif job == f"{collection}_judging":
        console.print(f"next: tendril run {collection}_training (models, measures, report and release), or tendril run")
    else:
        console.print("next: tendril status, or tendril ui (the asset graph in the browser)")
    _show_removal_state(settings, collection, console)


def _show_removal_state(settings: Settings, collection: str, console: Console) -> None:
    """What a removal leaves to be done by hand; nothing where there is none."""
    for line in removal_state(_warehouse(settings), collection).lines(collection_spec(collection, settings.profile)):
        console.print("[yellow]after a removal[/] ", end="")
        console.print(line, markup=False)


def _show_drift(warehouse: Warehouse, collection: str, console: Console) -> None:
    rounds = warehouse.load(collection, "judge_drift").filter(pl.col("level") == "all", pl.col("scale") == "graded")
    for row in rounds.sort("round").tail(SHOWN_ROUNDS).iter_rows(named=True):
        if row["agreement"] is None:
            figures = "nothing to compare"
        else:
            figures = f"{row['agreement']:.1%} equal grades, mean shift {row['mean_shift']:+.3f}"
        console.print(f"round of {row['round']}: {figures}, {row['n']} requests", markup=False)


def _show_comparisons(warehouse: Warehouse, collection: str, console: Console) -> None:
    rows = warehouse.load(collection, "comparisons").filter(pl.col("level") == "all", pl.col("measure") == "ndcg@10")
    for row in rows.iter_rows(named=True):
        interval = "" if row["low"] is None else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
        p = "" if row["p_holm"] is None else f", p = {row['p_holm']:.4f} after Holm"
        console.print(
            f"nDCG@10 {row['system']} - {row['baseline']}: {row['difference']:+.3f}{interval}{p}", markup=False
        )


def show_simap(settings: Settings, collection: str, console: Console) -> None:
    """Mirror SIMAP into the collection's landing folder, with a line of progress now and then.

    Raises SettingsError where the collection does not read SIMAP, else what ``mirror_simap`` raises.
    """
    from tendril_assets.assets.simap import figures, mirror_simap

    spec = collection_spec(collection, settings.profile)
    if spec.simap is None:
        where = f"profile {settings.profile}" if settings.profile else "its specification"
        raise SettingsError(
            f"{collection} reads nothing from SIMAP by {where}: set TENDRIL_LANDING to your own landing folder (and "
            "TENDRIL_PROFILE=none), or add simap to its defs.yaml"
        )
    folder = settings.landing / collection
    console.print(f"mirroring {settings.simap_base_url or spec.simap.base_url} into {folder}", markup=False)
    summary = mirror_simap(spec.simap, collection, settings, lambda line: console.print(f"  {line}", markup=False))
    for name, value in figures(summary).items():
        console.print(f"{name}: {value:,}", markup=False)
    for what, why in summary.failed[:SHOWN_FAILURES]:
        console.print(f"[yellow]failed, and tried again next time[/] {what}: ", end="")
        console.print(why, markup=False)
    if len(summary.failed) > SHOWN_FAILURES:
        console.print(f"and {len(summary.failed) - SHOWN_FAILURES:,} more")
    for name, times in summary.unknown.most_common(SHOWN_FAILURES):
        console.print(f"new in the API, not read: {name} ({times:,} times)", markup=False)
    console.print(f"next: tendril run {collection}_corpus (or {collection}_simap, which does both)")
