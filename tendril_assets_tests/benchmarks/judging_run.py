"""The processes of the judging benchmark: one writes the home, one runs the judging stage, one is the bare baseline.

Each is ``python -m tendril_assets_tests.benchmarks.judging_run WHAT REPORT ...`` with the environment of an
installation, and writes its figures as JSON to the file REPORT.
"""

import argparse
import asyncio
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from tendril_assets.assets.judging import REQUESTS
from tendril_assets.children import die_with_parent, process_started
from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.purposes import HAND_OVERS, needed
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.ledger import LedgerWriter
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets_tests.published_pairs import PUBLISHED, SMALL, TINY, tables

SHAPES = {"tiny": TINY, "small": SMALL, "published": PUBLISHED}
SYNCING_THREAD = "ledger-fsync"
STEPS = ("candidates", "request_passages", "judge_replies", "judge_calls", "judgments")


def prepare(size: str) -> dict[str, Any]:
    """Write what the judging stage starts from: corpus, queries, who gets which, and no other requests."""
    settings = Settings.from_env()
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot))
    frames = tables(SHAPES[size])
    warehouse.replace(DEFAULT_COLLECTION, frames, "benchmark")
    artifacts = Artifacts(root=str(settings.artifacts))
    handed_over = {HAND_OVERS[purpose].file for purpose in needed(collection_spec(DEFAULT_COLLECTION, None))}
    for name in handed_over - {REQUESTS}:
        artifacts.write_frame(DEFAULT_COLLECTION, name, pl.DataFrame(schema={"request_key": pl.String()}))
    return {
        "queries": frames["queries"].height,
        "passages": frames["corpus"].height,
        "mean_characters": frames["corpus"]["text"].str.len_chars().mean(),
    }


def run() -> dict[str, Any]:
    """Materialise the judging stage as the user interface does, in this process; wall and CPU seconds of each step."""
    import dagster as dg

    from tendril_assets.definitions import definitions
    from tendril_assets.other_runs import PID_TAG, START_TAG, end_dead_runs
    from tendril_assets.running import ensure_dagster_home

    ensure_dagster_home(Settings.from_env())
    steps: dict[str, dict[str, float]] = {}
    begun: dict[str, tuple[float, float]] = {}

    def follow(entry: dg.EventLogEntry) -> None:
        kind, step = entry.dagster_event.event_type_value if entry.dagster_event else "", str(entry.step_key)
        now = (time.perf_counter(), time.process_time())
        if kind == "STEP_START":
            begun[step] = now
        elif kind in ("STEP_SUCCESS", "STEP_FAILURE"):
            wall, cpu = (b - a for a, b in zip(begun[step], now, strict=True))
            steps[step] = {"wall_s": wall, "cpu_s": cpu, "peak_rss_mb": peak_rss_mb()}

    ledger = TimedLedger()
    run_id = str(uuid.uuid4())
    with dg.DagsterInstance.get() as instance:
        end_dead_runs(instance)  # as the command line does: a killed run keeps its pool slots
        instance.add_event_listener(run_id, follow)
        result = (
            definitions()
            .resolve_job_def(DEFAULT_COLLECTION)
            .execute_in_process(
                instance=instance,
                run_id=run_id,
                asset_selection=[dg.AssetKey([DEFAULT_COLLECTION, name]) for name in STEPS],
                raise_on_error=False,
                tags={PID_TAG: str(os.getpid()), START_TAG: process_started(os.getpid()) or ""},
            )
        )
        failed = [e.check_name for e in result.get_asset_check_evaluations() if not e.passed]
    return {
        "success": result.success,
        "failed_checks": failed,
        "steps": steps,
        **ledger.seconds,
        "peak_rss_mb": peak_rss_mb(),
    }


class TimedLedger:
    """Adds up, from now on, the wall and CPU seconds of this process in the ledger's append, and in its fsync.

    Appends hold up all workers; fsync has a thread of its own and holds up nobody unless the disk is slow. Wall seconds
    count what other processes take from the processor meanwhile, CPU seconds do not.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("append_wall_s", "append_cpu_s", "fsync_wall_s", "fsync_cpu_s"), 0.0)
        LedgerWriter.append = self._timed("append", LedgerWriter.append, lambda: True)
        # Other files are synced too, by other threads.
        os.fsync = self._timed("fsync", os.fsync, lambda: threading.current_thread().name == SYNCING_THREAD)

    def _timed(self, name: str, work: Callable[..., Any], counts: Callable[[], bool]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return work(*arguments)
            finally:
                if counts():
                    self.seconds[f"{name}_cpu_s"] += time.thread_time() - cpu
                    self.seconds[f"{name}_wall_s"] += time.perf_counter() - wall

        return timed


def bare(calls: int) -> dict[str, float]:
    """The first ``calls`` requests by a plain loop of workers: no ledger, no retries, nothing read but the content."""
    settings = Settings.from_env()
    requests = Artifacts(root=str(settings.artifacts)).read_frame(DEFAULT_COLLECTION, REQUESTS).head(calls)
    spec = collection_spec(DEFAULT_COLLECTION, settings.profile)
    factory, guideline = RequestFactory(spec.judge.llm), load_guideline(spec.judge.guideline)
    url, headers = httpx.URL(f"{settings.base_url}/chat/completions"), {"Authorization": f"Bearer {settings.api_key}"}

    def bodies(frame: pl.DataFrame) -> Iterator[bytes]:
        for query, passage in frame.select("query_text", "passage_text").iter_rows():
            yield json.dumps(factory.body(render(guideline, query, passage))).encode()

    async def go(waiting: Iterator[bytes]) -> None:
        async def worker() -> None:
            async with httpx.AsyncClient(verify=False, headers=headers, timeout=60, trust_env=False) as client:
                for body in waiting:
                    response = await client.post(url, content=body)
                    if not response.json()["choices"][0]["message"]["content"]:
                        raise ValueError("the stand-in gateway answered nothing")

        await asyncio.gather(*(worker() for _ in range(settings.concurrency)))

    asyncio.run(go(bodies(requests.head(200))))  # imports and the gateway's caches are nobody's cost per call
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(go(bodies(requests)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "calls": requests.height,
        "calls_per_s": requests.height / wall,
        "cpu_ms_per_call": 1000 * cpu / requests.height,
    }


def peak_rss_mb() -> float:
    """Largest resident size of this process so far. ``getrusage`` counts that of the parent it was forked from too."""
    match = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    if match is None:
        raise OSError("/proc/self/status names no peak of the resident size")
    return int(match[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("prepare", "run", "bare"))
    parser.add_argument("report", type=Path)
    parser.add_argument("--size", choices=SHAPES, default="tiny")
    parser.add_argument("--calls", type=int, default=1)
    arguments = parser.parse_args()
    die_with_parent()
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "prepare": lambda: prepare(arguments.size),
        "run": run,
        "bare": lambda: bare(arguments.calls),
    }
    arguments.report.write_text(json.dumps(work[arguments.what]()), "utf-8")


if __name__ == "__main__":
    main()
