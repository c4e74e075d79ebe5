"""The ``tendril`` command: demo, ui, sandbox, gateway, run, simap, status, doctor, models, guideline, split, tasks, ledger,
estimate, publish, audit."""

import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from tendril_assets.cli_audit import audit
from tendril_assets.cli_guideline import guideline
from tendril_assets.cli_ledger import ledger
from tendril_assets.cli_models import models
from tendril_assets.cli_publish import publish
from tendril_assets.cli_split import split, tasks
from tendril_assets.defs import DEFAULT_COLLECTION, collection_of
from tendril_assets.errors import SettingsError, TendrilError
from tendril_assets.settings import OPENROUTER, SANDBOX_PROFILE, Settings

if TYPE_CHECKING:
    from tendril_assets.sandbox.gateway import StandInGateway

# What shells give for a program that Ctrl-C ended.
STOPPED_CODE = 130
console = Console(highlight=False, soft_wrap=True)


class _Group(click.Group):
    """Errors of our own tree are one clear message and exit code 1, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TendrilError as error:
            console.print(f"[red]{type(error).__name__}[/]: ", end="")
            console.print(str(error), markup=False)
            ctx.exit(1)
        except KeyboardInterrupt:
            console.print("[yellow]stopped[/] as asked. Run the same command again to go on.")
            ctx.exit(STOPPED_CODE)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Builds, judges, trains on, evaluates and releases LLM-judged retrieval collections."""


main.add_command(audit)
main.add_command(ledger)
main.add_command(models)
main.add_command(publish)
main.add_command(split)
main.add_command(tasks)


def _collection_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Folder name under defs/.")(
        function
    )


def _prepare(settings: Settings) -> Settings:
    """Absolute home for every child process; the sandbox landed where it is the landing folder."""
    os.environ["TENDRIL_HOME"] = str(settings.home)
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"TENDRIL_HOME={settings.home} cannot be made a folder: {error}") from error
    if settings.lands_sandbox:
        land_sandbox(settings.landing)
    elif settings.profile is not None:
        os.environ["TENDRIL_PROFILE"] = settings.profile
    return settings


