"""What the command line prints: results after a run, the state of a collection, and the start-up checks."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx
import polars as pl
from rich.console import Console
from rich.table import Table

from tendril_assets.defs import collection_files, collection_spec, require_profile
from tendril_assets.errors import SettingsError, TendrilError
from tendril_assets.judging.budget import estimate
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.detector import detector_state
from tendril_assets.resources.gateway_client import fetch_prices
from tendril_assets.resources.gateway_run import Endpoint
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES

SHOWN_FAILURES = 20
SHOWN_MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "p@10")


def _warehouse(settings: Settings, wait_s: float = 10) -> Warehouse:
    return Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=wait_s)


def _interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def show_results(settings: Settings, collection: str, console: Console) -> None:
    """Metric table with intervals, comparisons and paths; says what is missing where nothing was evaluated."""
    warehouse = _warehouse(settings)
    if warehouse.exists(collection, "system_scores"):
        scores = warehouse.load(collection, "system_scores").filter(pl.col("level") == "all")
        table = Table(title=f"{collection}: external test collection, macro mean over groups, 95 % interval")
        table.add_column("system", no_wrap=True)
        for measure in SHOWN_MEASURES:
            table.add_column(measure, justify="right")
        for (system,), rows in scores.group_by("system", maintain_order=True):
            cells = {
                row["measure"]: _interval(row["value"], row["low"], row["high"]) for row in rows.iter_rows(named=True)
            }
            table.add_row(str(system), *(cells.get(m, "-") for m in SHOWN_MEASURES))
        console.print(table if scores.height else "nothing was evaluated: the landing folder has no test collection")
        _show_comparisons(warehouse, collection, console)
    for what, path in (
        ("report", settings.reports / f"{collection}.html"),
        ("release", settings.release / collection),
        ("snapshot for analysts", settings.snapshot),
        ("ledger of replies", settings.ledger),
    ):
        if path.exists():
            console.print(f"{what}: {path}", markup=False)
    console.print("next: tendril ui (the asset graph in the browser), tendril status")


def _show_comparisons(warehouse: Warehouse, collection: str, console: Console) -> None:
    rows = warehouse.load(collection, "comparisons").filter(pl.col("level") == "all", pl.col("measure") == "ndcg@10")
    for row in rows.iter_rows(named=True):
        interval = "" if row["low"] is None else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
        p = "" if row["p_holm"] is None else f", p = {row['p_holm']:.4f} after Holm"
        console.print(
            f"nDCG@10 {row['system']} - {row['baseline']}: {row['difference']:+.3f}{interval}{p}", markup=False
        )


def show_status(settings: Settings, collection: str, console: Console) -> None:
    """Row counts per table, open requests and ledger state; reads only, also while a run is going on."""
    collection_spec(collection, settings.profile)
    warehouse, artifacts = _warehouse(settings), Artifacts(root=str(settings.artifacts))
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


def show_doctor(settings: Settings, console: Console) -> bool:
    """One line per check; True where all passed."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("settings", lambda: f"home {settings.home}, landing {settings.landing}, profile {settings.profile or 'none'}"),
        ("profile", lambda: _check_profile(settings.profile)),
        (
            "identifiers",
            lambda: f"secret of {len(settings.hash_key)} bytes{' (sandbox)' if settings.is_sandbox else ''}",
        ),
        ("data folder", lambda: _check_home(settings.home)),
        ("DAGSTER_HOME", _check_dagster_home),
        ("landing folder", lambda: _check_landing(settings)),
        ("packages", _check_packages),
        ("anonymiser", lambda: _check_anonymisers(settings.profile)),
        ("ledger", lambda: _check_ledger(settings.ledger)),
        ("gateway", lambda: _check_gateway(settings)),
    ]
    sound = True
    for name, check in checks:
        try:
            found = check()
        except (TendrilError, OSError, httpx.HTTPError) as error:
            sound = False
            console.print(f"[red]problem[/] {name}: ", end="")
            console.print(str(error), markup=False)
        else:
            console.print(f"[green]ok[/]      {name}: ", end="")
            console.print(found, markup=False)
    return sound


def _check_profile(profile: str | None) -> str:
    require_profile(profile)
    return profile or "none: the specifications count as they stand"


def _check_home(home: Path) -> str:
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home) as probe:
        probe.write(b"x")
    free = shutil.disk_usage(home).free / 2**30
    if free < 5:
        raise TendrilError(f"{home}: {free:.1f} GiB free; a published-size run needs at least 5")
    note = "; it is below the temporary folder and may vanish" if home.is_relative_to(tempfile.gettempdir()) else ""
    return f"{home} is writable, {free:.0f} GiB free{note}"


