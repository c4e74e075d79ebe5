"""The reply ledger: making replies durable, and reading them back.

``python -m tendril_assets_tests.benchmarks.ledger [--size small|published]``

``append_s`` appends each reply by itself, as the client does, and seals the ledger; ``load_s`` reads the whole frame,
``keys_s`` the answered keys alone. The baseline writes equal lines, made beforehand, with one fsync at the end, and
reads the file back with polars.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from tendril_assets.resources.ledger import Ledger, LedgerEntry

SIZES = {"small": 50_000, "published": 907_000}


def entry(number: int) -> LedgerEntry:
    return LedgerEntry(
        request_key=f"{number:064x}",
        purpose="judge",
        model="toy/judge",
        status="answered",
        attempts=1,
        seconds=0.5,
        called_at=datetime.now(UTC),
        answered_model="toy/judge-1",
        provider="provider",
        http_status=200,
        finish_reason="stop",
        content=str(number % 3),
        prompt_tokens=500 + number % 90,
        completion_tokens=3,
        cached_tokens=400,
        cost=Decimal("0.000123"),
    )


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def append(ledger: Ledger, n: int) -> None:
    with ledger.writer() as writer:
        for i in range(n):
            writer.append(entry(i))


def append_bare(path: Path, n: int) -> None:
    record = json.loads(entry(0).to_line(0))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for i in range(n):
        record["request_key"] = f"{i:064x}"
        os.write(descriptor, json.dumps(record).encode() + b"\n")
    os.fsync(descriptor)
    os.close(descriptor)


def measure(n: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger")
        append_s, _ = seconds(lambda: append(ledger, n))
        keys_s, keys = seconds(ledger.answered_keys)
        load_s, frame = seconds(ledger.frame)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        assert len(keys) == frame.height == n
        path = Path(folder) / "bare.jsonl"
        append_bare_s, _ = seconds(lambda: append_bare(path, n))
        load_bare_s, _ = seconds(lambda: pl.read_ndjson(path))
    figures = {
        "replies": n,
        "append_s": append_s,
        "append_s_bare": append_bare_s,
        "append_s_ratio": append_s / append_bare_s,
        "load_s": load_s,
        "load_s_bare": load_bare_s,
        "load_s_ratio": load_s / load_bare_s,
        "keys_s": keys_s,
        "peak_rss_mb": peak,
    }
    return {name: round(value, 4) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    figures = measure(SIZES[parser.parse_args().size])
    for name, value in figures.items():
        print(f"{name:<20}{value:>14,.3f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
