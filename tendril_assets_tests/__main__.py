"""The one gate: ``python -m tendril_assets_tests [pytest arguments]``, the same for people and for CI.

Runs every step even after a failure, prints what failed, and exits non-zero if anything did.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def steps(pytest_arguments: list[str]) -> list[tuple[str, list[str]]]:
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
        ("tests", [python, "-m", "pytest", *pytest_arguments]),
    ]


def main() -> int:
    failed: list[str] = []
    scratch = tempfile.mkdtemp(prefix="tendril-gate-")
    # One thread per library: two cores are shared by the tests' own processes.
    environment = {**os.environ, "TENDRIL_HOME": scratch, "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    environment.setdefault("OMP_NUM_THREADS", "2")
    environment.pop("DAGSTER_HOME", None)
    try:
        for name, command in steps(sys.argv[1:]):
            begin = time.monotonic()
            print(f"=== {name}", flush=True)
            code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
            print(
                f"=== {name}: {'ok' if code == 0 else f'failed ({code})'} in {time.monotonic() - begin:.0f} s",
                flush=True,
            )
            if code:
                failed.append(name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"gate: {'failed: ' + ', '.join(failed) if failed else 'all ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
