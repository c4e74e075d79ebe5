"""Running jobs in this process: progress, failures, and what a killed run leaves behind."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console

from tendril_assets import model_needs
from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.training import training_job
from tendril_assets.errors import LandingError, SettingsError
from tendril_assets.files import file_hash
from tendril_assets.other_runs import end_dead_runs
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.running import ensure_dagster_home, run_job
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets.training.job import data_hash, read_exchange
from tendril_assets_tests.test_spec import spec
from tendril_assets_tests.training.toy import toy_exchange


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    path = ensure_dagster_home(Settings.from_env({"TENDRIL_HOME": str(tmp_path)}))
    monkeypatch.setenv("DAGSTER_HOME", str(path))
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    return path


def definitions(*, fail: bool) -> dg.Definitions:
    @dg.asset(pool="duckdb")
    def first(context: dg.AssetExecutionContext) -> None:
        context.log.info("half way")

    @dg.asset(deps=[first], pool="duckdb")
    def second() -> None:
        if fail:
            raise RuntimeError("outer") from ValueError("the real cause")

    @dg.asset_check(asset=first, blocking=False)
    def looks_right() -> dg.AssetCheckResult:
        entries = {"entries": ["project 1722l (did you mean 17221?)"]}
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, metadata=entries)

    job = dg.define_asset_job("toy", selection="*")
    return dg.Definitions(assets=[first, second], asset_checks=[looks_right], jobs=[job])


def run(*, fail: bool = False) -> tuple[str, object]:
    screen = io.StringIO()
    outcome = run_job(definitions(fail=fail), "toy", Console(file=screen, width=120))
    return screen.getvalue(), outcome


def test_progress_names_every_step_and_message(home: Path) -> None:
    text, outcome = run()
    assert outcome.success
    assert outcome.steps == 3
    assert outcome.failed_checks == ["first: looks_right (WARN): project 1722l (did you mean 17221?)"]
    assert "done first" in text
    assert "half way" in text
    assert "[ 3/3]" in text


@pytest.mark.parametrize(
    ("severity", "later", "told"),
    [
        (dg.AssetCheckSeverity.WARN, "toy", []),
        (dg.AssetCheckSeverity.WARN, "other", ["toy/first: holds (WARN)"]),
        (dg.AssetCheckSeverity.ERROR, "toy", ["toy/first: holds (ERROR)"]),
    ],
)
def test_a_warning_that_a_later_step_made_good_is_not_told(
    home: Path, severity: dg.AssetCheckSeverity, later: str, told: list[str]
) -> None:
    @dg.asset(key=["toy", "first"])
    def first() -> None: ...

    @dg.asset_check(asset=["toy", "first"], name="holds")
    def at_first() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, severity=severity)

    @dg.asset(key=[later, "second"], deps=[first])
    def second() -> None: ...

    @dg.asset_check(asset=[later, "second"], name="holds")
    def afterwards() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    loaded = dg.Definitions(
        assets=[first, second],
        asset_checks=[at_first, afterwards],
        jobs=[dg.define_asset_job("all", selection=dg.AssetSelection.all())],
    )
    assert run_job(loaded, "all", Console(file=io.StringIO())).failed_checks == told


@pytest.mark.parametrize(("step", "is_stopped"), [("models", True), ("runs", True), ("corpus", False)])
def test_models_that_cannot_be_used_stop_a_run_before_its_first_step(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, is_stopped: bool
) -> None:
    bad = {"base": str(tmp_path / "nowhere"), "dimensions": 2, "licence": "MIT"}
    hub = {"base": "maker/not-fetched", "dimensions": 2, "licence": "MIT"}
    collection = spec(models={"bad": bad, "hub": hub})
    monkeypatch.setattr(model_needs, "collection_spec", lambda *_: collection)
    ran = []

    @dg.asset(key=["toy", "judged"])
    def judged() -> None:
        ran.append("judged")

    @dg.asset(key=["toy", step, "bad"], deps=[judged])
    def last() -> None:
        ran.append("last")

    loaded = dg.Definitions(
        assets=[judged, last],
        jobs=[dg.define_asset_job("all", selection="*"), dg.define_asset_job("part", selection=["toy/judged"])],
    )
    console = Console(file=io.StringIO())
    assert run_job(loaded, "part", console).success
    assert ran == ["judged"]
    if not is_stopped:
        assert run_job(loaded, "all", console).success
        return
    with pytest.raises(SettingsError) as caught:
        run_job(loaded, "all", console)
    assert ran == ["judged"]
    first, one, two, _ = str(caught.value).splitlines()
    assert first.startswith("all was not begun, and nothing was asked or paid")
    assert one.startswith("  toy: models.bad: ")
    assert f"there is no folder {tmp_path / 'nowhere'}" in one
    assert two.startswith("  toy: models.hub: ")
    assert "hf download maker/not-fetched" in two


def test_a_pinned_base_that_has_gone_since_its_training_is_warned_of(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    entry = {"base": "maker/gone", "revision": "a" * 40, "dimensions": 2, "licence": "MIT"}
    collection = spec(models={"tuned": entry})
    collection = collection.model_copy(update={"collection": "toy"})
    monkeypatch.setattr(model_needs, "collection_spec", lambda *_: collection)
    artifacts = Artifacts(root=str(tmp_path / "artifacts"))
    rows = toy_exchange(8)._asdict()
    for name, path in exchange_files(collection, artifacts).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        rows[name].write_parquet(path)

    @dg.asset(key=["toy", "models", "tuned"])
    def tuned() -> None: ...

    loaded = dg.Definitions(assets=[tuned], jobs=[dg.define_asset_job("all", selection="*")])
    screen = io.StringIO()

    def refused() -> str:
        with pytest.raises(SettingsError) as caught:
            run_job(loaded, "all", Console(file=screen, width=2000))
        return str(caught.value)

    assert "toy: models.tuned: the base model 'maker/gone'" in refused()  # never trained
    job = training_job(collection, artifacts, "tuned")
    kept = job.folder / "kept" / "model.safetensors"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"weights")
    result = dict.fromkeys(TABLES["trained_models"].schema) | {
        "config_hash": job.config_hash,
        "data_hash": data_hash(read_exchange(job.exchange)),
        "best_step": 1,
        "files": {"model.safetensors": file_hash(kept)},
    }
    (job.folder / "result.json").write_text(json.dumps(result))
    assert run_job(loaded, "all", Console(file=screen, width=2000)).success
    told = screen.getvalue().splitlines()[0]
    assert told.startswith("toy: models.tuned: the base model 'maker/gone'")
    assert told.endswith("needed only if something of it is to be made anew")
    # Another training than is asked for, or one that was spoilt, is none.
    (job.folder / "result.json").write_text(json.dumps(result | {"data_hash": "0" * 64}))
    assert "models.tuned" in refused()
    (job.folder / "result.json").write_text(json.dumps(result))
    kept.write_bytes(b"others!")
    assert "What was trained from it cannot be used either" in refused()
    kept.write_bytes(b"weights")
    unpinned = collection.models["tuned"].model_copy(update={"revision": None})
    collection = collection.model_copy(update={"models": {"tuned": unpinned}})
    assert "models.tuned" in refused()


def test_a_failure_is_told_by_its_cause(home: Path) -> None:
    text, outcome = run(fail=True)
    assert not outcome.success
    assert "failed second" in text
    assert outcome.errors == ["second: ValueError: the real cause"]


def test_an_error_of_ours_is_told_before_what_it_came_from(home: Path) -> None:
    @dg.asset
    def landing() -> None:
        try:
            b"\xfc".decode()
        except UnicodeDecodeError as error:
            raise LandingError("removals.csv: row 2: byte 0xfc is not UTF-8") from error

    definitions = dg.Definitions(assets=[landing], jobs=[dg.define_asset_job("toy", selection="*")])
    outcome = run_job(definitions, "toy", Console(file=io.StringIO(), width=200))
    assert outcome.errors == ["landing: LandingError: removals.csv: row 2: byte 0xfc is not UTF-8"]


def test_a_killed_run_is_ended_and_its_pool_slot_given_back(home: Path) -> None:
    code = """
        import os, time
        import dagster as dg
        from rich.console import Console
        from tendril_assets.running import run_job

        @dg.asset(pool="duckdb")
        def first():
            print("ready", flush=True)
            time.sleep(60)

        run_job(dg.Definitions(assets=[first], jobs=[dg.define_asset_job("toy", selection="*")]), "toy", Console(stderr=True))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        with dg.DagsterInstance.get() as instance:
            assert end_dead_runs(instance) == [], "a run whose process lives is left alone"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    text, outcome = run()
    assert "was cut off earlier" in text
    assert outcome.success
    with dg.DagsterInstance.get() as instance:
        assert end_dead_runs(instance) == []
        statuses = sorted(r.status.value for r in instance.get_runs())
    assert statuses == ["FAILURE", "SUCCESS"]


