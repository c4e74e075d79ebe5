"""The judging benchmark at a few hundred requests: its figures add up, with a kill on the way too."""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets_tests.published_pairs import TINY

NAMED = "requests accounted asked_twice ledger_share calls_per_s peak_rss_mb second_run_requests"


def figures(folder: Path, *options: str) -> dict:
    command = [sys.executable, "-m", "tendril_assets_tests.benchmarks.judging", "--size", "tiny"]
    ended = subprocess.run(
        [*command, "--folder", str(folder), *options], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_the_whole_stage_is_accounted_for_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    found = figures(tmp_path)
    assert set(NAMED.split()) <= set(found)
    assert found["requests"] == found["accounted"] == found["answered"] == TINY.requests == 303
    assert found["judgments"] == TINY.judgments == 323
    assert (found["asked_twice"], found["strays"], found["second_run_requests"]) == (0, 0, 0)
    # Faults that are no answer are asked again; which, the hash of the request decides.
    assert found["requests"] <= found["calls"] <= found["requests"] + found["faults"]
    assert Decimal(found["cost_client_usd"]) == Decimal(found["cost_gateway_usd"]) > 0
    assert 0 < found["ledger_share"] < 1
    assert found["peak_rss_mb"] > 50
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_a_killed_run_is_taken_up_where_it_stood(tmp_path: Path) -> None:
    found = figures(tmp_path, "--kill-at", "0.3", "--concurrency", "4")
    assert found["killed_at"] >= 0.3
    assert found["requests"] == found["accounted"] == found["answered"] == 303
    assert (found["asked_twice"], found["second_run_requests"]) == (0, 0)
    assert Decimal(found["cost_client_usd"]) <= Decimal(found["cost_gateway_usd"])
