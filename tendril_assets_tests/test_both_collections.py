"""Both shipped collections at once on one new data folder: two commands, one graph, one warehouse."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tendril_assets_tests.demo import environment

pytestmark = pytest.mark.demo
JOBS = ("tenders_corpus", "regulations_corpus")


def test_two_corpus_jobs_at_once(tmp_path: Path) -> None:
    """Neither may be in the other's way: not while Dagster's storage and the sample are made, and not in the warehouse."""
    home = tmp_path / "home"
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tendril_assets.cli", "run", job],
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for job in JOBS
    ]
    told = [process.communicate(timeout=600)[0] for process in started]
    for process, job, output in zip(started, JOBS, told, strict=True):
        assert process.returncode == 0, f"{job}: {output[-4000:]}"
    assert sum("waiting for its end" in output for output in told) == 1, "one of them waits for the other and says so"
    with duckdb.connect(str(home / "snapshot.duckdb"), read_only=True) as snapshot:
        for collection in ("tenders", "regulations"):
            row = snapshot.execute(f"SELECT count(*), count(DISTINCT passage_id) FROM {collection}.corpus").fetchone()
            assert row is not None
            assert row[0] == row[1] > 100, collection
