"""The README is true: every command in it is run by a test, every query answers, every path and variable exists."""

import contextlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tendril_assets import settings
from tendril_assets.cli import main
from tendril_assets.resources.landing import read_rows
from tendril_assets_tests.conftest import FinishedDemo
from tendril_assets_tests.demo import environment, left_over

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.M | re.S)


def commands() -> list[str]:
    lines = [line.split("  #")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return [part.strip() for line in lines if line for part in line.split("&&")]


# Where each command is really run; a command that is not listed here has no proof and fails the test below.
PROOF = {
    'python -m pip install -e ".[sandbox]"': ".ci/run installs the wheel with that extra",
    'python -m pip install -e ".[dev]"': ".ci/run",
    "python -m tendril_assets_tests": ".ci/run: the gate that runs this test",
    "tendril demo": "test_demo, and .ci/run from the wheel",
    "tendril ui": "test_ui",
    "tendril sandbox my-landing": "test_sandbox_writes_a_template",
    "tendril gateway --port 8765": "test_the_gateway_serves_until_it_is_ended",
    "tendril status": "test_demo",
    "tendril doctor": "test_demo",
    "tendril estimate": "test_demo",
    "tendril guideline": "test_guideline_command",
    "tendril guideline de_long": "test_guideline_command",
    "tendril guideline de_short --sheet sheet.csv --annotator anna": "test_guideline_command",
    "tendril models": "test_models_command",
    "tendril ledger verify": "test_ledger_command",
    "tendril audit 13917/Allgemeine_Bedingungen.docx": "test_demo",
    "tendril publish": "test_demo, test_publish_command",
    "tendril simap": "test_simap_command",
    "tendril run tenders_simap": "test_simap",
    "tendril run": "test_run_takes_a_part_of_the_graph",
    "tendril run tenders_corpus": "test_run_takes_a_part_of_the_graph",
    "tendril run tenders_candidates": "test_run_takes_a_part_of_the_graph",
    "tendril run tenders_judging": "test_run_takes_a_part_of_the_graph",
    "tendril run tenders_training": "test_run_takes_a_part_of_the_graph",
    "tendril run tenders_drift": "test_drift",
    "tendril demo --collection regulations": "test_regulations_demo",
    "tendril run regulations_corpus": "test_regulations_demo",
    "tendril split --collection regulations": "test_split_command",
    "tendril tasks --collection regulations --sheet sheet.tsv": "test_split_command",
}


def test_every_command_is_run_by_a_test() -> None:
    unproven = [c for c in commands() if not c.startswith("export ") and c not in PROOF]
    assert unproven == []
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in ("python -m tendril_assets_tests", 'pip install -q -e ".[dev]"', "[sandbox]", "tendril demo"):
        assert command in ci


def test_every_exported_variable_is_one_of_the_settings() -> None:
    exported = re.findall(r"export (\w+)=", README)
    assert len(exported) >= 5
    for name in exported:
        assert name in (settings.__doc__ or ""), name


def test_every_command_of_the_tool_is_in_the_readme() -> None:
    for name in main.commands:
        assert f"tendril {name}" in README, name


def test_every_named_file_exists() -> None:
    for name in re.findall(r"`((?:tendril_assets|notebooks|sql|\.ci)/[\w./-]*)`", README):
        assert (ROOT / name).exists(), name


def test_sandbox_writes_a_template(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tendril_assets.cli", *shlex.split("sandbox"), str(tmp_path / "sample")],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "sample" / "tenders" / "removals.csv").write_text("kind,id,reason,date\n", "utf-8")
    again = subprocess.run(
        [sys.executable, "-m", "tendril_assets.cli", "sandbox", str(tmp_path / "sample")],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert again.returncode == 1
    assert "what you changed there stays" in again.stdout
    assert (tmp_path / "sample" / "tenders" / "removals.csv").read_text("utf-8") == "kind,id,reason,date\n"
    rows = list(read_rows(tmp_path / "sample" / "tenders" / "projects.csv"))
    assert len(rows) > 30


def test_the_gateway_serves_until_it_is_ended(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "home"
    process = subprocess.Popen(
        [sys.executable, "-m", "tendril_assets.cli", "gateway", "--port", str(port)],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        deadline = time.monotonic() + 180  # it writes the sample first
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/counters", timeout=5) as response:
                    assert response.status == 200
                break
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert f"export TENDRIL_LLM_BASE_URL=http://127.0.0.1:{port}/api/v1" in output
    assert left_over(home) == []


@pytest.mark.demo
@pytest.mark.parametrize("statement", blocks("sql"), ids=lambda s: s.strip().splitlines()[0][:60])
def test_every_query_answers(request: pytest.FixtureRequest, statement: str) -> None:
    demo: FinishedDemo = request.getfixturevalue("regulations" if " regulations." in statement else "demo")
    with duckdb.connect(str(demo.home / "snapshot.duckdb"), read_only=True) as connection:
        assert connection.execute(statement).fetchall(), "a query of the README should show something on the sample"


@pytest.mark.demo
def test_the_release_is_read_as_the_readme_says(demo: FinishedDemo) -> None:
    [block] = blocks("python")
    code = block.replace('".tendril/', f'"{demo.home}/')
    assert code != block
    # The last line asks the hub for a model; the task is given one in the tests of release/mteb.py.
    names: dict[str, Any] = {}
    exec("".join(line for line in code.splitlines(keepends=True) if "get_model" not in line), names)
    assert names["qrels"].column_names == ["query-id", "corpus-id", "score"]
    names["task"].load_data()
    assert names["task"].dataset["default"]["train"]["corpus"].num_rows > 1_000


@pytest.mark.demo
@pytest.mark.parametrize("job", ["tenders_corpus", "tenders_candidates", "tenders_judging", "tenders_training"])
def test_run_takes_a_part_of_the_graph(demo: FinishedDemo, job: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tendril_assets.cli", "run", job],
        env=environment(demo.home),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("judge_replies" in done.stdout) == (job == "tenders_judging")  # where all is answered, without a gateway
    assert ("models__minilm" in done.stdout) == (job == "tenders_training")