def _check_dagster_home() -> str:
    given = os.environ.get("DAGSTER_HOME")
    if not given:
        return "unset; tendril uses TENDRIL_HOME/dagster, a plain dagster dev keeps its runs in a temporary folder"
    if not Path(given).is_absolute() or not Path(given).is_dir():
        raise TendrilError(f"{given!r} should be the absolute path of an existing folder")
    return given


def _check_landing(settings: Settings) -> str:
    if settings.landing.is_dir():
        found = sorted(p.name for p in settings.landing.iterdir() if p.is_dir())
        return f"{settings.landing} has {', '.join(found) or 'no collection'}"
    if settings.lands_sandbox:
        return "the sample; tendril demo and tendril ui write it"
    raise TendrilError(f"TENDRIL_LANDING={settings.landing} does not exist")


def _check_anonymisers(profile: str | None) -> str:
    states = {name: detector_state(collection_spec(name, profile).anonymization) for name in sorted(collection_files())}
    return "; ".join(f"{name}: {state}" for name, state in states.items())


def _check_ledger(folder: Path) -> str:
    if not folder.is_dir():
        return "none yet"
    report = Ledger(folder).verify()
    if not report.is_sound:
        places = [*(f"{name} line {line}" for name, line in report.damaged), *report.cut_short]
        raise TendrilError(f"{folder}: damaged at {', '.join(places[:5])}; restore those segments from a backup")
    return f"{report.entries:,} replies in {report.segments} segments, all readable"


def _check_packages() -> str:
    missing = [
        n for n in ("torch", "sentence_transformers", "datasets", "gheim") if importlib.util.find_spec(n) is None
    ]
    if missing:
        raise TendrilError(f"missing: {', '.join(missing)}; install the package again")
    extra = "with" if importlib.util.find_spec("reportlab") else "without"
    return f"complete, {extra} the sandbox extra"


def _check_gateway(settings: Settings) -> str:
    if "TENDRIL_LLM_BASE_URL" not in os.environ and not settings.api_key:
        return "none configured; tendril demo and tendril ui start the stand-in gateway for the sample"
    response = httpx.get(f"{settings.base_url}/models", timeout=10, follow_redirects=True)
    if response.status_code >= 500:
        raise TendrilError(f"{settings.base_url} answers {response.status_code}")
    if not settings.api_key:
        raise TendrilError(f"{settings.base_url} is reachable, but TENDRIL_LLM_API_KEY is not set")
    return f"{settings.base_url} answers, a key is set"


def show_estimate(settings: Settings, collection: str, console: Console) -> None:
    """Calls, tokens and money of the open judge requests, priced by the gateway's own list where it can be reached."""
    spec = collection_spec(collection, settings.profile)
    columns = ["request_key", "prompt_characters"]
    artifacts = Artifacts(root=str(settings.artifacts))
    if not artifacts.exchange(collection, "judge_requests").exists():
        raise SettingsError(
            f"no judge requests of {collection} yet: run `tendril run {collection}_candidates` first; all it pays for are "
            "the summaries the queries are worded with"
        )
    requests = artifacts.read_frame(collection, "judge_requests", columns)
    answered = Ledger(settings.ledger).answered_keys() if settings.ledger.is_dir() else set()
    waiting = requests.filter(~pl.col("request_key").is_in(pl.Series(list(answered), dtype=pl.String).implode()))
    try:
        prices, listed = (
            fetch_prices(Endpoint(settings.base_url, settings.api_key)),
            f"price list of {settings.base_url}",
        )
    except TendrilError as error:
        prices, listed = {}, str(error)
    figure = estimate(waiting, spec.judge.llm, prices)
    console.print(f"{collection}: {requests.height:,} judge requests, {waiting.height:,} open ({spec.judge.llm.model})")
    if waiting.is_empty():
        console.print("nothing is open, so nothing has to be paid")
        return
    console.print(f"about {figure.prompt_tokens:,} prompt and {figure.completion_tokens:,} completion tokens")
    if figure.usd is None:
        console.print(f"price unknown: {listed}; that is not a price of zero", markup=False)
    else:
        console.print(f"about {figure.usd:.4f} USD, at most {figure.usd_cap:.4f} USD ({listed})", markup=False)


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