def land_sandbox(target: Path) -> None:
    """Write what is missing of the sample landing folder, in a child process; a collection that is there stays."""
    from tendril_assets.sandbox import COLLECTIONS

    if all((target / collection).exists() for collection in COLLECTIONS):
        console.print(f"sample landing folder, kept as it is: {target}")
        return
    with console.status("writing the sample landing folder"):
        done = subprocess.run(
            [sys.executable, "-m", "tendril_assets.sandbox.build", "--missing", str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SettingsError(
            f"the sample could not be written to {target}: {done.stderr.strip().splitlines()[-1:] or done.stdout}. "
            'Is the package installed with its sandbox extra (pip install "tendril_assets[sandbox]")?'
        )
    console.print(f"sample landing folder: {target}")


def _stand_in(settings: Settings) -> "StandInGateway":
    try:
        from tendril_assets.sandbox.gateway import StandInGateway
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the stand-in gateway needs {error.name}: install the sandbox extra (pip install "
            '"tendril_assets[sandbox]"), or set TENDRIL_LLM_BASE_URL and TENDRIL_LLM_API_KEY'
        ) from error
    return StandInGateway(state=settings.home / "stand_in_gateway.state")


def _wants_stand_in(settings: Settings) -> bool:
    return settings.base_url == OPENROUTER and not os.environ.get("TENDRIL_LLM_BASE_URL")


def _use(gateway: "StandInGateway") -> None:
    os.environ["TENDRIL_LLM_BASE_URL"] = gateway.base_url
    os.environ.setdefault("TENDRIL_LLM_API_KEY", "stand-in")


@main.command()
@_collection_option
def demo(collection: str) -> None:
    """Build the whole graph on the sample (or on TENDRIL_LANDING), then say where to look.

    Starts the stand-in gateway unless TENDRIL_LLM_BASE_URL names another. Safe to stop and start again: answered
    requests are never asked twice and training goes on from its last checkpoint.
    """
    os.environ.setdefault("TENDRIL_PROFILE", SANDBOX_PROFILE)
    settings = _prepare(Settings.from_env())
    if not _wants_stand_in(settings):
        raise SystemExit(_run_and_report(settings, collection))
    with _stand_in(settings) as gateway:
        _use(gateway)
        before = gateway.counters()
        console.print(f"stand-in gateway: {gateway.base_url}")
        code = _run_and_report(settings, collection)
        try:
            after = gateway.counters()
        except OSError as error:
            console.print(f"the stand-in gateway was ended before its counters could be read ({error})", markup=False)
        else:
            console.print(
                f"requests sent to the gateway: {after['requests'] - before['requests']:,} in this run, "
                f"answered ones asked twice: {after['asked_twice']:,}, lost on the way by a kill and asked again: "
                f"{after['lost_on_the_way']:,}"
            )
    raise SystemExit(code)


@main.command()
@click.argument("job", default=DEFAULT_COLLECTION)
def run(job: str) -> None:
    """Run one JOB in this process: a collection, or its _corpus, _candidates, _judging, _training, _drift or _simap.

    Ctrl-C and SIGTERM stop it in order: calls in flight end and are stored. Run it again to go on.
    """
    raise SystemExit(_run_and_report(_prepare(Settings.from_env()), job))


def _run_and_report(settings: Settings, job: str) -> int:
    """Runs a job and says how it ended; returns the exit status: 0, 1 or ``STOPPED_CODE``."""
    import dagster as dg

    from tendril_assets.other_runs import Others
    from tendril_assets.running import ensure_dagster_home, run_job

    # Dagster's notes on its own beta parameters, from inside Dagster: nothing a user of this tool can act on.
    for category in (dg.BetaWarning, dg.PreviewWarning):
        warnings.filterwarnings("ignore", category=category)
    ensure_dagster_home(settings)
    # Loading the graph takes seconds: who has to wait for another run is told so before.
    others = Others(settings.home, console)
    others.tell(dg.DagsterInstance.get())
    from tendril_assets.definitions import definitions

    loaded = definitions()
    names = [j.name for j in loaded.resolve_all_job_defs() if not j.name.startswith("__")]
    if job not in names:
        raise SettingsError(f"there is no job {job!r}; there are {', '.join(sorted(names))}")
    outcome = run_job(loaded, job, console, others)
    if outcome.success:
        from tendril_assets.summary import show_after

        console.print(f"[green]finished[/] {outcome.steps} steps in {outcome.seconds:.0f} s")
        show_after(settings, job, collection_of(job), console)
    for check in outcome.failed_checks:
        console.print(f"[yellow]check failed[/] {check}")
    for error in outcome.errors:
        console.print("[red]failed[/] ", end="")
        console.print(error, markup=False)
    if outcome.stopped:
        console.print("[yellow]stopped[/] as asked. What was done is kept: run the same command again to go on.")
    elif not outcome.success:
        console.print("What was done is kept: correct the cause and run the same command again.")
    return 0 if outcome.success else STOPPED_CODE if outcome.stopped else 1


@main.command()
@click.option("--port", default=3000, show_default=True, help="Port of the Dagster UI.")
@click.option("--host", default="127.0.0.1", show_default=True)
def ui(port: int, host: str) -> None:
    """Start the Dagster UI (and, for the sample, the stand-in gateway) on the same data folder."""
    settings = _prepare(Settings.from_env())
    from tendril_assets.other_runs import end_dead_runs
    from tendril_assets.running import ensure_dagster_home, shipped_file

    home = ensure_dagster_home(settings)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"{host}:{port} cannot be used ({error.strerror}): choose another with --port"
            ) from error
    import dagster as dg

    end_dead_runs(dg.DagsterInstance.get())
    workspace = shipped_file("workspace.yaml")
    command = [sys.executable, "-m", "tendril_assets.dagster_dev", "-w", str(workspace), "-h", host, "-p", str(port)]
    console.print(
        f"Dagster UI: http://{host}:{port} (data in {settings.home}, Dagster's own in {home}); stop with Ctrl-C"
    )
    if _wants_stand_in(settings) and settings.profile == SANDBOX_PROFILE:
        with _stand_in(settings) as gateway:
            _use(gateway)
            console.print(f"stand-in gateway: {gateway.base_url}")
            code = _supervise(command)
    else:
        code = _supervise(command)
    raise SystemExit(code)


def _supervise(command: list[str]) -> int:
    """Run a child in its own process group and end the whole group with us: ``dagster dev`` may ignore SIGTERM."""
    child = subprocess.Popen(command, start_new_session=True)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, end)
    try:
        return child.wait()
    except KeyboardInterrupt:
        os.killpg(child.pid, signal.SIGINT)
        try:
            return child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait()
    finally:
        signal.signal(signal.SIGTERM, previous)


