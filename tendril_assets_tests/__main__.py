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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTHING_COLLECTED = 5  # pytest's exit code


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
    """The tests of the demo mostly wait for processes of their own, so they run beside all others; told one by one.

    Where the arguments choose by a marker themselves, that is the choice.
    """
    chosen = any(argument.startswith("-m") for argument in pytest_arguments)
    parts = [[]] if chosen else [["-m", "not demo"], ["-m", "demo"]]
    running = []
    for number, part in enumerate(parts):
        (home := scratch / str(number)).mkdir()
        told = (scratch / f"{number}.log").open("w+b") if number else None
        command = [sys.executable, "-m", "pytest", *part, *pytest_arguments]
        child = subprocess.Popen(
            command, cwd=ROOT, env={**environment, "TENDRIL_HOME": str(home)}, stdout=told, stderr=told
        )
        running.append((child, told))
    codes = []
    for child, told in running:
        codes.append(child.wait())
        if told:
            told.seek(0)
            print(told.read().decode(errors="replace"), flush=True)
            told.close()
    failed = [code for code in codes if code not in (0, NOTHING_COLLECTED)]
    return failed[0] if failed else min(codes)


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
    environment.setdefault("OMP_NUM_THREADS", "2")
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
