"""The reply ledger: making replies durable, and reading them back.

``python -m tendril_assets_tests.benchmarks.ledger [--size small|published]``

``append_s`` appends each reply by itself, as the client does, and seals the ledger; ``load_s`` reads the whole frame,
``keys_s`` the answered keys alone, ``verify_s`` every line. Then the ledger is compacted and the same is read again from
Parquet (``_parquet``); at last the entries of one request in a thousand are removed. The baseline writes equal lines, made
beforehand, with one fsync at the end, and reads the file back with polars; ``compact_s_bare`` is polars turning those
lines into Parquet, without checking or reading back. Each reading is done in a process of its own: its peak memory is in
``_mb``, the imports included.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.resources.ledger import Ledger, LedgerEntry

SIZES = {"small": 50_000, "published": 907_000}


def key(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


def entry(number: int) -> LedgerEntry:
    return LedgerEntry(
        request_key=key(number),
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
        # As a gateway charges: nearly every cost is another one.
        cost=Decimal(50_000 + number * 7919 % 90_001).scaleb(-9),
        reply_id=f"gen-{number * 2654435761 % 2**32:08x}",
        run="a6b5f2c0-0000-4000-8000-000000000000",
    )


class Measured(NamedTuple):
    seconds: float
    result: Any
    peak_mb: float


def measured(work: Callable[[], Any]) -> Measured:
    begin = time.perf_counter()
    result = work()
    taken = time.perf_counter() - begin
    return Measured(taken, result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def apart(work: Callable[[Path], int], path: Path) -> Measured:
    """Measure in a process of its own; ``work`` returns a small figure."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (work, path))


def _measure(work: Callable[[Path], int], path: Path) -> Measured:
    return measured(lambda: work(path))


def append(ledger: Ledger, n: int) -> None:
    with ledger.writer() as writer:
        for i in range(n):
            writer.append(entry(i))


def append_bare(path: Path, n: int) -> None:
    record = json.loads(entry(0).to_line(0))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for i in range(n):
        record["request_key"] = key(i)
        os.write(descriptor, json.dumps(record).encode() + b"\n")
    os.fsync(descriptor)
    os.close(descriptor)


def load(folder: Path) -> int:
    return Ledger(folder).frame().height


def keys(folder: Path) -> int:
    return len(Ledger(folder).answered())


def verify(folder: Path) -> int:
    report = Ledger(folder).verify()
    assert report.is_sound
    return report.entries


def compact(folder: Path) -> int:
    return Ledger(folder).compact(everything=True).bytes_after


def load_bare(path: Path) -> int:
    return pl.read_ndjson(path).height


def compact_bare(path: Path) -> int:
    pl.scan_ndjson(path).sink_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet").stat().st_size


def measure(n: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as parent:
        folder, bare = Path(parent) / "ledger", Path(parent) / "bare.jsonl"
        appended = measured(lambda: append(Ledger(folder), n))
        appended_bare = measured(lambda: append_bare(bare, n))
        readings = {"load": load, "keys": keys, "verify": verify}
        lines = {name: apart(work, folder) for name, work in readings.items()}
        load_plain, compact_plain = apart(load_bare, bare), apart(compact_bare, bare)
        before = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
        compacted = apart(compact, folder)
        parquet = {name: apart(work, folder) for name, work in readings.items()}
        counts = {reading.result for reading in (*lines.values(), *parquet.values(), load_plain)}
        assert counts == {n}, counts
        cached = Ledger(folder)
        cached.answered()
        again = measured(lambda: cached.answered())
        removed = measured(lambda: cached.remove(key(number) for number in range(0, n, 1000)))
        assert removed.result.entries == -(-n // 1000)
    figures: dict[str, float] = {
        "replies": n,
        "append_s": appended.seconds,
        "append_s_bare": appended_bare.seconds,
        "append_s_ratio": appended.seconds / appended_bare.seconds,
        "load_s": lines["load"].seconds,
        "load_s_bare": load_plain.seconds,
        "load_s_ratio": lines["load"].seconds / load_plain.seconds,
        "keys_s": lines["keys"].seconds,
        "verify_s": lines["verify"].seconds,
        "peak_rss_mb": max(reading.peak_mb for reading in lines.values()),
        "compact_s": compacted.seconds,
        "compact_s_bare": compact_plain.seconds,
        "compact_s_ratio": compacted.seconds / compact_plain.seconds,
        "compact_mb": compacted.peak_mb,
        "size_jsonl_mb": before / 2**20,
        "size_parquet_mb": compacted.result / 2**20,
        "size_ratio": compacted.result / before,
        "load_parquet_s": parquet["load"].seconds,
        "load_parquet_mb": parquet["load"].peak_mb,
        "keys_parquet_s": parquet["keys"].seconds,
        "keys_parquet_mb": parquet["keys"].peak_mb,
        "keys_again_s": again.seconds,
        "verify_parquet_s": parquet["verify"].seconds,
        "verify_parquet_mb": parquet["verify"].peak_mb,
        "remove_s": removed.seconds,
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