def test_a_killed_run_of_the_ui_is_ended_too(home: Path) -> None:
    """The UI's runs carry no tag of ours; their process is the one the executor logged."""
    code = """
        import os, sys, time
        import dagster as dg

        @dg.asset(pool="duckdb")
        def first():
            print("ready", flush=True)
            time.sleep(60)

        job = dg.Definitions(assets=[first], jobs=[dg.define_asset_job("toy", selection="*")]).resolve_job_def("toy")
        job.execute_in_process(instance=dg.DagsterInstance.get())
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        with dg.DagsterInstance.get() as instance:
            assert end_dead_runs(instance) == []
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    text, outcome = run()
    assert "was cut off earlier" in text
    assert outcome.success


def test_a_run_waits_for_the_one_going_on_and_can_be_interrupted(home: Path) -> None:
    code = """
        import sys
        import dagster as dg
        from rich.console import Console
        from tendril_assets.running import run_job

        @dg.asset(pool="duckdb")
        def first():
            print("ready", flush=True)
            sys.stdin.readline()

        run_job(dg.Definitions(assets=[first], jobs=[dg.define_asset_job("toy", selection="*")]), "toy", Console(width=200))
    """
    command = [sys.executable, "-u", "-c", textwrap.dedent(code)]
    environment = {**os.environ, "TENDRIL_HOME": str(home.parent)}
    at_once = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **at_once | {"stdin": subprocess.PIPE}) as first:
        assert first.stdin
        assert first.stdout
        assert first.stdout.readline() == "ready\n"
        with subprocess.Popen(command, **at_once) as second:
            assert second.stdout
            assert f"process {first.pid} (tendril toy) works in" in second.stdout.readline()
            second.send_signal(signal.SIGINT)
            assert second.wait(timeout=60) != 0
        with subprocess.Popen(command, **at_once) as third:
            assert third.stdout
            assert "waiting for its end" in third.stdout.readline()
            first.stdin.close()  # it has waited until somebody waits for it, however long that took
            assert third.stdout.readline() == "ready\n"
            assert third.wait(timeout=60) == 0
        assert first.wait(timeout=30) == 0


def test_dagster_home_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    for wrong in ("relative", str(tmp_path / "missing")):
        monkeypatch.setenv("DAGSTER_HOME", wrong)
        with pytest.raises(SettingsError, match="DAGSTER_HOME"):
            ensure_dagster_home(settings)
