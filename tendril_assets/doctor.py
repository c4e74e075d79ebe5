"""What ``tendril doctor`` prints: the start-up checks, one line each."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
from rich.console import Console

from tendril_assets.cli_models import pinned
from tendril_assets.defs import collection_files, collection_spec, require_profile
from tendril_assets.errors import SpecError, TendrilError
from tendril_assets.evaluation.model_state import model_states, reranker_states
from tendril_assets.judging.prices import OLD_AFTER_DAYS, load_price_table
from tendril_assets.model_registry import registered_models
from tendril_assets.resources.detector import detector_state
from tendril_assets.resources.gateway_run import Endpoint
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings

# What reads the collections' specifications: not asked where they are unsound, or each would say so once more.
_OF_SPECIFICATIONS = ("profile", "anonymiser", "models")


class Missing(str):
    """What a check found missing that some work needs and other work does not: told, and no fault of the set-up."""


def show_doctor(settings: Settings, console: Console) -> bool:
    """One line per check; True where none found a fault."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("settings", lambda: f"home {settings.home}, landing {settings.landing}, profile {settings.profile or 'none'}"),
        ("specification", _check_specifications),
        ("registered models", _check_registry),
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
        ("models", lambda: _check_models(settings.profile)),
        ("ledger", lambda: _check_ledger(settings.ledger)),
        ("gateway", lambda: _check_gateway(settings)),
        ("prices", lambda: _check_prices(settings.price_table)),
    ]
    sound = has_specs = True
    for name, check in checks:
        if name in _OF_SPECIFICATIONS and not has_specs:
            console.print(f"[yellow]skipped[/] {name}: correct the specification first")
            continue
        try:
            found = check()
        except (TendrilError, OSError, httpx.HTTPError) as error:
            sound, has_specs = False, has_specs and name != "specification"
            console.print(f"[red]problem[/] {name}: ", end="")
            console.print(str(error), markup=False)
        else:
            sign = "[yellow]missing[/]" if isinstance(found, Missing) else "[green]ok[/]     "
            console.print(f"{sign} {name}: ", end="")
            console.print(found, markup=False)
    return sound


def _check_specifications() -> str:
    """Every specification, as it stands and with each of its profiles: otherwise only the active one's overlay is read."""
    found = []
    for name in sorted(collection_files()):
        try:
            profiles = collection_spec(name, None).profiles
        except SpecError as error:
            found.append(error.in_one_line)
            continue
        for profile in profiles:
            try:
                collection_spec(name, profile)
            except SpecError as error:
                found.append(error.in_one_line)
    if found:
        raise TendrilError("; ".join(dict.fromkeys(found)))
    return f"of {', '.join(sorted(collection_files()))} as it should be"


def _check_registry() -> str:
    """Every entry of ``models.yaml``, also one that no collection uses."""
    try:
        return f"models.yaml describes {', '.join(registered_models())}"
    except SpecError as error:
        raise TendrilError(error.in_one_line) from error


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


def _check_models(profile: str | None) -> str:
    """Every base model and reranker is on this machine, its files whole and fit to be loaded; which of them are not pinned.

    A base that is not here stops training and its ranking alone, so it is told as missing; one that is here and unfit is
    a fault. (Without the anonymiser's model nothing can be published at all: that is always a fault.)
    """
    states = {
        f"{name}/{state.name}": state
        for name in sorted(collection_files())
        for spec in [collection_spec(name, profile)]
        for state in (*model_states(spec), *reranker_states(spec))
    }
    if unfit := [f"{name}: {state.problem}" for name, state in states.items() if state.problem and not state.missing]:
        raise TendrilError("; ".join(unfit))
    found = "; ".join(
        f"{name}: {state.problem}" if state.missing else f"{name} here, pinned: {pinned(state)}"
        for name, state in states.items()
    )
    return Missing(found) if any(state.missing for state in states.values()) else found or "none"


def _check_ledger(folder: Path) -> str:
    if not folder.is_dir():
        return "none yet"
    report = Ledger(folder, read_only=True).verify()
    if not report.is_sound:
        more = f" and {len(report.problems) - 5} more" if len(report.problems) > 5 else ""
        raise TendrilError(
            f"{folder}: {'; '.join(map(str, report.problems[:5]))}{more}. Restore what is damaged from a copy; tendril "
            "ledger verify names every place."
        )
    again = f", {report.answered_twice:,} of them a second time" if report.answered_twice else ""
    return f"{report.entries:,} replies{again} in {report.segments + report.compacted} files, all readable"


def _check_prices(path: Path | None) -> str:
    table, today = load_price_table(path), datetime.now(UTC).date()
    old = f"; older than {OLD_AFTER_DAYS} days, so compare it with what is charged now" if table.is_old(today) else ""
    return (
        f"{path or 'table of the package'} of {table.date}, {(today - table.date).days:,} days old, {len(table.prices)} "
        f"models ({table.source}){old}"
    )


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
    if not settings.api_key:
        raise TendrilError(f"the key of {settings.base_url} is missing: set TENDRIL_LLM_API_KEY")
    endpoint = Endpoint(settings.base_url, settings.api_key)
    # As the client asks: with the key, without a proxy for this machine, and never after a redirect.
    headers = {"Authorization": f"Bearer {endpoint.api_key}"}
    response = httpx.get(endpoint.url("models"), headers=headers, timeout=10, trust_env=not endpoint.is_local)
    status = response.status_code
    if status in (401, 403):
        raise TendrilError(f"{settings.base_url} refuses the key in TENDRIL_LLM_API_KEY with status {status}")
    if status >= 500 or response.is_redirect:
        moved = ": name its final address in TENDRIL_LLM_BASE_URL" if response.is_redirect else ""
        raise TendrilError(f"{settings.base_url} answers {status}{moved}")
    return f"{settings.base_url} answers, a key is set"
