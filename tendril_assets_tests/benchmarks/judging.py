"""The whole judging stage against a gateway that breaks: candidates, replies, calls, judgments; then nothing changed.

``python -m tendril_assets_tests.benchmarks.judging [--size tiny|small|published] [--concurrency N] [--kill-at SHARE]``

Runs the real assets on a fresh TENDRIL_HOME, each run in a process of its own, against the stand-in gateway in another,
of whose replies one percent are faults of all kinds in equal parts. A request whose attempts all failed is open again,
so the stage is run until none is; with ``--kill-at`` the first run is killed (SIGKILL) once that share is answered. The
last run finds nothing to do. The baseline is a plain loop of httpx workers over the first requests, with no ledger, no
retries and no faults, against a second stand-in gateway.

``accounted``: requests with exactly one final answer in the ledger, or failures only. ``ledger_share``: CPU seconds of
the ledger's append and of its fsync, by those of the asking step; ``ledger_append_wall_share`` the wall time of append
alone, for fsync has a thread of its own. CPU of the client is that of the asking step; ``peak_rss_mb`` is the largest of
a run's process. Costs must agree to the nano-USD but for what was in flight when a run was killed, and what connections
that broke never told.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.assets.judging import REQUESTS
from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.ledger import FINAL_STATUSES, Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets.sandbox.gateway_faults import FAULTS
from tendril_assets.settings import SANDBOX_PROFILE
from tendril_assets_tests.benchmarks import judging_run
from tendril_assets_tests.benchmarks.judging_run import SHAPES

FAULT_SHARE = 0.01
# Calls of the baseline; runs until nothing is open.
BARE_CALLS = {"tiny": 200, "small": 5_000, "published": 20_000}
MOST_RUNS = 5
PROGRESS_S = {"tiny": 2.0, "small": 5.0, "published": 30.0}
LIMIT_S = 3 * 3600
NANO = Decimal(10) ** 9


def child(home: Path, gateway: StandInGateway, what: str, *options: str, concurrency: int) -> subprocess.Popen[bytes]:
    """Start ``judging_run`` on ``home``; its report and log lie beside it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENDRIL_", "DAGSTER_"))}
    environment |= {
        "TENDRIL_HOME": str(home),
        "TENDRIL_LANDING": str(home / "landing"),
        "TENDRIL_PROFILE": SANDBOX_PROFILE,
        "TENDRIL_LLM_BASE_URL": gateway.base_url,
        "TENDRIL_LLM_API_KEY": gateway.api_key,
        "TENDRIL_CONCURRENCY": str(concurrency),
    }
    command = [sys.executable, "-m", judging_run.__name__, what, str(home / "report.json"), *options]
    (home / "report.json").unlink(missing_ok=True)
    with (home / f"{what}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def finished(process: subprocess.Popen[bytes], home: Path, what: str) -> dict[str, Any]:
    """Wait for the process and read its report. Raises RuntimeError, with its last lines, where it failed."""
    try:
        code = process.wait(LIMIT_S)
    finally:
        process.kill()
        process.wait()
    report = home / "report.json"
    if code or not report.exists():
        log = (home / f"{what}.log").read_text("utf-8", "replace")
        raise RuntimeError(f"{what} ended with code {code}; its last lines:\n{log[-3000:]}")
    return json.loads(report.read_text("utf-8"))


class Stage:
    """Runs of the judging stage on one home."""

    def __init__(self, home: Path, gateway: StandInGateway, size: str, concurrency: int) -> None:
        self.home, self.gateway, self.concurrency = home, gateway, concurrency
        self._every_s, self._total = PROGRESS_S[size], SHAPES[size].requests

    def run(self) -> dict[str, Any]:
        """One run to its end; adds what the gateway counted meanwhile, and ``wall_s`` with the start of the process."""
        before, begin = self.gateway.counters(), time.perf_counter()
        process = child(self.home, self.gateway, "run", concurrency=self.concurrency)
        with killing(process):
            self._follow(process, None)
            figures = finished(process, self.home, "run")
        after = self.gateway.counters()
        counted = {name: after[name] - before[name] for name in ("requests", "cpu_s", "nano_usd", "untold_nano_usd")}
        return {**figures, **counted, "wall_s": time.perf_counter() - begin}

    def killed_run(self, share: float) -> float:
        """A run killed once ``share`` of the requests are answered; returns the share that was."""
        process = child(self.home, self.gateway, "run", concurrency=self.concurrency)
        with killing(process):
            self._follow(process, share)
            if process.poll() is not None:
                raise RuntimeError(f"the run ended before {share:.0%} of the requests were answered")
        return self.gateway.counters()["answered"] / self._total

    def _follow(self, process: subprocess.Popen[bytes], until: float | None) -> None:
        """Print what the gateway counts while the process runs, or until it has answered the share ``until``."""
        began = shown = time.perf_counter()
        first = last = self.gateway.counters()["requests"]
        while process.poll() is None:
            time.sleep(0.05)
            now = time.perf_counter()
            if until is None and now - shown < self._every_s:
                continue
            counted = self.gateway.counters()
            if until is not None and counted["answered"] >= until * self._total:
                return
            if now - shown >= self._every_s:
                rate = (counted["requests"] - last) / (now - shown)
                print(
                    f"  {now - began:>7.0f} s  {counted['answered']:>9,} of {self._total:,} answered, "
                    f"{counted['requests'] - first:>9,} calls in this run, {rate:>7,.0f} calls/s",
                    flush=True,
                )
                shown, last = now, counted["requests"]


@contextlib.contextmanager
def killing(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """No process outlives the block."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def accounts(home: Path) -> dict[str, Any]:
    """What the ledger says of the requests that were handed over, and how many pairs they judged."""
    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
    asked = Artifacts(root=str(home / "artifacts")).read_frame(DEFAULT_COLLECTION, REQUESTS, ["request_key"])
    calls = Ledger(home / "ledger").frame().select("request_key", "status", "cost", "cost_estimate")
    per_request = (
        calls.group_by("request_key")
        .agg(finals=pl.col("status").is_in(FINAL_STATUSES).sum(), entries=pl.len())
        .join(asked, on="request_key", how="right")
    )
    finals = per_request["finals"].fill_null(0)
    return {
        "judgments": warehouse.load(DEFAULT_COLLECTION, "judgments", ["grade"]).height,
        "requests": asked.height,
        "accounted": int(((finals <= 1) & per_request["entries"].is_not_null()).sum()),
        "answered": int((finals == 1).sum()),
        "entries": calls.height,
        "by_status": dict(sorted(calls["status"].value_counts().iter_rows())),
        "strays": calls.join(asked, on="request_key", how="anti").height,
        "cost_client": Decimal(calls["cost"].sum() or 0),
    }


def measure(size: str, concurrency: int, kill_at: float | None, home: Path) -> dict[str, Any]:
    faults = dict.fromkeys(FAULTS, FAULT_SHARE / len(FAULTS))
    with StandInGateway(faults=faults) as gateway:
        process = child(home, gateway, "prepare", "--size", size, concurrency=1)
        prepared = finished(process, home, "prepare")
        print(f"{prepared['queries']:,} queries, {prepared['passages']:,} passages", flush=True)
        stage = Stage(home, gateway, size, concurrency)
        killed_at = None if kill_at is None else stage.killed_run(kill_at)
        runs: list[dict[str, Any]] = []
        while not runs or (len(runs) < MOST_RUNS and accounts(home)["answered"] < SHAPES[size].requests):
            runs.append(stage.run())
            table_of_steps(f"run {len(runs)}", runs[-1])
        found = accounts(home)
        second = stage.run()
        table_of_steps("nothing changed", second)
        for run in (runs[-1], second):
            check(run)
        counted = gateway.counters()
    with StandInGateway() as gateway:
        process = child(home, gateway, "bare", "--calls", str(BARE_CALLS[size]), concurrency=concurrency)
        bare = finished(process, home, "bare")
    return figures(found, counted, runs, second, bare) | {"runs": len(runs), "killed_at": killed_at}


def figures(
    found: dict[str, Any],
    counted: dict[str, Any],
    runs: list[dict[str, Any]],
    second: dict[str, Any],
    bare: dict[str, float],
) -> dict[str, Any]:
    first = runs[0]
    asking = step(first, "judge_replies")
    told = Decimal(counted["nano_usd"] - counted["untold_nano_usd"]) / NANO
    calls_per_s = first["requests"] / asking["wall_s"]
    cpu_ms = 1000 * asking["cpu_s"] / first["requests"]
    return {
        "judgments": found["judgments"],
        "requests": found["requests"],
        "accounted": found["accounted"],
        "answered": found["answered"],
        "strays": found["strays"],
        "calls": counted["requests"],
        "asked_twice": counted["asked_twice"],
        "faults": sum(counted["faults"].values()),
        "fault_kinds": len(counted["faults"]),
        "cost_client_usd": format(found["cost_client"], "f"),
        "cost_gateway_usd": format(told, "f"),
        "cost_untold_usd": format(Decimal(counted["untold_nano_usd"]) / NANO, "f"),
        "wall_s": first["wall_s"],
        "asking_s": asking["wall_s"],
        "calls_per_s": calls_per_s,
        "calls_per_s_bare": bare["calls_per_s"],
        "calls_per_s_ratio": calls_per_s / bare["calls_per_s"],
        "client_cpu_ms_per_call": cpu_ms,
        "client_cpu_ms_per_call_bare": bare["cpu_ms_per_call"],
        "client_cpu_ratio": cpu_ms / bare["cpu_ms_per_call"],
        "gateway_cpu_ms_per_call": 1000 * first["cpu_s"] / first["requests"],
        "ledger_share": (first["append_cpu_s"] + first["fsync_cpu_s"]) / asking["cpu_s"],
        "ledger_append_us": 1e6 * first["append_cpu_s"] / first["requests"],
        "ledger_fsync_cpu_s": first["fsync_cpu_s"],
        "ledger_append_wall_share": first["append_wall_s"] / asking["wall_s"],
        "peak_rss_mb": max(run["peak_rss_mb"] for run in [*runs, second]),
        "candidates_s": step(first, "candidates__request_passages")["wall_s"],
        "load_parse_fan_out_s": sum(step(first, name)["wall_s"] for name in ("judge_calls", "judgments")),
        "second_run_requests": second["requests"],
        "second_run_s": second["wall_s"],
        "second_run_steps_s": sum(each["wall_s"] for each in second["steps"].values()),
    }


def step(run: dict[str, Any], name: str) -> dict[str, float]:
    return run["steps"][f"{DEFAULT_COLLECTION}__{name}"]


def table_of_steps(title: str, run: dict[str, Any]) -> None:
    print(f"\n{title:<58}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}")
    for name, each in run["steps"].items():
        print(f"  {name:<56}{each['wall_s']:>10.2f}{each['cpu_s']:>10.2f}{each['peak_rss_mb']:>10.0f}")
    print(f"  {'sum, with the start of the process':<56}{run['wall_s']:>10.2f}", flush=True)


def check(run: dict[str, Any]) -> None:
    """Raises RuntimeError for a run that failed, or in which a check did."""
    if not run["success"] or run["failed_checks"]:
        raise RuntimeError(f"the run failed; checks: {run['failed_checks']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SHAPES, default="small")
    parser.add_argument("--concurrency", type=int, default=64, help="requests in flight")
    parser.add_argument("--kill-at", type=float, metavar="SHARE", help="kill the first run once this share is answered")
    parser.add_argument("--folder", type=Path, help="where the temporary home is made; default the system's own place")
    given = parser.parse_args()
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tendril-judging-", dir=given.folder) as home:
        measured = {"size": given.size} | measure(given.size, given.concurrency, given.kill_at, Path(home))
    rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in measured.items()}
    print()
    for name, value in rounded.items():
        print(f"{name:<30}{value:>20,.3f}" if isinstance(value, float) else f"{name:<30}{value!s:>20}")
    print(json.dumps(rounded))


if __name__ == "__main__":
    main()
