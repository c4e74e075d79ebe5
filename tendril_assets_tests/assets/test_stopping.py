"""Stopping a run that asks, by the UI and by a signal: what is in flight is stored, nothing is left running, and the next
run asks exactly the rest."""

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import dagster as dg
import pytest

from tendril_assets.resources.asking_progress import progress_folder, read_standings
from tendril_assets.resources.ledger import Ledger
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.assets import toy_location
from tendril_assets_tests.assets.toy_judging import SUMMARIES, run, spec
from tendril_assets_tests.demo import environment, processes_using
from tendril_assets_tests.test_ui import Dagster

PAIRS = toy_location.PAIRS
LIMIT_S = 180
TERMINATE = "mutation End($id: String!) { terminateRun(runId: $id) { __typename ... on PythonError { message } } }"


@pytest.fixture
def home(tmp_path, monkeypatch):
    path = tmp_path / "home"
    (path / "dagster").mkdir(parents=True)
    # Runs start at once, without a queue that a daemon would have to look after.
    (path / "dagster" / "dagster.yaml").write_text(
        "telemetry: {enabled: false}\nnux: {enabled: false}\n"
        "run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}\n"
    )
    monkeypatch.setenv("TENDRIL_HOME", str(path))
    return path


def env(home: Path, gateway: StandInGateway) -> dict[str, str]:
    return {
        **environment(home),
        "DAGSTER_HOME": str(home / "dagster"),
        "TENDRIL_LANDING": str(home / "landing"),
        "TENDRIL_LLM_BASE_URL": gateway.base_url,
        "TENDRIL_LLM_API_KEY": "test-key",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def of_the_run(home: Path) -> set[str]:
    """Command lines below ``home``, without the tracker that the code server keeps for all the runs it starts."""
    return {command for command in processes_using(home) if "resource_tracker" not in command}


def stored(home: Path) -> int:
    return Ledger(home / "ledger").answered("judge").len()


def until(condition, what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, (
            f"not within {LIMIT_S} s: {what}; {processes_using(Path(os.environ['TENDRIL_HOME']))}"
        )
        time.sleep(0.1)


def errors_of(home: Path) -> list[str]:
    """What went wrong in the runs so far, for a message that says it."""
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        entries = [entry for run in instance.get_runs() for entry in instance.all_logs(run.run_id)]
    return [entry.user_message + str(entry.error_info or "") for entry in entries if entry.level >= logging.ERROR]


def asks_exactly_the_rest(home: Path, gateway: StandInGateway, given: dict) -> None:
    """What the gateway answered is stored to the last one, and another run asks what is open and nothing else."""
    before = gateway.counters()
    assert stored(home) == before["answered"] - SUMMARIES
    assert 0 < stored(home) < PAIRS
    assert run(spec(), given, "judge_replies", raise_on_error=True).success
    after = gateway.counters()
    assert after["requests"] - before["requests"] == PAIRS - (before["answered"] - SUMMARIES)
    assert (stored(home), after["asked_twice"], after["lost_on_the_way"]) == (PAIRS, 0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_tendril_run_in_order(home: Path, number: int) -> None:
    with StandInGateway(latency_s=0.1) as gateway:
        given, before = toy_location.prepare(home, gateway.base_url), set(processes_using(home))
        command = [sys.executable, "-u", "-m", "tendril_assets_tests.assets.toy_location", toy_location.JOB]
        process = subprocess.Popen(
            command, env=env(home, gateway), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            until(lambda: stored(home) >= 60 or process.poll() is not None, "60 answers")
            process.send_signal(number)
            output, _ = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
        assert process.returncode == 130, output
        assert "stopped as asked. What was done is kept: run the same command again" in output
        assert "Traceback" not in output
        # Case: the count in the log is the count on disk.
        (logged,) = re.findall(r"judge: stopped; 1,000 requests, ([\d,]+) done", output)
        assert int(logged.replace(",", "")) == stored(home)
        (left,) = (s for s in read_standings(progress_folder(home / "ledger")) if s.step == "judge_replies")
        assert (left.state, left.done) == ("stopped", stored(home))
        until(lambda: set(processes_using(home)) <= before, "the end of every process of the run")
        with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
            assert [r.status.value for r in instance.get_runs()] == ["FAILURE"]
        asks_exactly_the_rest(home, gateway, given)


def test_terminating_a_run_in_the_ui_stops_it_in_order(home: Path) -> None:
    """The default launcher and the multiprocess executor: the step is a process of its own."""
    (home / "workspace.yaml").write_text(
        "load_from:\n"
        "  - python_module: {module_name: tendril_assets_tests.assets.toy_location, location_name: tendril_assets}\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with StandInGateway(latency_s=0.1) as gateway:
        given, others = toy_location.prepare(home, gateway.base_url), set(processes_using(home))
        command = [sys.executable, "-m", "dagster_webserver", "-w", str(home / "workspace.yaml")]
        with (home / "ui.log").open("wb") as log:
            server = subprocess.Popen(
                [*command, "-h", "127.0.0.1", "-p", str(port)],
                env=env(home, gateway),
                cwd=home,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            until(lambda: _answers(port) or server.poll() is not None, "the web server")
            assert server.poll() is None, (home / "ui.log").read_text("utf-8")
            ui, before = Dagster(port), set(processes_using(home))
            run_id = ui.launch("__ASSET_JOB", ["toy/judge_replies"])
            until(lambda: stored(home) >= 60 or errors_of(home), "60 answers")
            assert errors_of(home) == []
            assert ui.query(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"
            assert ui.wait(run_id, LIMIT_S)["status"] == "CANCELED"
            until(lambda: of_the_run(home) <= before, "the end of every process of the run")
            asks_exactly_the_rest(home, gateway, given)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        until(lambda: set(processes_using(home)) <= others, "the end of the web server's processes")


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
    return True
