"""The one gate: ``python -m tendril_assets_tests [pytest arguments]``, the same for people and for CI.

Runs every step even after a failure, prints what failed, and exits non-zero if anything did.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTHING_COLLECTED = 5  # pytest's exit code
SECOND_CHAIN = ("benchmarks", "training", "evaluation", "release")


def steps() -> list[tuple[str, list[str]]]:
    python = sys.executable
    scripts = Path(python).parent
    return [
        ("lint", [python, "-m", "ruff", "check", "."]),
        ("format", [python, "-m", "ruff", "format", "--check", "."]),
        ("types", [python, "-m", "ty", "check", "tendril_assets"]),
        ("dg check defs", [str(scripts / "dg"), "check", "defs"]),
        (
            "definitions validate",
            [str(scripts / "dagster"), "definitions", "validate", "-w", str(ROOT / "workspace.yaml")],
        ),
    ]


def run_tests(pytest_arguments: list[str], environment: dict[str, str], scratch: Path) -> int:
    """Two chains of pytest runs beside each other; the second is told once it is over.

    The tests of the demo mostly wait for processes of their own. Where nothing is chosen, the tests that compute come
    after them, so that both chains take about as long. Where the arguments choose by a marker themselves, that is the
    choice.
    """
    others, demo = ["-m", "not demo"], ["-m", "demo"]
    if any(argument.startswith("-m") for argument in pytest_arguments):
        chains = [[pytest_arguments]]
    elif pytest_arguments:
        chains = [[[*others, *pytest_arguments]], [[*demo, *pytest_arguments]]]
    else:
        folders = [str(ROOT / "tendril_assets_tests" / name) for name in SECOND_CHAIN]
        chains = [[[*others, *(f"--ignore={folder}" for folder in folders)]], [demo, [*others, *folders]]]
    with ThreadPoolExecutor(len(chains)) as both:
        runs = [
            both.submit(run_chain, chain, environment, scratch / str(number), to_file=number > 0)
            for number, chain in enumerate(chains)
        ]
        codes = [code for run in runs for code in run.result()]
    failed = [code for code in codes if code not in (0, NOTHING_COLLECTED)]
    return failed[0] if failed else min(codes)


def run_chain(chain: list[list[str]], environment: dict[str, str], scratch: Path, *, to_file: bool) -> list[int]:
    """Exit codes of pytest with each of the argument lists, one after the other."""
    codes = []
    for number, arguments in enumerate(chain):
        (home := scratch / str(number)).mkdir(parents=True)
        command = [sys.executable, "-m", "pytest", *arguments]
        own = {**environment, "TENDRIL_HOME": str(home)}
        if not to_file:
            codes.append(subprocess.run(command, cwd=ROOT, env=own).returncode)
            continue
        done = subprocess.run(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        codes.append(done.returncode)
        print(f"\n--- pytest {' '.join(arguments)}\n{done.stdout.decode(errors='replace')}", flush=True)
    return codes


def timed(name: str, step: Callable[[], int]) -> bool:
    begin = time.monotonic()
    print(f"=== {name}", flush=True)
    code = step()
    result = "ok" if code == 0 else f"failed ({code})"
    print(f"=== {name}: {result} in {time.monotonic() - begin:.0f} s", flush=True)
    return code == 0


def main() -> int:
    scratch = tempfile.mkdtemp(prefix="tendril-gate-")
    # One thread per library: two cores are shared by the tests' own processes.
    environment = {**os.environ, "TENDRIL_HOME": scratch, "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.pop("DAGSTER_HOME", None)
    failed: list[str] = []
    try:
        for name, command in steps():
            if not timed(name, lambda command=command: subprocess.run(command, cwd=ROOT, env=environment).returncode):
                failed.append(name)
        if not timed("tests", lambda: run_tests(sys.argv[1:], environment, Path(scratch))):
            failed.append("tests")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"gate: {'failed: ' + ', '.join(failed) if failed else 'all ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
