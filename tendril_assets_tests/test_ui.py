"""``tendril ui`` as a user starts it: the graph over HTTP, two runs at once with one process per step, a clean end."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator

import pytest

from tendril_assets_tests.conftest import FinishedDemo
from tendril_assets_tests.demo import environment, left_over

pytestmark = pytest.mark.demo

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
RUN = "query Run($id: ID!) { runOrError(runId: $id) { ... on Run { status stepStats { stepKey status } } } }"
ASSETS = """
{ assetNodes { assetKey { path } groupName kinds owners { ... on TeamAssetOwner { team } } description pools
  assetMaterializations(limit: 1) { metadataEntries { label ... on IntMetadataEntry { intValue } } }
  metadataEntries { label } } }
"""


LANDING = "tenders_landing"


class Dagster:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def query(self, text: str, **variables: object) -> dict:
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return answer["data"]

    def launch(self, job: str, assets: list[str]) -> str:
        selector = {
            "repositoryLocationName": "tendril_assets",
            "repositoryName": "__repository__",
            "pipelineName": job,
            "assetSelection": [{"path": asset.split("/")} for asset in assets],
        }
        done = self.query(LAUNCH, params={"selector": selector, "mode": "default"})["launchPipelineExecution"]
        assert done["__typename"] == "LaunchRunSuccess", done
        return done["run"]["runId"]

    def wait(self, run_id: str, limit_s: float) -> dict:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            run = self.query(RUN, id=run_id)["runOrError"]
            if run["status"] in ("SUCCESS", "FAILURE", "CANCELED"):
                return run
            time.sleep(1)
        raise AssertionError(f"run {run_id} is not done after {limit_s} s: {run}")


@pytest.fixture(scope="module")
def ui(demo: FinishedDemo) -> Generator[Dagster, None, None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tendril_assets.cli", "ui", "--port", str(port)]
    log = (demo.home / "ui.log").open("wb")
    process = subprocess.Popen(command, env=environment(demo.home), stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(360):
            assert process.poll() is None, (demo.home / "ui.log").read_text("utf-8")
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5)
                break
            time.sleep(0.5)
        else:
            raise AssertionError((demo.home / "ui.log").read_text("utf-8"))
        yield Dagster(port)
        os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
        assert left_over(demo.home) == []
    finally:
        process.kill()
        log.close()


def test_the_graph_is_described_with_counts_from_the_demo(ui: Dagster) -> None:
    nodes = {"/".join(n["assetKey"]["path"]): n for n in ui.query(ASSETS)["assetNodes"]}
    assert len(nodes) > 50
    for name, node in nodes.items():
        collection = name.partition("/")[0]
        assert node["groupName"].startswith(f"{collection}_"), name
        assert node["kinds"], name
        assert node["description"], name
        assert node["owners"] == [{"team": "tendril"}], name
        assert node["pools"], name
        # Whether the demo of another collection was run on the same data folder is another test's business.
        assert node["assetMaterializations"] or collection != "tenders", name
    entries = {
        e["label"]: e.get("intValue") for e in nodes["tenders/qrels"]["assetMaterializations"][0]["metadataEntries"]
    }
    assert entries["dagster/row_count"] > 1000
    assert "dagster/column_schema" in {e["label"] for e in nodes["tenders/qrels"]["metadataEntries"]}


def test_two_runs_at_once_with_a_process_per_step_meet_no_lock_error(ui: Dagster) -> None:
    """The steps that write or read most tables; each takes a process of its own, so all would take minutes."""
    landing = ["/".join(n["assetKey"]["path"]) for n in ui.query(ASSETS)["assetNodes"] if n["groupName"] == LANDING]
    others = ("sampled_projects", "sampled_documents", "project_areas", "project_status", "snapshot")
    runs = [ui.launch("tenders_corpus", [*landing, *(f"tenders/{name}" for name in others)]) for _ in range(2)]
    for run_id in runs:
        run = ui.wait(run_id, limit_s=600)
        failed = [s["stepKey"] for s in run["stepStats"] if s["status"] != "SUCCESS"]
        assert (run["status"], failed) == ("SUCCESS", [])
        assert len(run["stepStats"]) >= 5