@main.command()
@click.argument("target", type=click.Path(path_type=Path), required=False)
def sandbox(target: Path | None) -> None:
    """Write the sample landing folder to TARGET (default: below TENDRIL_HOME)."""
    folder = (target or Settings.from_env().home / "sandbox").absolute()
    if folder.is_dir() and any(folder.iterdir()):
        raise SettingsError(
            f"{folder} is not empty, and what you changed there stays: name another folder, or remove this one"
        )
    land_sandbox(folder)


@main.command()
@click.option("--port", default=8765, show_default=True)
def gateway(port: int) -> None:
    """Serve the stand-in gateway on the loopback interface until Ctrl-C, for a plain `dagster dev`."""
    settings = _prepare(Settings.from_env())
    console.print("in the other terminal, before dagster dev:")
    console.print(f"  export TENDRIL_HOME={settings.home}", markup=False)
    console.print(
        f"  export TENDRIL_LLM_BASE_URL=http://127.0.0.1:{port}/api/v1 TENDRIL_LLM_API_KEY=stand-in", markup=False
    )
    state = settings.home / "stand_in_gateway.state"
    raise SystemExit(
        _supervise([sys.executable, "-m", "tendril_assets.sandbox.gateway", "--port", str(port), "--state", str(state)])
    )


@main.command()
@_collection_option
def simap(collection: str) -> None:
    """Mirror what is new on SIMAP into the landing folder, and nothing else; goes on where it was stopped."""
    from tendril_assets.summary import show_simap

    show_simap(Settings.from_env(), collection, console)


@main.command()
@_collection_option
@click.option("--watch", is_flag=True, help="Show what is asking or training, until it ends.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of words.")
def status(collection: str, watch: bool, as_json: bool) -> None:
    """What is there and what goes on: asking steps, trainings, open requests, ledger, tables. Reads only."""
    from tendril_assets.watching import print_status, show_status, watch_steps

    settings = Settings.from_env()
    if watch:
        watch_steps(settings, collection, console, as_json=as_json)
    elif as_json:
        print_status(settings, collection)
    else:
        show_status(settings, collection, console)


@main.command()
def doctor() -> None:
    """Check settings, folders, gateway and packages; one line each."""
    from tendril_assets.doctor import show_doctor

    if not show_doctor(Settings.from_env(), console):
        raise SystemExit(1)


@main.command()
@_collection_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table; money as decimal text.")
def estimate(collection: str, as_json: bool) -> None:
    """Calls, tokens and money that is still to be asked for, from the real prompts; asks nothing.

    Low, expected and high, a hard upper bound, what prompt caches save, and where TENDRIL_MAX_USD and
    TENDRIL_MAX_CALLS would stop a run.
    """
    from tendril_assets.costing_report import show_estimate

    show_estimate(Settings.from_env(), collection, console, as_json=as_json)


main.add_command(guideline)

if __name__ == "__main__":
    main()
